/* session.ts -- the state of one job on one canvas: frames, colours, selection, recording. The components display
 * it. */
import { View } from "../gl/view.ts";
import { HOME } from "../gl/camera.ts";
import { columnColours, css, scaleTexture, texture } from "../gl/palettes.ts";
import type { RGB } from "../gl/renderer.ts";
import { ApiError, getJson } from "./api.ts";
import { colourOfColumn, colourOfFirst, type Ellipse, ellipsesOf, foundBy, jobOfColour } from "./clusters.ts";
import { contoursOf } from "./contours.ts";
import { Filter } from "./filter.ts";
import { followFrames, oneFrame } from "./follow.ts";
import type { Frame } from "./frame.ts";
import { keptLayout } from "./kept.ts";
import type { Marked } from "./marks.ts";
import type { MapCluster } from "./mapnames.ts";
import { DEGREE, type Nodes, nodesOf, sampled, type Values } from "./nodes.ts";
import { Recording } from "./record.ts";
import { type Names, regroup } from "./regroup.ts";
import { rowsOf } from "./rows.ts";
import { Signal } from "./signal.ts";
import type { Column, Job } from "./types.ts";
import { theme, tones } from "./theme.ts";

const STREAM_POINTS = 1_000_000;   // frames of larger layouts are sampled until the user zooms in
const DETAIL_ZOOM = 3;

export interface Hover {
	node: number;
	x: number;
	y: number;
}

export class Session {
	view: View | null = null;
	readonly nodes: Nodes;
	readonly recording = new Recording();
	readonly filter: Filter;
	readonly frame = new Signal<Frame | null>(null);
	readonly columns = new Signal<Column[]>([]);
	readonly by = new Signal("");                      // what colours: a column; "": nothing; "density"; "job:ID": clusters
	readonly palette = new Signal("auto");
	readonly values = new Signal<Values | null>(null);
	readonly names = new Signal<ReadonlyMap<string, Names>>(new Map());   // by column: other names of categories, for this view
	readonly size = new Signal(1);
	readonly clusters = new Signal<MapCluster[]>([]);  // whose names are on the map
	readonly contours = new Signal(false);             // lines of equal density are shown
	readonly edges = new Signal<Uint32Array | null>(null);   // pairs of nodes whose edges are drawn; null: none, also not those under the pointer
	hoverNear: { node: number; to: number[] } | null = null;   // the node under the pointer, and where its edges lead
	ellipses: Ellipse[] = [];                          // the Gaussians whose clusters colour the final layout
	readonly hover = new Signal<Hover | null>(null);
	readonly focus = new Signal<{ node: number; near: { node: number; name: string; value: number }[] } | null>(null);
	readonly selected = new Signal<Uint8Array | null>(null);   // per node: 1 if selected
	readonly selectedCount = new Signal(0);
	readonly replay = new Signal<number | null>(null);  // position in the recording; null: live
	readonly camera = new Signal(HOME);
	readonly outside = new Signal(0);                  // number of nodes outside the view at zoom 1
	whole = false;                                      // zoom 1 shows all nodes
	readonly problem = new Signal("");
	readonly firstMoved = new Signal(0);                // time of the first moving picture, for measurements
	private following: AbortController | null = null;
	private detail = false;
	private colourStride = 0;
	private colourPoints = 0;

	/** most: largest number of points in streamed frames until the user zooms in. */
	constructor(readonly job: Job, private readonly kind: string, private readonly most = STREAM_POINTS) {
		this.nodes = nodesOf(job);
		this.filter = new Filter(this);
	}

	attach(canvas: HTMLCanvasElement, drawn: () => void): void {
		this.view = new View(canvas, {
			hover: (point, x, y) => { this.hover.value = point < 0 || !this.frame.value ? null : { node: this.nodeOf(point), x, y }; },
			click: point => void this.click(point < 0 ? -1 : this.nodeOf(point)),
			lasso: (points, add) => this.select(points.map(p => this.nodeOf(p)), add),
			camera: camera => { this.camera.value = camera; this.whole = this.view?.whole ?? false; this.sharpen(); },
			outside: points => { this.outside.value = points * (this.frame.value?.stride ?? 1); },
			drawn,
		});
		this.view.onRestore = () => { this.colourStride = 0; this.paint(); };
		this.view.camera = this.camera.value;
		this.view.whole = this.whole;
		this.restyle();
		this.follow();
		document.addEventListener("visibilitychange", this.onVisible);
	}

	detach(): void {
		document.removeEventListener("visibilitychange", this.onVisible);
		this.following?.abort();
		this.following = null;
		this.view?.destroy();
		this.view = null;
	}

	private onVisible = (): void => {
		if (document.visibilityState === "hidden") {
			this.following?.abort();
			this.following = null;
		} else if (!this.frame.value?.final) {
			this.follow();
		}
	};

