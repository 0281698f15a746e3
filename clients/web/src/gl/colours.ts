/* colours.ts -- palettes for people with any kind of colour vision: the list of the server's pictures, in which the
 * category of most nodes has the first colour; Okabe and Ito's eight colours (2008), longer lists that also differ in
 * lightness; and matplotlib's perceptually uniform scales, by their stops. */
import LABELS from "../../../../core/picture/palette.json";
import type { RGB } from "./renderer.ts";

export type Theme = "dark" | "light";

export const hex = (text: string): RGB => [1, 3, 5].map(i => parseInt(text.slice(i, i + 2), 16) / 255) as RGB;
const hexes = (text: string): RGB[] => text.split(" ").map(t => hex(`#${t}`));

const OKABE_ITO = hexes("e69f00 56b4e9 009e73 f0e442 0072b2 d55e00 cc79a7");

export const SCALES: Record<string, RGB[]> = {
	viridis: hexes("440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725"),
	cividis: hexes("00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838"),
	magma: hexes("000004 140e36 3b0f70 641a80 8c2981 b73779 de4968 f7705c fe9f6d fecf92 fcfdbf"),
	plasma: hexes("0d0887 41049d 6a00a8 8f0da4 b12a90 cc4778 e16462 f2844b fca636 fcce25 f0f921"),
};
/** The part of a scale that is used: without the end that resembles the background. */
const SHOWN: Record<string, Record<string, readonly [number, number]>> = {
	dark: { viridis: [0.2, 1], cividis: [0.2, 1], magma: [0.34, 1], plasma: [0.2, 1] },
	light: { viridis: [0, 0.85], cividis: [0, 0.85], magma: [0, 0.8], plasma: [0, 0.85] },
};
export const PALETTES = ["labels", "okabe-ito", "bright", ...Object.keys(SCALES)];

function oklch(l: number, c: number, h: number): RGB {
	const a = c * Math.cos(h), b = c * Math.sin(h);
	const [x, y, z] = [l + 0.3963377774 * a + 0.2158037573 * b, l - 0.1055613458 * a - 0.0638541728 * b,
		l - 0.0894841775 * a - 1.291485548 * b].map(v => v ** 3) as RGB;
	const linear = [4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z,
		-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z, -0.0041960863 * x - 0.7034186147 * y + 1.707614701 * z];
	return linear.map(v => {
		const s = Math.min(1, Math.max(0, v));
		return s <= 0.0031308 ? 12.92 * s : 1.055 * s ** (1 / 2.4) - 0.055;
	}) as RGB;
}

/** n colours that differ in hue; adjacent ones also differ in lightness. */
function bright(n: number): RGB[] {
	return Array.from({ length: n }, (_, i) => oklch([0.72, 0.58, 0.83][i % 3]!, [0.16, 0.17, 0.13][i % 3]!, 0.5 + i * 2.399963));
}

/** Converts to OKLab, in which equal distances look about equal; the inverse of oklch(). */
function oklab(c: RGB): RGB {
	const [r, g, b] = c.map(s => (s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4)) as RGB;
	const [x, y, z] = [0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b, 0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b,
		0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b].map(Math.cbrt) as RGB;
	return [0.2104542553 * x + 0.793617785 * y - 0.0040720468 * z, 1.9779984951 * x - 2.428592205 * y + 0.4505937099 * z,
		0.0259040371 * x + 0.7827717662 * y - 0.808675766 * z];
}

const known = new Map<number, RGB[]>();
const APART = 0.11, PICKED = 64;   // colours nearer than APART look alike; the first PICKED colours are kept apart

/** Okabe and Ito's colours, followed by bright ones unlike all before. */
function mixed(n: number): RGB[] {
	const made = known.get(n);
	if (made)
		return made;
	const out = [...OKABE_ITO], seen = out.map(oklab), some = Math.min(n, PICKED);
	for (let apart = APART; out.length < some; apart *= 0.8)
		for (const c of bright(4 * PICKED)) {
			const at = oklab(c);
			if (out.length < some && seen.every(o => Math.hypot(o[0] - at[0], o[1] - at[1], o[2] - at[2]) > apart)) {
				out.push(c);
				seen.push(at);
			}
		}
	out.push(...bright(n - some));
	known.set(n, out);
	return out;
}

/** The colour of the rank-th largest category, as sl_picture_colour() gives it to pictures. */
function labelColour(rank: number, theme: Theme): RGB {
	const list = LABELS[theme], light = theme === "light";
	if (rank < list.length)
		return hex(`#${list[rank]}`);
	const k = rank - list.length, ring = k % 3;
	return oklch((light ? 0.5 : 0.68) + 0.09 * (ring - 1), ring === 1 ? 0.09 : 0.14, (k * 2.399963229728653 + 0.4) % (2 * Math.PI));
}

/** Colours of n categories. counts: their numbers of nodes, by which palette "labels" goes; default: as if in descending
 * order. */
export function categoryColours(theme: Theme, n: number, palette: string, counts: readonly number[] = []): RGB[] {
	if (palette === "labels") {
		const out = new Array<RGB>(n);
		Array.from({ length: n }, (_, i) => i).sort((a, b) => (counts[b] ?? 0) - (counts[a] ?? 0) || a - b)
			.forEach((category, rank) => { out[category] = labelColour(rank, theme); });
		return out;
	}
	if (palette === "bright")
		return bright(n);
	if (SCALES[palette])
		return Array.from({ length: n }, (_, i) => scaleAt(theme, palette, n > 1 ? i / (n - 1) : 0.5));
	return n <= OKABE_ITO.length ? OKABE_ITO.slice(0, n) : mixed(n);
}

export function scaleAt(theme: Theme, palette: string, x: number): RGB {
	const name = SCALES[palette] ? palette : "viridis", stops = SCALES[name]!, [from, to] = SHOWN[theme]![name]!;
	const at = (from + (to - from) * Math.min(1, Math.max(0, x))) * (stops.length - 1);
	const i = Math.min(stops.length - 2, Math.floor(at)), f = at - i;
	return [0, 1, 2].map(k => stops[i]![k]! * (1 - f) + stops[i + 1]![k]! * f) as RGB;
}

export function texture(colours: RGB[]): Uint8Array {
	const out = new Uint8Array(colours.length * 4);
	colours.forEach((c, i) => out.set([...c.map(x => Math.round(x * 255)), 255], 4 * i));
	return out;
}

export const scaleTexture = (theme: Theme, palette: string): Uint8Array =>
	texture(Array.from({ length: 256 }, (_, i) => scaleAt(theme, palette, i / 255)));

export const css = (c: RGB): string => `rgb(${c.map(x => Math.round(x * 255)).join(" ")})`;
export const toHex = (c: RGB): string => "#" + c.map(x => Math.round(x * 255).toString(16).padStart(2, "0")).join("");
