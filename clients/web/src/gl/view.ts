/* view.ts -- a canvas with a moving layout: receives frames, draws pictures, handles mouse and keyboard.
 *
 * The GPU holds the previous and the next frame; t goes from 0 to 1 in the mean time between frames. Then the latest
 * waiting frame becomes the next one; frames in between are skipped. A picture is drawn only if something has moved.
 * While points move and drawing is slow, fewer points are drawn; at rest, all. */
import type { Frame } from "../core/frame.ts";
import { type Camera, cameraMatrix, HOME, panBy, zoomAt } from "./camera.ts";
import { nearest, project, type Scene, within } from "./pick.ts";
import { type Picture, Renderer, type RGB } from "./renderer.ts";
import { type Box, type Window, windowOf } from "./window.ts";

export interface Look {
	background: RGB;
	plain: RGB;
	muted: RGB;
	dark: boolean;
	size: number;        // factor on the size of points
	density: boolean;
}

export interface ViewEvents {
	hover?: (point: number, x: number, y: number) => void;   // -1: none
	click?: (point: number) => void;
	lasso?: (points: number[], add: boolean) => void;
	camera?: (camera: Camera) => void;
	outside?: (points: number) => void;                       // number of points outside the picture at zoom 1
	drawn?: () => void;                                       // called after drawing, to update the overlay
}

const NOTHING: Box = { middle: [0, 0, 0], side: [1, 1, 1], extent: 1 };
const EMPTY: Window = { box: NOTHING, all: NOTHING, outside: 0 };
const SLOW_MS = 45, QUICK_MS = 19;
const LEAST_POINTS = 150_000;   // least number of points drawn

export class View {
	readonly renderer: Renderer;
	camera: Camera = { ...HOME };
	look: Look = { background: [0, 0, 0], plain: [0.5, 0.7, 1], muted: [0.5, 0.5, 0.5], dark: true, size: 1, density: false };
	dimmed = false;
	lassoMode = false;
	lassoPath: [number, number][] = [];
	tween: number | null = null;   // fixed t, for replay and morphing; null: t follows time
	whole = false;                 // zoom 1 shows all points, including outliers
	private box: { a: Window; b: Window } = { a: EMPTY, b: EMPTY };
	private pending: Frame | null = null;
	private t = 1;
	private begun = 0;
	private duration = 100;
	private arrived = 0;
	private interval = 100;
	private dirty = true;
	private request = 0;
	private lod = 1;
	private lastDraw = 0;
	private drawn = 0;       // time of the last picture
	private requestedAt = 0;     // time of the first request for the next picture
	private moving = false;
	private reported = 0;    // last number reported by outside()
	private observer: ResizeObserver;
	private ratio = 1;
	private cancel = new AbortController();

	constructor(readonly canvas: HTMLCanvasElement, readonly events: ViewEvents = {}) {
		this.renderer = new Renderer(canvas);
		Object.assign(canvas, { spacelandView: this });   // for the tests
		this.observer = new ResizeObserver(() => this.fit());
		this.observer.observe(canvas);
		this.fit();
		this.listen();
		canvas.addEventListener("webglcontextlost", e => e.preventDefault(), { signal: this.cancel.signal });
		canvas.addEventListener("webglcontextrestored", () => this.restore(), { signal: this.cancel.signal });
	}

	get width(): number { return this.canvas.clientWidth || 1; }
	get height(): number { return this.canvas.clientHeight || 1; }
	get frame(): Frame | null { return this.renderer.after; }

	private fit(): void {
		this.ratio = Math.min(2, window.devicePixelRatio || 1);
		const w = Math.max(1, Math.round(this.width * this.ratio)), h = Math.max(1, Math.round(this.height * this.ratio));
		if (this.canvas.width !== w || this.canvas.height !== h) {
			this.canvas.width = w;
			this.canvas.height = h;
			this.render();  // at once, so that the canvas does not flash
		}
	}

	private restore(): void {
		const { before, after } = this.renderer;
		this.renderer.create();
		if (before)
			this.renderer.put(0, before);
		if (after)
			this.renderer.put(1, after);
		this.onRestore?.();
		this.invalidate();
	}
	onRestore: (() => void) | null = null;   // called when colours must be set again

	/** Adds the next frame; points move to it. */
	push(frame: Frame): void {
		const now = performance.now();
		if (this.arrived)
			this.interval += 0.3 * (Math.min(1000, Math.max(16, now - this.arrived)) - this.interval);
		this.arrived = now;
		this.pending = frame;
		this.invalidate();
	}

