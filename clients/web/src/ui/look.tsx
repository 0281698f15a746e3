/* look.tsx -- the panel for colours, names and the selection. */
import { Fragment } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, getJson, link } from "../core/api.ts";
import { colourings, colourOfColumn, colourOfJob, describe } from "../core/clusters.ts";
import { bytes, count, duration, number, sentence, several, shorten, STOPS } from "../core/format.ts";
import { jobs, putGraph, putPart } from "../core/live.ts";
import { part } from "../core/part.ts";
import { recode } from "../core/recode.ts";
import { useData, useRights } from "../core/rights.ts";
import { keep } from "../core/route.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import { labelsFor } from "../core/start.ts";
import type { Graph, Job, Quality, Taken } from "../core/types.ts";
import { css, PALETTES } from "../gl/palettes.ts";
import { Clusters } from "./clusters.tsx";
import { Differences } from "./differences.tsx";
import { lazy } from "./lazy.tsx";
import { OwnerFacts } from "./owner.tsx";
import { Button, Select, say, Swatch, tell } from "./parts.tsx";
import { titleOf } from "./runs.tsx";
import { Legend } from "./stage.tsx";
import { PointFacts } from "./table.tsx";
import { Encodings } from "./drop.tsx";
import { ColumnList, TakenText, Uploaded } from "./taken.tsx";

const MapMarks = lazy(() => import("./mapmarks.tsx").then(m => m.MapMarks));

function Colour({ s, job, graph }: { s: Session; job: Job; graph: Graph | undefined }) {
	const found = colourings(job, use(jobs).values()).filter(j => j.state === "done");
	const columns = use(s.columns), by = use(s.by), palette = use(s.palette), size = use(s.size), may = useRights(), data = useData(job);
	const file = useRef<HTMLInputElement>(null);
	const [added, setAdded] = useState<{ file: string; taken: Taken } | null>(null), [refused, setRefused] = useState<{ file: File; text: string } | null>(null);
	const addLabels = async (f: File): Promise<void> => {
		setAdded(null);
		setRefused(null);
		try {
			await readLabels(f);
		} catch (error) {
			setRefused({ file: f, text: error instanceof ApiError ? error.text : error instanceof Error ? error.message : String(error) });
		}
	};
	const readLabels = async (f: File): Promise<void> => {
		const name = f.name.replace(/\.[^.]*$/, "").replace(/[^\p{L}\p{N}_.-]+/gu, "_").slice(0, 60) || "labels";
		const before = new Set(s.columns.value.map(c => c.name));
		const { columns: set, taken } = await s.nodes.put(name, f, /\.npy$/i.test(f.name)), replaced = set.filter(c => before.has(c.name)).map(c => c.name), first = set.find(c => c.kind === "category" && !c.ids) ?? set[0];
		keep({ by: first && colourOfColumn(first.name) });
		await s.loadColumns(first && colourOfColumn(first.name));
		if (graph)
			putGraph(await getJson<Graph>(`/v1/graphs/${graph.id}`));
		if (taken)
			setAdded({ file: f.name, taken });
		say(`${set.length === 1 ? `${count(job.nodes)} nodes have labels in ${first!.name}${taken ? "" : ", in the order of the nodes"}` : `${several(set.length, "column")} of labels were set`}; coloured by ${first?.name ?? "none"}.${
			replaced.length ? ` Replaced: ${replaced.join(", ")}.` : ""}`);
	};
	const dropped = use(labelsFor);
	useEffect(() => {
		if (dropped?.job !== job.id)
			return;
		labelsFor.value = null;
		void s.loadColumns(s.by.value || undefined).then(() => addLabels(dropped.file), tell);   // the names of the present columns
	}, [dropped, job.id]);
	return <section aria-label="Colours">
		<div class="pair">
			<Select label="Colour by" value={by} options={[["", "One colour"], ["density", "Density"], ...(link && !columns.some(c => c.name === "degree") ? [] : [["degree", "Degree"] as const]),
				...columns.filter(c => c.name !== "degree").map(c => [colourOfColumn(c.name), c.name] as const),
				...found.map(j => [colourOfJob(j.id), describe(j, job)] as const)]}
				onChange={v => { keep({ by: v || "none" }); s.colourBy(v).catch(tell); }} />
			<Select label="Palette" value={palette} options={[["auto", "auto"], ...PALETTES.map(p => [p, p] as const)]}
				onChange={v => { keep({ palette: v === "auto" ? undefined : v }); s.setPalette(v); }} />
		</div>
		<Legend s={s} />
		<label class="field"><span class="field-label">Size of points</span>
			<input type="range" min={-1.5} max={1.5} step={0.05} value={Math.log2(size)} onInput={e => s.setSize(2 ** Number(e.currentTarget.value))} /></label>
		<input ref={file} type="file" class="hidden-file" tabIndex={-1} aria-label="File of labels" accept=".csv,.tsv,.txt,.npy,.gz,.zst"
			onChange={e => { const f = e.currentTarget.files?.[0]; e.currentTarget.value = ""; if (f) void addLabels(f); }} />
		{may && data && <Button icon="plus" kind="quiet" {...(graph ? { of: graph } : {})} title="A table with names or numbers of the nodes and columns of labels; one label a line in the order of the nodes; or a .npy" onClick={() => file.current?.click()}>Add labels from a file</Button>}
		{refused && <div class="card added"><div class="grow"><p class="problem" role="alert"><b>{refused.file.name}: </b>{refused.text}</p>
			<Encodings file={refused.file} complaint={refused.text} choose={async name => addLabels(await recode(refused.file, name))} /></div>
			<Button icon="close" kind="quiet" label="Dismiss why the labels were refused" onClick={() => setRefused(null)} /></div>}
		{added && <div class="card added" role="status"><TakenText file={added.file} taken={added.taken} /><Button icon="close" kind="quiet" label="Dismiss what was taken" onClick={() => setAdded(null)} /></div>}
		{may && data && graph && <ColumnList s={s} graph={graph} />}
	</section>;
}

