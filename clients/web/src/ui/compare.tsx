/* compare.tsx -- two layouts of the same nodes: side by side with one camera, or one morphing into the other. The
 * second is aligned with the first (procrustes.ts). */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { getJson } from "../core/api.ts";
import { colourings, colourOfColumn, colourOfJob, describe, isLayout, measureText } from "../core/clusters.ts";
import { coordinates, type Frame } from "../core/frame.ts";
import { number, several } from "../core/format.ts";
import { oneFrame } from "../core/follow.ts";
import { jobs, newest, put, putPart } from "../core/live.ts";
import { HOME } from "../gl/camera.ts";
import { windowOf } from "../gl/window.ts";
import { methodOf, titleOfMethod } from "../core/methods.ts";
import { procrustes } from "../core/procrustes.ts";
import { keep, route } from "../core/route.ts";
import { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import type { Column, Job, Quality, Value } from "../core/types.ts";
import { Button, Select, tell } from "./parts.tsx";
import { gist, titleOf } from "./runs.tsx";
import { Legend, Stage } from "./stage.tsx";

const SAMPLE = 200_000;
const SMALLEST = 0.5;    // zoom at which the first is still to be seen
const ROUNDING = 1e-9;   // a smaller fraction of the variance is rounding error
const IDENTITY = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);

/** A session that shows given frames and follows no job. */
class Still extends Session {
	private shown: [Frame, Frame, Float32Array | null, number] | null = null;
	override follow(): void { this.present(); }
	set(a: Frame, b: Frame, align: Float32Array | null, t: number): void {
		this.shown = [a, b, align, t];
		this.present();
	}
	private present(): void {
		if (!this.view || !this.shown)
			return;
		const [a, b, align, t] = this.shown, fresh = this.frame.value !== b;
		this.view.renderer.align = align;
		this.frame.value = b;
		this.view.show(a, b, t);
		if (fresh)
			this.paint();
	}
}

interface Pair {
	a: Frame;
	b: Frame;
	align: Float32Array;
	residual: number;
	far: number;
	room: number;      // size of the second layout's view, relative to the first's
}

async function load(a: Job, b: Job, signal: AbortSignal): Promise<Pair> {
	if (a.nodes !== b.nodes)
		throw new Error(`The layouts have ${a.nodes} and ${b.nodes} nodes; only layouts of the same nodes can be compared.`);
	const [fa, fb] = await Promise.all([a, b].map(j => oneFrame(j.id, { maxPoints: SAMPLE, signal })));
	if (!fa || !fb)
		throw new Error("One of the runs has no layout yet.");
	if (fa.dims !== fb.dims)
		throw new Error(`One layout is ${fa.dims}-D, the other ${fb.dims}-D; only those of the same dimensions can lie on each other.`);
	const { matrix, residual, far } = procrustes(coordinates(fa), coordinates(fb), fa.dims);
	const align = fa.dims === 1 ? IDENTITY : matrix;
	return { a: fa, b: fb, align, residual, far: far * fa.stride, room: roomOf(fa, fb, align) };
}

/** Half the side of the square around all but 1 % of b's nodes, in units of half the shown side of a. */
function roomOf(a: Frame, b: Frame, align: Float32Array): number {
	const { box } = windowOf(a), y = coordinates(b), d = b.dims, far = new Float32Array(b.n);
	for (let i = 0; i < b.n; i++)
		for (let k = 0; k < d; k++) {
			let p = align[12 + k]! - box.middle[k]!;
			for (let l = 0; l < d; l++)
				p += align[4 * l + k]! * y[i * d + l]!;
			far[i] = Math.max(far[i]!, Math.abs(p));
		}
	return (far.sort()[Math.floor(0.99 * (b.n - 1))] ?? 0) / (box.extent / 2 || 1);
}

