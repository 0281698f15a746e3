/* values.ts -- the values of a signal at the nodes as colours of a layout, live and from the recording. */
import { ApiError, request } from "./api.ts";
import { followFrames } from "./follow.ts";
import { coordinate, type Frame } from "./frame.ts";
import { MIDDLE, MISSING, type Values } from "./nodes.ts";
import { npyHeader } from "./npy.ts";
import { frameAt, Recording } from "./record.ts";
import type { Session } from "./session.ts";
import { Signal } from "./signal.ts";
import { ended, type Job } from "./types.ts";

const STREAM_NODES = 1_000_000;    // frames of larger graphs are sampled
const SNAPSHOT_BYTES = 192e6;      // snapshots that are fetched after the end

const NAMES: Record<string, readonly string[]> = {
	heat: ["u"], fitzhugh_nagumo: ["u", "v"], nagumo: ["u", "v"], sir: ["susceptible", "infected"], sir_chance: ["susceptible", "infected"], pagerank: ["rank"],
};
/** Names of the values of a node. */
export const valueNames = (job: Job): readonly string[] => NAMES[String(job.parameters["model"])] ?? ["u"];

/** The range of the colour scale. all: of all received moments; now: of the moment shown; most: of the moment shown,
 * without the outermost half percents. */
export type Range = "all" | "now" | "most";
const RANGES: Record<string, Range> = { heat: "now", pagerank: "most" };

/** Maps x to 0 to 65534 between low and high; NaN is missing. */
export function scaled(name: string, x: Float32Array, low: number, high: number): Values {
	const scale = high > low ? 65534 / (high - low) : 0, codes = new Uint16Array(x.length);
	for (let i = 0; i < x.length; i++)
		codes[i] = Number.isFinite(x[i]) ? scale ? Math.round(Math.min(65534, Math.max(0, (x[i]! - low) * scale))) : MIDDLE : MISSING;
	return { column: { name, kind: "number" }, codes, categories: [], counts: [], low, high, value: code => low + (scale ? code / scale : 0) };
}

/** Value k of each node; NaN for nodes that the frame omits. */
function valuesOf(f: Frame, k: number): Float32Array {
	const out = new Float32Array(f.nodes);
	if (f.stride > 1)
		out.fill(NaN);
	for (let i = 0; i < f.n; i++)
		out[i * f.stride] = coordinate(f, i, k);
	return out;
}

function rangeOf(x: Float32Array, cut = 0): [number, number] {
	if (cut) {
		const sorted = x.filter(Number.isFinite).sort(), off = Math.floor(sorted.length * cut);
		return [sorted[off] ?? 0, sorted[sorted.length - 1 - off] ?? 1];
	}
	let low = Infinity, high = -Infinity;
	for (const v of x) {   // comparisons with NaN are false
		if (v < low)
			low = v;
		if (v > high)
			high = v;
	}
	return low <= high ? [low, high] : [0, 1];
}

export class ValueStream {
	readonly recording = new Recording();
	readonly frame = new Signal<Frame | null>(null);      // the latest
	readonly replay = new Signal<number | null>(null);    // position in the recording; null: the latest
	readonly shown: Signal<number>;                       // index of the value shown
	readonly range: Signal<Range>;
	readonly problem = new Signal("");
	private all: [number, number][] = [];                 // range of each value over all frames
	private following: AbortController | null = null;

	constructor(readonly job: Job, readonly session: Session) {
		this.range = new Signal(RANGES[String(job.parameters["model"])] ?? "all");
		this.shown = new Signal(valueNames(job).indexOf("infected") < 0 ? 0 : 1);
	}

	start(): void {
		document.addEventListener("visibilitychange", this.onVisible);
		this.follow();
		if (ended(this.job) && this.job.results?.includes("snapshots"))
			this.fetchMoments().catch(() => undefined);
	}

	stop(): void {
		document.removeEventListener("visibilitychange", this.onVisible);
		this.following?.abort();
		this.following = null;
	}

