/* png.ts -- saves the view as PNG, with the names and ellipses over it, and its legend. */
import type { Session } from "../core/session.ts";
import { drawContours, drawEllipses, drawNames, peaks, placedEllipses } from "../core/marks.ts";
import { css } from "../gl/palettes.ts";
import { drawKey, keyOf } from "./legend.ts";

/** scale: pixels of the picture per pixel of the page. */
export async function makePng(s: Session, scale: number, legend: boolean): Promise<Blob> {
	const view = s.view;
	if (!view)
		throw new Error("There is no layout yet.");
	const { width, height } = view, [w, h] = [Math.round(width * scale), Math.round(height * scale)];
	const picture = await view.snapshot(w, h), key = legend ? keyOf(s, height) : null, marked = s.marked, names = peaks(marked);
	if (!key && !names.length && !marked.contours.length && !placedEllipses(marked).length)
		return picture;
	const canvas = document.createElement("canvas"), image = await createImageBitmap(picture);
	canvas.width = w + Math.round((key?.width ?? 0) * scale);
	canvas.height = h;
	const g = canvas.getContext("2d")!;
	g.fillStyle = css(view.look.background);
	g.fillRect(0, 0, canvas.width, h);
	g.drawImage(image, 0, 0);
	g.save();
	g.beginPath();
	g.rect(0, 0, w, h);
	g.clip();
	g.setTransform(scale, 0, 0, scale, 0, 0);
	drawContours(g, marked, view.look.dark);
	drawEllipses(g, marked);
	drawNames(g, marked, names, view.look.dark);
	g.restore();
	if (key)
		drawKey(g, key, width, height, scale, view.look.dark);
	const blob = await new Promise<Blob | null>(resolve => canvas.toBlob(resolve, "image/png"));
	if (!blob)
		throw new Error("The browser made no picture; a smaller one may do.");
	return blob;
}