function Differences({ a, b }: { a: Job; b: Job }) {
	const pa = { ...a.parameters, ...a.resolved }, pb = { ...b.parameters, ...b.resolved };
	const text = (v: Value | undefined): string => (Array.isArray(v) ? v.map(x => number(Number(x))).join(", ") : typeof v === "number" ? number(v) : v === null || v === undefined ? "–" : String(v));
	const same = methodOf(a) === methodOf(b);   // of different methods only what both have can be compared
	const rows = Object.keys({ ...pa, ...pb }).filter(k => text(pa[k]) !== text(pb[k]) && (same || k in pa && k in pb));
	const [qa, qb] = [a.quality, b.quality];
	const measure = async (): Promise<void> => {
		for (const job of [a, b])
			if (!job.quality)
				putPart(job.id, { quality: await getJson<Quality>(`/v1/jobs/${job.id}/quality`) });
	};
	const quality = (label: string, key: "recall" | "trustworthiness" | "silhouette") => (qa?.[key] ?? qb?.[key]) != null &&
		<tr><th scope="row">{label}</th><td class="right">{number(qa?.[key])}</td><td class="right">{number(qb?.[key])}</td></tr>;
	return <div class="table-scroll" tabIndex={0} role="region" aria-label="Differences"><table class="table">
		<thead><tr><th scope="col">Measure</th><th scope="col" class="right">First</th><th scope="col" class="right">Second</th></tr></thead>
		<tbody>
			{(a.kl ?? b.kl ?? qa?.kl ?? qb?.kl) != null && <tr><th scope="row">KL divergence</th><td class="right">{number(qa?.kl ?? a.kl)}</td><td class="right">{number(qb?.kl ?? b.kl)}</td></tr>}
			{(a.stress ?? b.stress) != null && <tr><th scope="row">Stress</th><td class="right">{number(a.stress)}</td><td class="right">{number(b.stress)}</td></tr>}
			{quality("Recall", "recall")}{quality("Trustworthiness", "trustworthiness")}{quality(`Silhouette of ${qa?.silhouette_column ?? qb?.silhouette_column ?? "labels"}`, "silhouette")}
			{!same && <tr><th scope="row">Method</th><td class="right">{titleOfMethod(a)}</td><td class="right">{titleOfMethod(b)}</td></tr>}
			<tr><th scope="row">Seconds</th><td class="right">{number(a.seconds, 3)}</td><td class="right">{number(b.seconds, 3)}</td></tr>
			{rows.map(k => <tr key={k}><th scope="row">{k.replace(/_/g, " ")}</th><td class="right">{text(pa[k])}</td><td class="right">{text(pb[k])}</td></tr>)}
		</tbody></table>
		{!(qa && qb) && <Button onClick={measure}>Measure both</Button>}
	</div>;
}

