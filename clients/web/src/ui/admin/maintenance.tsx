/* maintenance.tsx -- drain, banner, and options of the configuration that would delete results and wait for a yes. */
import { useState } from "preact/hooks";
import { getJson, sendJson } from "../../core/api.ts";
import { bytes, count, duration, several, until } from "../../core/format.ts";
import { askMaintenance, maintain, maintenance, type Retention } from "../../core/people.ts";
import { use } from "../../core/signal.ts";
import type { Problem } from "../../core/types.ts";
import { Dialog } from "../dialog.tsx";
import { Button, Field, Select, tell, useInterval } from "../parts.tsx";

const BY: (readonly [string, string])[] = [["", "they finish"], ["0", "now"], ["600", "in 10 minutes"], ["3600", "in an hour"], ["14400", "in 4 hours"], ["at", "at a time"]];
const UNTIL: (readonly [string, string])[] = [["", "until it is removed"], ["3600", "for an hour"], ["86400", "for a day"], ["604800", "for a week"], ["at", "until a time"]];

/** A choice of a moment: a number of seconds from now on, a time in the browser's zone, or undefined. */
function Moment({ label, options, value, at, set }: { label: string; options: (readonly [string, string])[]; value: string; at: string; set: (value: string, at: string) => void }) {
	return <><Select label={label} value={value} options={options} onChange={v => set(v, at)} />
		{value === "at" && <Field label="Time"><input type="datetime-local" value={at} onChange={e => set(value, e.currentTarget.value)} /></Field>}</>;
}
const moment = (value: string, at: string): number | string | undefined => value === "at" ? (at ? new Date(at).toISOString() : undefined) : value === "" ? undefined : Number(value);
const clock = (time: string): string => new Date(time).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });

function Drain() {
	const drain = use(maintenance)?.drain, [reason, setReason] = useState(""), [by, setBy] = useState(""), [at, setAt] = useState("");
	const start = (): Promise<void> => { const m = moment(by, at); return maintain("drain", { ...(reason.trim() ? { reason: reason.trim() } : {}), ...(m !== undefined ? { by: m } : {}) }); };
	return <section aria-label="Drain" class="card pad stack"><h2>Drain</h2>
		{drain ? <><p>The server takes no new runs since {clock(drain.since)}{drain.who && `, by ${drain.who}`}{drain.reason && `: ${drain.reason}`}. {drain.due ? "Runs that were running are saved, and go on afterwards." :
			drain.by ? `Runs that still run are saved ${until(drain.by)} (${clock(drain.by)}).` : "Running ones finish."}</p>
			<div class="row"><Button kind="primary" onClick={() => maintain("drain", null)}>Take runs again</Button></div></> :
			<><p class="quiet">Before maintenance: the server takes no new runs, starts no waiting ones, and is not ready for load balancers, also after a restart, until you end it.</p>
				<form class="row wrap bottom filters" onSubmit={e => { e.preventDefault(); start().catch(tell); }}>
					<Field label="Reason, which users see"><input type="text" class="long" maxLength={300} value={reason} onInput={e => setReason(e.currentTarget.value)} /></Field>
					<Moment label="Running runs are saved" options={BY} value={by} at={at} set={(v, t) => { setBy(v); setAt(t); }} />
					<button type="submit" class="button" disabled={by === "at" && !at}>Drain the server</button></form></>}
	</section>;
}

function BannerPart() {
	const banner = use(maintenance)?.banner, [text, setText] = useState(""), [till, setTill] = useState(""), [at, setAt] = useState("");
	const show = async (): Promise<void> => { const m = moment(till, at); await maintain("banner", { text: text.trim(), ...(m !== undefined ? { until: m } : {}) }); setText(""); };
	return <section aria-label="Banner" class="card pad stack"><h2>Banner</h2>
		{banner ? <div class="row wrap"><p class="grow">{banner.text}{banner.until && <span class="quiet"> until {clock(banner.until)}</span>}</p><Button onClick={() => maintain("banner", null)}>Remove the banner</Button></div> :
			<p class="quiet">A line that dashboards, the command line and Python show to everybody.</p>}
		<form class="row wrap bottom filters" onSubmit={e => { e.preventDefault(); show().catch(tell); }}>
			<Field label={banner ? "Another text" : "Text"}><input type="text" class="long" maxLength={300} value={text} onInput={e => setText(e.currentTarget.value)} /></Field>
			<Moment label="Shown" options={UNTIL} value={till} at={at} set={(v, t) => { setTill(v); setAt(t); }} />
			<button type="submit" class="button" disabled={!text.trim() || (till === "at" && !at)}>Show it</button></form>
	</section>;
}

const ageText = (seconds: number): string => seconds ? duration(seconds) : "without limit";
const countText = (jobs: number): string => jobs ? count(jobs) : "any number";

