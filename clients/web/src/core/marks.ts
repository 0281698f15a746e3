/* marks.ts -- what is drawn over a layout and belongs into saved pictures, too: names of categories at their densest
 * places, and the ellipses of a mixture. */
import { project } from "../gl/pick.ts";
import type { View } from "../gl/view.ts";
import type { Ellipse } from "./clusters.ts";
import { type MapCluster, shownClusters } from "./mapnames.ts";
import { shorten } from "./format.ts";

const LABELS = 30;         // most categories named in the picture
const SAMPLE = 12000;
const REACHES = [2, 2, 1, 1];   // cells on each side, in each step of the mean shift
const CELL = 28;           // pixels of a cell in which nodes are counted, at most
const LETTERS = 22;        // of a name
const CLUSTER_LETTERS = 34;
const SHARE = 0.5;         // of the nodes around a name that belong to its category; a name amid others would mislead
const CROWD = 24;          // nodes among which that is decided, if there are so many
export const NAME_FONT = "600 12px system-ui, sans-serif", NAME_HALO = 4, ELLIPSE_LINE = 1.5, ELLIPSE_OPACITY = 0.85;

/** A layout with its marks. */
export interface Marked {
	view: View | null;
	codes: Uint16Array | null;   // categories of the nodes; null: none are named
	categories: string[];
	colours: string[];           // of the categories
	stride: number;              // of the layout's sample of nodes
	ellipses: Ellipse[];
	clusters: MapCluster[];      // of the layout, whose names are shown; []: none are
	contours: Float32Array[];    // lines of equal density (contours.ts); []: none are shown
}

export interface Peak {
	code: number;                // of a category
	text?: string;               // of a cluster: its name
	x: number;
	y: number;
}

/** Colours of text and lines over a layout, and of the halo behind them. */
export const inks = (dark: boolean): { ink: string; halo: string } =>
	(dark ? { ink: "#f2f5f9", halo: "rgb(12 15 20 / .85)" } : { ink: "#16191f", halo: "rgb(255 255 255 / .9)" });

/** Where names go, in CSS pixels: those of clusters, if they are shown, else those of categories. */
export function peaks(m: Marked): Peak[] {
	return m.clusters.length && m.view ? shownClusters(m.view, m.clusters).map(c => ({ code: -1, ...c })) : categoryPeaks(m);
}

/** The densest place of each category that has most of the nodes there, in CSS pixels. */
function categoryPeaks({ view, codes, categories, stride }: Marked): Peak[] {
	const scene = view?.scene();
	if (!scene || !codes || categories.length > LABELS || categories.length < 2 || scene.b.dims === 1)
		return [];
	const cell = Math.min(CELL, Math.min(scene.width, scene.height) / 26), columns = Math.ceil(scene.width / cell) + 1, k = categories.length;
	const cells = new Map<number, [number, number, number]>(), all = new Map<number, number>(), best = new Array<number>(k).fill(0), most = best.slice(), sizes = best.slice(), at = new Array<[number, number]>(k);
	project(scene, (i, x, y) => {
		const code = codes[i * stride]!;
		if (code >= k || x < 0 || y < 0 || x >= scene.width || y >= scene.height)
			return;
		const place = Math.floor(y / cell) * columns + Math.floor(x / cell), key = place * k + code;
		all.set(place, (all.get(place) ?? 0) + 1);
		sizes[code]!++;
		const c = cells.get(key);
		if (c) {
			c[0]++;
			c[1] += x;
			c[2] += y;
		} else {
			cells.set(key, [1, x, y]);
		}
	}, 0, scene.b.n, Math.max(1, Math.floor(scene.b.n / SAMPLE)));
	for (const [key, [n]] of cells)
		best[key % k] = Math.max(best[key % k]!, n);
	/** Number and sums of x and y of a category's points in the cells around a place. */
	const around = (code: number, x: number, y: number, reach: number): [number, number, number] => {
		const sums: [number, number, number] = [0, 0, 0], middle = Math.floor(x / cell), top = Math.floor(y / cell) - reach;
		for (let row = top; row <= top + 2 * reach; row++)
			for (let column = Math.max(0, middle - reach); column <= Math.min(columns - 1, middle + reach); column++)
				cells.get((row * columns + column) * k + code)?.forEach((v, i) => { sums[i]! += v; });
		return sums;
	};
	for (const [key, [n, x, y]] of cells) {   // of the fullest cells the one with most points around it
		const code = key % k, near = 2 * n >= best[code]! ? around(code, x / n, y / n, 2)[0] : 0;
		if (near > most[code]!) {
			most[code] = near;
			at[code] = [x / n, y / n];
		}
	}
	for (const code of at.keys())  // mean shift: a few steps to the mean of the points in the surrounding cells
		for (const reach of at[code] ? REACHES : []) {
			const [n, x, y] = around(code, ...at[code]!, reach);
			at[code] = [x / n, y / n];
		}
	/** The number of nodes around a place that have a category. */
	const crowd = (x: number, y: number, reach: number): number => {
		let sum = 0;
		for (let row = Math.floor(y / cell) - reach; row <= Math.floor(y / cell) + reach; row++)
			for (let column = Math.max(0, Math.floor(x / cell) - reach); column <= Math.min(columns - 1, Math.floor(x / cell) + reach); column++)
				sum += all.get(row * columns + column) ?? 0;
		return sum;
	};
	/** True if a category has most of the nodes around a place: of enough of them, or of few if most of its own are there. */
	const prevails = (code: number, x: number, y: number): boolean => {
		const holds = (reach: number): boolean => around(code, x, y, reach)[0] >= SHARE * crowd(x, y, reach);
		const reach = [1, 2, 3, 4].find(r => crowd(x, y, r) >= CROWD) ?? 4;
		return holds(reach) || (holds(1) && around(code, x, y, 1)[0] >= 0.5 * sizes[code]!);
	};
	return best.flatMap((n, code) => (n > 2 && prevails(code, ...at[code]!) ? [{ code, x: at[code]![0], y: at[code]![1] }] : []));
}