function Two({ a, b }: { a: Job; b: Job }) {
	const { query } = use(route), mode = query["mode"] ?? "side";
	const left = useMemo(() => new Still(a, "graph"), [a.id, b.id]), right = useMemo(() => new Still(b, "graph"), [a.id, b.id]);
	const [pair, setPair] = useState<Pair | null>(null), [problem, setProblem] = useState(""), [t, setT] = useState(0), [playing, setPlaying] = useState(false);
	const [columns, setColumns] = useState<Column[]>([]), by = use(left.by), step = useRef(1);
	use(left.values);
	useEffect(() => {
		const cancel = new AbortController();
		setPair(null);
		setProblem("");
		load(a, b, cancel.signal).then(found => {
			setPair(found);
			if (found.room > 1)
				left.view?.setCamera({ ...HOME, zoom: Math.max(SMALLEST, 1 / found.room) });
		}, (error: unknown) => !cancel.signal.aborted && setProblem(error instanceof Error ? error.message : String(error)));
		Promise.all([left, right].map(s => s.loadColumns())).then(() => setColumns(left.columns.value), tell);
		// one camera, one selection, one hover
		const tie = (from: Still, to: Still): (() => void)[] => [
			from.camera.subscribe(() => { if (to.camera.value !== from.camera.value) { to.camera.value = from.camera.value; to.view?.setCamera(from.camera.value); } }),
			from.selected.subscribe(() => { if (to.selected.value !== from.selected.value) { to.selected.value = from.selected.value; to.selectedCount.value = from.selectedCount.value; to.paint(); } }),
			from.hover.subscribe(() => { const h = from.hover.value; if (to.hover.value?.node !== h?.node) to.hover.value = h && { node: h.node, x: -9999, y: 0 }; }),
		];
		const ties = [...tie(left, right), ...tie(right, left)];
		return () => { cancel.abort(); ties.forEach(stop => stop()); };
	}, [left, right]);
	useEffect(() => {
		if (!pair)
			return;
		if (mode === "morph") {
			left.set(pair.a, pair.b, pair.align, t);
		} else {
			left.set(pair.a, pair.a, null, 1);
			right.set(pair.a, pair.b, pair.align, 1);
		}
	}, [pair, mode, t, left, right]);
	useEffect(() => {
		if (!playing || mode !== "morph")
			return;
		let request = 0, last = performance.now();
		const tick = (now: number): void => {
			setT(was => {
				const next = was + step.current * (now - last) / 2500;
				if (next >= 1 || next <= 0)
					step.current = -step.current;
				return Math.min(1, Math.max(0, next));
			});
			last = now;
			request = requestAnimationFrame(tick);
		};
		request = requestAnimationFrame(tick);
		return () => cancelAnimationFrame(request);
	}, [playing, mode]);
	const colour = (v: string): void => { void left.colourBy(v); void right.colourBy(v); };
	return <>
		<div class="row wrap compare-tools">
			<div class="segments" role="group" aria-label="How to compare">{([["side", "Side by side"], ["morph", "Morph"]] as const).map(([id, text]) =>
				<button key={id} type="button" aria-pressed={mode === id} onClick={() => { keep({ mode: id }); route.notify(); }}>{text}</button>)}</div>
			{mode === "morph" && <><Button icon={playing ? "pause" : "play"} label={playing ? "Hold" : "Play"} onClick={() => setPlaying(!playing)} />
				<input type="range" class="morph" min={0} max={1} step={0.001} value={t} aria-label="From the first to the second layout" aria-valuetext={`${Math.round(t * 100)} %`}
					onInput={e => { setPlaying(false); setT(Number(e.currentTarget.value)); }} /></>}
			<Select label="Colour by" value={by} options={[["", "One colour"], ["density", "Density"], ["degree", "Degree"], ...columns.filter(c => c.name !== "degree").map(c => [colourOfColumn(c.name), c.name] as const),
				...colourings(a, use(jobs).values()).filter(j => j.state === "done").map(j => [colourOfJob(j.id), `${describe(j, a)}${j.input?.job === b.id ? " (the second)" : ""}`] as const)]} onChange={colour} />
			<span class="grow" />
			{pair && <span class="quiet" title="Share of the first layout's variance that the second, aligned, does not explain">difference after alignment {pair.residual < ROUNDING ? 0 : number(100 * pair.residual, 3)} %</span>}
		</div>
		{problem ? <p class="problem" role="alert">{problem}</p> : <div class={`compare-stages ${mode}`}>
			<Stage s={left} label={mode === "morph" ? "Both layouts, morphing" : `First layout, ${titleOf(a)}`}>
				<div class="hud"><span><b>{mode === "morph" ? (t < 0.5 ? titleOf(a) : titleOf(b)) : titleOf(a)}</b></span><span>{gist(mode === "morph" && t >= 0.5 ? b : a)}</span></div></Stage>
			{mode !== "morph" && <Stage s={right} label={`Second layout, ${titleOf(b)}`}><div class="hud"><span><b>{titleOf(b)}</b></span><span>{gist(b)}</span></div></Stage>}
		</div>}
		{pair && <p class="quiet align-note">{pair.a.dims === 1 ? "Lines are shown as they are. The difference is that after a shift, a scale and a mirror." :
			"The second layout is turned, mirrored and shifted so that most nodes come near their places in the first, and scaled to its size. Nodes that fit badly count less."}
			{pair.far > 0 && ` ${several(pair.far, "node")} far from all others ${pair.far === 1 ? "does" : "do"} not count.`}</p>}
		<div class="compare-foot"><Differences a={a} b={b} /><Legend s={left} /></div>
	</>;
}

