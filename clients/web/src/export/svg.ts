/* svg.ts -- saves the view as SVG: a circle per point, a group per colour. */
import { css, scaleAt } from "../gl/palettes.ts";
import { project } from "../gl/pick.ts";
import type { Session } from "../core/session.ts";
import { CONTOUR_LINE, contourOpacity, ELLIPSE_LINE, ELLIPSE_OPACITY, inks, type Marked, NAME_FONT, NAME_HALO, peaks, placedContours, placedEllipses, placedNames } from "../core/marks.ts";
import { MISSING } from "../core/nodes.ts";
import { escape, keyOf, keySvg } from "./legend.ts";

export const SVG_MOST = 200_000;
const DIM = 0.12;         // opacity of nodes that are not selected

/** The names and ellipses over the layout. */
function marksSvg(m: Marked, dark: boolean): string {
	const g = document.createElement("canvas").getContext("2d")!, { ink, halo } = inks(dark);
	g.font = NAME_FONT;
	const ellipses = placedEllipses(m).map(({ x, y, radii, angle, colour }) => `<ellipse transform="translate(${x.toFixed(2)} ${y.toFixed(2)}) rotate(${(angle * 180 / Math.PI).toFixed(2)})" ` +
		`rx="${radii[0].toFixed(2)}" ry="${radii[1].toFixed(2)}" stroke="${colour}"/>`).join("");
	const names = placedNames(m, peaks(m), text => g.measureText(text).width)
		.map(({ text, x, y }) => `<text x="${x.toFixed(1)}" y="${(y + 4).toFixed(1)}">${escape(text)}</text>`).join("");
	const contours = placedContours(m).map((line, k) => {
		let path = "";
		for (let i = 0; i < line.length; i += 4)
			path += `M${line[i]!.toFixed(1)} ${line[i + 1]!.toFixed(1)}L${line[i + 2]!.toFixed(1)} ${line[i + 3]!.toFixed(1)}`;
		return `<path opacity="${contourOpacity(k).toFixed(2)}" d="${path}"/>`;
	}).join("");
	return (contours && `<g class="contours" fill="none" stroke="${ink}" stroke-width="${CONTOUR_LINE}">${contours}</g>\n`) + (ellipses && `<g class="ellipses" fill="none" stroke-width="${ELLIPSE_LINE}" opacity="${ELLIPSE_OPACITY}">${ellipses}</g>\n`) +
		(names && `<g class="names" fill="${ink}" stroke="${halo}" stroke-width="${NAME_HALO}" stroke-linejoin="round" paint-order="stroke" text-anchor="middle" font-family="sans-serif" font-size="12" font-weight="600">${names}</g>\n`);
}

/** Throws if there are too many points for programs to open the file. */
export function makeSvg(s: Session, title: string, legend: boolean): Blob {
	const view = s.view, scene = view?.scene(), v = s.values.value, stride = s.frame.value?.stride ?? 1;
	if (!view || !scene)
		throw new Error("There is no layout yet.");
	if (scene.b.n > SVG_MOST)
		throw new Error(`An SVG of ${scene.b.n} points would be too large for other programs; PNG is right for it.`);
	const { width, height } = scene, plain = css(view.look.plain), muted = css(view.look.muted);
	const colours = v?.column.kind === "category" ? s.colours().map(css) : null;
	const groups = new Map<string, string[]>(), dim = new Map<string, string[]>(), flags = s.selected.value;
	const radius = view.picture(width, height, 1, 1).size / 2, key = legend ? keyOf(s, height) : null, all = width + (key?.width ?? 0);
	project(scene, (i, x, y) => {
		if (x < -9 || y < -9 || x > width + 9 || y > height + 9)
			return;
		const code = v?.codes[i * stride] ?? MISSING;
		const fill = !v ? plain : code === MISSING ? muted : colours ? colours[code % colours.length]! : css(scaleAt(s.paletteName, Math.round(code / 1024) / 64));
		const into = flags && !flags[i * stride] ? dim : groups;
		let group = into.get(fill);
		if (!group)
			into.set(fill, group = []);
		group.push(`<circle cx="${x.toFixed(2)}" cy="${y.toFixed(2)}" r="${radius.toFixed(2)}"/>`);
	});
	// what is not selected lies behind, faint
	const body = [...[...dim].map(([fill, circles]) => `<g class="not-selected" fill="${fill}" fill-opacity="${DIM}">${circles.join("")}</g>`),
		...[...groups].map(([fill, circles]) => `<g${flags ? ' class="selected"' : ""} fill="${fill}" fill-opacity=".75">${circles.join("")}</g>`)].join("\n");
	return new Blob([`<svg xmlns="http://www.w3.org/2000/svg" width="${all}" height="${height}" viewBox="0 0 ${all} ${height}">`,
		`<title>${escape(title)}</title><rect width="100%" height="100%" fill="${css(view.look.background)}"/>\n`, `<svg width="${width}" height="${height}">`, body, "\n", marksSvg(s.marked, view.look.dark), "</svg>\n", key ? keySvg(key, width, height, view.look.dark) : "", "</svg>\n"], { type: "image/svg+xml" });
}
