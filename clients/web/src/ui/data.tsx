/* data.tsx -- the page of graphs and points on the server. */
import { request, sendJson, submit } from "../core/api.ts";
import { ago, bytes, count, several } from "../core/format.ts";
import { drop, graphs, jobs, newest, put, putGraph } from "../core/live.ts";
import { useRights } from "../core/rights.ts";
import { go, keep, route } from "../core/route.ts";
import { options } from "../core/start.ts";
import { use } from "../core/signal.ts";
import type { Graph } from "../core/types.ts";
import { DropZone } from "./drop.tsx";
import { OwnerSelect, OwnerText, ofOwner } from "./owner.tsx";
import { Bar, Button, DeleteButton } from "./parts.tsx";
import { TakenOf } from "./taken.tsx";

/** The columns as text: "label (10), age, names". */
function labelText(g: Graph): string {
	const columns = g.label_columns.map(c => (c.kind === "category" ? `${c.name} (${count(c.categories ?? 0)})` : c.name));
	const shown = columns.length > 3 ? [...columns.slice(0, 2), `${count(columns.length - 2)} more`] : columns;
	return [...shown, ...(g.named ? ["names"] : [])].join(", ") || "–";
}

function Row({ g, runs, owned }: { g: Graph; runs: number; owned: boolean }) {
	const may = useRights();
	const patch = async (body: Record<string, unknown>): Promise<void> => putGraph(await sendJson<Graph>("PATCH", `/v1/graphs/${g.id}`, body));
	const start = async (): Promise<void> => {
		const job = await submit({ ...options.value, graph: g.id, name: g.name });
		put(job);
		go("job", job.id);
	};
	return <tr>
		<th scope="row">{g.name}<div class="quiet">{g.kind} · {g.format} · {ago(g.created)}</div><TakenOf graph={g} /></th>
		{owned && <td data-label="Owner"><OwnerText of={g} /></td>}
		<td class="right" data-label="Nodes">{count(g.nodes)}</td>
		<td class="right" data-label="Columns">{g.kind === "points" && g.columns ? count(g.columns) : "–"}</td>
		<td data-label="Edges">{g.neighbours?.state === "searching" ? <Bar share={g.neighbours.progress} label={`Search of neighbours of ${g.name}`} /> :
			g.neighbours?.state === "none" ? "not searched" : g.neighbours ? `${several(g.neighbours.k, "neighbour")}, ${g.neighbours.metric}` : `${count(g.entries)} entries`}</td>
		<td class="flow" data-label="Labels" title={g.label_columns.map(c => c.name).join(", ")}>{labelText(g)}</td>
		<td class="right" data-label="Disk">{bytes(g.bytes.disk)}</td>
		<td data-label="Where">{g.resident ? "in memory" : "on disk"}{g.pinned ? ", pinned" : ""}</td>
		<td class="actions">{may && <div class="row">
			<Button icon="play" kind="quiet" label={`Lay out ${g.name}`} onClick={start} />
			<Button icon="pin" kind="quiet" of={g} pressed={g.pinned} label={`Keep ${g.name} in memory`} onClick={() => patch({ pinned: !g.pinned })} />
			<DeleteButton what={g.name} of={g} title={runs ? "Delete; its runs keep their layouts" : "Delete"}
				onClick={async () => { await request(`/v1/graphs/${g.id}`, { method: "DELETE" }); drop(g.id); }} />
		</div>}</td>
	</tr>;
}

export function DataPage() {
	const may = useRights(), all = newest(use(graphs)), { query } = use(route), owner = query["user"] ?? "", shown = all.filter(g => ofOwner(g, owner)), owned = !!owner || all.some(g => g.owner), runs = [...use(jobs).values()];
	return <div class="page">
		<h1>Data</h1>
		{may && <DropZone small />}
		{owned && <div class="row wall-head"><OwnerSelect of={all} value={owner} onChange={v => { keep({ user: v || undefined }); route.notify(); }} /></div>}
		{all.length === 0 ? <p class="quiet empty">{may ? "Nothing has been uploaded yet." : "No data are shared with you yet."}</p> :
			<div class="table-scroll card" tabIndex={0} role="region" aria-label="Graphs and points"><table class="table wide">
				<thead><tr><th scope="col">Name</th>{owned && <th scope="col">Owner</th>}<th scope="col" class="right">Nodes</th><th scope="col" class="right">Columns</th><th scope="col">Edges</th>
					<th scope="col">Labels</th><th scope="col" class="right">Disk</th><th scope="col">Where</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
				<tbody>{shown.map(g => <Row key={g.id} g={g} owned={owned} runs={runs.filter(j => j.graph === g.id).length} />)}</tbody></table></div>}
	</div>;
}
