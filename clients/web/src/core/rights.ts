/* rights.ts -- what the user may do. Readers and viewers by a public link may change nothing, and do not see the
 * buttons; the buttons for a run or data of others are disabled, with the reason. */
import { link } from "./api.ts";
import { graphs, unread } from "./live.ts";
import { me } from "./projects.ts";
import { use } from "./signal.ts";
import type { Job } from "./types.ts";

export const mayChange = (): boolean => me.value?.role !== "reader" && !link;
export const useRights = (): boolean => { use(me); return mayChange(); };

/** True for what only administrators may do. */
export const useManages = (): boolean => use(me)?.role === "administrator" && !link;

export const OF_OTHERS = "Only its owner or an administrator may do this";

/** True if the run's data can be used for new runs: they are not deleted, and the user may read them. */
export function useData(job: Job): boolean {
	const lacking = use(unread).has(job.graph);
	return use(graphs).has(job.graph) || !lacking;
}
