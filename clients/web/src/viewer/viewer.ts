/* viewer.ts -- what a saved HTML file runs: the renderer, a legend, names on hover. No server, no network. */
import type { OfflineData } from "../export/html.ts";
import type { Frame } from "../core/frame.ts";
import { cameraOf, HOME } from "../gl/camera.ts";
import { tonesOf } from "../gl/tones.ts";
import { View } from "../gl/view.ts";

const STYLE = `html,body{margin:0;height:100%;font:14px system-ui,sans-serif}body{position:relative;overflow:hidden}
canvas{width:100%;height:100%;display:block;touch-action:none;outline:0}
h1{position:absolute;left:16px;top:12px;margin:0;font-size:16px;font-weight:600;pointer-events:none}
ul{position:absolute;left:12px;bottom:12px;margin:0;padding:8px 10px;list-style:none;max-height:60%;overflow:auto;border-radius:8px}
li{display:flex;gap:8px;align-items:center;padding:1px 0}li svg{flex:none}canvas.scale{width:200px;height:10px;border-radius:4px}.ends{justify-content:space-between}
#tip{position:absolute;padding:4px 8px;border-radius:6px;pointer-events:none;transform:translate(12px,12px);display:none;white-space:nowrap}
.dark{background:#0c0f14;color:#eef1f5}.light{background:#fff;color:#16191f}
.dark ul,.dark #tip{background:rgb(22 27 35/.88)}.light ul,.light #tip{background:rgb(255 255 255/.9);box-shadow:0 1px 5px #0003}`;

function bytesOf(text: string): Uint8Array {
	const raw = atob(text), out = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		out[i] = raw.charCodeAt(i);
	return out;
}

function legend(data: OfflineData, palette: Uint8Array): HTMLElement | null {
	if (data.kind !== "category" || data.categories.length > 60)
		return null;
	const list = document.createElement("ul");
	list.setAttribute("aria-label", data.column);
	data.categories.forEach((text, i) => {
		const item = document.createElement("li"), colour = [...palette.subarray(4 * i, 4 * i + 3)].join(" ");
		item.innerHTML = `<svg width="12" height="12" aria-hidden="true"><circle cx="6" cy="6" r="5" fill="rgb(${colour})"/></svg>`;
		item.append(text);
		list.append(item);
	});
	return list;
}

/** At a place on the scale, 0 to 1. */
function valueOf({ range: [low, high], steep }: OfflineData, place: number): number {
	return steep ? Math.expm1(Math.log1p(low) * (1 - place) + Math.log1p(high) * place) : low + place * (high - low);
}

/** The scale of numbers, with its ends. */
function scale(data: OfflineData, palette: Uint8Array): HTMLElement | null {
	if (data.kind !== "number")
		return null;
	const box = document.createElement("ul"), bar = document.createElement("canvas"), ends = document.createElement("li");
	box.setAttribute("aria-label", data.column);
	bar.className = "scale";
	bar.width = palette.length / 4;
	bar.height = 1;
	bar.getContext("2d")!.putImageData(new ImageData(new Uint8ClampedArray(palette), bar.width, 1), 0, 0);
	const text = (x: number): string => String(Number(x.toPrecision(4)));
	ends.append(text(data.range[0]), " ", data.column, " ", text(data.range[1]));
	ends.className = "ends";
	box.append(bar, ends);
	return box;
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
document.body.append(canvas, title, tip);

const frame: Frame = { job: "", dims: data.dims, final: true, stride: 1, n: data.n, nodes: data.n, end: "done", time: 0, sequence: 1, iteration: 0, kl: NaN,
	low: data.low, extent: data.extent, modelTime: null, data: new Uint16Array(bytesOf(data.layout).buffer) };
const codes = data.codes ? new Uint16Array(bytesOf(data.codes).buffer) : null, palette = bytesOf(data.palette);
const view = new View(canvas, {
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
Object.assign(view.look, tonesOf(data.theme), { size: data.size, density: data.density });
view.onRestore = () => view.renderer.setValues(codes, palette, data.kind);
view.onRestore();
view.whole = data.whole;
view.camera = cameraOf(data.camera) ?? { ...HOME };
view.push(frame);
const list = legend(data, palette) ?? scale(data, palette);
if (list)
	document.body.append(list);
