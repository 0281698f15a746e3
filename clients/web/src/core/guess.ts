/* guess.ts -- what a dropped file is, from its first bytes: shown before the upload, while there is something to choose.
 * The server decides by itself what it reads; here people see it coming. */
import { npyHeader } from "./npy.ts";
import { count } from "./format.ts";

export interface ColumnGuess {
	title: string;
	role: "number" | "name" | "label" | "ignored";
	examples: string[];
}

export interface Guess {
	kind: "points" | "graph" | "neighbours" | "unknown";
	format: string;
	summary: string;
	columns: ColumnGuess[];   // of texts
	choices: boolean;         // is there something to choose?
	header: boolean;
	warnings: string[];
}

const HEAD_BYTES = 1 << 17;

/** The first bytes, decompressed if that is gzip. */
async function head(file: Blob): Promise<{ bytes: Uint8Array; packed: string }> {
	const raw = new Uint8Array(await file.slice(0, HEAD_BYTES).arrayBuffer());
	if (raw[0] === 0x28 && raw[1] === 0xb5 && raw[2] === 0x2f && raw[3] === 0xfd)
		return { bytes: new Uint8Array(0), packed: "zstd" };
	if (raw[0] !== 0x1f || raw[1] !== 0x8b)
		return { bytes: raw, packed: "" };
	const out: number[] = [];
	const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
	try {
		while (out.length < HEAD_BYTES) {
			const { done, value } = await stream.read();
			if (done)
				break;
			for (const byte of value)
				out.push(byte);
		}
	} catch { /* the rest of it was cut off */ }
	return { bytes: new Uint8Array(out), packed: "gzip" };
}

function splitter(line: string): (line: string) => string[] {
	for (const mark of ["\t", ";", ","])
		if (line.includes(mark))
			return text => text.split(mark).map(field => field.trim().replace(/^"(.*)"$/, "$1"));
	return text => text.trim().split(/\s+/);
}

const numeric = (text: string): boolean => text !== "" && (!Number.isNaN(Number(text)) || /^(nan|[+-]?inf)/i.test(text));

function table(text: string): Guess {
	const lines = text.split(/\r?\n/).filter(line => line && !/^[#%]/.test(line)).slice(0, 500);
	const guess: Guess = { kind: "unknown", format: "text", summary: "", columns: [], choices: false, header: false, warnings: [] };
	if (!lines.length)
		return { ...guess, summary: "There is no line in it.", warnings: ["The file looks empty."] };
	const fields = splitter(lines[0]!), rows = lines.map(fields), width = rows[0]!.length;
	guess.header = rows.length > 1 && rows[0]!.every(field => !numeric(field)) && rows[1]!.some(numeric);
	const body = guess.header ? rows.slice(1) : rows;
	const odd = body.findIndex(row => row.length !== width);
	if (odd >= 0 && odd < body.length - 1)
		guess.warnings.push(`Line ${odd + 1 + Number(guess.header)} has ${body[odd]!.length} fields, the first one ${width}.`);
	for (let c = 0; c < width; c++) {
		const values = body.map(row => row[c] ?? "").filter(v => v !== "");
		const text = values.some(v => !numeric(v));
		const distinct = new Set(values).size;
		guess.columns.push({
			title: guess.header ? rows[0]![c]! : String(c + 1),
			role: !text ? "number" : distinct > values.length * 0.9 && values.length > 3 ? "name" : "label",
			examples: values.slice(0, 3),
		});
	}
	// one column of names, one of labels; the server wants no more of a text
	for (const role of ["name", "label"] as const)
		guess.columns.filter(c => c.role === role).slice(1).forEach(c => { c.role = "ignored"; });
	const numbers = guess.columns.filter(c => c.role === "number").length;
	const points = width >= 4 || body.slice(0, 1).some(row => row.slice(0, 2).some(v => numeric(v) && v.includes(".")));
	guess.kind = points ? "points" : "graph";
	guess.format = points ? "csv" : "edges";
	guess.summary = points ? `A table of points: ${numbers} columns of numbers` : "A list of edges, one a line";
	guess.choices = points && guess.columns.some(c => c.role !== "number");
	if (points && !numbers)
		guess.warnings.push("No column holds only numbers.");
	if (!points)
		guess.columns = [];
	return guess;
}

export async function inspect(file: File): Promise<Guess> {
	const { bytes, packed } = await head(file);
	const guess = (kind: Guess["kind"], format: string, summary: string): Guess =>
		({ kind, format, summary, columns: [], choices: false, header: false, warnings: [] });
	if (packed === "zstd")
		return guess("unknown", "zstd", "A compressed file; the server will look into it");
	const npy = npyHeader(bytes);
	if (npy) {
		const [rows = 0, columns = 0] = npy.shape, result = guess("points", "npy", `${count(rows)} points of ${count(columns)} columns (${npy.dtype})`);
		if (npy.shape.length !== 2)
			result.warnings.push(`The array has ${npy.shape.length} dimensions; a table of points has 2.`);
		return result;
	}
	if (bytes[0] === 0x50 && bytes[1] === 0x4b)
		return guess("unknown", "npz", "A NumPy or SciPy archive");
	const text = new TextDecoder("utf-8", { fatal: false }).decode(bytes);
	if (text.includes("\0"))
		return { ...guess("unknown", "binary", "Not a format that is known here"), warnings: ["This does not look like a table or a graph."] };
	if (text.startsWith("%%MatrixMarket")) {
		const size = text.split("\n").find(line => line && !line.startsWith("%"))?.trim().split(/\s+/).map(Number) ?? [];
		return guess("graph", "mtx", size.length === 3 ? `A graph: ${count(size[0]!)} nodes, ${count(size[2]!)} entries` : "A MatrixMarket file");
	}
	return table(text);
}
