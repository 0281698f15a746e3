/* viewer.ts -- the program of a saved HTML file: the renderer, names of categories and ellipses, a legend, names on hover.
 * It needs no server and no network. */
import type { OfflineData } from "../export/html.ts";
import { contoursOf } from "../core/contours.ts";
import { drawContours, drawEllipses, drawNames, type Marked, type Peak, peaks } from "../core/marks.ts";
import type { Frame } from "../core/frame.ts";
import { cameraOf, HOME } from "../gl/camera.ts";
import { tonesOf } from "../gl/tones.ts";
import { View } from "../gl/view.ts";

const STYLE = `html,body{margin:0;height:100%;font:14px system-ui,sans-serif}body{display:flex;overflow:hidden}
main{position:relative;flex:1;min-width:0;min-height:0}main>canvas{position:absolute;width:100%;height:100%;display:block;touch-action:none;outline:0}main>.over{pointer-events:none}
h1{position:absolute;left:16px;top:12px;margin:0;font-size:16px;font-weight:600;pointer-events:none}
aside{box-sizing:border-box;width:max-content;min-width:170px;max-width:min(280px,34%);padding:12px 14px;overflow:auto;border-left:1px solid #8884}
h2{margin:0 0 8px;font-size:14px}ul{margin:0;padding:0;list-style:none}li{display:flex;gap:8px;align-items:center;padding:1px 0;overflow-wrap:anywhere}li svg{flex:none}
canvas.scale{width:100%;height:12px;border-radius:4px;display:block}.numbers{display:flex;justify-content:space-between;font-size:12px;gap:6px}
#tip{position:absolute;padding:4px 8px;border-radius:6px;pointer-events:none;transform:translate(12px,12px);display:none;white-space:nowrap}
.dark{background:#0c0f14;color:#eef1f5}.light{background:#fff;color:#16191f}
.dark #tip{background:rgb(22 27 35/.88)}.light #tip{background:rgb(255 255 255/.9);box-shadow:0 1px 5px #0003}
@media(max-width:600px){body{flex-direction:column}aside{width:auto;max-width:none;max-height:30%;border-left:0;border-top:1px solid #8884}ul:not(.numbers){columns:2}}`;

function bytesOf(text: string): Uint8Array {
	const raw = atob(text), out = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		out[i] = raw.charCodeAt(i);
	return out;
}

const NAMES_MS = 250;   // names are placed again so long after a move
const MOST = 60;   // most categories named in the legend

const swatch = (rgb: Iterable<number>): string =>
	`<svg width="12" height="12" aria-hidden="true"><circle cx="6" cy="6" r="5" fill="rgb(${[...rgb].join(" ")})"/></svg>`;

/** The legend, beside the picture or, on a narrow screen, below it: names of categories and the number of others, or a
 * scale. */
function legend(data: OfflineData, palette: Uint8Array): HTMLElement | null {
	if (data.kind === "plain" || data.density)
		return null;
	const box = document.createElement("aside"), title = document.createElement("h2"), list = document.createElement("ul");
	title.textContent = data.column;
	list.setAttribute("aria-label", data.column);
	box.append(title, ...(data.kind === "number" ? [bar(palette)] : []), list);
	const add = (text: string, rgb?: Iterable<number>): void => {
		const item = document.createElement("li");
		item.innerHTML = rgb ? swatch(rgb) : "";
		item.append(text);
		list.append(item);
	};
	for (const i of data.listed.slice(0, MOST))
		add(data.categories[i]!, palette.subarray(4 * i, 4 * i + 3));
	const others = data.listed.length - MOST;
	for (const text of [...data.numbers, ...(others > 0 ? [`${others} other${others === 1 ? "" : "s"}`] : [])])
		add(text);
	if (data.none)
		add("none", tonesOf(data.theme).muted.map(x => Math.round(255 * x)));
	if (data.kind === "number")
		list.className = "numbers";
	return box;
}

