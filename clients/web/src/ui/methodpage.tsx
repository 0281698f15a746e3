/* methodpage.tsx -- the page of a job of another method than t-SNE: a layout coloured by its clusters or values, its
 * progress, and the sizes of clusters. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { change, link, request, submit } from "../core/api.ts";
import { colourOfJob, describe, keptModel, foundBy, layoutOf, measureText } from "../core/clusters.ts";
import { count, duration, number, sentence, STOPS } from "../core/format.ts";
import { graphs, jobs, put } from "../core/live.ts";
import { methodOf } from "../core/methods.ts";
import type { Values } from "../core/nodes.ts";
import { useData, useRights } from "../core/rights.ts";
import { address, go, route } from "../core/route.ts";
import { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import { ended, type Job, type Value } from "../core/types.ts";
import { columnColours, css } from "../gl/palettes.ts";
import { fileName, saveBlob } from "../export/save.ts";
import { ValueStream } from "../core/values.ts";
import { MeasureChart } from "./charts.tsx";
import { NextRun } from "./parameters.tsx";
import { chosenLayout, SignalPanel, SignalStage } from "./signalpage.tsx";
import { OwnerFacts } from "./owner.tsx";
import { Bar, Button, StateBadge, Swatch, tell } from "./parts.tsx";
import { titleOf } from "./runs.tsx";
import { Stage } from "./stage.tsx";
import { Title } from "./title.tsx";

const LISTED = 60;

/** The size of each cluster; a click selects the cluster in the layout. */
function Sizes({ values, s }: { values: Values; s: Session | null }) {
	const [all, setAll] = useState(false), n = values.codes.length, most = Math.max(...values.counts, 1);
	const order = values.counts.map((_, k) => k).sort((a, b) => values.counts[b]! - values.counts[a]!), shown = all ? order : order.slice(0, LISTED);
	const colours = columnColours(values, "labels"), dropped = n - values.counts.reduce((sum, c) => sum + c, 0);
	return <section aria-label="Sizes"><h2>Sizes</h2>
		<table class="table sizes"><thead><tr><th scope="col">Cluster</th><th scope="col" class="right">Nodes</th><th scope="col" class="right">Share</th><th scope="col"><span class="hidden">Size</span></th></tr></thead>
			<tbody>{shown.map(k => <tr key={k}>
				<th scope="row"><Swatch colour={css(colours[k]!)} /> {s ? <button type="button" class="link" title="Select these" onClick={() => s.selectCategory(k)}>{values.categories[k]}</button> : values.categories[k]}</th>
				<td class="right">{count(values.counts[k]!)}</td><td class="right">{(100 * values.counts[k]! / n).toFixed(1)} %</td>
				<td class="size-bar"><span ref={e => { if (e) { e.style.width = `${100 * values.counts[k]! / most}%`; e.style.background = css(colours[k]!); } }} /></td></tr>)}</tbody></table>
		{order.length > shown.length && <Button kind="quiet" onClick={() => setAll(true)}>{`${count(order.length - shown.length)} more`}</Button>}
		{dropped > 0 && <p class="quiet">{dropped === 1 ? "1 node was" : `${count(dropped)} nodes were`} dropped for a NaN or an infinity.</p>}
	</section>;
}

/** How well each number of Gaussians does. */
function Tried({ job }: { job: Job }) {
	const models = job.models ?? [], kept = keptModel(job);
	return <section aria-label="Numbers of Gaussians"><h2>Numbers of Gaussians</h2>
		<table class="table sizes"><thead><tr><th scope="col">Gaussians</th><th scope="col" class="right">BIC</th><th scope="col"><span class="hidden">Which is kept</span></th></tr></thead>
			<tbody>{models.map((m, k) => <tr key={k}><th scope="row">{count(m.components)}</th><td class="right">{number(m.bic)}</td>
				<td class="quiet">{m === kept ? "kept: the least" : ""}</td></tr>)}</tbody></table></section>;
}

const TABLES = ["labels", "centroids", "means", "weights", "times"];   // results that are short lists or tables

function Fact({ name, value }: { name: string; value: Value }) {
	return <><dt>{name.replace(/_/g, " ")}</dt><dd>{typeof value === "number" ? number(value) : Array.isArray(value) ? value.join(", ") : String(value)}</dd></>;
}

function TakeResults({ job }: { job: Job }) {
	const take = (name: string, format: string) => async (): Promise<void> =>
		saveBlob(await (await request(`/v1/jobs/${job.id}/results/${name}?format=${format}`)).blob(), fileName(`${titleOf(job)}-${name}`, format));
	return <section aria-label="Take away"><h2>Take away</h2>
		{job.results?.map(name => <div key={name} class="row"><span class="grow">{name}</span>
			<Button icon="download" kind="quiet" label={`${name}, NumPy`} onClick={take(name, "npy")}>NumPy</Button>
			{TABLES.includes(name) && <Button icon="download" kind="quiet" label={`${name}, CSV`} onClick={take(name, "csv")}>CSV</Button>}</div>)}</section>;
}

