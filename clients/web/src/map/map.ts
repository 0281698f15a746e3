/* map.ts -- @spaceland/map: a layout on any page, still or moving. map/index.d.ts is its interface, map/README.md its page.
 * It has the dashboard's renderer (src/gl), touches nothing outside its element, and makes no request but those of follow(). */
import { decodeFrame, type Frame } from "../core/frame.ts";
import { drawNames, inks, type Marked, type Peak, peaks } from "../core/marks.ts";
import { type Camera, HOME } from "../gl/camera.ts";
import { PALETTES, SCALES, type Theme } from "../gl/colours.ts";
import { tonesOf } from "../gl/tones.ts";
import { View } from "../gl/view.ts";
import { follow } from "./follow.ts";
import { categories, type Coloured, numbers, quantise } from "./values.ts";

export interface MapOptions {
	label?: string;
	theme?: Theme | "auto";
	size?: number;
	names?: boolean;
	tooltip?: boolean;
	maxPoints?: number;
	maxBytes?: number;
}

export interface MapEvents {
	hover: { node: number; x: number; y: number };
	click: { node: number };
	select: { nodes: Uint32Array; by: "lasso" | "call" };
	camera: Camera;
	frame: { iteration: number; kl: number; nodes: number; points: number; final: boolean };
	error: Error;
	contextlost: undefined;
	contextrestored: undefined;
}

export interface Following {
	done: Promise<void>;
	stop(): void;
}

const MAX_POINTS = 2_000_000, MAX_BYTES = 192e6, NAMES_MS = 250, SELECTED = 1;
const LOST = "The browser took back the graphics memory of this map; it is drawn again when there is some.";

const element = (kind: string, style: string, parent: HTMLElement): HTMLElement => {
	const made = document.createElement(kind);
	made.style.cssText = style;
	parent.append(made);
	return made;
};

export class SpacelandMap {
	private readonly view: View;
	private readonly over: HTMLCanvasElement;
	private readonly tip: HTMLElement;
	private readonly lost: HTMLElement;
	private readonly box: HTMLElement;
	private readonly listeners = new Map<string, Set<(value: never) => void>>();
	private readonly end = new AbortController();
	private readonly system = matchMedia("(prefers-color-scheme: dark)");
	private readonly maxPoints: number;
	private readonly maxBytes: number;
	private readonly marked: Marked = { view: null, codes: null, categories: [], colours: [], stride: 1, ellipses: [], clusters: [], contours: [] };
	private following: AbortController | null = null;
	private coloured: Coloured | null = null;
	private labels: ArrayLike<string> | ((node: number) => string) | null = null;
	private selected: Uint32Array = new Uint32Array(0);
	private recording: Frame[] = [];
	private frame: Frame | null = null;
	private sequence = 0;
	private shade: Theme | "auto";
	private names: Peak[] = [];
	private namedAt = 0;
	private late = 0;
	private painted = "";   // which sample of the nodes has colours

	constructor(host: HTMLElement, private readonly options: MapOptions) {
		this.maxPoints = options.maxPoints ?? MAX_POINTS;
		this.maxBytes = options.maxBytes ?? MAX_BYTES;
		this.shade = options.theme ?? "auto";
		this.box = element("div", "position:relative;width:100%;height:100%;overflow:hidden", host);
		const canvas = element("canvas", "position:absolute;inset:0;width:100%;height:100%;display:block;touch-action:none", this.box) as HTMLCanvasElement;
		canvas.tabIndex = 0;
		canvas.setAttribute("role", "application");
		canvas.setAttribute("aria-label", options.label ?? "Map");
		canvas.setAttribute("aria-description", "Arrow keys move, plus and minus zoom, 0 shows all.");
		this.over = element("canvas", "position:absolute;inset:0;width:100%;height:100%;pointer-events:none", this.box) as HTMLCanvasElement;
		this.over.setAttribute("aria-hidden", "true");
		this.tip = element("div", "position:absolute;display:none;padding:4px 8px;border-radius:6px;font:13px system-ui,sans-serif;pointer-events:none;white-space:nowrap", this.box);
		this.lost = element("p", "position:absolute;inset:auto 16px 16px;margin:0;padding:8px 12px;border-radius:6px;font:13px system-ui,sans-serif;display:none", this.box);
		this.lost.setAttribute("role", "status");
		try {
			this.view = new View(canvas, {
				hover: (point, x, y) => this.hover(point, x, y),
				click: point => { if (point >= 0) this.emit("click", { node: this.nodeOf(point) }); },
				lasso: (points, add) => this.lassoed(points, add),
				camera: camera => this.emit("camera", { ...camera }),
				drawn: () => this.drawOver(),
			});
		} catch (error) {
			this.box.remove();
			throw error;
		}
		this.marked.view = this.view;
		this.view.onRestore = () => { this.painted = ""; this.paint(); };
		canvas.addEventListener("webglcontextlost", () => { this.lost.style.display = "block"; this.lost.textContent = LOST; this.emit("contextlost", undefined); }, { signal: this.end.signal });
		canvas.addEventListener("webglcontextrestored", () => { this.lost.style.display = "none"; this.emit("contextrestored", undefined); }, { signal: this.end.signal });
		this.system.addEventListener("change", () => this.restyle(), { signal: this.end.signal });
		this.restyle();
	}