function RetentionPart() {
	const [now, setNow] = useState<Retention | null>(null), [asked, setAsked] = useState<"jobs" | "state" | null>(null);
	useInterval(async () => { setNow(await getJson<Retention>("/v1/retention")); }, 5000);
	if (!now)
		return null;
	const { pending, state } = now, room = state.pending;
	const confirm = (body: unknown) => async (): Promise<void> => setNow(await sendJson<Retention>("POST", "/v1/retention", body));
	return <section aria-label="Retention" class="card pad stack"><h2>Results that the server deletes</h2>
		<dl class="facts narrow"><dt>Ended runs are kept</dt><dd>{ageText(now.result_retention_s)}</dd><dt>Ended runs, at most</dt><dd>{countText(now.max_finished_jobs)}</dd>
			<dt>State folder, at most</dt><dd>{state.max_state_bytes ? bytes(state.max_state_bytes) : "without limit"}</dd>
			<dt>Expire within a day</dt><dd>{count(now.expire_in_a_day)}</dd><dt>Expire within a week</dt><dd>{count(now.expire_in_a_week)}</dd>
			<dt>Kept, or with a public link</dt><dd>{count(now.protected)}</dd></dl>
		{pending && <div class="row wrap pending-change"><p class="grow"><b>The configuration would delete {several(pending.jobs, "result")} within a day, sooner than now.</b> It has {ageText(pending.result_retention_s)} (result_retention_s)
			and {countText(pending.max_finished_jobs)} (max_finished_jobs), and is not in force yet.</p><Button kind="danger" onClick={() => setAsked("jobs")}>Confirm …</Button></div>}
		{room && <div class="row wrap pending-change"><p class="grow"><b>The configuration would delete {several(room.items, "result or graph").replace("result or graphs", "results and graphs")} ({bytes(room.bytes)}) now.</b> It has {bytes(room.max_state_bytes)} (max_state_bytes),
			and is not in force yet.</p><Button kind="danger" onClick={() => setAsked("state")}>Confirm …</Button></div>}
		{!pending && !room && <p class="quiet">No change of the configuration waits for a confirmation.</p>}
		{asked === "jobs" && pending && <Dialog title={`Delete ${several(pending.jobs, "result")}`} verb={`Delete ${several(pending.jobs, "result")}`} danger close={() => setAsked(null)}
			act={confirm({ result_retention_s: pending.result_retention_s, max_finished_jobs: pending.max_finished_jobs })}>
			<p>Ended runs are then kept {ageText(pending.result_retention_s)}, and at most {countText(pending.max_finished_jobs)} of them. {several(pending.jobs, "result")} would be deleted within a day, sooner than now. This cannot be undone. Runs that are kept, or
				have a public link, stay.</p></Dialog>}
		{asked === "state" && room && <Dialog title="Delete results and graphs" verb={`Delete ${bytes(room.bytes)}`} danger close={() => setAsked(null)}
			act={confirm({ max_state_bytes: room.max_state_bytes, collect_after_s: room.collect_after_s })}>
			<p>The state folder may then have {bytes(room.max_state_bytes)}: {several(room.items, "item")}, those that were used least recently, are deleted now. This cannot be undone.</p></Dialog>}
	</section>;
}

interface Backup {
	name: string;
	state: "running" | "done" | "failed";
	folder: string;
	files: number;
	files_done: number;
	bytes: number;
	bytes_done: number;
	problem: Problem | null;
}

function Backups() {
	const [all, setAll] = useState<Backup[]>([]);
	const ask = async (): Promise<void> => setAll((await getJson<{ items: Backup[] }>("/v1/backups")).items);
	useInterval(ask, 3000);
	const make = async (): Promise<void> => { await sendJson("POST", "/v1/backups", { name: new Date().toISOString().slice(0, 19).replace(/:/g, "") + "Z" }); await ask(); };
	return <section aria-label="Backups" class="card pad stack"><h2>Backups</h2>
		<div class="row wrap"><p class="quiet grow">A copy of the state folder, of a single moment, while the server runs. It needs the option backup_dir.</p>
			<Button disabled={all[0]?.state === "running"} onClick={make}>Make a backup</Button></div>
		{all.length > 0 && <ul class="lines">{all.map(b => <li key={b.name}>{b.name}: {b.state === "running" ? `${bytes(b.bytes_done)} of ${bytes(b.bytes)}` :
			b.state === "done" ? `${bytes(b.bytes)} in ${b.folder}` : <span class="problem">{b.problem?.detail ?? "failed"}</span>}</li>)}</ul>}
	</section>;
}

export function MaintenancePart() {
	useInterval(askMaintenance, 5000);
	return <><Drain /><BannerPart /><RetentionPart /><Backups /></>;
}
