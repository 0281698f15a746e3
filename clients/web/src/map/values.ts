/* values.ts -- what authors give: positions, categories, numbers; as the renderer takes them. */
import type { Frame } from "../core/frame.ts";
import { categoryColours, hex, scaleTexture, texture, type Theme } from "../gl/colours.ts";
import type { RGB } from "../gl/renderer.ts";

const MISSING = 65535, LEVELS = 65534;
export const MOST_CATEGORIES = 2048;   // colours are a row of a texture; every WebGL 2 has rows of so many

/** Numbers [n][dims] as a frame of 16-bit numbers: 65,536 steps along the longest side. */
export function quantise(positions: ArrayLike<number>, dims: number, sequence: number, most: number): Frame {
	if (dims !== 1 && dims !== 2 && dims !== 3)
		throw new RangeError(`A map has 1, 2 or 3 dimensions, not ${dims}.`);
	const n = positions.length / dims;
	if (!Number.isInteger(n))
		throw new RangeError(`${positions.length} numbers are no positions in ${dims} dimensions: ${dims} numbers a point are right.`);
	if (n > most)
		throw new RangeError(`${n} points are more than maxPoints, ${most}: sample them, or give create() a larger maxPoints.`);
	const low: Frame["low"] = [0, 0, 0], high = [0, 0, 0];
	for (let k = 0; k < dims; k++) {
		low[k] = Infinity;
		high[k] = -Infinity;
	}
	for (let i = 0; i < positions.length; i++) {
		const v = positions[i]!, k = i % dims;
		if (!Number.isFinite(v))
			throw new RangeError(`Coordinate ${k} of point ${Math.floor(i / dims)} is ${v}; finite numbers are right.`);
		low[k] = Math.min(low[k]!, v);
		high[k] = Math.max(high[k]!, v);
	}
	const extent = n ? Math.max(...high.map((h, k) => h - low[k]!)) || 1 : 1, data = new Uint16Array(positions.length);
	for (let i = 0; i < data.length; i++)
		data[i] = Math.round((positions[i]! - low[i % dims]!) / extent * 65535);
	return { job: "", dims, final: false, stride: 1, n, nodes: n, end: "", time: Date.now(), sequence, iteration: 0, kl: NaN, low: n ? low : [0, 0, 0], extent, modelTime: null, data };
}

/** Colours of the nodes: a 16-bit number each, and what they mean. */
export interface Coloured {
	kind: "category" | "number";
	codes: Uint16Array;
	names: string[];                            // of categories, the most frequent one first
	range: [number, number];                    // of numbers
	palette: (theme: Theme) => Uint8Array;      // RGBA
}

export function categories(values: ArrayLike<unknown>, colours: Record<string, string> | undefined, palette: string): Coloured {
	const counts = new Map<string, number>(), missing = (v: unknown): boolean => v === null || v === undefined || v === "" || Number.isNaN(v);
	for (let i = 0; i < values.length; i++)
		if (!missing(values[i]))
			counts.set(String(values[i]), (counts.get(String(values[i])) ?? 0) + 1);
	if (counts.size > MOST_CATEGORIES)
		throw new RangeError(`There are ${counts.size} categories; a map colours at most ${MOST_CATEGORIES}. Group them, or colour by numbers.`);
	const names = [...counts].sort((a, b) => b[1] - a[1]).map(c => c[0]), code = new Map(names.map((name, i) => [name, i]));
	for (const [name, colour] of Object.entries(colours ?? {}))
		if (!/^#[0-9a-f]{6}$/i.test(colour))
			throw new RangeError(`The colour of ${name} is ${colour}; #rrggbb is right.`);
	return {
		kind: "category", names, range: [0, 0], codes: Uint16Array.from({ length: values.length }, (_, i) => (missing(values[i]) ? MISSING : code.get(String(values[i]))!)),
		palette: theme => {
			const drawn = categoryColours(theme, Math.max(1, names.length), palette);
			return texture(names.length ? names.map((name, i): RGB => (colours?.[name] ? hex(colours[name]) : drawn[i]!)) : drawn);
		},
	};
}

export function numbers(values: ArrayLike<number>, range: [number, number] | undefined, palette: string): Coloured {
	let [low, high] = range ?? [Infinity, -Infinity];
	if (!range)
		for (let i = 0; i < values.length; i++)
			if (Number.isFinite(values[i])) {
				low = Math.min(low, values[i]!);
				high = Math.max(high, values[i]!);
			}
	if (range && !(low < high))
		throw new RangeError(`The range of the colours is ${low} to ${high}; it must rise.`);
	const span = high > low ? high - low : 1;
	return { kind: "number", names: [], range: low <= high ? [low, high] : [0, 0], palette: theme => scaleTexture(theme, palette),
		codes: Uint16Array.from({ length: values.length }, (_, i) => (Number.isFinite(values[i]) ? Math.round(LEVELS * Math.min(1, Math.max(0, (values[i]! - low) / span))) : MISSING)) };
}