/** The names that have room, the ones of the first places first. width: of a text in pixels. */
export function placedNames(m: Marked, names: Peak[], width: (text: string) => number): { text: string; x: number; y: number }[] {
	const taken: [number, number, number, number][] = [];
	return names.flatMap(({ code, text: own, x: middle, y }) => {
		const text = shorten(own ?? m.categories[code] ?? "", own ? CLUSTER_LETTERS : LETTERS), w = width(text) / 2 + 3;
		const x = own && m.view ? Math.max(w, Math.min(m.view.width - w, middle)) : middle;   // whole names at the edges
		if (taken.some(([l, t, r, b]) => x + w > l && x - w < r && y + 9 > t && y - 9 < b))
			return [];
		taken.push([x - w, y - 9, x + w, y + 9]);
		return [{ text, x, y }];
	});
}

export function drawNames(g: CanvasRenderingContext2D, m: Marked, names: Peak[], dark: boolean): void {
	const { ink, halo } = inks(dark);
	g.font = NAME_FONT;
	g.textAlign = "center";
	g.textBaseline = "middle";
	g.lineJoin = "round";
	for (const { text, x, y } of placedNames(m, names, t => g.measureText(t).width)) {
		g.strokeStyle = halo;
		g.lineWidth = NAME_HALO;
		g.strokeText(text, x, y);
		g.fillStyle = ink;
		g.fillText(text, x, y);
	}
}

/** An ellipse in CSS pixels. */
export interface PlacedEllipse {
	x: number;
	y: number;
	radii: [number, number];
	angle: number;       // of the first radius, clockwise, in radians
	colour: string;
}

/** Gaussians of a mixture, at one and two standard deviations, on the layout that they were fitted to. */
export function placedEllipses({ view, ellipses, colours }: Marked): PlacedEllipse[] {
	return !view ? [] : ellipses.flatMap(({ x, y, radii, angle }, k) => {
		const [px, py, unit] = view.placeOf(x, y), colour = colours[k] ?? "gray";
		return [1, 2].map(deviations => ({ x: px, y: py, radii: [deviations * radii[0] * unit, deviations * radii[1] * unit] as [number, number], angle: -angle, colour }));
	});
}

export function drawEllipses(g: CanvasRenderingContext2D, m: Marked): void {
	g.lineWidth = ELLIPSE_LINE;
	g.globalAlpha = ELLIPSE_OPACITY;
	for (const { x, y, radii, angle, colour } of placedEllipses(m)) {
		g.strokeStyle = colour;
		g.beginPath();
		g.ellipse(x, y, ...radii, angle, 0, 7);
		g.stroke();
	}
	g.globalAlpha = 1;
}

/** The path of contours of one density in CSS pixels: x0, y0, x1, y1 of each segment. */
export function placedContours({ view, contours }: Marked): Float32Array[] {
	if (!view || !contours.length)
		return [];
	const [ox, oy, unit] = view.placeOf(0, 0);
	return contours.map(line => line.map((v, k) => (k % 2 ? oy - v * unit : ox + v * unit)));
}

export const CONTOUR_LINE = 1, contourOpacity = (k: number): number => 0.3 + 0.12 * k;

export function drawContours(g: CanvasRenderingContext2D, m: Marked, dark: boolean): void {
	g.strokeStyle = inks(dark).ink;
	g.lineWidth = CONTOUR_LINE;
	placedContours(m).forEach((line, k) => {
		g.globalAlpha = contourOpacity(k);
		g.beginPath();
		for (let i = 0; i < line.length; i += 4) {
			g.moveTo(line[i]!, line[i + 1]!);
			g.lineTo(line[i + 2]!, line[i + 3]!);
		}
		g.stroke();
	});
	g.globalAlpha = 1;
}