/** The layout coloured by the clusters, once there are some. */
function Picture({ s, layout, job, values }: { s: Session; layout: Job; job: Job; values: Values | null }) {
	useEffect(() => {
		s.loadColumns(values ? colourOfJob(job.id) : "").catch(tell);
		Object.assign(window, { spacelandSession: s });   // for tests and the browser's console
	}, [s, values]);
	return <Stage s={s} label={`Layout of ${titleOf(layout)} in the colours of what was found`}>
		<div class="hud"><span>{values ? `Coloured by ${values.column.name}` : "The layout"}</span></div></Stage>;
}

function NoPicture({ job }: { job: Job }) {
	const may = useRights();
	const start = async (): Promise<void> => {
		const layout = await submit({ graph: job.graph, name: job.name ?? undefined });
		put(layout);
		go("job", layout.id, { by: job.state === "done" ? colourOfJob(job.id) : undefined });
	};
	return <div class="stage no-picture"><p class="quiet">There is no layout of these data yet, in which this could be seen.</p>
		{may && graphs.value.has(job.graph) && <Button icon="play" onClick={start}>Lay out</Button>}</div>;
}

export function MethodPage({ job }: { job: Job }) {
	const signal = methodOf(job)?.values ?? false, may = useRights(), data = useData(job);
	use(route);
	const all = use(jobs), layout = (signal && chosenLayout(job, all)) || layoutOf(job, all), over = ended(job), [values, setValues] = useState<Values | null>(null);
	use(graphs);
	const s = useMemo(() => (layout ? new Session(layout, graphs.value.get(layout.graph)?.kind ?? "graph") : null), [layout?.id]);
	const stream = useMemo(() => (s && signal ? new ValueStream(job, s) : null), [s, job.id]);
	useEffect(() => {
		if (job.state === "done" && !signal)
			foundBy(job.id).then(setValues, tell);
	}, [job.id, job.state]);
	const act = (body: Record<string, unknown>) => async (): Promise<void> => put(await change(job.id, body));
	return <div class="job">
		<div class="job-head">
			<Title job={job} />
			<StateBadge state={job.state} />
			<span class="grow" />
			{!over && may && <Button of={job} icon={job.state === "paused" ? "play" : "pause"} onClick={act({ paused: job.state !== "paused" })}>{job.state === "paused" ? "Go on" : "Pause"}</Button>}
			{!over && may && <Button of={job} icon="stop" kind="primary" title="Ends now, with what it has" disabled={job.state === "queued"} onClick={act({ stop: true })}>Stop and keep</Button>}
			{!over && may && <Button of={job} kind="danger" onClick={act({ cancelled: true })}>Cancel</Button>}
			{layout && !link && <a class="button" href={address("job", layout.id, { by: job.state === "done" ? colourOfJob(job.id) : undefined })}>Open the layout</a>}
		</div>
		{s && layout && stream ? <SignalStage key={layout.id + job.id} s={s} stream={stream} job={job} layout={layout} /> : s && layout ? <Picture s={s} layout={layout} job={job} values={values} /> : <NoPicture job={job} />}
		<aside class="panel plain" aria-label="What was found"><div class="panel-body"><div>
			{job.problem && <section aria-label="What went wrong"><h2>This run failed</h2><p class="problem" role="alert">{sentence(job.problem.detail)}</p></section>}
			{!over && <><Bar share={job.iterations ? job.iteration / job.iterations : 0} label="Progress" state={job.state} />
				<p class="quiet" role="status">{job.waiting?.detail ?? (job.state === "queued" ? "Waiting for a place …" : "Computing …")}</p></>}
			{values?.column.kind === "category" && <Sizes values={values} s={s} />}
			{s && layout && stream && (!over || job.state === "done") && <SignalPanel s={s} stream={stream} job={job} layout={layout} />}
			{(job.models?.length ?? 0) > 1 && <Tried job={job} />}
			<section aria-label="How it went"><h2>How it went</h2><MeasureChart job={job} {...(stream ? { seen: stream.levels() } : {})} /></section>
			{job.state === "done" && <TakeResults job={job} />}
			<section aria-label="About this job"><h2>About</h2><dl class="facts">
				<OwnerFacts job={job} /><dt>What</dt><dd>{describe(job)}</dd><dt>Nodes</dt><dd>{count(job.nodes)}</dd><dt>Result</dt><dd>{measureText(job)}</dd>
				<dt>Iterations</dt><dd>{count(job.iteration)}</dd><dt>Compute time</dt><dd>{duration(job.seconds)}</dd>
				{job.stop && <><dt>Ended</dt><dd>{STOPS[job.stop] ?? job.stop}</dd></>}
				<dt>Id</dt><dd class="mono">{job.id}</dd></dl>
				{job.notes.map(n => <p key={n} class="warning">{sentence(n)}</p>)}</section>
			{may && data ? <NextRun key={job.id} job={job} /> : <section aria-label="Parameters"><h2>Parameters</h2><dl class="facts">
				{Object.entries(job.parameters).filter(([, v]) => v !== null && v !== "").map(([k, v]) => <Fact key={k} name={k} value={v} />)}</dl></section>}
		</div></div></aside>
	</div>;
}