	// ---- what is shown -------------------------------------------------------------------

	setPositions(positions: ArrayLike<number>, dims = 2): void {
		this.alive();
		const frame = quantise(positions, dims, ++this.sequence, this.maxPoints);
		this.halt();
		this.show(frame);
	}

	setFrame(message: ArrayBuffer | Uint8Array): void {
		this.alive();
		const frame = message instanceof Uint8Array ? decodeFrame(message.buffer as ArrayBuffer, message.byteOffset, message.byteLength) : decodeFrame(message);
		this.halt();
		this.show(frame);
	}

	setFrames(frames: ArrayLike<ArrayLike<number>>, dims = 2): void {
		this.alive();
		if (!frames.length)
			throw new RangeError("A replay has at least one frame; here is none.");
		const made: Frame[] = [];
		let bytes = 0;
		for (let i = 0; i < frames.length; i++) {
			const frame = quantise(frames[i]!, dims, ++this.sequence, this.maxPoints);
			if (frame.n !== (made[0] ?? frame).n)
				throw new RangeError(`Frame ${i} has ${frame.n} points; the first one has ${made[0]!.n}.`);
			bytes += frame.data.byteLength;
			if (bytes > this.maxBytes)
				throw new RangeError(`${frames.length} frames take more than maxBytes, ${this.maxBytes}: the first ${i} fit.`);
			made.push(frame);
		}
		this.halt();
		this.recording = made;
		this.seek(0);
	}

	get frames(): number { return this.recording.length; }

	seek(place: number): void {
		this.alive();
		const last = this.recording.length - 1;
		if (last < 0)
			throw new Error("There are no frames: setFrames() first.");
		const at = Math.min(last, Math.max(0, place)), i = Math.min(Math.floor(at), Math.max(0, last - 1)), j = Math.min(last, i + 1);
		this.arrived(this.recording[Math.round(at)]!);
		this.view.show(this.recording[i]!, this.recording[j]!, Math.min(1, at - i));
	}

	follow(o: { server: string; job: string; token?: string; maxPoints?: number }): Following {
		this.alive();
		this.halt();
		const control = new AbortController(), maxPoints = Math.min(this.maxPoints, o.maxPoints ?? this.maxPoints);
		this.following = control;
		const done = follow({ ...o, maxPoints }, frame => { if (!control.signal.aborted && frame.n) this.show(frame); }, error => this.emit("error", error), control.signal);
		done.catch(error => this.emit("error", error as Error));
		return { done, stop: () => control.abort() };
	}

	// ---- colours, labels, selection ------------------------------------------------------

	colourByCategories(values: ArrayLike<unknown>, o: { colours?: Record<string, string>; palette?: string } = {}): string[] {
		this.alive();
		this.fits(values.length, "categories");
		this.coloured = categories(values, o.colours, this.palette(o.palette ?? "labels"));
		this.recolour();
		return this.coloured.names;
	}

	colourByNumbers(values: ArrayLike<number>, o: { range?: [number, number]; palette?: string } = {}): [number, number] {
		this.alive();
		this.fits(values.length, "numbers");
		const palette = this.palette(o.palette ?? "viridis");
		if (!SCALES[palette])
			throw new RangeError(`${palette} is a list of colours; scales of numbers are ${Object.keys(SCALES).join(", ")}.`);
		this.coloured = numbers(values, o.range, palette);
		this.recolour();
		return this.coloured.range;
	}

	colourPlain(): void {
		this.alive();
		this.coloured = null;
		this.recolour();
	}

	setLabels(labels: ArrayLike<string> | ((node: number) => string) | null): void {
		this.alive();
		if (labels && typeof labels !== "function")
			this.fits(labels.length, "labels");
		this.labels = labels;
	}

	select(nodes: Iterable<number> | null): void {
		this.alive();
		this.chosen(Uint32Array.from(nodes ?? []), "call");
	}

	get selection(): Uint32Array { return this.selected.slice(); }

	get lasso(): boolean { return this.view.lassoMode; }
	set lasso(on: boolean) { this.view.lassoMode = on; }

