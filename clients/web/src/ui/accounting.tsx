/* accounting.tsx -- what was used, by user, project and day; the same as CSV. */
import { useEffect, useState } from "preact/hooks";
import { base, getJson } from "../core/api.ts";
import { bytes, count, duration } from "../core/format.ts";
import type { Account } from "../core/people.ts";
import { keep, route } from "../core/route.ts";
import { use } from "../core/signal.ts";
import { Filter, Icon, tell } from "./parts.tsx";

const BY = ["user", "project", "day"] as const;
const MOST = 1000;   // rows shown; the CSV file has all

const sum = (rows: Account[], what: "device_seconds" | "allocation_seconds" | "gpu_seconds" | "jobs" | "disk_byte_days"): number => rows.reduce((total, r) => total + r[what], 0);

/** everybody: for administrators, all users and a choice among them; else the user's own. */
export function Accounting({ everybody }: { everybody: boolean }) {
	const { query } = use(route), [rows, setRows] = useState<Account[] | null>(null);
	const by = (query["by"] ?? (everybody ? "user" : "project")).split(",").filter(b => (BY as readonly string[]).includes(b)), { from, to, user, project } = query;
	const set = (change: Record<string, string | undefined>): void => { keep(change); route.notify(); };
	const ask = new URLSearchParams(Object.entries({ by: by.join(","), from, to, user: everybody ? user : undefined, project }).filter((p): p is [string, string] => !!p[1])).toString();
	useEffect(() => {
		let gone = false;
		getJson<{ items: Account[] }>(`/v1/accounting?${ask}`).then(reply => { if (!gone) setRows(reply.items); }, tell);
		return () => { gone = true; };
	}, [ask]);
	const column = (what: typeof BY[number]): boolean => by.includes(what) && (everybody || what !== "user");
	const cluster = !!rows && sum(rows, "allocation_seconds") > 0, hours = (seconds: number): string => (seconds / 3600).toFixed(2);
	return <section aria-label="Accounting" class="stack">
		<div class="row wrap bottom filters"><Filter label="From" kind="date" value={from} put={v => set({ from: v })} /><Filter label="To" kind="date" value={to} put={v => set({ to: v })} />
			{everybody && <Filter label="User" value={user} put={v => set({ user: v })} />}<Filter label="Project" value={project} put={v => set({ project: v })} />
			<div class="field" role="group" aria-labelledby="each"><span class="field-label" id="each">A row for each</span><div class="each">{BY.filter(b => everybody || b !== "user").map(b => <label key={b} class="check"><input type="checkbox" checked={by.includes(b)}
				onChange={e => set({ by: BY.filter(x => x === b ? e.currentTarget.checked : by.includes(x)).join(",") || (everybody ? "user" : "project") })} />{b}</label>)}</div></div>
			<span class="grow" /><a class="button" download="accounting.csv" href={`${base}/v1/accounting?format=csv&${ask}`}><Icon name="download" />CSV</a></div>
		{rows && (rows.length === 0 ? <p class="quiet empty">Nothing was used in this time.</p> :
			<div class="table-scroll card" tabIndex={0} role="region" aria-label="What was used"><table class="table wide"><thead><tr>{column("day") && <th scope="col">Day</th>}{column("user") && <th scope="col">User</th>}
				{column("project") && <th scope="col">Project</th>}<th scope="col" class="right">Device time</th>{cluster && <th scope="col" class="right" title="Hours of GPUs in allocations of the cluster">GPU hours</th>}<th scope="col" class="right">Ended runs</th>
				<th scope="col" class="right" title="1 GB that was held for ten days is 10 GB">Disk, days</th></tr></thead>
				<tbody>{rows.slice(0, MOST).map((r, i) => <tr key={i}>{column("day") && <td data-label="Day">{r.day}</td>}{column("user") && <td data-label="User" title={r.user_id ?? ""}>{r.user ?? r.user_id ?? "nobody"}</td>}
					{column("project") && <td data-label="Project">{r.project ?? r.project_id ?? "none"}</td>}<td class="right" data-label="Device time">{duration(r.device_seconds)}</td>
					{cluster && <td class="right" data-label="GPU hours">{hours(r.gpu_seconds)}</td>}<td class="right" data-label="Ended runs">{count(r.jobs)}</td><td class="right" data-label="Disk, days">{bytes(r.disk_byte_days)}</td></tr>)}
				{rows.length > 1 && <tr class="sum"><th scope="row" colSpan={BY.filter(column).length}>Sum</th><td class="right" data-label="Device time">{duration(sum(rows, "device_seconds"))}</td>
					{cluster && <td class="right" data-label="GPU hours">{hours(sum(rows, "gpu_seconds"))}</td>}<td class="right" data-label="Ended runs">{count(sum(rows, "jobs"))}</td><td class="right" data-label="Disk, days">{bytes(sum(rows, "disk_byte_days"))}</td></tr>}</tbody></table></div>)}
		{rows && rows.length > MOST && <p class="quiet">These are the first {count(MOST)} of {count(rows.length)} rows; the CSV file has all.</p>}
		<p class="quiet">Days begin at midnight UTC and are kept for 400 days. Disk is what was held, added up over the days.</p>
	</section>;
}
