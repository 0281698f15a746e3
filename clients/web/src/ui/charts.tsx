/* charts.tsx -- charts of KL divergence, gradient and extent of a run, with a common cursor. */
import { useEffect, useRef, useState } from "preact/hooks";
import "./language.ts";
import uPlot from "uplot";
import { getJson } from "../core/api.ts";
import { measureLabel, measureOf } from "../core/clusters.ts";
import { number } from "../core/format.ts";
import { methodOf } from "../core/methods.ts";
import { use } from "../core/signal.ts";
import { theme } from "../core/theme.ts";
import { ended, type Job, type TracePoint } from "../core/types.ts";
import { useInterval } from "./parts.tsx";

interface Kind {
	key: string;
	label: string;
	colour: readonly [string, string];   // dark, light
	log: boolean;
}
const KINDS: readonly Kind[] = [
	{ key: "kl", label: "KL divergence", colour: ["#56b4e9", "#0072b2"], log: false },
	{ key: "gradient", label: "Gradient norm", colour: ["#e69f00", "#a35c00"], log: true },
	{ key: "extent", label: "Extent", colour: ["#2cc295", "#00704f"], log: true },
];

interface Series {
	iteration: number[];
	[key: string]: number[];
}

const seriesOf = (points: TracePoint[], measure = "kl"): Series => ({
	iteration: points.map(p => p.iteration),
	kl: points.map(p => (p as unknown as Record<string, number>)[measure] ?? NaN),
	gradient: points.map(p => p.gradient_norm ?? NaN),
	extent: points.map(p => (p.high ? Math.max(...p.high.map((h, k) => h - p.low[k]!)) : NaN)),
});

/** Ticks at the powers of ten within a range, or between them if the range is narrow. */
function logSplits(_u: uPlot, _axis: number, low: number, high: number): number[] {
	const all: number[] = [], from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
	const steps = to - from > 2 ? [1] : [1, 2, 5], every = Math.max(1, Math.ceil((to - from) / 5));
	for (let e = from; e <= to; e += every)
		for (const s of steps)
			if (s * 10 ** e >= low * 0.999 && s * 10 ** e <= high * 1.001)
				all.push(s * 10 ** e);
	return all;
}

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
const tick = (t: number | null, digits: number): string => (t === null ? "" : Math.abs(t) >= 1e4 && digits <= 4 ? compact.format(t) :
	t !== 0 && Math.abs(t) < 0.01 ? t.toExponential(Math.max(0, digits - 4)).replace("e+", "e") : String(Number(t.toPrecision(digits))));
/** Labels of ticks, with enough digits to distinguish them. */
function ticks(all: (number | null)[]): string[] {
	for (let digits = 4; ; digits++) {
		const texts = all.map(t => tick(t, digits)), shown = texts.filter(Boolean);
		if (digits === 9 || new Set(shown).size === shown.length)
			return texts;
	}
}
const ROUNDING = 1e-5;   // a smaller share of a value is no change
/** What an axis shows of values from low to high; rounding errors are drawn as the line that they are. */
function roomy(low: number, high: number): [number, number] {
	const size = Math.max(Math.abs(low), Math.abs(high)) || 1;
	return high - low < ROUNDING * size ? [low - size / 100, high + size / 100] : uPlot.rangeNum(low, high, 0.1, true) as [number, number];
}
const WHOLE = [1, 2, 5].flatMap(s => Array.from({ length: 9 }, (_, e) => s * 10 ** e)).sort((a, b) => a - b);   // steps between iterations