	nodeOf(point: number): number {
		return point * (this.frame.value?.stride ?? 1);
	}
	pointOf(node: number): number {
		const stride = this.frame.value?.stride ?? 1;
		return node % stride === 0 ? node / stride : -1;
	}

	// ---- frames -----------------------------------------------------------------------------

	follow(): void {
		this.following?.abort();
		const ours = this.following = new AbortController();
		const most = this.detail || this.job.nodes <= this.most ? 0 : this.most;
		followFrames(this.job.id, most, frame => this.take(frame), ours.signal).catch((error: unknown) => {
			if (!ours.signal.aborted)
				this.problem.value = error instanceof ApiError ? error.text : String(error);
		});
	}

	private take(frame: Frame): void {
		if (!frame.n) {   // cancelled or failed: the last picture stays, or the kept layout is shown
			if (!this.frame.value)
				void getJson<Job>(`/v1/jobs/${this.job.id}`).then(job => keptLayout(job)).then(kept => kept && this.take(kept), () => undefined);
			return;
		}
		if (this.frame.value && !this.firstMoved.value && frame.iteration > 0)
			this.firstMoved.value = performance.now();
		this.recording.add(frame);
		this.frame.value = frame;
		if (this.replay.value !== null || !this.view)
			return;
		if (frame.stride !== this.colourStride || frame.n !== this.colourPoints)
			this.paint();
		this.view.push(frame);
	}

	/** Fetches all points of a sampled layout once the user has zoomed in. */
	private sharpen(): void {
		if (this.detail || !this.frame.value || this.frame.value.stride === 1 || this.camera.value.zoom < DETAIL_ZOOM)
			return;
		this.detail = true;
		if (this.frame.value.final)
			void oneFrame(this.job.id).then(frame => frame && this.take(frame));
		else
			this.follow();
	}

	// ---- replay -------------------------------------------------------------------------------

	/** Shows a position in the recording; fractions interpolate between two frames. null: live again. */
	seek(place: number | null): void {
		this.replay.value = place;
		const { frames } = this.recording, view = this.view;
		if (!view)
			return;
		if (place === null || frames.length === 0) {
			view.release();
			if (frames.length)
				view.push(frames.at(-1)!);
			return;
		}
		const i = Math.min(frames.length - 1, Math.max(0, Math.floor(place))), next = Math.min(frames.length - 1, i + 1);
		view.show(frames[i]!, frames[next]!, Math.min(1, place - i));
	}

	// ---- colours ------------------------------------------------------------------------------

	async loadColumns(preferred?: string): Promise<void> {
		const [labels, all] = await Promise.all([this.nodes.columns(), rowsOf(this.job.graph).columns()]);
		this.columns.value = [...labels, ...all.filter(c => c.kind === "date" && c.read).map((c): Column => ({ name: c.name, kind: "number", date: true }))];
		const first = preferred ?? this.by.value ?? "";
		if (preferred === "" || first === "density" || first === DEGREE.name || jobOfColour(first))
			await this.colourBy(first);
		else if (this.columnOf(first))
			await this.colourBy(first);
		else
			await this.colourBy(colourOfFirst(this.columns.value));
	}

	private columnOf(by: string): Column | undefined {
		return this.columns.value.find(c => colourOfColumn(c.name) === by);
	}

	async colourBy(name: string): Promise<void> {
		this.by.value = name;
		const column = this.columnOf(name) ?? (name === DEGREE.name ? DEGREE : undefined), clusters = jobOfColour(name);
		const [values, ellipses] = await Promise.all([clusters ? foundBy(clusters) : column ? this.nodes.values(column) : null,
			clusters ? ellipsesOf(clusters, this.job) : []]);
		if (this.by.value !== name)
			return;   // the user has chosen another column meanwhile
		this.ellipses = ellipses;
		this.values.value = values && column ? regroup(values, this.names.value.get(column.name)) : values;
		this.paint();
	}

	/** The ends of the scale of numbers; null: those that the server's pictures have. */
	async colourWithin(within: [number, number] | null): Promise<void> {
		const v = this.values.value, by = this.by.value;
		if (!v || v.column.kind !== "number")
			return;
		const values = await (within ? this.nodes.load(v.column, within) : this.nodes.values(v.column));
		if (this.by.value !== by)
			return;
		this.values.value = values;
		this.paint();
	}

	/** Gives a category another name for this view; "" or its own: its own again. */
	async rename(column: string, word: string, name: string): Promise<void> {
		const names = new Map(this.names.value.get(column));
		if (name && name !== word)
			names.set(word, name);
		else
			names.delete(word);
		this.names.value = new Map(this.names.value).set(column, names);
		if (this.columnOf(this.by.value)?.name === column)
			await this.colourBy(this.by.value);
	}

	setPalette(name: string): void {
		this.palette.value = name;
		this.paint();
	}