	/** Shows the frames a and b at a fixed t (0 to 1). */
	show(a: Frame, b: Frame, t: number): void {
		if (this.renderer.before !== a || this.renderer.after !== b) {
			const known = this.renderer.after === a;
			if (known) {
				this.renderer.push(b);
			} else {
				if (this.renderer.before !== a)
					this.renderer.put(0, a);
				this.renderer.put(1, b);
			}
			this.box = { a: windowOf(a), b: windowOf(b) };
		}
		this.pending = null;
		this.tween = t;
		this.invalidate();
	}

	/** Lets t follow time again. */
	release(): void {
		this.tween = null;
		this.t = 1;
		this.invalidate();
	}

	clear(): void {
		this.pending = null;
		this.arrived = 0;
	}

	/** Number of points outside the picture at zoom 1. */
	get outside(): number {
		return this.whole ? 0 : this.box.b.outside;
	}

	setWhole(whole: boolean): void {
		this.whole = whole;
		this.invalidate();
	}

	/** Zooms in or out by a factor; zooming out at zoom 1 shows outliers, too. */
	zoom(factor: number): void {
		if (factor < 1 && this.camera.zoom <= 1 && this.outside) {
			this.whole = true;
			this.setCamera({ ...HOME, yaw: this.camera.yaw, pitch: this.camera.pitch });
		} else {
			this.setCamera(zoomAt(this.camera, factor, 0, 0, this.frame?.dims ?? 2, this.width, this.height));
		}
	}

	/** Shows the layout without outliers. */
	home(): void {
		this.whole = false;
		this.setCamera({ ...HOME });
	}

	setCamera(camera: Camera): void {
		this.camera = camera;
		this.events.camera?.(camera);
		this.invalidate();
	}

	invalidate(): void {
		this.dirty = true;
		if (this.request)
			return;
		this.requestedAt = performance.now();
		this.request = requestAnimationFrame(now => { this.request = 0; this.tick(now); });
	}

	private tick(now: number): void {
		if (this.tween === null) {
			this.t = Math.min(1, (now - this.begun) / this.duration);
			if (this.t >= 1 && this.pending) {
				const first = !this.frame || this.frame.dims !== this.pending.dims || this.frame.n !== this.pending.n;
				this.renderer.push(this.pending);
				this.box = { a: this.box.b, b: windowOf(this.pending) };
				if (first)
					this.box.a = this.box.b;
				this.pending = null;
				this.begun = now;
				this.duration = Math.min(600, this.interval * 1.05);
				this.t = first ? 1 : 0;
			}
		}
		const moving = this.tween === null && this.t < 1;
		// If a picture was requested right after the last one, the time between them is the drawing time.
		const took = now - this.lastDraw;
		if (this.requestedAt - this.drawn < QUICK_MS) {
			if (took > SLOW_MS && (this.frame?.n ?? 0) > LEAST_POINTS * this.lod)
				this.lod = Math.min(64, this.lod * Math.max(2, Math.ceil(took / (2 * SLOW_MS))));
			else if (took < QUICK_MS && this.lod > 1)
				this.lod = Math.max(1, this.lod / 2);
		}
		if (!moving && !this.dirty)
			return;
		this.dirty = false;
		this.lastDraw = now;
		this.moving = moving;
		this.render();
		this.drawn = performance.now();
		if (moving || this.pending)
			this.invalidate();
		else
			this.settle();
	}

	private settled = 0;
	/** Draws all points once nothing has moved for a moment. */
	private settle(): void {
		clearTimeout(this.settled);
		if (this.lod > 1)
			this.settled = window.setTimeout(() => { this.moving = false; this.lod = 1; this.render(); }, 150);
	}

	private get time(): number {
		return this.tween ?? this.t;
	}

	/** The length in the layout that becomes 1 in normalised coordinates, so that the box fits the canvas. */
	private reach(box: Box): number {
		if (this.frame?.dims !== 2)
			return box.extent / 2 || 1;
		const unit = Math.min(this.width, this.height);
		return Math.max(box.side[0] * unit / this.width, box.side[1] * unit / this.height) / 2 || 1;
	}

	/** The present centre and scale of the picture. */
	private centre(): [number, number, number, number] {
		const { a, b } = this.whole ? { a: this.box.a.all, b: this.box.b.all } : { a: this.box.a.box, b: this.box.b.box }, t = this.renderer.align ? 0 : this.time;
		const scale = 1 / ((1 - t) * this.reach(a) + t * this.reach(b));
		return [0, 1, 2].map(k => a.middle[k]! * (1 - t) + b.middle[k]! * t).concat(scale) as [number, number, number, number];
	}

