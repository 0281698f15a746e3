/* owner.tsx -- whose a run or a graph is, and lists of one user's. */
import { duration } from "../core/format.ts";
import { me } from "../core/projects.ts";
import { use } from "../core/signal.ts";
import type { Job } from "../core/types.ts";
import { Select } from "./parts.tsx";

type Owned = Pick<Job, "owner" | "owner_state">;
const NOBODY = ":nobody";   // no user can have this name

/** True if it is worth telling whose it is: it has an owner who is not the user of this page. */
export const isOthers = (of: Owned): boolean => !!of.owner && of.owner !== me.value?.name;
export const ofOwner = (of: Owned, name: string): boolean => !name || (name === NOBODY ? !of.owner : of.owner === name);

export function OwnerText({ of }: { of: Owned }) {
	const mine = of.owner !== null && of.owner === use(me)?.name;
	return <span class="owner" title={of.owner ? `Owner: ${of.owner}` : "Nobody owns it"}>{mine ? "you" : of.owner ?? "–"}{of.owner_state && of.owner_state !== "active" && <span class="warning"> ({of.owner_state})</span>}</span>;
}

/** A choice among the owners of a list, if there are several. */
export function OwnerSelect({ of, value, onChange }: { of: Owned[]; value: string; onChange: (name: string) => void }) {
	const who = use(me), names = [...new Set(of.flatMap(x => x.owner ?? []))].sort((a, b) => a.localeCompare(b)), others = names.filter(n => n !== who?.name), nobodys = names.length > 0 && of.some(x => !x.owner);
	if (!value && others.length === 0 && !(nobodys && names.length))
		return null;
	const mine = who?.name && names.includes(who.name) ? [[who.name, "Mine"] as const] : [], lost = value && value !== NOBODY && !names.includes(value) ? [[value, value] as const] : [];
	return <Select label="Owner" value={value} onChange={onChange} options={[["", "All"], ...mine, ...others.map(n => [n, n] as const), ...lost, ...(nobodys || value === NOBODY ? [[NOBODY, "Nobody"] as const] : [])]} />;
}

/** For the facts of a run. */
export function OwnerFacts({ job }: { job: Job }) {
	return <>{job.owner && <><dt>Owner</dt><dd><OwnerText of={job} /></dd></>}
		{job.project && <><dt>Project</dt><dd>{job.project}</dd></>}
		{job.time_limit && <><dt>Time limit</dt><dd title="of running; then it ends, and its layout is kept">{duration(job.time_limit)}</dd></>}</>;
}
