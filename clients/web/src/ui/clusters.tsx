/* clusters.tsx -- clusters of a layout or of its data: starts jobs, lists them, colours by them. */
import { useEffect, useState } from "preact/hooks";
import { clusterings, colourOfColumn, colourOfJob, describe, findClusters, jobOfColour, keepClusters, measureText } from "../core/clusters.ts";
import { getJson } from "../core/api.ts";
import { jobs, putGraph } from "../core/live.ts";
import { address, keep } from "../core/route.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import { ended, type Graph, type Job } from "../core/types.ts";
import { Bar, Button, say, Select, tell } from "./parts.tsx";

const MOST = 10_000;

function Found({ s, found, layout }: { s: Session; found: Job; layout: Job }) {
	const by = use(s.by), shown = by === colourOfJob(found.id);
	return <li class="row">
		{ended(found) ? <button type="button" class="found-name" title={measureText(found)} aria-pressed={shown} onClick={() => { keep({ by: colourOfJob(found.id) }); s.colourBy(colourOfJob(found.id)).catch(tell); }}>
			{describe(found, layout)}</button> : <span class="found-name">{describe(found, layout)}</span>}
		{!ended(found) ? <Bar share={found.iterations ? found.iteration / found.iterations : 0} label={`Search of ${describe(found, layout)}`} /> :
			null}
		<a href={address("job", found.id)}>Sizes</a>
	</li>;
}

export function Clusters({ s, job, graph }: { s: Session; job: Job; graph: Graph | undefined }) {
	const all = use(jobs), found = clusterings(job, all.values()), by = use(s.by), shown = all.get(jobOfColour(by));
	const [count, setCount] = useState("10"), [of, setOf] = useState<"layout" | "data">("layout"), [wanted, setWanted] = useState("");
	const k = Number(count), right = Number.isInteger(k) && k >= 2 && k <= Math.min(MOST, job.nodes);
	const state = all.get(wanted)?.state;
	useEffect(() => {   // shows clusters that were just requested
		if (state === "done") {
			setWanted("");
			keep({ by: colourOfJob(wanted) });
			s.colourBy(colourOfJob(wanted)).catch(tell);
		} else if (state === "failed" || state === "cancelled") {
			setWanted("");
			say(all.get(wanted)?.problem?.detail ?? "The search of clusters was cancelled.", true);
		}
	}, [state]);
	const keepColumn = async (): Promise<void> => {
		const name = "cluster";
		await keepClusters(shown!, name);
		s.nodes.changed();
		putGraph(await getJson<Graph>(`/v1/graphs/${job.graph}`));
		keep({ by: name });
		await s.loadColumns(colourOfColumn(name));
		say(`The data has a column of labels ${name} now.`);
	};
	return <section aria-label="Clusters"><h2>Clusters</h2>
		{found.length > 0 && <ul class="clusterings">{found.map(f => <Found key={f.id} s={s} found={f} layout={job} />)}</ul>}
		<form class="find-clusters" onSubmit={e => { e.preventDefault(); if (right) findClusters(job, k, of).then(j => setWanted(j.id)).catch(tell); }}>
			<label class="field"><span class="field-label">Number</span>
				<input type="number" min={2} max={Math.min(MOST, job.nodes)} value={count} aria-invalid={!right} onInput={e => setCount(e.currentTarget.value)} /></label>
			{graph?.kind === "points" && <Select label="Of" value={of} options={[["layout", "this layout"], ["data", "the data"]]} onChange={v => setOf(v as "layout" | "data")} />}
			<button type="submit" class="button" disabled={!right || !!wanted || job.state === "failed" || job.state === "cancelled"}
				title={job.state === "done" || of === "data" ? "By k-means; the layout is coloured by them" : "By k-means, when this run is done"}>Find clusters</button>
		</form>
		{wanted && <p class="quiet" role="status">{all.get(wanted)?.waiting?.detail ?? "Finding clusters …"}</p>}
		{shown && <Button icon="pin" kind="quiet" {...(graph ? { of: graph } : {})} title="As a column of labels of the data: for other layouts, pictures and people" onClick={keepColumn}>Keep as labels of the data</Button>}
	</section>;
}