function Search({ s }: { s: Session }) {
	const [text, setText] = useState(""), [found, setFound] = useState<{ node: number; name: string }[] | null>(null);
	useEffect(() => {
		if (!text.trim()) {
			setFound(null);
			return;
		}
		const timer = setTimeout(() => void s.nodes.search(text.trim()).then(setFound, () => setFound([])), 150);
		return () => clearTimeout(timer);
	}, [text, s]);
	return <section aria-label="Search">
		<label class="field"><span class="field-label">Find nodes</span>
			<input type="search" id="node-search" placeholder="Name or number" value={text} onInput={e => setText(e.currentTarget.value)} /></label>
		{found && <div role="status" class="quiet">{found.length ? `${found.length} found` : "No node is called so."}
			{found.length > 1 && <Button kind="quiet" onClick={() => s.select(found.map(f => f.node))}>Select all</Button>}</div>}
		{found && found.length > 0 && <ul class="found">{found.map(f => <li key={f.node}>
			<button type="button" onClick={() => void s.click(f.node)} onMouseEnter={() => { s.hover.value = { node: f.node, x: -9999, y: 0 }; }}
				onMouseLeave={() => { s.hover.value = null; }}>{shorten(f.name, 40)}</button></li>)}</ul>}
	</section>;
}

function Selection({ s, kind }: { s: Session; kind: string }) {
	const n = use(s.selectedCount), focus = use(s.focus), v = use(s.values), columns = use(s.columns), [name, setName] = useState(""), [details, setDetails] = useState<{ name: string; text: string }[]>([]);
	use(s.selected);
	useEffect(() => {
		let current = true;
		setDetails([]);
		if (focus) {
			void s.nodes.name(focus.node).then(setName);
			if (link)
				void s.nodes.details(focus.node).then(found => current && setDetails(found), () => undefined);
		}
		return () => { current = false; };
	}, [focus?.node, s, columns]);
	if (!n && !focus)
		return null;
	const [written, setWritten] = useState(-1);
	const save = async (): Promise<void> => {
		const [{ makeSelectionCsv }, { fileName, saveBlob }] = await part(Promise.all([import("../export/selection.ts"), import("../export/save.ts")]));
		setWritten(0);
		try {
			saveBlob(await makeSelectionCsv(s, setWritten), fileName(`${titleOf(s.job)}-selection`, "csv"));
		} finally {
			setWritten(-1);
		}
	};
	return <section aria-label="Selection" class="selection">
		<div class="row"><h2>{focus ? shorten(name || String(focus.node), 36) : `${count(n)} selected`}</h2><span class="grow" />
			<Button icon="download" kind="quiet" label="Save the selection as CSV" title="Numbers, names, all columns and coordinates of the selected nodes" onClick={save} /></div>
		{written > 0 && <p class="quiet" role="status">{count(written)} rows are written …</p>}
		{focus && <p class="quiet">Node {focus.node}</p>}
		{focus && !link && <PointFacts s={s} node={focus.node} />}
		{focus && link && details.length > 0 && <dl class="facts" aria-label="Labels of the node">{details.map(d => <Fragment key={d.name}><dt>{d.name}</dt><dd>{d.text || "–"}</dd></Fragment>)}</dl>}
		{focus && focus.near.length > 0 && <><h3>{kind === "graph" ? "Joined to" : "Nearest in the data"}</h3>
			<ul class="found">{focus.near.slice(0, 40).map(f => <li key={f.node}><button type="button" onClick={() => void s.click(f.node)}>
				{s.colourOf(f.node) && <Swatch colour={s.colourOf(f.node)} />}<span class="grow">{shorten(f.name, 30)}</span><span class="quiet">{number(f.value, 3)}</span></button></li>)}</ul></>}
		{!focus && v && v.column.kind === "category" && <Mix s={s} />}
		{!focus && !link && <Differences s={s} />}
	</section>;
}

