/* contours.ts -- lines of equal density of a 2-D layout: nodes are counted in a grid and smoothed, as the server does for clusters;
 * marching squares finds the lines. They hold for one frame and any view. */
import type { Frame } from "./frame.ts";

const SIDE = 192, MARGIN = 8;               // cells
const WIDTH = 16.5, WIDTH_LEAST = 1.3;      // cells: the Gaussian of one node
const LEVELS = [0.03, 0.1, 0.25, 0.5, 0.75];   // of the highest density

const known = new WeakMap<Frame, Float32Array[]>();

function smoothed(counts: Float32Array, sigma: number): Float32Array {
	const reach = Math.ceil(3 * sigma), weight = Array.from({ length: reach + 1 }, (_, d) => Math.exp(-0.5 * (d / sigma) ** 2));
	let from = counts;
	for (const stride of [1, SIDE]) {
		const to = new Float32Array(SIDE * SIDE);
		for (let cell = 0; cell < from.length; cell++) {
			if (!from[cell])
				continue;
			const place = Math.floor(cell / stride) % SIDE, low = Math.max(-reach, -place), high = Math.min(reach, SIDE - 1 - place);
			for (let d = low; d <= high; d++)
				to[cell + d * stride]! += weight[Math.abs(d)]! * from[cell]!;
		}
		from = to;
	}
	return from;
}

/** Segments x0, y0, x1, y1 in cells at which the grid passes a value. */
function lines(grid: Float32Array, value: number, x: (v: number) => number, y: (v: number) => number): Float32Array {
	const out: number[] = [];
	for (let row = 0; row < SIDE - 1; row++)
		for (let column = 0; column < SIDE - 1; column++) {
			const at = row * SIDE + column, corners = [grid[at]!, grid[at + 1]!, grid[at + SIDE + 1]!, grid[at + SIDE]!];
			const above = corners.reduce((bits, v, k) => bits | (v > value ? 1 << k : 0), 0);
			if (above === 0 || above === 15)
				continue;
			const cut: [number, number][] = [];   // where the sides are passed, in the order of the corners
			for (let k = 0; k < 4; k++) {
				const a = corners[k]!, b = corners[(k + 1) % 4]!;
				if ((a > value) === (b > value))
					continue;
				const t = (value - a) / (b - a);
				cut.push([column + [t, 1, 1 - t, 0][k]!, row + [0, t, 1, 1 - t][k]!]);
			}
			for (let k = 0; k + 1 < cut.length; k += 2)
				out.push(x(cut[k]![0]), y(cut[k]![1]), x(cut[k + 1]![0]), y(cut[k + 1]![1]));
		}
	return Float32Array.from(out);
}

/** The lines of a 2-D layout, the lowest density first, in its units; [] for other layouts. */
export function contoursOf(frame: Frame): Float32Array[] {
	if (frame.dims !== 2 || !frame.n)
		return [];
	const before = known.get(frame);
	if (before)
		return before;
	const counts = new Float32Array(SIDE * SIDE), { data } = frame, scale = (SIDE - 2 * MARGIN) / 65536;
	for (let i = 0; i < frame.n; i++)
		counts[(MARGIN + Math.floor(data[2 * i + 1]! * scale)) * SIDE + MARGIN + Math.floor(data[2 * i]! * scale)]!++;
	const grid = smoothed(counts, Math.max(WIDTH_LEAST, WIDTH * frame.n ** (-1 / 6)));
	const most = grid.reduce((a, b) => Math.max(a, b), 0), unit = frame.extent / (SIDE - 2 * MARGIN);
	const place = (low: number) => (v: number): number => low + (v + 0.5 - MARGIN) * unit;
	const found = LEVELS.map(l => lines(grid, l * most, place(frame.low[0]), place(frame.low[1])));
	known.set(frame, found);
	return found;
}
