/* legend.ts -- the legend of a saved picture, in a column at the right: the most frequent categories and the number of
 * others, or a colour bar with numbers. */
import { shorten } from "../core/format.ts";
import { legendOrder, scaleNumbers, unlabelled } from "../core/nodes.ts";
import type { Session } from "../core/session.ts";
import { css, scaleAt } from "../gl/palettes.ts";

const MOST = 30, LETTERS = 24, LINE = 18, TOP = 16, PAD = 16, LETTER = 7, BAR = 180;

export interface Key {
	title: string;
	entries: { name: string; colour: string }[];
	others: number;
	none: string;             // the colour of nodes without a category; "": there are none
	numbers: string[];        // from the low to the high end of the bar; empty: categories
	colours: string[];        // of the bar, from its low end
	width: number;            // of the column, pixels
}

/** Makes the legend for a picture of this height; null: the picture has one colour. */
export function keyOf(s: Session, height: number): Key | null {
	const v = s.values.value;
	if (!v || s.by.value === "density")
		return null;
	const title = shorten(v.column.name, LETTERS), numeric = v.column.kind === "number", colours = s.colours(), order = numeric ? [] : legendOrder(v);
	const none = !numeric && s.view && unlabelled(v) ? css(s.view.look.muted) : "";
	const room = Math.max(1, Math.min(MOST, Math.floor((height - 2 * TOP) / LINE) - (none ? 3 : 2))), listed = order.length <= room + 1 ? order.length : room;
	// the most frequent ones, in the order of legends
	const frequent = new Set([...order].sort((a, b) => v.counts[b]! - v.counts[a]!).slice(0, listed));
	const entries = order.filter(i => frequent.has(i)).map(i => ({ name: shorten(v.categories[i]!, LETTERS), colour: css(colours[i]!) }));
	const numbers = numeric ? scaleNumbers(v) : [], others = order.length - listed;
	const letters = Math.max(...[...entries.map(e => e.name), ...numbers].map(t => t.length + 2), title.length, others ? 11 : 0);
	return { title, entries, others, none, numbers, width: Math.round(2 * PAD + LETTER * letters + 4),
		colours: Array.from({ length: 17 }, (_, i) => css(scaleAt(s.paletteName, i / 16))) };
}

/** One element: text with its baseline at (x, y), a disc, or the bar. */
type Part = { text: string; x: number; y: number; bold?: boolean } | { disc: string; x: number; y: number } | { bar: string[]; x: number; y: number; height: number };

function parts(key: Key, left: number, height: number): Part[] {
	const x = left + PAD, out: Part[] = [{ text: key.title, x, y: TOP + 9, bold: true }];
	let y = TOP + LINE;
	if (key.numbers.length) {
		const bar = Math.max(20, Math.min(BAR, height - y - TOP)), last = key.numbers.length - 1;
		out.push({ bar: key.colours, x, y, height: bar });
		key.numbers.forEach((text, i) => {
			if (bar >= LINE * last || i === 0 || i === last)
				out.push({ text, x: x + 18, y: y + bar * (last ? 1 - i / last : 0.5) + 4 });
		});
	}
	const line = (name: string, colour: string): void => {
		out.push(...(colour ? [{ disc: colour, x: x + 5, y: y + 5 }] : []), { text: name, x: x + 18, y: y + 9 });
		y += LINE;
	};
	for (const { name, colour } of key.entries)
		line(name, colour);
	if (key.others)
		line(key.others === 1 ? "1 other" : `${key.others} others`, "");
	if (key.none)
		line("none", key.none);
	return out;
}

/** Escapes text for XML and removes characters that XML does not allow. */
export const escape = (text: string): string => text.replace(/[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "").replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);
const inkOf = (dark: boolean): string => (dark ? "#f2f5f9" : "#16191f");

export function keySvg(key: Key, left: number, height: number, dark: boolean): string {
	const inner = parts(key, left, height).map(p => {
		if ("text" in p)
			return `<text x="${p.x}" y="${p.y}"${p.bold ? ' font-weight="600"' : ""}>${escape(p.text)}</text>`;
		if ("disc" in p)
			return `<rect x="${p.x - 5}" y="${p.y - 5}" width="10" height="10" rx="5" fill="${p.disc}"/>`;
		const stops = p.bar.map((c, i) => `<stop offset="${i / (p.bar.length - 1)}" stop-color="${c}"/>`).join("");
		return `<linearGradient id="scale" x1="0" y1="1" x2="0" y2="0">${stops}</linearGradient><rect x="${p.x}" y="${p.y}" width="10" height="${p.height}" fill="url(#scale)"/>`;
	});
	return `<g class="legend" fill="${inkOf(dark)}" font-family="sans-serif" font-size="12">${inner.join("")}</g>\n`;
}

/** ratio: pixels of the canvas per pixel of the picture. */
export function drawKey(g: CanvasRenderingContext2D, key: Key, left: number, height: number, ratio: number, dark: boolean): void {
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	for (const p of parts(key, left, height)) {
		if ("text" in p) {
			g.font = `${p.bold ? "600 " : ""}12px sans-serif`;
			g.fillStyle = inkOf(dark);
			g.fillText(p.text, p.x, p.y, key.width - (p.x - left) - 4);
		} else if ("disc" in p) {
			g.beginPath();
			g.arc(p.x, p.y, 5, 0, 7);
			g.fillStyle = p.disc;
			g.fill();
		} else {
			const shade = g.createLinearGradient(0, p.y + p.height, 0, p.y);
			p.bar.forEach((c, i) => shade.addColorStop(i / (p.bar.length - 1), c));
			g.fillStyle = shade;
			g.fillRect(p.x, p.y, 10, p.height);
		}
	}
}
