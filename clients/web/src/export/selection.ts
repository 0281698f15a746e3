/* selection.ts -- the selected nodes, or all, as CSV: number, name, all columns, coordinates; a row a node, whole however many
 * there are. The text is put into a Blob piece by piece, and the page stays responsive meanwhile. And the same, without texts, as
 * a structured array of NumPy. */
import { getJson, request } from "../core/api.ts";
import { jobOfColour } from "../core/clusters.ts";
import { coordinates } from "../core/frame.ts";
import { oneFrame } from "../core/follow.ts";
import { jobs } from "../core/live.ts";
import { DEGREE, MISSING, type RawColumn } from "../core/nodes.ts";
import { npyHeader } from "../core/npy.ts";
import { dateText, type DataColumn, type Row, rowsOf } from "../core/rows.ts";
import type { Session } from "../core/session.ts";
import type { Job } from "../core/types.ts";

const PIECE_ROWS = 20_000;
const TEXT_ROWS = 500;      // whose texts are asked for at once
const AXES = ["x", "y", "z"];

/** Quotes a field if it needs quotes (RFC 4180). */
export const field = (text: string): string => (/[",\r\n]|^\s|\s$/.test(text) ? `"${text.replace(/"/g, '""')}"` : text);

/** The shortest text that reads back as this float32; "": not a number. */
export function float(x: number): string {
	if (!Number.isFinite(x))
		return "";
	for (let digits = 6; digits < 9; digits++) {
		const short = Number(x.toPrecision(digits));
		if (Math.fround(short) === x)
			return String(short);
	}
	return String(Number(x.toPrecision(9)));
}

interface Layout {
	y: Float32Array;   // [nodes][dims]
	dims: number;
}

/** All coordinates: those of the result, else of the newest frame. */
async function layoutOf(s: Session): Promise<Layout> {
	const job = jobs.value.get(s.job.id) ?? await getJson<Job>(`/v1/jobs/${s.job.id}`);
	if (job.layout) {
		const bytes = await (await request(`/v1/jobs/${job.id}/layout`)).arrayBuffer(), head = npyHeader(new Uint8Array(bytes));
		if (head?.dtype === "<f4" && head.shape.length === 2)
			return { y: new Float32Array(bytes.slice(head.offset)), dims: head.shape[1]! };
	}
	const frame = await oneFrame(job.id, { type: "f32" });
	if (!frame)
		throw new Error("There is no layout yet.");
	return { y: coordinates(frame), dims: frame.dims };
}

/** The shortest text that reads back as this float64. */
const double = (x: number): string => (Number.isFinite(x) ? String(x) : "");

/** Columns of other kinds than those of labels: numbers of float64, dates, texts and links. Of texts the rows are asked for. */
async function furtherColumns(s: Session): Promise<{ values: { title: string; of: (node: number) => string }[]; texts: DataColumn[] }> {
	const all = await rowsOf(s.job.graph).columns(), wide = all.filter(c => c.kind === "date" || c.type === "float64");
	const values = await Promise.all(wide.map(async c => {
		const { data } = await rowsOf(s.job.graph).values(c), text = c.kind === "date" ? (x: number) => (Number.isNaN(x) ? "" : dateText(x)) : double;
		return { title: c.name, of: (node: number) => text(data[node]!) };
	}));
	return { values, texts: all.filter(c => c.kind === "text" || c.kind === "link") };
}

/** The columns, and the clusters that colour the layout if there are such. */
async function columnsOf(s: Session, without: Set<string>): Promise<{ title: string; of: (node: number) => string }[]> {
	const listed = (await s.nodes.columns()).filter(c => c.name !== DEGREE.name && !without.has(c.name)), shown = s.values.value;
	const raw = await Promise.all(listed.map(async c => [c.name, await s.nodes.raw(c)] as [string, RawColumn]));
	const columns = raw.map(([title, { categories, data }]) => {
		const words = categories.map(field);
		return { title, of: data instanceof Float32Array ? (node: number) => float(data[node]!) : (node: number) => words[data[node]!] ?? "" };
	});
	if (shown?.column.kind === "category" && jobOfColour(s.by.value)) {
		const { codes, categories } = shown;
		columns.push({ title: shown.column.name, of: node => (codes[node] === MISSING ? "" : field(categories[codes[node]!] ?? "")) });
	}
	return columns;
}

/** The names of nodes in rising order, asked for in large pages. */
function nameReader(s: Session): (node: number) => string | Promise<string> {
	let from = 0, names: string[] = [];
	return node => {
		if (node >= from && node < from + names.length)
			return names[node - from]!;
		return s.nodes.names(node, PIECE_ROWS).then(page => {
			from = node;
			names = page;
			return page[0] ?? String(node);
		});
	};
}

/** Titles of columns, of which none occurs twice. */
function distinct(titles: string[]): string[] {
	const used = new Set<string>();
	return titles.map(title => {
		let name = title;
		for (let k = 2; used.has(name); k++)
			name = `${title}_${k}`;
		used.add(name);
		return name;
	});
}

/** The selected nodes and the one that is looked at; without either all. */
function listOf(s: Session): Uint32Array {
	const flags = s.selected.value, focus = s.focus.value?.node ?? -1, all = !flags && focus < 0, out: number[] = [];
	for (let node = 0; node < s.job.nodes; node++)
		if (all || node === focus || (flags && flags[node]! & 1))
			out.push(node);
	return Uint32Array.from(out);
}

/** A field of a structured array: its type in NumPy, its bytes, and how it is written. */
interface Field {
	title: string;
	type: string;
	bytes: number;
	put: (view: DataView, at: number, node: number) => void;
}

const encoder = (words: string[]): { bytes: number; put: (view: DataView, at: number, text: string) => void } => {
	const characters = Math.max(1, ...words.map(w => [...w].length));
	return { bytes: 4 * characters, put: (view, at, text) => [...text].forEach((c, k) => view.setUint32(at + 4 * k, c.codePointAt(0)!, true)) };
};

async function fieldsOf(s: Session): Promise<Field[]> {
	const rows = rowsOf(s.job.graph), columns = (await rows.columns()).filter(c => c.kind === "number" || c.kind === "date" || c.kind === "category");
	return Promise.all(columns.map(async (c): Promise<Field> => {
		const { data, categories } = await rows.values(c), words = encoder(categories);
		if (c.kind === "category")
			return { title: c.name, type: `<U${words.bytes / 4}`, bytes: words.bytes, put: (view, at, node) => words.put(view, at, categories[data[node]!] ?? "") };
		return c.kind === "number" ? { title: c.name, type: "<f8", bytes: 8, put: (view, at, node) => view.setFloat64(at, data[node]!, true) }
			: { title: c.name, type: "<M8[ms]", bytes: 8, put: (view, at, node) => view.setBigInt64(at, Number.isNaN(data[node]!) ? -(2n ** 63n) : BigInt(data[node]!), true) };
	}));
}

/** A structured array: node, columns of numbers, dates and categories, coordinates. progress: as below. */
export async function makeSelectionNpy(s: Session, progress: (rows: number) => void = () => undefined): Promise<Blob> {
	const nodes = listOf(s), [{ y, dims }, columns] = await Promise.all([layoutOf(s), fieldsOf(s)]);
	const fields: Field[] = [{ title: "node", type: "<i4", bytes: 4, put: (view, at, node) => view.setInt32(at, node, true) }, ...columns,
		...AXES.slice(0, dims).map((title, axis): Field => ({ title, type: "<f4", bytes: 4, put: (view, at, node) => view.setFloat32(at, y[node * dims + axis]!, true) }))];
	const titles = distinct(fields.map(f => f.title)), size = fields.reduce((sum, f) => sum + f.bytes, 0);
	const quoted = (text: string): string => `'${text.replace(/[\\']/g, c => "\\" + c).replace(/[\r\n]/g, " ")}'`;
	const text = `{'descr': [${fields.map((f, k) => `(${quoted(titles[k]!)}, '${f.type}')`).join(", ")}], 'fortran_order': False, 'shape': (${nodes.length},), }`;
	const body = new TextEncoder().encode(text), length = Math.ceil((12 + body.length + 1) / 64) * 64, head = new Uint8Array(length).fill(32);
	head.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 3, 0]);   // version 3: its header is UTF-8
	new DataView(head.buffer).setUint32(8, length - 12, true);
	head.set(body, 12);
	head[length - 1] = 10;
	const parts: BlobPart[] = [head];
	for (let from = 0; from < nodes.length; from += PIECE_ROWS) {
		const some = nodes.subarray(from, from + PIECE_ROWS), view = new DataView(new ArrayBuffer(some.length * size));
		some.forEach((node, k) => {
			let at = k * size;
			for (const f of fields) {
				f.put(view, at, node);
				at += f.bytes;
			}
		});
		parts.push(new Blob([view.buffer]));
		progress(from + some.length);
		await new Promise(resolve => setTimeout(resolve));
	}
	return new Blob(parts, { type: "application/octet-stream" });
}