	/** Size of a point in CSS pixels, and its opacity: few points are discs; many are small and translucent. */
	private dot(n: number, dims: number): { size: number; opacity: number; top: number } {
		const area = this.width * this.height, zoom = Math.min(this.camera.zoom, 40);
		const space = Math.sqrt(area * 0.3 * zoom * zoom / Math.max(1, n));   // mean distance of points in pixels
		const size = Math.min(10, Math.max(1, space * 0.62 * (dims === 3 ? 1.3 : 1))) * this.look.size;
		const overlap = size * size / (space * space);
		return { size, opacity: Math.min(1.8, Math.max(0.12, 1.5 / (0.6 + overlap))), top: 40 * Math.max(1, overlap) };
	}

	picture(width: number, height: number, ratio: number, lod: number): Picture {
		const f = this.frame, dims = f?.dims ?? 2, dot = this.dot(f?.n ?? 1, dims);
		return {
			t: this.time, centre: this.centre(), matrix: cameraMatrix(this.camera, dims, width, height), perspective: dims === 3,
			size: dot.size * ratio, opacity: Math.min(1.8, dot.opacity * Math.sqrt(lod)), lod,
			background: this.look.background, plain: this.look.plain, muted: this.look.muted, dimmed: this.dimmed,
			dark: this.look.dark, density: this.look.density, densityTop: dot.top * ratio * ratio / Math.min(4, lod),
		};
	}

	/** Draws the picture. */
	render(): void {
		if (this.renderer.gl.isContextLost())
			return;
		this.renderer.draw(this.picture(this.width, this.height, this.ratio, this.lod));
		if (this.outside !== this.reported)
			this.events.outside?.(this.reported = this.outside);
		this.events.drawn?.();
	}

	/** Draws a picture of the given size; the canvas then shows its previous content. */
	async snapshot(width: number, height: number, type = "image/png"): Promise<Blob> {
		const { width: w, height: h } = this.canvas;
		this.canvas.width = width;
		this.canvas.height = height;
		this.renderer.draw(this.picture(width, height, Math.min(width / this.width, height / this.height), 1));
		const blob = new Promise<Blob | null>(resolve => this.canvas.toBlob(resolve, type));
		this.canvas.width = w;
		this.canvas.height = h;
		this.render();
		const made = await blob;
		if (!made)
			throw new Error("The browser made no picture; a smaller one may do.");
		return made;
	}

	scene(): Scene | null {
		const b = this.frame;
		if (!b)
			return null;
		const a = this.renderer.before;
		return { a: a && a.n === b.n && a.dims === b.dims ? a : b, b, t: this.time, centre: this.centre(),
			matrix: cameraMatrix(this.camera, b.dims, this.width, this.height), align: this.renderer.align,
			width: this.width, height: this.height };
	}

	/** Position of a point in CSS pixels, or null. */
	place(point: number): [number, number] | null {
		const scene = this.scene();
		let at: [number, number] | null = null;
		if (scene && point >= 0 && point < scene.b.n)
			project(scene, (_i, x, y) => { at = [x, y]; }, point, point + 1);
		return at;
	}

	/** Of a point (x, y) of a 2-D layout: its place in CSS pixels, and how many of them are 1 in the layout. */
	placeOf(x: number, y: number): [number, number, number] {
		const m = cameraMatrix(this.camera, 2, this.width, this.height), [cx, cy, , scale] = this.centre(), w2 = this.width / 2, h2 = this.height / 2;
		return [w2 + w2 * (m[0]! * (x - cx) * scale + m[12]!), h2 - h2 * (m[5]! * (y - cy) * scale + m[13]!), w2 * m[0]! * scale];
	}

	// ---- mouse, fingers, keys ------------------------------------------------------------

