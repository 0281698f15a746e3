/* svg.ts -- the view as it is, as SVG: a circle a point, a group a colour. */
import { css, scaleAt } from "../gl/palettes.ts";
import { project } from "../gl/pick.ts";
import { number, shorten } from "../core/format.ts";
import type { Session } from "../core/session.ts";
import { legendOrder, MISSING } from "../core/nodes.ts";

export const SVG_MOST = 200_000;
const LEGEND = 30;   // categories that are named

const escape = (text: string): string => text.replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]!);

/** What the colours mean, at the top right: names of categories, or the ends of a scale. */
function legend(s: Session, width: number, dark: boolean): string {
	const v = s.values.value, ink = dark ? "#f2f5f9" : "#16191f";
	if (!v)
		return "";
	const text = (x: number, y: number, words: string): string => `<text x="${x}" y="${y}">${escape(words)}</text>`;
	const group = (inner: string): string => `<g class="legend" fill="${ink}" font-family="sans-serif" font-size="12">${inner}</g>\n`;
	if (v.column.kind === "number") {
		const stops = Array.from({ length: 9 }, (_, i) => `<stop offset="${i / 8}" stop-color="${css(scaleAt(s.paletteName, i / 8))}"/>`).join("");
		return group(`<linearGradient id="scale">${stops}</linearGradient>${text(width - 156, 24, v.column.name)}<rect x="${width - 156}" y="30" width="140" height="10" fill="url(#scale)"/>` +
			`${text(width - 156, 54, number(v.low))}<text x="${width - 16}" y="54" text-anchor="end">${number(v.high)}</text>`);
	}
	const colours = s.colours(), order = legendOrder(v);
	const names = order.slice(0, LEGEND).map(i => shorten(v.categories[i]!, 24));
	const x = width - 34 - 7.2 * Math.max(0, ...names.map(n => n.length));
	return group(names.map((name, k) => `<rect x="${x}" y="${16 + 18 * k}" width="10" height="10" rx="5" fill="${css(colours[order[k]!]!)}"/>${text(x + 16, 25 + 18 * k, name)}`).join("") +
		(order.length > LEGEND ? text(x + 16, 25 + 18 * LEGEND, `and ${order.length - LEGEND} more`) : ""));
}

/** Throws when there are too many points for a file that programs can open. */
export function makeSvg(s: Session, title: string): Blob {
	const view = s.view, scene = view?.scene(), v = s.values.value, stride = s.frame.value?.stride ?? 1;
	if (!view || !scene)
		throw new Error("There is no layout yet.");
	if (scene.b.n > SVG_MOST)
		throw new Error(`An SVG of ${scene.b.n} points would be too large for other programs; PNG is right for it.`);
	const { width, height } = scene, plain = css(view.look.plain), muted = css(view.look.muted);
	const colours = v?.column.kind === "category" ? s.colours().map(css) : null;
	const groups = new Map<string, string[]>();
	const radius = view.picture(width, height, 1, 1).size / 2;
	project(scene, (i, x, y) => {
		if (x < -9 || y < -9 || x > width + 9 || y > height + 9)
			return;
		const code = v?.codes[i * stride] ?? MISSING;
		const fill = !v ? plain : code === MISSING ? muted : colours ? colours[code % colours.length]! : css(scaleAt(s.paletteName, Math.round(code / 1024) / 64));
		let group = groups.get(fill);
		if (!group)
			groups.set(fill, group = []);
		group.push(`<circle cx="${x.toFixed(2)}" cy="${y.toFixed(2)}" r="${radius.toFixed(2)}"/>`);
	});
	const body = [...groups].map(([fill, circles]) => `<g fill="${fill}" fill-opacity=".75">${circles.join("")}</g>`).join("\n");
	return new Blob([`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">`,
		`<title>${escape(title)}</title><rect width="100%" height="100%" fill="${css(view.look.background)}"/>\n`, body, "\n", legend(s, width, view.look.dark), "</svg>\n"], { type: "image/svg+xml" });
}
