/* charts.tsx -- KL divergence, gradient and extent of a run, one above the other, one cursor for all. */
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { getJson } from "../core/api.ts";
import { number } from "../core/format.ts";
import { use } from "../core/signal.ts";
import { theme } from "../core/theme.ts";
import { ended, type Job, type TracePoint } from "../core/types.ts";
import { useInterval } from "./parts.tsx";

const KINDS = [
	{ key: "kl", label: "KL divergence", colour: ["#56b4e9", "#0072b2"], log: false },
	{ key: "gradient", label: "Gradient norm", colour: ["#e69f00", "#a35c00"], log: true },
	{ key: "extent", label: "Extent", colour: ["#2cc295", "#00704f"], log: true },
] as const;

type Series = Record<(typeof KINDS)[number]["key"], number[]> & { iteration: number[] };

const seriesOf = (points: TracePoint[]): Series => ({
	iteration: points.map(p => p.iteration),
	kl: points.map(p => p.kl),
	gradient: points.map(p => p.gradient_norm),
	extent: points.map(p => Math.max(...p.high.map((h, k) => h - p.low[k]!))),
});

/** Powers of ten within a range, or some steps between them when it is narrow. */
function logSplits(_u: uPlot, _axis: number, low: number, high: number): number[] {
	const all: number[] = [], from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
	const steps = to - from > 2 ? [1] : [1, 2, 5], every = Math.max(1, Math.ceil((to - from) / 5));
	for (let e = from; e <= to; e += every)
		for (const s of steps)
			if (s * 10 ** e >= low * 0.999 && s * 10 ** e <= high * 1.001)
				all.push(s * 10 ** e);
	return all;
}

const tick = (t: number | null): string => (t === null ? "" : t !== 0 && (Math.abs(t) < 0.01 || Math.abs(t) >= 1e5) ? t.toExponential(0).replace("e+", "e") : String(Number(t.toPrecision(3))));

function Chart({ kind, series }: { kind: (typeof KINDS)[number]; series: Series }) {
	const host = useRef<HTMLDivElement>(null), plot = useRef<uPlot | null>(null), shade = use(theme);
	const dark = shade === "dark", last = series[kind.key].at(-1);
	useEffect(() => {
		const grid = dark ? "#242a34" : "#e6e9ee", ink = dark ? "#9aa5b5" : "#5b6472", colour = kind.colour[dark ? 0 : 1];
		const axis = { stroke: ink, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px system-ui" };
		const box = host.current!, u = new uPlot({
			width: box.clientWidth, height: 108, legend: { show: false }, padding: [6, 16, 0, 0],
			cursor: { sync: { key: "trace" }, y: false, points: { size: 6 }, drag: { x: false, y: false } },
			scales: { x: { time: false }, y: kind.log ? { distr: 3 } : {} },
			axes: [{ ...axis, size: 22, values: (_u, ticks) => ticks.map(tick) }, { ...axis, size: 44, space: 26,
				values: (_u, ticks) => ticks.map(tick), ...(kind.log ? { splits: logSplits, filter: (_u: uPlot, s: number[]) => s } : {}) }],
			series: [{}, { stroke: colour, width: 1.8, points: { show: false } }],
		}, [[], []], box);
		plot.current = u;
		const watch = new ResizeObserver(() => u.setSize({ width: box.clientWidth, height: 108 }));
		watch.observe(box);
		return () => { watch.disconnect(); u.destroy(); };
	}, [dark]);
	useEffect(() => plot.current?.setData([series.iteration, series[kind.key].map(v => (kind.log && v <= 0 ? null : v))]), [series, dark]);
	return <figure class="chart" aria-label={`${kind.label} over iterations, now ${number(last)}`}>
		<figcaption><span>{kind.label}</span><b>{number(last)}</b></figcaption>
		<div ref={host} aria-hidden="true" /></figure>;
}

export function Charts({ job }: { job: Job }) {
	const [points, setPoints] = useState<TracePoint[]>([]), over = ended(job);
	const ask = async (): Promise<void> => { setPoints((await getJson<{ points: TracePoint[] }>(`/v1/jobs/${job.id}/trace`)).points); };
	useInterval(ask, 700, !over);
	useEffect(() => { if (over) void ask().catch(() => undefined); }, [over, job.id]);
	if (!points.length)
		return <p class="quiet">The charts begin with the first point of the trace, after {String(job.parameters["trace_interval"])} iterations.</p>;
	const series = seriesOf(points);
	return <div class="charts">{KINDS.map(kind => <Chart key={kind.key} kind={kind} series={series} />)}</div>;
}
