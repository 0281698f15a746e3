/* projects.tsx -- projects: lists them and their members, and shares runs with them. */
import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { getJson, link } from "../core/api.ts";
import { duration, number } from "../core/format.ts";
import { amount, titleOfAmount } from "../core/people.ts";
import { type Access, askProjects, me, type Project, projects, setMember, shareWith } from "../core/projects.ts";
import { use } from "../core/signal.ts";
import type { Job } from "../core/types.ts";
import { Button, Select, tell, useInterval } from "./parts.tsx";

export const NONE = ":none";   // the choice "no project"; no project can have this name

/** A choice among projects, if there are any. */
export function ProjectSelect({ label, value, all, none, onChange }: { label: string; value: string; all?: string; none?: string; onChange: (name: string) => void }) {
	const list = use(projects);
	useEffect(() => { askProjects().catch(() => undefined); }, []);
	if (!list.length)
		return null;
	return <Select label={label} value={value} onChange={onChange}
		options={[...(all ? [["", all] as const] : []), ...(none ? [[NONE, none] as const] : []), ...list.map(p => [p.name, p.name] as const)]} />;
}

export const ofProject = (job: Job, name: string): boolean => !name || (name === NONE ? !job.project : job.project === name);

function useText(p: Project): string[] {
	const used = Object.entries(p.use).flatMap(([what, x]) => {
		const limit = p.limits[what];
		return x || limit ? [`${titleOfAmount(what)}: ${amount(what, x)}${limit ? ` of ${amount(what, limit)}` : ""}`] : [];
	});
	return [...used, ...(p.job_seconds ? [`a run may be running for ${duration(p.job_seconds)}`] : []), ...(p.keep ? ["runs are kept"] : [])];
}

function Members({ p, change }: { p: Project; change: boolean }) {
	const [name, setName] = useState("");
	const add = async (): Promise<void> => { await setMember(p.name, name.trim(), true); setName(""); };
	return <div class="members"><ul class="row wrap">{p.members.map(m => <li key={m} class="row">{m}
		{change && <Button icon="close" kind="quiet" label={`Remove ${m} from ${p.name}`} onClick={() => setMember(p.name, m, false)} />}</li>)}
		{!p.members.length && <li class="quiet">nobody</li>}</ul>
		{change && <div class="row"><input type="text" aria-label={`New member of ${p.name}`} placeholder="Name of a user" value={name}
			onInput={e => setName(e.currentTarget.value)} onKeyDown={e => { if (e.key === "Enter" && name.trim()) add().catch(tell); }} />
			<Button icon="plus" label={`Add a member to ${p.name}`} disabled={!name.trim()} onClick={add} /></div>}</div>;
}

/** The projects visible to the user: on the server's page, and on one of administrators, who have the parts `add` and `actions`. */
export function Projects({ add, actions }: { add?: ComponentChildren; actions?: (p: Project) => ComponentChildren }) {
	const list = use(projects), change = use(me)?.role === "administrator";
	useInterval(askProjects, 10000);
	if (!list.length)
		return <>{add}{add && <p class="quiet empty">There are no projects: groups of users with limits, and a share of the devices, in common.</p>}</>;
	return <>{add ?? <h2>Projects</h2>}
		<div class="table-scroll card" tabIndex={0} role="region" aria-label="Projects"><table class="table wide"><thead><tr><th scope="col">Project</th>
			<th scope="col">Members</th><th scope="col" class="right">Share</th><th scope="col">In use, and rules</th>{actions && <th scope="col"><span class="hidden">Actions</span></th>}</tr></thead>
			<tbody>{list.map(p => <tr key={p.name}><th scope="row">{p.name}</th><td class="flow" data-label="Members"><Members p={p} change={change} /></td>
				<td class="right" data-label="Share">{number(p.share)}</td><td data-label="In use"><div>{useText(p).map(t => <div key={t}>{t}</div>)}</div></td>{actions && <td class="actions">{actions(p)}</td>}</tr>)}</tbody></table></div></>;
}

/** Beside a run: the projects with which it is shared, together with its data, so that members see names and labels. */
export function ShareSection({ job }: { job: Job }) {
	const list = use(projects), who = use(me), [access, setAccess] = useState<Access | null>(null);
	useEffect(() => {
		if (link)
			return;
		askProjects().then(() => getJson<Access>(`/v1/access/${job.id}`)).then(setAccess, () => undefined);
	}, [job.id]);
	if (!access || !who || !list.length)
		return null;
	const mine = who.role === "administrator" || access.owners.includes(who.name ?? "");
	const others = access.projects.filter(name => list.some(p => p.name === name));
	if (!mine)
		return others.length ? <section aria-label="Sharing"><h2>Sharing</h2><p class="quiet">Shared with the members of {others.join(", ")}.</p></section> : null;
	const set = async (name: string, on: boolean): Promise<void> => {
		const names = [...access.projects.filter(p => p !== name), ...(on ? [name] : [])];
		setAccess(await shareWith(job.id, names));
		const graph = await getJson<Access>(`/v1/access/${job.graph}`);
		if (on && !graph.projects.includes(name))   // keeps what others share of the data
			await shareWith(job.graph, [...graph.projects, name]).catch(() => undefined);
	};
	return <section aria-label="Sharing"><h2>Sharing</h2>
		<p class="quiet">Members of a project that is ticked see this run and its data.</p>
		{list.map(p => <label key={p.name} class="check"><input type="checkbox" checked={access.projects.includes(p.name)}
			onChange={e => void set(p.name, e.currentTarget.checked).catch(tell)} />{p.name}</label>)}
	</section>;
}