/** The categories of the selected nodes. */
function Mix({ s }: { s: Session }) {
	const v = s.values.value!, counts = new Map<number, number>();
	for (const node of s.selectedNodes())
		counts.set(v.codes[node]!, (counts.get(v.codes[node]!) ?? 0) + 1);
	const all = [...counts].sort((a, b) => b[1] - a[1]), rows = all.slice(0, 8), colours = s.colours(), total = s.selectedCount.value;
	return <><h3>{v.column.name}</h3><ul class="mix">{rows.map(([code, n]) => <li key={code} class="row">
		<Swatch colour={colours[code] ? css(colours[code]) : "transparent"} /><span class="grow">{v.categories[code] ?? "none"}</span>
		<span class="quiet right">{count(n)} · {Math.round(100 * n / total)} %</span></li>)}</ul>
		{all.length > rows.length && <p class="quiet">{several(all.length - rows.length, "other")}</p>}</>;
}

export function QualityList({ job }: { job: Job }) {
	const q = job.quality;
	const measure = async (): Promise<void> => {
		const quality = await getJson<Quality>(`/v1/jobs/${job.id}/quality`);
		putPart(job.id, { quality });
	};
	if (!q)
		return <Button onClick={measure} disabled={job.state !== "done"} title={job.state === "done" ? "Divergence, recall, trustworthiness" : "Once the run is done"}>Measure quality</Button>;
	return <dl class="facts">
		<dt>KL divergence</dt><dd>{number(q.kl)}{q.kl_error ? ` ± ${number(q.kl_error, 2)}` : ""}</dd>
		<dt title={`Share of the ${q.recall_k || q.k} nearest neighbours that stayed neighbours`}>Recall of {q.recall_k || q.k} neighbours</dt><dd>{number(q.recall, 3)}</dd>
		{q.trustworthiness !== null && <><dt title={`Of ${q.trustworthiness_k || q.k} neighbours`}>Trustworthiness{q.trustworthiness_k && q.trustworthiness_k !== q.k ? ` of ${q.trustworthiness_k} neighbours` : ""}</dt><dd>{number(q.trustworthiness, 4)}</dd></>}
		{q.silhouette !== null && <><dt title="The main labels of the file">Silhouette of {q.silhouette_column ?? "labels"}</dt><dd>{number(q.silhouette, 3)}</dd></>}
	</dl>;
}

export function LookPanel({ s, job, graph }: { s: Session; job: Job; graph: Graph | undefined }) {
	const may = useRights(), data = useData(job);
	return <div class="look">
		<Uploaded graph={job.graph} />
		<Selection s={s} kind={graph?.kind ?? "graph"} />
		<Colour s={s} job={job} graph={graph} />
		{may && data && <Clusters s={s} job={job} graph={graph} />}
		{!link && <MapMarks s={s} job={job} graph={graph} may={may && data} />}
		<Search s={s} />
		{(job.quality || !link) && <section aria-label="Quality"><h2>Quality</h2><QualityList job={job} /></section>}
		<section aria-label="About this run"><h2>About</h2><dl class="facts">
			<OwnerFacts job={job} />
			<dt>Nodes</dt><dd>{count(job.nodes)}</dd>
			{graph && <><dt>{graph.kind === "graph" ? "Entries" : "Neighbours"}</dt><dd>{graph.entries ? count(graph.entries) : "–"}</dd>
				<dt>On disk</dt><dd>{bytes(graph.bytes.disk)}</dd></>}
			<dt>Device</dt><dd>{job.device}</dd><dt>Compute time</dt><dd>{duration(job.seconds || null)}</dd>
			{job.iterations_per_second !== null && <><dt>Speed</dt><dd>{number(job.iterations_per_second, 3)} it/s</dd></>}
			{job.stop && <><dt>Ended</dt><dd>{STOPS[job.stop] ?? job.stop}</dd></>}
			<dt>Id</dt><dd class="mono">{job.id}</dd></dl>
			{graph?.taken && <TakenText file="Its file" taken={graph.taken} />}
			{[...job.notes, ...(graph?.warnings ?? []).filter(w => !graph?.taken?.notes.some(n => n.text === w))].map(n => <p key={n} class="warning">{sentence(n)}</p>)}
		</section>
	</div>;
}
