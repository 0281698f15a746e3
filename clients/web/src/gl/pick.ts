/* pick.ts -- positions of points on the canvas, computed on the CPU when needed: under the mouse, within a lasso.
 * Positions are linear in the integers of both frames, so a scan costs a few multiplications per point. */
import type { Frame } from "../core/frame.ts";
import { PROFILE_BINS, profileOf } from "./renderer.ts";
import { jitter } from "./shaders.ts";

export interface Scene {
	a: Frame;
	b: Frame;
	t: number;
	centre: [number, number, number, number];
	matrix: Float32Array;
	align: Float32Array | null;
	width: number;   // CSS pixels
	height: number;
}

type Row = number[];  // coefficients of a's 3 axes and b's 3 axes, and a constant

const profiles = new WeakMap<Frame, Float32Array>();
function profile(f: Frame): Float32Array {
	let p = profiles.get(f);
	if (!p)
		profiles.set(f, p = profileOf(f));
	return p;
}

/** Rows that map the raw integers to clip x, y and w. */
export function rows(s: Scene): [Row, Row, Row] {
	const { a, b, t, centre, matrix: m } = s, same = a.n === b.n && a.dims === b.dims, first = same ? a : b;
	return [0, 1, 3].map(out => {
		const row = [0, 0, 0, 0, 0, 0, m[12 + out]!];
		for (let k = 0; k < 3; k++) {
			const f = m[4 * k + out]! * centre[3];
			row[6]! -= f * centre[k]!;
			row[6]! += f * (1 - t) * first.low[k]!;
			row[k]! += k < a.dims ? f * (1 - t) * first.extent / 65535 : 0;
			for (let l = 0; l < 3; l++) {
				const g = s.align ? s.align[4 * l + k]! : Number(k === l);
				row[6]! += f * t * g * b.low[l]!;
				row[3 + l]! += l < b.dims ? f * t * g * b.extent / 65535 : 0;
			}
			if (s.align)
				row[6]! += f * t * s.align[12 + k]!;
		}
		return row;
	}) as [Row, Row, Row];
}

/** Calls each(i, x, y), in CSS pixels, for every step-th point in front of the viewer, from `from` on. */
export function project(s: Scene, each: (i: number, x: number, y: number) => void, from = 0, to = s.b.n, step = 1): void {
	const [rx, ry, rw] = rows(s), d = s.b.dims, pb = s.b.data, pa = s.a.n === s.b.n && s.a.dims === d ? s.a.data : pb;
	const w2 = s.width / 2, h2 = s.height / 2;
	const lineA = d === 1 ? profile(pa === pb ? s.b : s.a) : null, lineB = d === 1 ? profile(s.b) : null;
	for (let i = from; i < to; i += step) {
		const o = i * d;
		let x = rx[6]!, y = ry[6]!, w = rw[6]!;
		if (d === 1) {
			const ua = pa[o]!, ub = pb[o]!;
			x += rx[0]! * ua + rx[3]! * ub;
			const ha = lineA![(ua * PROFILE_BINS) >> 16]!, hb = lineB![(ub * PROFILE_BINS) >> 16]!;
			// the shader ignores the y axis, so the row's constant is only the shift
			y = s.matrix[5]! * (jitter(i) - 0.5) * (ha + (hb - ha) * s.t) + s.matrix[13]!;
		} else {
			for (let k = 0; k < d; k++) {
				const ua = pa[o + k]!, ub = pb[o + k]!;
				x += rx[k]! * ua + rx[3 + k]! * ub;
				y += ry[k]! * ua + ry[3 + k]! * ub;
				if (d === 3)
					w += rw[k]! * ua + rw[3 + k]! * ub;
			}
			if (w <= 0.02)
				continue;
		}
		each(i, w2 + w2 * x / w, h2 - h2 * y / w);
	}
}

/** Index of the point nearest to (x, y) within so many pixels; -1: none. */
export function nearest(s: Scene, x: number, y: number, within: number): number {
	let best = within * within, found = -1;
	project(s, (i, px, py) => {
		const d = (px - x) ** 2 + (py - y) ** 2;
		if (d < best) {
			best = d;
			found = i;
		}
	});
	return found;
}

/** Points within a polygon of CSS pixels. */
export function within(s: Scene, polygon: [number, number][]): number[] {
	const xs = polygon.map(p => p[0]), ys = polygon.map(p => p[1]), found: number[] = [];
	const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
	project(s, (i, x, y) => {
		if (x < x0 || x > x1 || y < y0 || y > y1)
			return;
		let inside = false;
		for (let k = 0, j = polygon.length - 1; k < polygon.length; j = k++)
			if (ys[k]! > y !== ys[j]! > y && x < (xs[j]! - xs[k]!) * (y - ys[k]!) / (ys[j]! - ys[k]!) + xs[k]!)
				inside = !inside;
		if (inside)
			found.push(i);
	});
	return found;
}