	setSize(size: number): void {
		this.size.value = size;
		this.restyle();
	}

	/** The palette; resolves "auto". */
	get paletteName(): string {
		return this.palette.value !== "auto" ? this.palette.value : this.values.value?.column.kind === "category" ? "labels" : "viridis";
	}

	colours(): RGB[] {
		return columnColours(this.values.value, this.paletteName);
	}

	colourOf(node: number): string {
		const v = this.values.value;
		if (!v || v.column.kind !== "category")
			return "";
		const c = this.colours()[v.codes[node]!];
		return c ? css(c) : "";
	}

	/** What is drawn over the layout: names of categories unless nodes are selected, and ellipses of the final layout. */
	get marked(): Marked {
		const v = this.values.value, frame = this.frame.value, named = v?.column.kind === "category" && !this.selected.value;
		const still = frame?.final && frame.dims === 2 && this.replay.value === null && !this.view?.renderer.align;
		return { view: this.view, codes: named ? v.codes : null, categories: v?.categories ?? [], colours: v?.column.kind === "category" ? this.colours().map(css) : [],
			stride: frame?.stride ?? 1, ellipses: still ? this.ellipses : [], clusters: still ? this.clusters.value : [],
			contours: this.contours.value && frame && frame.dims === 2 && this.replay.value === null && !this.view?.renderer.align ? contoursOf(frame) : [] };
	}

	/** Uploads colours and selection to the GPU, for the present sample of nodes. */
	paint(): void {
		const view = this.view, values = this.values.value, frame = this.frame.value;
		if (!view)
			return;
		this.colourStride = frame?.stride ?? 1;
		this.colourPoints = frame?.n ?? 0;
		const pick = <T extends Uint16Array | Uint8Array>(all: T): T => sampled(all, this.colourStride, this.colourPoints);
		view.look.density = this.by.value === "density";
		if (!values)
			view.renderer.setValues(null, scaleTexture(this.paletteName), "plain");
		else if (values.column.kind === "category")
			view.renderer.setValues(pick(values.codes), texture(this.colours()), "category");
		else
			view.renderer.setValues(pick(values.codes), scaleTexture(this.paletteName), "number");
		const flags = this.selected.value;
		view.dimmed = !!flags;
		view.renderer.setFlags(flags && pick(flags));
		view.invalidate();
	}

	restyle(): void {
		if (!this.view)
			return;
		Object.assign(this.view.look, tones(theme.value), { size: this.size.value });
		this.paint();
	}

	// ---- selection ----------------------------------------------------------------------------

	select(nodes: number[], add = false): void {
		if (!nodes.length && !add) {
			this.deselect();
			return;
		}
		const flags = add && this.selected.value ? this.selected.value.slice() : new Uint8Array(this.job.nodes);
		for (const node of nodes)
			flags[node]! |= 1;
		this.setFlags(flags);
	}

	selectCategory(code: number): void {
		const v = this.values.value;
		if (!v)
			return;
		const flags = new Uint8Array(this.job.nodes);
		for (let i = 0; i < flags.length; i++)
			flags[i] = v.codes[i] === code ? 1 : 0;
		this.setFlags(flags);
	}

	setFlags(flags: Uint8Array | null): void {
		this.selected.value = flags;
		this.selectedCount.value = flags ? flags.reduce((sum, f) => sum + (f & 1), 0) : 0;
		this.paint();
	}

	deselect(): void {
		this.focus.value = null;
		this.setFlags(null);
	}

	selectedNodes(): number[] {
		const out: number[] = [];
		this.selected.value?.forEach((f, node) => { if (f & 1) out.push(node); });
		return out;
	}

	/** Edges of a node, the strongest first. */
	async loadNear(node: number): Promise<void> {
		const near = await this.nodes.near(node, this.kind);
		if (this.hover.value?.node === node)
			this.hoverNear = { node, to: near.slice(0, 200).map(n => n.node) };
	}

	/** Looks at one node; the selection stays, so that the list of it does. */
	async choose(node: number): Promise<void> {
		this.focus.value = { node, near: [] };
		this.view?.invalidate();
		const near = await this.nodes.near(node, this.kind);
		if (this.focus.value?.node === node)
			this.focus.value = { node, near };
		this.view?.invalidate();
	}

	/** Selects a node and its neighbours in the graph. */
	async click(node: number): Promise<void> {
		if (node < 0) {
			this.deselect();
			return;
		}
		this.focus.value = { node, near: [] };
		this.view?.invalidate();
		const near = await this.nodes.near(node, this.kind);
		if (this.focus.value?.node !== node)
			return;
		this.focus.value = { node, near };
		const flags = new Uint8Array(this.job.nodes);
		flags[node] = 3;
		for (const n of near)
			flags[n.node]! |= 1;
		if (near.length)
			this.setFlags(flags);
		this.view?.invalidate();
	}
}
