/* decode.mjs FRAME.TS FOLDER: decodes all vectors of a folder with the dashboard's reader, and prints the results as
 * JSON: {name: {fields} or {"refused": why}}. */
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";

const [source, folder] = process.argv.slice(2);
const { buildSync } = createRequire(source)("esbuild");
const built = buildSync({ entryPoints: [source], bundle: true, format: "esm", write: false });
const { decodeFrame, coordinates, FrameParser } = await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString("base64")}`);

const read = bytes => {
	const frame = decodeFrame(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
	return { ...frame, kl: Number.isNaN(frame.kl) ? null : frame.kl, low: frame.low.slice(0, frame.dims), type: frame.data instanceof Uint16Array ? "u16" : "f32",
		data: [...frame.data], layout: [...coordinates(frame)] };
};
const out = {};
const stream = [];
for (const name of readdirSync(folder).filter(f => f.endsWith(".frame"))) {
	const bytes = readFileSync(join(folder, name));
	try {
		out[basename(name, ".frame")] = read(bytes);
		stream.push(bytes);
	} catch (error) {
		out[basename(name, ".frame")] = { refused: error.message };
	}
}
// the same frames as a stream, in pieces of 7 bytes
const joined = Buffer.concat(stream.flatMap(b => { const n = Buffer.alloc(4); n.writeUInt32LE(b.length); return [n, b]; }));
const parser = new FrameParser();
let streamed = 0;
for (let at = 0; at < joined.length; at += 7)
	streamed += parser.push(new Uint8Array(joined.subarray(at, at + 7))).length;
console.log(JSON.stringify({ frames: out, streamed }));