function Chart({ kind, series, now }: { kind: Kind; series: Series; now?: number }) {
	const host = useRef<HTMLDivElement>(null), plot = useRef<uPlot | null>(null), shade = use(theme);
	const values = series[kind.key] ?? [], dark = shade === "dark", last = now ?? values.at(-1);
	useEffect(() => {
		const grid = dark ? "#242a34" : "#e6e9ee", ink = dark ? "#9aa5b5" : "#5b6472", colour = kind.colour[dark ? 0 : 1];
		const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
		const box = host.current!, u = new uPlot({
			width: box.clientWidth, height: 108, legend: { show: false }, padding: [6, 16, 0, 0],
			cursor: { sync: { key: "trace" }, y: false, points: { size: 6 }, drag: { x: false, y: false } },
			scales: { x: { time: false }, y: kind.log ? { distr: 3 } : { range: (_u, low, high) => roomy(low, high) } },
			axes: [{ ...axis, size: 22, incrs: WHOLE, values: (_u, at) => ticks(at) }, { ...axis, size: (_u, texts) => Math.max(44, 12 + 6 * Math.max(0, ...(texts ?? []).map(t => t.length))), space: 26,
				values: (_u, at) => ticks(at), ...(kind.log ? { splits: logSplits, filter: (_u: uPlot, s: number[]) => s } : {}) }],
			series: [{}, { stroke: colour, width: 1.8, points: { show: u => u.data[0].length === 1, size: 7, fill: colour } }],   // a single point is no line
		}, [[], []], box);
		plot.current = u;
		const watch = new ResizeObserver(() => u.setSize({ width: box.clientWidth, height: 108 }));
		watch.observe(box);
		return () => { watch.disconnect(); u.destroy(); };
	}, [dark]);
	useEffect(() => plot.current?.setData([series.iteration, values.map(v => (kind.log && v <= 0 ? null : v))]), [series, dark]);
	return <figure class="chart" aria-label={`${kind.label} over iterations, ${now === undefined ? "now" : "at best"} ${number(last)}`}>
		<figcaption><span>{kind.label}</span><b>{number(last)}</b></figcaption>
		<div ref={host} aria-hidden="true" /></figure>;
}

/** The trace of a running job; a new list after each fetch. */
function useTrace<P>(job: Job): P[] {
	const [points, setPoints] = useState<P[]>([]), over = ended(job);
	const ask = async (): Promise<void> => { setPoints((await getJson<{ points: P[] }>(`/v1/jobs/${job.id}/trace`)).points); };
	useInterval(ask, 700, !over);
	useEffect(() => { if (over) void ask().catch(() => undefined); }, [over, job.id]);
	return points;
}

export function Charts({ job }: { job: Job }) {
	const points = useTrace<TracePoint>(job);
	if (!points.length)
		return <p class="quiet">The charts begin with the first point of the trace, after {String(job.parameters["trace_interval"])} iterations.</p>;
	const m = measureOf(job), series = seriesOf(points, m?.key);
	return <div class="charts">{KINDS.filter(kind => series[kind.key]!.some(v => !Number.isNaN(v))).map(kind => <Chart key={kind.key} kind={m && kind.key === "kl" ? { ...kind, label: m.label } : kind} series={series} />)}
		<p class="quiet chart-axis">iteration</p></div>;
}

/** Chart of the measure of a job of another method. seen: iterations and values from frames, which fill the gaps
 * between points of the trace. */
export function MeasureChart({ job, seen = [] }: { job: Job; seen?: [number, number][] }) {
	const points = useTrace<Record<string, number>>(job), m = measureOf(job), now = m && (job as unknown as Record<string, unknown>)[m.key];
	if (!m || !points.length)
		return <p class="quiet">{!m ? "This method has no chart." : ended(job) ? "It ended before its first iteration." : "The chart begins after the first iteration."}</p>;
	const values = methodOf(job)?.values ?? false, rank = values && job.parameters["model"] === "pagerank";
	const kind: Kind = { key: m.key, label: measureLabel(job), colour: ["#56b4e9", "#0072b2"], log: rank }, last = points.at(-1)!["iteration"]!;
	const all = [...points.filter(p => !seen.length || p["iteration"]! < seen[0]![0]), ...seen.map(([iteration, value]) => ({ iteration, [m.key]: value })),
		...(values && typeof now === "number" && job.iteration > Math.max(last, seen.at(-1)?.[0] ?? 0) ? [{ iteration: job.iteration, [m.key]: now }] : [])];
	return <div class="charts"><Chart kind={kind} series={{ iteration: all.map(p => p["iteration"]!), [m.key]: all.map(p => p[m.key]!) }} {...(typeof now === "number" ? { now } : {})} />
		<p class="quiet chart-axis">{values && !rank ? "step" : "iteration"}</p></div>;
}
