/* npy.ts -- reads headers and writes float32 arrays of NumPy's .npy format. */

export interface Header {
	dtype: string;
	shape: number[];
	fortran: boolean;
	offset: number;   // of the data
}

/** Reads the header from a file's first bytes; null: not a .npy file. */
export function npyHeader(bytes: Uint8Array): Header | null {
	if (bytes.length < 12 || String.fromCharCode(...bytes.subarray(1, 6)) !== "NUMPY" || bytes[0] !== 0x93)
		return null;
	const view = new DataView(bytes.buffer, bytes.byteOffset);
	const long = bytes[6]! > 1, length = long ? view.getUint32(8, true) : view.getUint16(8, true);
	const start = long ? 12 : 10;
	const text = new TextDecoder().decode(bytes.subarray(start, start + length));
	const dtype = /'descr':\s*'([^']*)'/.exec(text), shape = /'shape':\s*\(([^)]*)\)/.exec(text);
	if (!dtype || !shape)
		return null;
	return { dtype: dtype[1]!, shape: shape[1]!.split(",").map(Number).filter((x, i, all) => x || i < all.length - 1),
		fortran: /'fortran_order':\s*True/.test(text), offset: start + length };
}

/** Writes float32 in C order. */
export function writeNpy(data: Float32Array, shape: number[]): ArrayBuffer {
	let text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
	text += " ".repeat(63 - (text.length + 10) % 64) + "\n";
	const out = new ArrayBuffer(10 + text.length + data.byteLength), bytes = new Uint8Array(out);
	bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0]);
	new DataView(out).setUint16(8, text.length, true);
	bytes.set(new TextEncoder().encode(text), 10);
	bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 10 + text.length);
	return out;
}