function bar(palette: Uint8Array): HTMLElement {
	const canvas = document.createElement("canvas");
	canvas.className = "scale";
	canvas.width = palette.length / 4;
	canvas.height = 1;
	canvas.getContext("2d")!.putImageData(new ImageData(new Uint8ClampedArray(palette), canvas.width, 1), 0, 0);
	return canvas;
}

/** The value at a position on the scale, 0 to 1. */
function valueOf({ range: [low, high], steep }: OfflineData, place: number): number {
	return steep ? Math.expm1(Math.log1p(low) * (1 - place) + Math.log1p(high) * place) : low + place * (high - low);
}

const data = JSON.parse(document.getElementById("data")!.textContent!) as OfflineData;
const style = document.createElement("style");
style.textContent = STYLE;
document.head.append(style);
document.body.className = data.theme;
const canvas = document.createElement("canvas"), title = document.createElement("h1"), tip = document.createElement("div");
canvas.tabIndex = 0;
canvas.setAttribute("role", "img");
canvas.setAttribute("aria-label", `${data.title}: a layout of ${data.n} nodes`);
title.textContent = data.title;
tip.id = "tip";
const main = document.createElement("main");
const over = document.createElement("canvas");
over.className = "over";
over.setAttribute("aria-hidden", "true");
main.append(canvas, over, title, tip);
document.body.append(main);

const frame: Frame = { job: "", dims: data.dims, final: true, stride: 1, n: data.n, nodes: data.n, end: "done", time: 0, sequence: 1, iteration: 0, kl: NaN,
	low: data.low, extent: data.extent, modelTime: null, data: new Uint16Array(bytesOf(data.layout).buffer) };
const codes = data.codes ? new Uint16Array(bytesOf(data.codes).buffer) : null, palette = bytesOf(data.palette);
const marked: Marked = { view: null, codes: data.kind === "category" && !data.flags ? codes : null, categories: data.categories, stride: 1, ellipses: data.ellipses, clusters: data.clusters, contours: data.contours ? contoursOf(frame) : [],
	colours: data.categories.map((_, i) => `rgb(${[...palette.subarray(4 * i, 4 * i + 3)].join(" ")})`) };
let names: Peak[] = [], namedAt = 0, late = 0;
function drawOver(): void {
	const v = marked.view, now = performance.now();
	if (!v)
		return;
	if (over.width !== canvas.width || over.height !== canvas.height) {
		over.width = canvas.width;
		over.height = canvas.height;
	}
	if (now - namedAt > NAMES_MS) {
		names = peaks(marked);
		namedAt = now;
	} else if (!late) {
		late = window.setTimeout(() => { late = 0; drawOver(); }, NAMES_MS + 10);
	}
	const g = over.getContext("2d")!, ratio = over.width / v.width;
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.clearRect(0, 0, v.width, v.height);
	drawContours(g, marked, v.look.dark);
	drawEllipses(g, marked);
	drawNames(g, marked, names, v.look.dark);
}
const view = new View(canvas, {
	drawn: drawOver,
	hover: (point, x, y) => {
		tip.style.display = point < 0 ? "none" : "block";
		if (point < 0)
			return;
		const code = codes?.[point], name = data.names[point] ?? `node ${point}`;
		const label = code === undefined || code === 65535 ? "" : data.kind === "category" ? data.categories[code] :
			String(Number(valueOf(data, code / 65534).toPrecision(4)));
		tip.textContent = label ? `${name} · ${label}` : name;
		tip.style.left = `${x}px`;
		tip.style.top = `${y}px`;
	},
});
Object.assign(canvas, { spacelandData: data });   // for the tests
Object.assign(view.look, tonesOf(data.theme), { size: data.size, density: data.density });
view.onRestore = () => {
	view.renderer.setValues(codes, palette, data.kind);
	view.dimmed = !!data.flags;
	view.renderer.setFlags(data.flags ? bytesOf(data.flags) : null);
};
view.onRestore();
view.whole = data.whole;
view.camera = cameraOf(data.camera) ?? { ...HOME };
marked.view = view;
view.push(frame);
const key = legend(data, palette);
if (key)
	document.body.append(key);
