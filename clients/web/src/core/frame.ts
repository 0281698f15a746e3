/* frame.ts -- frames (proto/frame.md). A Frame keeps the received bytes: the renderer passes them to WebGL without
 * decoding. Shared by the dashboard, the offline viewer and the tests of proto/vectors. */

const LEAST_HEADER = 80;
const VERSION = 2;
const FINAL = 1;
const ENDS = ["", "done", "cancelled", "failed"] as const;

export interface Frame {
	job: string;
	dims: 1 | 2 | 3;
	final: boolean;
	stride: number;     // point k is node k * stride
	n: number;          // 0: no payload; the previous picture stays
	nodes: number;      // nodes of the graph
	end: (typeof ENDS)[number];  // final frames: how the job ended
	time: number;       // when the layout was copied from the device, ms since 1970
	sequence: number;
	iteration: number;
	kl: number;         // NaN: unknown
	low: [number, number, number];
	extent: number;
	modelTime: number | null;  // signals, whose data are values at the nodes: time of the model; null: a layout
	data: Uint16Array | Float32Array;  // [n * dims], a view of the message
}

/** Reads one frame; throws an error that describes the fault. */
export function decodeFrame(buffer: ArrayBuffer, offset = 0, bytes = buffer.byteLength - offset): Frame {
	if (bytes < LEAST_HEADER)
		throw new Error(`a frame has at least ${LEAST_HEADER} bytes; here are ${bytes}`);
	const view = new DataView(buffer, offset, bytes);
	const version = view.getUint8(26), dims = view.getUint8(27), type = view.getUint8(28);
	const stride = view.getUint16(30, true);
	if (version !== VERSION)
		throw new Error(`the frame has version ${version}; this reader knows version ${VERSION}`);
	if (dims < 1 || dims > 3)
		throw new Error(`the frame has ${dims} dimensions; 1 to 3 are possible`);
	if (type > 3)
		throw new Error(`the frame has a payload of type ${type}; 0 to 3 are possible`);
	const n = view.getUint32(32, true), size = type % 2 ? 4 : 2, start = view.getUint16(68, true);
	const least = type > 1 ? LEAST_HEADER + 8 : LEAST_HEADER;
	if (!stride)
		throw new Error("the frame has a stride of 0; it must be at least 1");
	if (start < least)
		throw new Error(`the frame says its header has ${start} bytes; at least ${least} are right`);
	if (start + n * dims * size !== bytes)
		throw new Error(`a frame of ${n} points has ${start + n * dims * size} bytes; here are ${bytes}`);
	let at = offset + start;
	if (at % size) {  // typed arrays must be aligned
		buffer = buffer.slice(at, at + n * dims * size);
		at = 0;
	}
	return {
		job: String.fromCharCode(...new Uint8Array(view.buffer, offset, 26)),
		dims: dims as 1 | 2 | 3,
		final: (view.getUint8(29) & FINAL) !== 0,
		stride,
		n,
		nodes: view.getUint32(64, true),
		end: ENDS[view.getUint8(70)] ?? "",
		time: Number(view.getBigUint64(72, true)) / 1000,
		sequence: view.getUint32(36, true),
		iteration: view.getUint32(40, true),
		kl: view.getFloat32(44, true),
		low: [view.getFloat32(48, true), view.getFloat32(52, true), view.getFloat32(56, true)],
		extent: view.getFloat32(60, true),
		modelTime: type > 1 && start <= bytes ? view.getFloat64(LEAST_HEADER, true) : null,
		data: type % 2 === 0 ? new Uint16Array(buffer, at, n * dims) : new Float32Array(buffer, at, n * dims),
	};
}

/** Coordinate k of point i. */
export function coordinate(f: Frame, i: number, k: number): number {
	if (k >= f.dims)
		return 0;
	const v = f.data[i * f.dims + k]!;
	return f.data instanceof Uint16Array ? f.low[k]! + f.extent * v / 65535 : v;
}

/** All coordinates, [n][dims]. */
export function coordinates(f: Frame): Float32Array {
	if (f.data instanceof Float32Array)
		return f.data;
	const y = new Float32Array(f.data.length), scale = f.extent / 65535;
	for (let i = 0; i < y.length; i++)
		y[i] = f.low[i % f.dims]! + scale * f.data[i]!;
	return y;
}

/** Parses a stream of frames, each preceded by its length; take() returns the complete ones. */
export class FrameParser {
	private bytes = new Uint8Array(1 << 16);
	private used = 0;
	private readonly most: number;
	/** most: bytes of the largest frame that is accepted. */
	constructor(most = Infinity) {
		this.most = most;
	}

	push(chunk: Uint8Array): Frame[] {
		if (this.used + chunk.length > this.bytes.length) {
			const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.used + chunk.length));
			grown.set(this.bytes.subarray(0, this.used));
			this.bytes = grown;
		}
		this.bytes.set(chunk, this.used);
		this.used += chunk.length;
		const frames: Frame[] = [];
		let at = 0;
		while (this.used - at >= 4) {
			const length = new DataView(this.bytes.buffer, at, 4).getUint32(0, true);
			if (length > this.most)
				throw new RangeError(`a frame of ${length} bytes comes; at most ${this.most} were asked for`);
			if (this.used - at - 4 < length)
				break;
			frames.push(decodeFrame(this.bytes.buffer.slice(at + 4, at + 4 + length)));
			at += 4 + length;
		}
		this.bytes.copyWithin(0, at, this.used);
		this.used -= at;
		return frames;
	}
}
