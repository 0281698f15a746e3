/* use.tsx -- who has and uses how much now, the largest first. */
import { useState } from "preact/hooks";
import { getJson } from "../../core/api.ts";
import { bytes, count, duration } from "../../core/format.ts";
import type { Top } from "../../core/people.ts";
import { address, keep, route } from "../../core/route.ts";
import { use } from "../../core/signal.ts";
import { useInterval } from "../parts.tsx";

const COLUMNS = [["device_seconds", "Device time", duration], ["device_bytes", "Device memory", bytes], ["disk_bytes", "Disk", bytes], ["running_jobs", "Running", count],
	["queued_jobs", "Waiting", count], ["jobs", "Runs", count], ["graphs", "Data", count]] as const;

export function Use() {
	const { query } = use(route), by = query["by"] === "project" ? "project" : "user", sort = COLUMNS.find(c => c[0] === query["sort"])?.[0] ?? "device_seconds", [rows, setRows] = useState<Top[] | null>(null);
	const set = (change: Record<string, string>): void => { keep(change); route.notify(); };
	useInterval(async () => { setRows((await getJson<{ items: Top[] }>(`/v1/top?by=${by}&sort=${sort}`)).items); }, 5000, true, by + sort);
	return <section aria-label="Who uses what" class="stack">
		<div class="row wrap"><div class="segments" role="group" aria-label="By">{(["user", "project"] as const).map(b => <button key={b} type="button" aria-pressed={by === b} onClick={() => set({ by: b })}>{b === "user" ? "Users" : "Projects"}</button>)}</div>
			<p class="quiet">Device time is that of the last 24 hours.</p></div>
		{rows && (rows.length === 0 ? <p class="quiet empty">Nobody has anything.</p> :
			<div class="table-scroll card" tabIndex={0} role="region" aria-label="Who uses most"><table class="table wide sorted"><thead><tr><th scope="col">{by === "user" ? "User" : "Project"}</th>
				{COLUMNS.map(([what, title]) => <th key={what} scope="col" class="right" aria-sort={what === sort ? "descending" : undefined}><button type="button" onClick={() => set({ sort: what })}>{title}</button></th>)}</tr></thead>
				<tbody>{rows.map(r => <tr key={r.id ?? ""}><th scope="row">{r.name ?? r.id ?? (by === "user" ? "nobody" : "no project")}{r.state && r.state !== "active" && <span class="badge queued"> {r.state}</span>}
						{r.name && by === "user" && r.state !== "deleted" && <a class="quiet" href={address("", "", { user: r.name })}>runs</a>}</th>
					{COLUMNS.map(([what, title, text]) => <td key={what} class="right" data-label={title}>{text(r[what])}</td>)}</tr>)}</tbody></table></div>)}
	</section>;
}
