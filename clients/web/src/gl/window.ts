/* window.ts -- the part of a layout that a picture shows. As in the server's pictures, this is the box of all but 0.1 %
 * of the nodes, unless the box of all nodes is only slightly larger. So a few outliers do not shrink the rest to a
 * dot. */
import type { Frame } from "../core/frame.ts";

export interface Box {
	middle: [number, number, number];
	side: [number, number, number];
	extent: number;              // the longest side
}

export interface Window {
	box: Box;
	all: Box;                    // of all points
	outside: number;             // number of points outside the box
}

const SAMPLE = 10_000, LEAST = 1000, CUT = 2000;   // one of CUT sample points lies beyond each side
const NEARLY = 1.3, MARGIN = 0.05;

type Range = [number, number];

/** The full and the shown range of coordinate k, in the units of the frame's numbers. */
function rangesOf(f: Frame, k: number, scratch: Float32Array): { all: Range; shown: Range } {
	const { data, dims, n } = f, step = Math.max(1, Math.ceil(n / SAMPLE));
	let low = Infinity, high = -Infinity, count = 0;
	for (let i = 0, at = k; i < n; i++, at += dims) {
		const v = data[at]!;
		if (v < low)
			low = v;
		if (v > high)
			high = v;
		if (i % step === 0)
			scratch[count++] = v;
	}
	const all: Range = [low, high];
	if (count < LEAST)
		return { all, shown: all };
	const sorted = scratch.subarray(0, count).sort(), cut = Math.floor(count / CUT);
	const from = sorted[cut]!, to = sorted[count - 1 - cut]!, span = to - from;
	if (high - low <= NEARLY * span || span <= 0)
		return { all, shown: all };
	return { all, shown: [Math.max(low, from - MARGIN * span), Math.min(high, to + MARGIN * span)] };
}

function boxOf(f: Frame, ranges: Range[]): Box {
	const unit = f.extent / 65535, side: Box["side"] = [0, 0, 0], middle: Box["middle"] = [0, 0, 0];
	ranges.forEach(([low, high], k) => {
		side[k] = (high - low) * unit;
		middle[k] = f.low[k]! + (low + high) / 2 * unit;
	});
	return { side, middle, extent: Math.max(...side) };
}

/** The window of a frame, which must have points. */
export function windowOf(f: Frame): Window {
	const scratch = new Float32Array(SAMPLE + 1), ranges = Array.from({ length: f.dims }, (_, k) => rangesOf(f, k, scratch));
	const all = boxOf(f, ranges.map(r => r.all));
	let outside = 0;
	if (ranges.every(r => r.shown === r.all))
		return { box: all, all, outside };
	for (let i = 0; i < f.n; i++)
		for (let k = 0; k < f.dims; k++) {
			const v = f.data[i * f.dims + k]!, [low, high] = ranges[k]!.shown;
			if (v < low || v > high) {
				outside++;
				break;
			}
		}
	return { box: boxOf(f, ranges.map(r => r.shown)), all, outside };
}
