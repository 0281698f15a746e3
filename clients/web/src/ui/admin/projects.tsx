/* projects.tsx -- what administrators do with projects: add one, change its share, limits and rules, remove it. */
import { useState } from "preact/hooks";
import { request, sendJson } from "../../core/api.ts";
import { several } from "../../core/format.ts";
import { parseAmount, titleOfAmount } from "../../core/people.ts";
import { askProjects, type Project } from "../../core/projects.ts";
import { Dialog } from "../dialog.tsx";
import { Button, Field, say, tell } from "../parts.tsx";

const path = (name: string): string => `/v1/projects/${encodeURIComponent(name)}`;

export function NewProject() {
	const [name, setName] = useState("");
	const add = async (): Promise<void> => {
		await sendJson("POST", "/v1/projects", { name: name.trim() });
		say(`${name.trim()} is a project now. Add its members.`);
		setName("");
		await askProjects();
	};
	return <form class="row wrap bottom filters" onSubmit={e => { e.preventDefault(); add().catch(tell); }}>
		<Field label="Name of a new project"><input type="text" maxLength={63} value={name} onInput={e => setName(e.currentTarget.value)} /></Field>
		<button type="submit" class="button" disabled={!name.trim()}>Add a project</button></form>;
}

const LIMITS = ["device_seconds", "device_bytes", "disk_bytes", "queued_jobs", "running_jobs"];
const text = (value: number | null | undefined): string => value ? String(value) : "";

function Rules({ p, close }: { p: Project; close: () => void }) {
	const [share, setShare] = useState(String(p.share)), [time, setTime] = useState(text(p.job_seconds)), [keep, setKeep] = useState(!!p.keep);
	const [limits, setLimits] = useState<Record<string, string>>(Object.fromEntries(LIMITS.map(l => [l, text(p.limits[l])])));
	const wrong = LIMITS.filter(l => parseAmount(limits[l]!) === undefined), wrongShare = !(Number(share) > 0), wrongTime = parseAmount(time) === undefined;
	const set = async (): Promise<void> => {
		await sendJson("PATCH", path(p.name), { share: Number(share), keep, job_seconds: parseAmount(time) ?? 0, limits: Object.fromEntries(LIMITS.map(l => [l, parseAmount(limits[l]!) ?? null])) });
		await askProjects();
	};
	return <Dialog title={`Rules of ${p.name}`} verb="Set" disabled={wrong.length > 0 || wrongShare || wrongTime} act={set} close={close}>
		<div class="pairs"><Field label="Share of the devices"><input type="text" inputMode="decimal" value={share} aria-invalid={wrongShare} onInput={e => setShare(e.currentTarget.value)} /></Field>
			<Field label="Longest time of a run"><input type="text" placeholder="no limit" value={time} aria-invalid={wrongTime} onInput={e => setTime(e.currentTarget.value)} /></Field>
			{LIMITS.map(l => <Field key={l} label={`${titleOfAmount(l)}, of all together`}><input type="text" placeholder="no limit" value={limits[l]!} aria-invalid={wrong.includes(l)}
				onInput={e => setLimits({ ...limits, [l]: e.currentTarget.value })} /></Field>)}</div>
		<label class="check"><input type="checkbox" checked={keep} onChange={e => setKeep(e.currentTarget.checked)} />The server does not delete its runs because of their age, or to make room</label>
		<p class="quiet">Values may have units, as 20GB or 2h. Accepted runs stay; those beyond a limit wait. A project with the share 2 gets twice the time of one with 1.</p></Dialog>;
}

function Removing({ p, close }: { p: Project; close: () => void }) {
	return <Dialog title={`Remove ${p.name}`} verb="Remove the project" danger close={close} act={async () => { await request(path(p.name), { method: "DELETE" }); await askProjects(); }}>
		<p>Its runs go on without its limits. {p.members.length ? `${several(p.members.length, "member")} no longer see what was shared with it.` : "It has no members."} Runs and data stay with their owners.</p></Dialog>;
}

/** The buttons of a project's row. */
export function ProjectActions({ p }: { p: Project }) {
	const [asked, setAsked] = useState<"rules" | "remove" | null>(null), close = (): void => setAsked(null);
	return <div class="row"><Button icon="gauge" kind="quiet" label={`Rules of ${p.name}`} onClick={() => setAsked("rules")} />
		<Button icon="trash" kind="quiet" label={`Remove ${p.name}`} onClick={() => setAsked("remove")} />
		{asked === "rules" ? <Rules p={p} close={close} /> : asked === "remove" ? <Removing p={p} close={close} /> : null}</div>;
}