	get camera(): Camera { return { ...this.view.camera }; }
	set camera(camera: Camera) {
		if (![camera.x, camera.y, camera.zoom, camera.yaw, camera.pitch].every(Number.isFinite) || camera.zoom <= 0)
			throw new RangeError("A camera has the numbers x, y, zoom (above 0), yaw and pitch.");
		this.view.setCamera({ ...HOME, ...camera });
	}

	fit(): void { this.view.home(); }

	set theme(theme: Theme | "auto") {
		this.shade = theme;
		this.restyle();
	}

	on<K extends keyof MapEvents>(name: K, listener: (value: MapEvents[K]) => void): () => void {
		const set = this.listeners.get(name) ?? new Set();
		this.listeners.set(name, set.add(listener as (value: never) => void));
		return () => { set.delete(listener as (value: never) => void); };
	}

	async picture(o: { width?: number; height?: number; type?: string } = {}): Promise<Blob> {
		this.alive();
		const width = o.width ?? this.view.canvas.width, height = o.height ?? this.view.canvas.height, type = o.type ?? "image/png";
		const points = await createImageBitmap(await this.view.snapshot(width, height)), canvas = new OffscreenCanvas(width, height), g = canvas.getContext("2d")!;
		g.drawImage(points, 0, 0);
		points.close();
		const ratio = Math.min(width / this.view.width, height / this.view.height);
		g.setTransform(ratio, 0, 0, ratio, (width - ratio * this.view.width) / 2, (height - ratio * this.view.height) / 2);
		if (this.options.names !== false)
			drawNames(g as unknown as CanvasRenderingContext2D, this.marked, peaks(this.marked), this.theme === "dark");
		return canvas.convertToBlob({ type });
	}

	destroy(): void {
		if (this.end.signal.aborted)
			return;
		this.halt();
		this.end.abort();
		clearTimeout(this.late);
		this.view.destroy();
		this.box.remove();
		this.listeners.clear();
		this.coloured = this.labels = this.frame = null;
	}

	// ---- inside --------------------------------------------------------------------------

	get theme(): Theme { return this.shade === "auto" ? (this.system.matches ? "dark" : "light") : this.shade; }

	private alive(): void {
		if (this.end.signal.aborted)
			throw new Error("This map was destroyed.");
	}

	private palette(name: string): string {
		if (!PALETTES.includes(name))
			throw new RangeError(`There is no palette ${name}; there are ${PALETTES.join(", ")}.`);
		return name;
	}

	private fits(length: number, what: string): void {
		if (this.frame && length !== this.frame.nodes)
			throw new RangeError(`There are ${length} ${what} for ${this.frame.nodes} nodes; one each is right.`);
	}

	private emit<K extends keyof MapEvents>(name: K, value: MapEvents[K]): void {
		for (const listener of [...this.listeners.get(name) ?? []] as ((value: MapEvents[K]) => void)[])
			listener(value);
	}

	/** Ends what was shown before: a job that was followed, a replay. */
	private halt(): void {
		this.following?.abort();
		this.following = null;
		if (this.recording.length)
			this.view.release();
		this.recording = [];
	}

	private show(frame: Frame): void {
		if (frame.modelTime !== null)
			throw new RangeError("This is a frame of a signal, whose numbers are values; colourByNumbers() shows them on a layout.");
		if (frame.n > this.maxPoints)
			throw new RangeError(`${frame.n} points are more than maxPoints, ${this.maxPoints}.`);
		const shown = frame.data instanceof Float32Array ? { ...frame, ...this.rounded(frame) } : frame;
		this.arrived(shown);
		this.view.push(shown);
	}

	private rounded(frame: Frame): Pick<Frame, "data" | "low" | "extent"> {
		const { data, low, extent } = quantise(frame.data, frame.dims, frame.sequence, this.maxPoints);
		return { data, low, extent };
	}

	private arrived(frame: Frame): void {
		if (frame === this.frame)
			return;
		const other = this.frame !== null && this.frame.nodes !== frame.nodes;
		this.frame = frame;
		if (other || (this.coloured && this.coloured.codes.length !== frame.nodes)) {
			if (this.coloured && this.coloured.codes.length !== frame.nodes) {
				this.emit("error", new RangeError(`The colours are of ${this.coloured.codes.length} nodes; this layout has ${frame.nodes}.`));
				this.coloured = null;
			}
			this.selected = new Uint32Array(0);
			this.painted = "";
		}
		this.paint();
		this.emit("frame", { iteration: frame.iteration, kl: frame.kl, nodes: frame.nodes, points: frame.n, final: frame.final });
	}

	private nodeOf(point: number): number { return point * (this.frame?.stride ?? 1); }

