/* signalpage.tsx -- the page of a signal: a layout of its graph coloured by the values, live, a scale with numbers, and
 * replay. */
import { useEffect } from "preact/hooks";
import { layoutsOf } from "../core/clusters.ts";
import { count, number } from "../core/format.ts";
import { jobs } from "../core/live.ts";
import { keep, route } from "../core/route.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import { ended, type Job } from "../core/types.ts";
import { type Range, valueNames, type ValueStream } from "../core/values.ts";
import { SCALES } from "../gl/palettes.ts";
import { Select } from "./parts.tsx";
import { gist, titleOf } from "./runs.tsx";
import { Scale, Stage } from "./stage.tsx";
import { Timeline } from "./timeline.tsx";

/** The layout to draw on: that of the address, else as for other methods. */
export function chosenLayout(job: Job, all: ReadonlyMap<string, Job>): Job | null {
	const wanted = route.value.query["on"];
	return layoutsOf(job, all).find(l => l.id === wanted) ?? null;
}

function Hud({ stream, job }: { stream: ValueStream; job: Job }) {
	use(stream.frame);
	use(stream.replay);
	const frame = stream.current, problem = use(stream.problem);
	return <div class="hud">
		{frame ? <span>t = <b>{number(frame.modelTime)}</b></span> : <span>{problem || (ended(job) ? "No values came" : "Waiting for values …")}</span>}
		{frame && frame.iteration > 0 && <span>step <b>{count(frame.iteration)}</b></span>}
		{!ended(job) && job.iterations_per_second !== null && <span><b>{count(Math.round(job.iterations_per_second))}</b> steps/s</span>}
		{frame && frame.stride > 1 && <span>every {frame.stride}. node</span>}
	</div>;
}

export function SignalStage({ s, stream, job, layout }: { s: Session; stream: ValueStream; job: Job; layout: Job }) {
	useEffect(() => {
		stream.start();
		Object.assign(window, { spacelandSession: s, spacelandValues: stream });   // for tests and the browser's console
		return () => stream.stop();
	}, [stream]);
	const v = use(s.values);
	return <Stage s={s} label={`Layout of ${titleOf(layout)} in the colours of the values of ${titleOf(job)}`}
		foot={<>{v && <div class="scale-foot"><b>{v.column.name}</b><Scale s={s} v={v} /></div>}<Timeline s={stream} /></>}>
		<Hud stream={stream} job={job} /></Stage>;
}

const RANGES: [Range, string][] = [["all", "All moments so far"], ["now", "This moment"], ["most", "This moment, without extremes"]];

export function SignalPanel({ s, stream, job, layout }: { s: Session; stream: ValueStream; job: Job; layout: Job }) {
	const names = valueNames(job), shown = use(stream.shown), range = use(stream.range), palette = use(s.palette), layouts = layoutsOf(job, use(jobs));
	const moments = use(stream.recording.length);
	return <section aria-label="Values"><h2>Values</h2>
		<div class="pair">
			{names.length > 1 && <Select label="Value" value={String(shown)} options={names.map((n, k) => [String(k), n] as const)} onChange={k => stream.show(Number(k))} />}
			<Select label="Palette" value={palette === "auto" ? "viridis" : palette} options={Object.keys(SCALES).map(p => [p, p] as const)} onChange={p => s.setPalette(p)} />
		</div>
		<Select label="Scale" value={range} options={RANGES} onChange={r => stream.setRange(r as Range)} />
		{layouts.length > 1 && <Select label="Drawn on" value={layout.id} options={layouts.map(l => [l.id, `${titleOf(l)} · ${gist(l)}`] as const)}
			onChange={id => { keep({ on: id }); route.notify(); }} />}
		{ended(job) && moments < 2 && <p class="quiet">There is nothing to play again: the moments of a run are recorded while this page is open. With <code>snapshots</code> a run keeps some for later.</p>}
	</section>;
}