/** progress: called with the number of rows that are written. */
export async function makeSelectionCsv(s: Session, progress: (rows: number) => void = () => undefined): Promise<Blob> {
	const nodes = listOf(s), { values, texts } = await furtherColumns(s);
	const [{ y, dims }, labels, named] = await Promise.all([layoutOf(s), columnsOf(s, new Set(values.map(v => v.title))), s.nodes.isNamed()]);
	const columns = [...labels, ...values];
	if (y.length !== s.job.nodes * dims)
		throw new Error(`The layout has ${y.length / dims} nodes, the run ${s.job.nodes}.`);
	const titles = distinct(["node", ...(named ? ["name"] : []), ...columns.map(c => c.title), ...texts.map(c => c.name), ...AXES.slice(0, dims)]);
	const parts: BlobPart[] = [], nameOf = nameReader(s);
	let lines = [titles.map(field).join(",")], rows = 0;
	const flush = async (): Promise<void> => {
		parts.push(new Blob([lines.join("\n"), "\n"]));   // the browser may keep it outside the page's memory
		lines = [];
		progress(rows);
		await new Promise(resolve => setTimeout(resolve));
	};
	let read = new Map<number, Row>();
	for (const [k, node] of nodes.entries()) {
		if (texts.length && k % TEXT_ROWS === 0)
			read = new Map((await rowsOf(s.job.graph).whole(Array.from(nodes.subarray(k, k + TEXT_ROWS)), texts.map(c => c.name))).map(row => [row.node, row]));
		let line = String(node);
		if (named) {
			const name = nameOf(node);
			line += "," + field(typeof name === "string" ? name : await name);
		}
		for (const column of columns)
			line += "," + column.of(node);
		for (const column of texts)
			line += "," + field(String(read.get(node)?.values[column.name] ?? ""));
		for (let axis = 0; axis < dims; axis++)
			line += "," + float(y[node * dims + axis]!);
		lines.push(line);
		rows++;
		if (lines.length >= PIECE_ROWS)
			await flush();
	}
	await flush();
	return new Blob(parts, { type: "text/csv" });
}
