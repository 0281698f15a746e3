/* rights.ts -- whether the user may change anything; readers and viewers by a public link may not. */
import { link } from "./api.ts";
import { graphs, unread } from "./live.ts";
import { me } from "./projects.ts";
import { use } from "./signal.ts";
import type { Job } from "./types.ts";

export const useRights = (): boolean => use(me)?.role !== "reader" && !link;

/** True if the run's data can be used for new runs: they are not deleted, and the user may read them. */
export function useData(job: Job): boolean {
	const lacking = use(unread).has(job.graph);
	return use(graphs).has(job.graph) || !lacking;
}