	private onVisible = (): void => {
		if (document.visibilityState === "hidden") {
			this.following?.abort();
			this.following = null;
		} else if (!this.frame.value?.final && !this.following) {
			this.follow();
		}
	};

	private follow(): void {
		const ours = this.following = new AbortController();
		followFrames(this.job.id, this.job.nodes <= STREAM_NODES ? 0 : STREAM_NODES, frame => this.take(frame), ours.signal).catch((error: unknown) => {
			if (!ours.signal.aborted)
				this.problem.value = error instanceof ApiError ? error.text : String(error);
		});
	}

	private take(frame: Frame): void {
		if (!frame.n || frame.modelTime === null)
			return;   // cancelled or failed: the colours stay
		this.recording.add(frame);
		this.see(frame);
		this.frame.value = frame;
		if (this.replay.value === null)
			this.paint();
	}

	private see(frame: Frame): void {
		for (let k = 0; k < frame.dims; k++) {
			const [low, high] = rangeOf(valuesOf(frame, k)), known = this.all[k];
			this.all[k] = known ? [Math.min(known[0], low), Math.max(known[1], high)] : [low, high];
		}
	}

	/** Fetches the snapshots of a finished run, for replay. */
	private async fetchMoments(): Promise<void> {
		const { nodes, parameters } = this.job, moments = Number(parameters["snapshots"]);
		if (4 * nodes * moments * valueNames(this.job).length > SNAPSHOT_BYTES)
			return;
		const [data, times] = await Promise.all(["snapshots", "times"].map(async name =>
			new Uint8Array(await (await request(`/v1/jobs/${this.job.id}/results/${name}`)).arrayBuffer())));
		const head = npyHeader(data!), at = npyHeader(times!);
		if (head?.dtype !== "<f4" || !at)
			return;
		const [count = 0, n = 0, values = 1] = head.shape, size = n * values, from = head.offset;
		const time = at.dtype === "<f4" ? new Float32Array(times!.buffer.slice(at.offset)) : new Float64Array(times!.buffer.slice(at.offset));
		this.recording.clear();
		for (let k = 0; k < count; k++) {
			const frame: Frame = { job: this.job.id, dims: values as 1 | 2, final: k === count - 1, stride: 1, n, nodes: n, end: "", time: 0, sequence: k + 1,
				iteration: 0, kl: NaN, low: [0, 0, 0], extent: 1, modelTime: time[k]!, data: new Float32Array(data!.buffer.slice(from + 4 * k * size, from + 4 * (k + 1) * size)) };
			this.recording.add(frame);
			this.see(frame);
		}
		this.paint();
	}

	/** Iterations and levels of the received frames, at most a thousand. */
	levels(): [number, number][] {
		const { frames } = this.recording, step = Math.ceil(frames.length / 1000);
		return frames.filter((f, i) => i % step === 0 && f.iteration > 0 && !Number.isNaN(f.kl)).map(f => [f.iteration, f.kl]);
	}

	/** Shows a position in the recording; null: the latest values. */
	seek(place: number | null): void {
		this.replay.value = place;
		this.paint();
	}

	show(value: number): void {
		this.shown.value = value;
		this.paint();
	}

	setRange(range: Range): void {
		this.range.value = range;
		this.paint();
	}

	/** The frame whose values are shown. */
	get current(): Frame | null {
		const place = this.replay.value;
		return place === null ? this.frame.value : frameAt(this.recording, Math.round(place)) ?? null;
	}

	paint(): void {
		const frame = this.current, k = this.shown.value;
		if (!frame || k >= frame.dims)
			return;
		const x = valuesOf(frame, k), range = this.range.value;
		const [low, high] = range === "all" ? this.all[k] ?? [0, 1] : rangeOf(x, range === "most" ? 0.005 : 0);
		this.session.values.value = scaled(valueNames(this.job)[k] ?? "value", x, low, high);
		this.session.paint();
	}
}
