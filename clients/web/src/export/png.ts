/* png.ts -- saves the view as PNG, with its legend. */
import type { Session } from "../core/session.ts";
import { css } from "../gl/palettes.ts";
import { drawKey, keyOf } from "./legend.ts";

/** scale: pixels of the picture per pixel of the page. */
export async function makePng(s: Session, scale: number, legend: boolean): Promise<Blob> {
	const view = s.view;
	if (!view)
		throw new Error("There is no layout yet.");
	const { width, height } = view, [w, h] = [Math.round(width * scale), Math.round(height * scale)];
	const picture = await view.snapshot(w, h), key = legend ? keyOf(s, height) : null;
	if (!key)
		return picture;
	const canvas = document.createElement("canvas"), image = await createImageBitmap(picture);
	canvas.width = w + Math.round(key.width * scale);
	canvas.height = h;
	const g = canvas.getContext("2d")!;
	g.fillStyle = css(view.look.background);
	g.fillRect(0, 0, canvas.width, h);
	g.drawImage(image, 0, 0);
	drawKey(g, key, width, height, scale, view.look.dark);
	const blob = await new Promise<Blob | null>(resolve => canvas.toBlob(resolve, "image/png"));
	if (!blob)
		throw new Error("The browser made no picture; a smaller one may do.");
	return blob;
}
