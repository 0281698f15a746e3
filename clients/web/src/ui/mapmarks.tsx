/* mapmarks.tsx -- what is drawn on the map: names of clusters, which can be renamed, contours, edges; and regions drawn by hand,
 * which become a column. */
import { useEffect, useState } from "preact/hooks";
import { getJson, request, sendJson } from "../core/api.ts";
import { colourOfColumn } from "../core/clusters.ts";
import { count, shorten } from "../core/format.ts";
import { keep } from "../core/route.ts";
import type { MapCluster } from "../core/mapnames.ts";
import { rowsOf } from "../core/rows.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import type { Graph, Job } from "../core/types.ts";
import { Button, Field, say, Select, tell } from "./parts.tsx";

const EDGES = 5000;        // drawn at most, the strongest
const LEVEL_NAMES = ["Coarse", "Middle", "Fine"];

interface Cluster {
	id: string;
	name: string | null;
	automatic: string | null;
	given: boolean;
	by: string | null;
	nodes: number;
	center: number[];
	radius: number;
	parent: string | null;
	terms: { kind: string; column: string | null; value: string; share: number | null; elsewhere: number | null }[];
}

interface Clusters {
	columns: string[];
	levels: { clusters: Cluster[] }[];
}

const marksOf = (found: Clusters): MapCluster[] => found.levels.flatMap((l, level) => l.clusters.map(c =>
	({ id: c.id, level, name: c.name, x: c.center[0]!, y: c.center[1]!, radius: c.radius, nodes: c.nodes, parent: c.parent })));

const percent = (x: number | null): string => (x === null ? "–" : `${Math.round(100 * x)} %`);

/** What is characteristic of a cluster, for its tooltip. */
const facts = (c: Cluster): string => [c.given ? `Named by hand${c.by ? ` by ${c.by}` : ""}; without that ${c.automatic ?? "nameless"}` : "",
	...c.terms.slice(0, 8).map(t => `${t.value}${t.column ? ` (${t.column})` : ""}: ${percent(t.share)} here, ${percent(t.elsewhere)} elsewhere`)].filter(Boolean).join("\n");

function Name({ s, c, level, place, may, changed }: { s: Session; c: Cluster; level: number; place: number; may: boolean; changed: () => Promise<void> }) {
	const [naming, setNaming] = useState(false);
	const choose = async (): Promise<void> => {
		const reply = await request(`/v1/jobs/${s.job.id}/clusters?level=${level}`, { headers: { Accept: "application/octet-stream" } });
		const codes = new Uint32Array(await reply.arrayBuffer());
		s.focus.value = null;
		s.setFlags(Uint8Array.from(codes, code => (code === place ? 1 : 0)));
	};
	const give = async (name: string | null): Promise<void> => {
		setNaming(false);
		if (name === (c.name ?? ""))
			return;
		await sendJson("PATCH", `/v1/jobs/${s.job.id}/clusters/${c.id}`, { name: name || null });
		await changed();
	};
	return <li class="row">
		{naming ? <input type="text" class="grow" aria-label={`Name of ${c.name ?? "the cluster"}`} value={c.name ?? ""} maxLength={100} ref={e => e?.focus()}
			onKeyDown={e => { if (e.key === "Escape") setNaming(false); }} onChange={e => give(e.currentTarget.value.trim()).catch(tell)} onBlur={() => setNaming(false)} />
			: <button type="button" class="found-name grow" title={facts(c)} onClick={() => choose().catch(tell)}>{c.name ? shorten(c.name, 40) : "no name"}{c.given && " ✎"}</button>}
		<span class="quiet">{count(c.nodes)}</span>
		{may && !naming && <Button kind="quiet" label={`Rename ${c.name ?? "the cluster"}`} title="A name by hand, for all; empty: the automatic name" onClick={() => setNaming(true)}>Rename</Button>}</li>;
}