/** True if one layout can lie on the other. */
const fits = (a: Job, b: Job): boolean => a.id !== b.id && a.nodes === b.nodes && a.parameters["dims"] === b.parameters["dims"];

/** A run that the address names: the record, null while it is fetched, or why there is none. */
function useNamed(id: string | undefined): Job | null | undefined | string {
	const known = use(jobs).get(id ?? ""), [problem, setProblem] = useState<[string, string] | null>(null);
	useEffect(() => {
		if (id && !known)
			getJson<Job>(`/v1/jobs/${id}`).then(put, (error: unknown) => setProblem([id, error instanceof Error ? error.message : String(error)]));
	}, [id, !known]);
	return known ?? (!id ? undefined : problem?.[0] === id ? problem[1] : null);
}

export function ComparePage() {
	const all = newest(use(jobs)).filter(j => j.state === "done" && isLayout(j)), { query } = use(route);
	const named = { a: useNamed(query["a"]), b: useNamed(query["b"]) };
	const gone = [named.a, named.b].find(j => typeof j === "string"), given = (j: typeof named.a): Job | undefined => (j && typeof j !== "string" ? j : undefined);
	const a = given(named.a) ?? all.find(j => all.some(o => fits(o, j) && o.graph === j.graph)) ?? all[0];
	const others = all.filter(j => a && fits(j, a)), b = given(named.b) ?? others[0], chosen = !!(a && b);
	useEffect(() => {   // the choice stays when others finish runs
		if (chosen && !gone && named.a !== null && named.b !== null)
			keep({ a: a!.id, b: b!.id });
	}, [a?.id, b?.id, chosen, named.a, named.b]);
	const seconds = b && !others.includes(b) ? [b, ...others] : others;   // a link may name any job
	const option = (j: Job): readonly [string, string] => [j.id, `${titleOf(j)} · ${gist(j)} · ${measureText(j)}`];
	const choose = (which: "a" | "b") => (id: string): void => {
		const next: Record<string, string | undefined> = { a: a?.id, b: b?.id, [which]: id }, first = jobs.value.get(next["a"] ?? ""), second = jobs.value.get(next["b"] ?? "");
		if (which === "a" && id === b?.id)
			next["b"] = a?.id;           // they are swapped
		else if (first && second && !fits(first, second))
			next["b"] = undefined;       // of other data or dimensions; the next job that fits is chosen
		keep(next);
		route.notify();
	};
	if (named.a === null || named.b === null)
		return <div class="page"><h1>Compare</h1><p class="loading" role="status">One moment …</p></div>;
	if (!a || (all.length < 2 && !query["b"]))
		return <div class="page"><h1>Compare</h1><p class="quiet empty">Two finished runs of the same data can be compared here.</p></div>;
	return <div class="page compare">
		<h1>Compare</h1>
		{gone && <p class="warning" role="status">A run of this address cannot be shown; another one is in its place. {gone}</p>}
		<div class="pair wide"><Select label="First" value={a.id} options={all.map(option)} onChange={choose("a")} />
			{b && <Select label="Second" value={b.id} options={seconds.map(option)} onChange={choose("b")} />}</div>
		{b ? <Two key={a.id + b.id} a={a} b={b} /> : <p class="quiet empty">No other finished run has the same nodes and dimensions. Start one from the first run's page, under <i>Steer</i>: with another perplexity or λ, say.</p>}
	</div>;
}
