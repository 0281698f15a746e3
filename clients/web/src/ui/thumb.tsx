/* thumb.tsx -- a small moving picture of a run, with some thousand points. It fetches single frames and draws on the
 * CPU, so that a page with many of them needs few connections and no graphics contexts. */
import { useEffect, useRef, useState } from "preact/hooks";
import { oneFrame } from "../core/follow.ts";
import type { Frame } from "../core/frame.ts";
import { foundBy } from "../core/clusters.ts";
import { keptLayout } from "../core/kept.ts";
import { firstColumn, MISSING, nodesOf, type Values } from "../core/nodes.ts";
import { graphs } from "../core/live.ts";
import { use } from "../core/signal.ts";
import { theme, tones } from "../core/theme.ts";
import { ended, type Job } from "../core/types.ts";
import { columnColours, scaleAt } from "../gl/palettes.ts";
import { profileOf, type RGB } from "../gl/renderer.ts";
import { jitter } from "../gl/shaders.ts";
import { windowOf } from "../gl/window.ts";

const COLOURED_NODES = 1e6;   // with more nodes, labels are too large to fetch for a small picture
const KEPT_NODES = 100_000;     // most nodes of a cancelled run, whose layout cannot be sampled
const FEW = 800;                // fewer points are drawn larger
const POINTS = 4000, EVERY_MS = 500, WAIT_S = 2, AT_ONCE = 2;

/** Connections are few: only some pictures are fetched at the same time, the others wait in a queue. */
let inFlight = 0;
const line: (() => void)[] = [];
async function inLine<T>(work: () => Promise<T>): Promise<T> {
	if (inFlight >= AT_ONCE)
		await new Promise<void>(resolve => line.push(resolve));
	else
		inFlight++;
	try {
		return await work();
	} finally {
		const next = line.shift();
		if (next)
			next();
		else
			inFlight--;
	}
}

/** Colours of nodes by the labels, as on the run's page. */
function coloursOf(values: Values | null): ((node: number) => RGB) | null {
	if (!values)
		return null;
	if (values.column.kind === "number")
		return node => (values.codes[node] === MISSING ? [0.5, 0.5, 0.5] : scaleAt("viridis", values.codes[node]! / 65534));
	const colours = columnColours(values, "labels");
	return node => colours[values.codes[node]!] ?? [0.5, 0.5, 0.5];
}

/** Pixels of one point and their weights: a disc for few points. */
function dotOf(n: number): (readonly [number, number, number])[] {
	if (n > FEW)
		return [[0, 0, 1], [-1, 0, 0.5], [0, -1, 0.5]];
	const radius = n > FEW / 8 ? 1 : 3, out: (readonly [number, number, number])[] = [];
	for (let dy = -radius; dy <= radius; dy++)
		for (let dx = -radius; dx <= radius; dx++)
			if (dx * dx + dy * dy <= radius * radius + 1)
				out.push([dx, dy, dx || dy ? 1.5 : 2]);
	return out;
}

function paint(canvas: HTMLCanvasElement, f: Frame, shade: "dark" | "light", values: Values | null): void {
	const g = canvas.getContext("2d")!, { width: w, height: h } = canvas, image = g.createImageData(w, h);
	const sums = new Float32Array(4 * w * h), tone = tones(shade), colours = coloursOf(values), unit = Math.min(w, h) * 0.9, { data, dims, n } = f;
	const { box } = windowOf(f), line = dims === 1 ? profileOf(f) : null, per = f.extent / 65535 / (box.extent || 1);
	const middle = box.middle.map((m, k) => (f.extent ? (m - f.low[k]!) / f.extent * 65535 : 0));
	const dot = dotOf(n), edge = Math.max(...dot.map(d => Math.abs(d[0])));
	for (let i = 0; i < n; i++) {
		let x = (data[i * dims]! - middle[0]!) * per, y: number;
		if (line) {
			y = (jitter(i) - 0.5) * line[(data[i]! * line.length) >> 16]! * 0.6;
			x *= w / unit * 0.9;
		} else {
			y = (data[i * dims + 1]! - middle[1]!) * per;
			if (dims === 3)
				x = x * 0.82 - (data[i * dims + 2]! - middle[2]!) * per * 0.5;
		}
		const px = Math.round(w / 2 + unit * x), py = Math.round(h / 2 - unit * y);
		if (px < edge || py < edge || px >= w - edge || py >= h - edge)
			continue;
		const c = colours?.(i * f.stride) ?? tone.plain, at = 4 * (py * w + px);
		for (const [dx, dy, weight] of dot) {
			const place = at + 4 * (dy * w + dx);
			for (let k = 0; k < 3; k++)
				sums[place + k]! += weight * c[k]!;
			sums[place + 3]! += weight;
		}
	}
	for (let i = 0; i < sums.length; i += 4) {
		const weight = sums[i + 3]!, a = 1 - Math.exp(-weight * 0.9);
		for (let k = 0; k < 3; k++)
			image.data[i + k] = 255 * (tone.background[k]! * (1 - a) + (weight ? sums[i + k]! / weight * a : 0));
		image.data[i + 3] = 255;
	}
	g.putImageData(image, 0, 0);
}

/** clusters: the id of a job k-means whose clusters colour the picture. */
export function Thumb({ job, clusters, width = 280, height = 180 }: { job: Job; clusters?: string; width?: number; height?: number }) {
	const canvas = useRef<HTMLCanvasElement>(null), frame = useRef<Frame | null>(null);
	const shade = use(theme), over = ended(job), column = firstColumn(use(graphs).get(job.graph)?.label_columns ?? []), by = JSON.stringify(column), [values, setValues] = useState<Values | null>(null);
	const coloured = useRef(values);
	coloured.current = values;
	useEffect(() => {
		if (canvas.current && frame.current)
			paint(canvas.current, frame.current, shade, values);
	}, [shade, values]);
	useEffect(() => {
		let mounted = true;
		if (clusters && job.nodes <= COLOURED_NODES)
			foundBy(clusters).then(v => mounted && setValues(v), () => undefined);
		else if (column && job.nodes <= COLOURED_NODES)
			nodesOf(job).values(column).then(v => mounted && setValues(v), () => undefined);
		else
			setValues(null);
		return () => { mounted = false; };
	}, [job.graph, by, clusters]);
	useEffect(() => {
		const cancel = new AbortController();
		let timer = 0, visible = false;
		const next = async (): Promise<void> => {
			if (visible && document.visibilityState === "visible") {
				const kept = job.state === "cancelled" && job.nodes <= KEPT_NODES;
				const f = await inLine(async () => (cancel.signal.aborted ? null : kept ? keptLayout(job, cancel.signal) : oneFrame(job.id, { after: frame.current?.sequence ?? 0,
					maxPoints: POINTS, wait: over ? 10 : WAIT_S, signal: cancel.signal }))).catch(() => null);
				if (f && canvas.current) {
					frame.current = f;
					paint(canvas.current, f, theme.value, coloured.current);
				}
				if (over)
					return;
			}
			if (!cancel.signal.aborted)
				timer = window.setTimeout(() => void next(), EVERY_MS);
		};
		const watch = new IntersectionObserver(entries => {
			const now = entries.some(e => e.isIntersecting);
			if (now && !visible) {
				visible = true;
				clearTimeout(timer);
				void next();
			}
			visible = now;
		});
		watch.observe(canvas.current!);
		return () => { cancel.abort(); clearTimeout(timer); watch.disconnect(); };
	}, [job.id, over]);
	return <canvas class="thumb" ref={canvas} width={width} height={height} aria-hidden="true" />;
}