function Names({ s, may }: { s: Session; may: boolean }) {
	const [found, setFound] = useState<Clusters | null>(null), [level, setLevel] = useState(0), [all, setAll] = useState(false), shown = use(s.clusters).length > 0;
	const load = async (): Promise<void> => {
		const reply = await getJson<Clusters>(`/v1/jobs/${s.job.id}/clusters`);
		setFound(reply);
		s.clusters.value = marksOf(reply);
		if (!reply.levels.some(l => l.clusters.some(c => c.name)))
			say("The clusters have no names: the data has no columns of texts, categories or numbers.");
	};
	useEffect(() => { if (shown && !found) void load().catch(tell); }, []);
	const list = found?.levels[Math.min(level, found.levels.length - 1)]?.clusters ?? [];
	return <><label class="check"><input type="checkbox" checked={shown} disabled={s.job.state !== "done"}
			onChange={e => { if (e.currentTarget.checked) load().catch(tell); else s.clusters.value = []; }} />Names of clusters</label>
		{shown && found && <><div class="row wrap"><p class="quiet grow">{found.columns.length ? `From ${found.columns.join(", ")}` : "From the nodes"}</p>
			{found.levels.length > 1 && <Select label="Level" value={String(level)} options={found.levels.map((_, k) => [String(k), LEVEL_NAMES[k]!] as const)} onChange={v => setLevel(Number(v))} />}</div>
			<ul class="clusterings" aria-label="Named clusters">{(all ? list : list.slice(0, 12)).map((c, k) => <Name key={c.id} s={s} c={c} level={Math.min(level, found.levels.length - 1)} place={k} may={may} changed={load} />)}</ul>
			{!all && list.length > 12 && <Button kind="quiet" onClick={() => setAll(true)}>{`${count(list.length - 12)} more`}</Button>}</>}</>;
}

function Edges({ s, graph }: { s: Session; graph: Graph | undefined }) {
	const shown = use(s.edges), [told, setTold] = useState("");
	const load = async (): Promise<void> => {
		if (graph?.kind !== "graph") {   // points: the neighbours of the one under the pointer
			s.edges.value = new Uint32Array(0);
			setTold("Those of the node under the pointer.");
			return;
		}
		const reply = await getJson<{ total: number; edges: [number, number, number][] }>(`/v1/graphs/${s.job.graph}/edges?strongest=${EDGES}`);
		s.edges.value = Uint32Array.from(reply.edges.flatMap(([a, b]) => [a, b]));
		setTold(reply.edges.length < reply.total ? `The ${count(reply.edges.length)} strongest of ${count(reply.total)}; and those of the node under the pointer.` : `All ${count(reply.total)}.`);
	};
	return <><label class="check"><input type="checkbox" checked={shown !== null} onChange={e => { if (e.currentTarget.checked) load().catch(tell); else s.edges.value = null; }} />
		{graph?.kind === "graph" ? "Edges" : "Neighbours"}</label>{shown && told && <p class="quiet" role="status">{told}</p>}</>;
}

/** Adds the selected nodes to a column of regions under a name. */
function Region({ s }: { s: Session }) {
	const n = use(s.selectedCount), [name, setName] = useState(""), [column, setColumn] = useState("regions");
	if (!n)
		return null;
	const store = async (): Promise<void> => {
		const rows = rowsOf(s.job.graph), flags = s.selected.value!, own = name.trim(), known = (await rows.columns()).find(c => c.name === column);
		if (known && known.kind !== "category")
			throw new Error(`${column} is a column of kind ${known.kind}; give the regions another column.`);
		const before = known ? await rows.values(known) : null;
		const values = Array.from(flags, (f, i) => (f & 1 ? own : before?.categories[before.data[i]!] ?? null));
		await sendJson("PUT", `/v1/graphs/${s.job.graph}/columns/${encodeURIComponent(column)}?kind=category`, { values });
		rows.changed();
		s.nodes.changed();
		s.filter.reset();
		keep({ by: colourOfColumn(column) });
		await s.loadColumns(colourOfColumn(column));
		setName("");
		say(`${count(n)} nodes are ${own} in the column ${column} of the data.`);
	};
	return <form class="find-clusters" aria-label="Region" onSubmit={e => { e.preventDefault(); if (name.trim() && column.trim()) store().catch(tell); }}>
		<Field label="Name of the selected region"><input type="text" value={name} maxLength={100} placeholder="my region" onInput={e => setName(e.currentTarget.value)} /></Field>
		<Field label="In column"><input type="text" value={column} maxLength={60} onInput={e => setColumn(e.currentTarget.value.trim())} /></Field>
		<button type="submit" class="button" disabled={!name.trim() || !column} title="Stored with the data, for everybody who sees it">Keep the region</button></form>;
}

export function MapMarks({ s, job, graph, may }: { s: Session; job: Job; graph: Graph | undefined; may: boolean }) {
	const contours = use(s.contours), flat = job.parameters["dims"] === 2 || use(s.frame)?.dims === 2;
	return <section aria-label="On the map"><h2>On the map</h2>
		{flat && graph && <Names s={s} may={may} />}
		{flat && <label class="check"><input type="checkbox" checked={contours} onChange={e => { s.contours.value = e.currentTarget.checked; s.view?.invalidate(); }} />Contours of density</label>}
		{graph && <Edges s={s} graph={graph} />}
		{may && graph && <Region s={s} />}</section>;
}