	private hover(point: number, x: number, y: number): void {
		const node = point < 0 ? -1 : this.nodeOf(point);
		if (this.options.tooltip !== false) {
			const text = node < 0 ? "" : this.textOf(node);
			this.tip.style.display = text ? "block" : "none";
			this.tip.textContent = text;
			const left = Math.max(0, Math.min(x + 12, this.view.width - this.tip.offsetWidth));
			this.tip.style.left = `${left}px`;
			this.tip.style.top = `${y + 40 > this.view.height ? y - 36 : y + 12}px`;
		}
		this.emit("hover", { node, x, y });
	}

	private textOf(node: number): string {
		const label = typeof this.labels === "function" ? this.labels(node) : this.labels?.[node] ?? `node ${node}`;
		const code = this.coloured?.codes[node];
		return this.coloured?.kind === "category" && code !== undefined && code !== 65535 ? `${label} · ${this.coloured.names[code]}` : label;
	}

	private lassoed(points: number[], add: boolean): void {
		const nodes = new Set(add ? this.selected : []);
		for (const point of points)
			nodes.add(this.nodeOf(point));
		this.chosen(Uint32Array.from(nodes).sort(), "lasso");
	}

	private chosen(nodes: Uint32Array, by: "lasso" | "call"): void {
		const bad = nodes.find(node => node >= (this.frame?.nodes ?? 0));
		if (bad !== undefined)
			throw new RangeError(`There is no node ${bad}; the layout has ${this.frame?.nodes ?? 0}.`);
		this.selected = nodes;
		this.recolour();
		this.emit("select", { nodes: nodes.slice(), by });
	}

	private recolour(): void {
		this.painted = "";
		this.namedAt = 0;
		this.paint();
	}

	/** Gives colours and flags to the renderer, of the nodes that the frame has. */
	private paint(): void {
		const f = this.frame, key = f ? `${f.stride} ${f.n} ${f.nodes}` : "";
		if (!f || this.painted === key)
			return;
		this.painted = key;
		const c = this.coloured, sampled = <T extends Uint8Array | Uint16Array>(all: T): T =>
			(f.stride === 1 ? all : (all as Uint16Array).filter((_, i) => i % f.stride === 0)) as T;
		const palette = c ? c.palette(this.theme) : new Uint8Array(4);
		this.view.renderer.setValues(c ? sampled(c.codes) : null, palette, c?.kind ?? "plain");
		this.marked.codes = c?.kind === "category" && this.options.names !== false ? c.codes : null;
		this.marked.stride = f.stride;
		this.marked.categories = c?.names ?? [];
		const flags = this.selected.length ? new Uint8Array(f.nodes) : null;
		for (const node of flags ? this.selected : [])
			flags![node] = SELECTED;
		this.view.dimmed = !!flags;
		this.view.renderer.setFlags(flags && sampled(flags));
		this.view.invalidate();
	}

	private restyle(): void {
		const dark = this.theme === "dark", { background, ...tones } = tonesOf(this.theme);
		Object.assign(this.view.look, tones, { background, size: this.options.size ?? 1 });
		for (const box of [this.tip, this.lost]) {
			box.style.background = dark ? "#161b23" : "#fff";
			box.style.color = dark ? "#f2f5f9" : "#16191f";
			box.style.boxShadow = "0 1px 5px #0005";
		}
		this.recolour();
		this.view.invalidate();
	}

	private drawOver(): void {
		if (!this.frame)
			return;   // also while the view is made
		const { canvas } = this.view, now = performance.now();
		if (this.over.width !== canvas.width || this.over.height !== canvas.height) {
			this.over.width = canvas.width;
			this.over.height = canvas.height;
		}
		if (now - this.namedAt > NAMES_MS) {
			this.names = this.marked.codes ? peaks(this.marked) : [];
			this.namedAt = now;
		} else if (!this.late) {
			this.late = window.setTimeout(() => { this.late = 0; this.drawOver(); }, NAMES_MS + 10);
		}
		const g = this.over.getContext("2d")!, ratio = this.over.width / this.view.width, path = this.view.lassoPath, dark = this.theme === "dark";
		g.setTransform(ratio, 0, 0, ratio, 0, 0);
		g.clearRect(0, 0, this.view.width, this.view.height);
		drawNames(g, this.marked, this.names, dark);
		if (path.length > 1) {
			g.beginPath();
			path.forEach(([x, y]) => g.lineTo(x, y));
			g.strokeStyle = inks(dark).ink;
			g.lineWidth = 1.5;
			g.stroke();
		}
	}
}

export function create(host: HTMLElement, options: MapOptions = {}): SpacelandMap {
	return new SpacelandMap(host, options);
}
