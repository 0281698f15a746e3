/** @spaceland/map: layouts on any page, still or moving. README.md describes it by examples. */

export type Theme = "dark" | "light";
export type Palette = "labels" | "okabe-ito" | "bright" | "viridis" | "cividis" | "magma" | "plasma";

export interface MapOptions {
	/** Name for people who hear the page; default "Map". */
	label?: string;
	/** Default "auto": the system's. */
	theme?: Theme | "auto";
	/** Factor on the size of points; default 1. */
	size?: number;
	/** Names of categories on the map; default true. */
	names?: boolean;
	/** A tooltip with the label of the point under the mouse; default true. */
	tooltip?: boolean;
	/** Most points that are accepted, 2,000,000 by default; of a followed job the server sends a sample of at most so many. */
	maxPoints?: number;
	/** Most bytes of the frames of a replay, 192,000,000 by default. A frame takes 2 bytes a coordinate. */
	maxBytes?: number;
}

/** Where one looks: x and y of the centre, in halves of the layout's side; zoom, 1 shows the layout; angles of 3-D layouts. */
export interface Camera {
	x: number;
	y: number;
	zoom: number;
	yaw: number;
	pitch: number;
}

export interface MapEvents {
	/** The node under the mouse, -1: none; place in CSS pixels of the element. */
	hover: { node: number; x: number; y: number };
	click: { node: number };
	/** The selection changed; nodes ascend if a lasso chose them. */
	select: { nodes: Uint32Array; by: "lasso" | "call" };
	camera: Camera;
	/** Other positions are shown. points: how many of the nodes are drawn. kl: NaN if it is unknown. */
	frame: { iteration: number; kl: number; nodes: number; points: number; final: boolean };
	/** A connection broke (it is tried again), a server refused, colours do not fit a layout. */
	error: Error;
	/** The browser took the graphics memory away, and gave it back; the map is drawn again by itself. */
	contextlost: undefined;
	contextrestored: undefined;
}

export interface Following {
	/** Ends with the job, or after stop(). Rejects if the server refuses or cannot be reached. */
	done: Promise<void>;
	stop(): void;
}

export interface SpacelandMap {
	/** [n][dims] numbers, dims 1 to 3, 2 by default. Points move from where they were if there are as many as before. */
	setPositions(positions: ArrayLike<number>, dims?: number): void;
	/** A frame of the server (proto/frame.md). */
	setFrame(message: ArrayBuffer | Uint8Array): void;
	/** Positions at several times, for seek(); all frames have the same points. */
	setFrames(frames: ArrayLike<ArrayLike<number>>, dims?: number): void;
	/** The number of frames of setFrames(). */
	readonly frames: number;
	/** Shows frame `place` of setFrames(), 0 to frames - 1; between two frames, points are on their way. */
	seek(place: number): void;
	/** Shows a job of a server, live if it runs. token: a user's, or the secret of a public link. */
	follow(options: { server: string; job: string; token?: string; maxPoints?: number }): Following;

	/** A value for each node; null, undefined, NaN and "" are none. Returns the categories, the most frequent first; at most 2048.
	 * colours: #rrggbb by category; palette: "labels" by default. */
	colourByCategories(values: ArrayLike<unknown>, options?: { colours?: Record<string, string>; palette?: Palette }): string[];
	/** A number for each node; others are none. Returns the range of the scale. palette: "viridis" by default. */
	colourByNumbers(values: ArrayLike<number>, options?: { range?: [number, number]; palette?: Palette }): [number, number];
	colourPlain(): void;
	/** Texts of the tooltip, for each node. */
	setLabels(labels: ArrayLike<string> | ((node: number) => string) | null): void;

	/** Selects nodes; null: none. Other nodes are dimmed. */
	select(nodes: Iterable<number> | null): void;
	readonly selection: Uint32Array;
	/** True: dragging draws a lasso. Dragging with Shift always does. */
	lasso: boolean;

	camera: Camera;
	/** Shows the whole layout. */
	fit(): void;
	get theme(): Theme;
	set theme(theme: Theme | "auto");

	/** Returns a function that ends it. */
	on<K extends keyof MapEvents>(name: K, listener: (value: MapEvents[K]) => void): () => void;
	/** The map as it is, with its names; in pixels of the screen by default. type: "image/png", "image/jpeg", "image/webp". */
	picture(options?: { width?: number; height?: number; type?: string }): Promise<Blob>;
	/** Frees all memory, ends connections and empties the element. */
	destroy(): void;
}

/** Fills the element, which must have a size. Throws if the browser has no WebGL 2. */
export function create(element: HTMLElement, options?: MapOptions): SpacelandMap;