	private listen(): void {
		const options = { signal: this.cancel.signal }, c = this.canvas;
		const fingers = new Map<number, PointerEvent>();
		let travelled = 0, spread = 0, hoverAt: PointerEvent | null = null, hovering = false;
		const local = (e: { clientX: number; clientY: number }): [number, number] => {
			const r = c.getBoundingClientRect();
			return [e.clientX - r.left, e.clientY - r.top];
		};
		const unit = (x: number, y: number): [number, number] => [2 * x / this.width - 1, 1 - 2 * y / this.height];
		const dims = (): number => this.frame?.dims ?? 2;

		c.addEventListener("pointerdown", e => {
			c.setPointerCapture(e.pointerId);
			fingers.set(e.pointerId, e);
			travelled = spread = 0;
			this.lassoPath = this.lassoMode || e.shiftKey ? [local(e)] : [];
		}, options);
		c.addEventListener("pointermove", e => {
			const was = fingers.get(e.pointerId);
			if (!was) {
				hoverAt = e;
				if (!hovering) {
					hovering = true;
					requestAnimationFrame(() => {
						hovering = false;
						const scene = hoverAt && !this.moving ? this.scene() : null;
						if (scene && hoverAt) {
							const [x, y] = local(hoverAt);
							this.events.hover?.(nearest(scene, x, y, 14), x, y);
						}
					});
				}
				return;
			}
			fingers.set(e.pointerId, e);
			const dx = e.clientX - was.clientX, dy = e.clientY - was.clientY;
			travelled += Math.abs(dx) + Math.abs(dy);
			if (fingers.size === 2) {
				const [p, q] = [...fingers.values()] as [PointerEvent, PointerEvent];
				const now = Math.hypot(p.clientX - q.clientX, p.clientY - q.clientY);
				const [x, y] = local({ clientX: (p.clientX + q.clientX) / 2, clientY: (p.clientY + q.clientY) / 2 });
				let camera = panBy(this.camera, dx / this.width, -dy / this.height, dims(), this.width, this.height);
				if (spread)
					camera = zoomAt(camera, now / spread, ...unit(x, y), dims(), this.width, this.height);
				spread = now;
				this.setCamera(camera);
			} else if (this.lassoPath.length) {
				this.lassoPath.push(local(e));
				this.invalidate();
			} else if (dims() === 3 && e.buttons !== 2 && !e.ctrlKey) {
				this.setCamera({ ...this.camera, yaw: this.camera.yaw - dx * 0.008,
					pitch: Math.min(1.55, Math.max(-1.55, this.camera.pitch + dy * 0.008)) });
			} else {
				this.setCamera(panBy(this.camera, 2 * dx / this.width, -2 * dy / this.height, dims(), this.width, this.height));
			}
		}, options);
		const up = (e: PointerEvent): void => {
			if (!fingers.delete(e.pointerId))
				return;
			const scene = this.scene(), path = this.lassoPath;
			this.lassoPath = [];
			if (scene && path.length > 2 && travelled > 8)
				this.events.lasso?.(within(scene, path), e.ctrlKey || e.metaKey);
			else if (scene && travelled < 5 && e.type === "pointerup")
				this.events.click?.(nearest(scene, ...local(e), e.pointerType === "mouse" ? 14 : 28));
			this.invalidate();
		};
		c.addEventListener("pointerup", up, options);
		c.addEventListener("pointercancel", up, options);
		c.addEventListener("pointerleave", () => { hoverAt = null; this.events.hover?.(-1, 0, 0); }, options);
		c.addEventListener("contextmenu", e => e.preventDefault(), options);
		c.addEventListener("wheel", e => {
			e.preventDefault();
			const lines = e.deltaMode === 1 ? 20 : 1, [x, y] = unit(...local(e));
			this.setCamera(zoomAt(this.camera, Math.exp(-e.deltaY * lines * 0.0016), x, y, dims(), this.width, this.height));
		}, { ...options, passive: false });
		c.addEventListener("dblclick", () => this.home(), options);
		c.addEventListener("keydown", e => this.key(e), options);
	}

	private key(e: KeyboardEvent): void {
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		const d = this.frame?.dims ?? 2, step = 0.12, pan = (x: number, y: number): void =>
			this.setCamera(d === 3 ? { ...this.camera, yaw: this.camera.yaw + x, pitch: Math.min(1.55, Math.max(-1.55, this.camera.pitch - y)) }
				: panBy(this.camera, -2 * x, -2 * y, d, this.width, this.height));
		const keys: Record<string, () => void> = {
			ArrowLeft: () => pan(-step, 0), ArrowRight: () => pan(step, 0), ArrowUp: () => pan(0, step), ArrowDown: () => pan(0, -step),
			"+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), "0": () => this.home(), Home: () => this.home(),
		};
		const action = keys[e.key];
		if (action) {
			e.preventDefault();
			action();
		}
	}

	destroy(): void {
		this.cancel.abort();
		this.observer.disconnect();
		cancelAnimationFrame(this.request);
		clearTimeout(this.settled);
		this.renderer.destroy();
	}
}
