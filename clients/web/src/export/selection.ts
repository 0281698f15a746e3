/* selection.ts -- the selected nodes as CSV: number, name, all columns of labels, coordinates; a row a node, whole however
 * many are selected. The text is put into a Blob piece by piece, and the page stays responsive meanwhile. */
import { getJson, request } from "../core/api.ts";
import { jobOfColour } from "../core/clusters.ts";
import { coordinates } from "../core/frame.ts";
import { oneFrame } from "../core/follow.ts";
import { jobs } from "../core/live.ts";
import { DEGREE, MISSING, type RawColumn } from "../core/nodes.ts";
import { npyHeader } from "../core/npy.ts";
import type { Session } from "../core/session.ts";
import type { Job } from "../core/types.ts";

const PIECE_ROWS = 20_000;
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

/** The columns, and the clusters that colour the layout if there are such. */
async function columnsOf(s: Session): Promise<{ title: string; of: (node: number) => string }[]> {
	const listed = (await s.nodes.columns()).filter(c => c.name !== DEGREE.name), shown = s.values.value;
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

/** progress: called with the number of rows that are written. */
export async function makeSelectionCsv(s: Session, progress: (rows: number) => void = () => undefined): Promise<Blob> {
	const flags = s.selected.value ?? new Uint8Array(s.job.nodes), focus = s.focus.value?.node ?? -1;
	const [{ y, dims }, columns, named] = await Promise.all([layoutOf(s), columnsOf(s), s.nodes.isNamed()]);
	if (y.length !== s.job.nodes * dims)
		throw new Error(`The layout has ${y.length / dims} nodes, the run ${s.job.nodes}.`);
	const titles = distinct(["node", ...(named ? ["name"] : []), ...columns.map(c => c.title), ...AXES.slice(0, dims)]);
	const parts: BlobPart[] = [], nameOf = nameReader(s);
	let lines = [titles.map(field).join(",")], rows = 0;
	const flush = async (): Promise<void> => {
		parts.push(new Blob([lines.join("\n"), "\n"]));   // the browser may keep it outside the page's memory
		lines = [];
		progress(rows);
		await new Promise(resolve => setTimeout(resolve));
	};
	for (let node = 0; node < flags.length; node++) {
		if (!(flags[node]! & 1) && node !== focus)
			continue;
		let line = String(node);
		if (named) {
			const name = nameOf(node);
			line += "," + field(typeof name === "string" ? name : await name);
		}
		for (const column of columns)
			line += "," + column.of(node);
		for (let k = 0; k < dims; k++)
			line += "," + float(y[node * dims + k]!);
		lines.push(line);
		rows++;
		if (lines.length >= PIECE_ROWS)
			await flush();
	}
	await flush();
	return new Blob(parts, { type: "text/csv" });
}
