/* nodes.ts -- names and labels of a graph's nodes, fetched when needed. Missing data (404, or 409 while neighbours are
 * searched) is treated as empty, not as an error. */
import { ApiError, getJson, link, request, sendJson } from "./api.ts";
import { number } from "./format.ts";
import { unread } from "./live.ts";
import { npyHeader } from "./npy.ts";
import { dateText, rowsOf } from "./rows.ts";
import type { Column, Job, Taken } from "./types.ts";

const PAGE = 1000;
export const MISSING = 65535;
export const MIDDLE = 32767;   // of the scale: all values are equal
/** Computed by the server for every graph; not in lists of columns. */
export const DEGREE: Column = { name: "degree", kind: "number" };

const FEW_CLASSES = 100;
const DETAILS = 24, MANY = 10_000;   // columns shown of one node, and categories of each, since a reply lists all of them
/** The column that colours a layout at first. The server chooses it. */
export const firstColumn = (columns: Column[]): Column | undefined => columns.find(c => c.auto);

export interface Values {
	column: Column;
	codes: Uint16Array;          // per node: category, or 0 to 65534 between low and high; or MISSING
	categories: string[];        // empty for numbers
	counts: number[];
	low: number;
	high: number;
	value: (code: number) => number;   // numbers: the approximate value of a code
}

/** A column as the server has it: codes of categories (0xffffffff: none), or numbers (NaN: none). */
export interface RawColumn {
	data: Uint32Array | Float32Array;
	categories: string[];        // empty for numbers
}

async function optional<T>(ask: () => Promise<T>, otherwise: T): Promise<T> {
	try {
		return await ask();
	} catch (error) {
		if (error instanceof ApiError && [403, 404, 405, 409].includes(error.status))
			return otherwise;
		throw error;
	}
}

export class Nodes {
	private pages = new Map<number, Promise<string[] | null>>();
	private known = new Map<string, Promise<Values>>();
	private named = true;
	/** base: where labels and names are read: of the graph or, for viewers by a link, what the job shows of them. */
	private readonly base: string;
	constructor(readonly graph: string, readonly count: number, job: string) {
		this.base = link ? `/v1/jobs/${job}` : `/v1/graphs/${graph}`;
	}

	/** True if the server would refuse to tell about the graph. */
	private get closed(): boolean {
		return !link && unread.value.has(this.graph);
	}

	private listed: Promise<Column[]> | null = null;
	/** Columns of labels; fetched once, and again after put(). */
	columns(): Promise<Column[]> {
		this.listed ??= this.list();
		this.listed.catch(() => { this.listed = null; });
		return this.listed;
	}

	private list(): Promise<Column[]> {
		if (this.closed)
			return Promise.resolve([]);
		return optional(async () => {
			const { columns, named } = await getJson<{ columns: Column[]; named?: boolean }>(`${this.base}/labels`);
			this.named = named ?? this.named;
			return columns;
		}, []);
	}

	/** The values of a listed column; fetched again if the column has changed since. */
	values(column: Column): Promise<Values> {
		const key = JSON.stringify(column);
		let found = this.known.get(key);
		if (!found) {
			found = this.load(column);
			found.catch(() => this.known.delete(key));
			this.known.set(key, found);
		}
		return found;
	}

	/** Called if columns were set or deleted: fetches the list again. */
	changed(): void {
		this.listed = null;
	}

	/** within: the ends of the scale of a column of numbers. */
	async load(column: Column, within?: [number, number]): Promise<Values> {
		if (column.date) {
			const { data } = await rowsOf(this.graph).values({ name: column.name, kind: "date", read: null, missing: null });
			return numbers(column, data as Float64Array, false, within);
		}
		const { data, categories } = await this.raw(column);
		return data instanceof Float32Array ? numbers(column, data, column === DEGREE, within) : fromCodes(column, data, categories);
	}

	/** All values of a column, unrounded. */
	async raw(column: Column): Promise<RawColumn> {
		const path = `${this.base}/labels/${encodeURIComponent(column.name)}`;
		const binary = await (await request(path, { headers: { Accept: "application/octet-stream" } })).arrayBuffer();
		if (column.kind === "number")
			return { data: new Float32Array(binary), categories: [] };
		const { categories } = await getJson<{ categories: string[] }>(`${path}?from=0&count=1`);
		return { data: new Uint32Array(binary), categories };
	}

	/** A page of names; of nodes without names their numbers. */
	async names(from: number, count: number): Promise<string[]> {
		const numbers = Array.from({ length: Math.min(count, this.count - from) }, (_, i) => String(from + i));
		return await this.has() ? optional(async () => (await getJson<{ names: string[] }>(`${this.base}/names?from=${from}&count=${count}`)).names, numbers) : numbers;
	}

	/** False: nodes are called by their numbers. */
	private async has(): Promise<boolean> {
		if (link)
			await this.columns();   // which tell whether names are shown
		return this.named && !this.closed;
	}

	/** False if the nodes have only numbers. */
	async isNamed(): Promise<boolean> {
		const [first] = await this.names(0, 1), [last] = await this.names(this.count - 1, 1);
		return first !== "0" || last !== String(this.count - 1);
	}

	/** The name of a node; its number if it has none. */
	async name(node: number): Promise<string> {
		const page = Math.floor(node / PAGE);
		let names = this.pages.get(page);
		if (!await this.has())
			return String(node);
		if (!names) {
			names = optional(async () => (await getJson<{ names: string[] }>(
				`${this.base}/names?from=${page * PAGE}&count=${PAGE}`)).names as string[] | null, null);
			names.catch(() => this.pages.delete(page));
			this.pages.set(page, names);
			if (this.pages.size > 200)
				this.pages.delete(this.pages.keys().next().value!);
		}
		const list = await names;
		if (!list)
			this.named = false;
		return list?.[node % PAGE] ?? String(node);
	}

	async search(text: string, limit = 30): Promise<{ node: number; name: string }[]> {
		const found = !await this.has() ? null : await optional(async () => (await getJson<{ nodes: { node: number; name: string }[] }>(
			`${this.base}/nodes?search=${encodeURIComponent(text)}&limit=${limit}`)).nodes, null);
		const node = Number(text), numbered = /^\d+$/.test(text) && node < this.count;
		if (!found || !numbered)
			return found ?? (numbered ? [{ node, name: text }] : []);
		return [{ node, name: await this.name(node) }, ...found.filter(f => f.node !== node)];
	}

	/** What the columns hold for a node, as text; "": nothing. */
	async details(node: number): Promise<{ name: string; text: string }[]> {
		const columns = (await this.columns()).filter(c => c.name !== DEGREE.name && (c.categories ?? 0) <= MANY).slice(0, DETAILS);
		return Promise.all(columns.map(async ({ name }) => {
			const { codes, values, categories } = await getJson<{ codes?: (number | null)[]; values?: (number | null)[]; categories?: string[] }>(
				`${this.base}/labels/${encodeURIComponent(name)}?from=${node}&count=1`), value = values?.[0], code = codes?.[0];
			return { name, text: value !== null && value !== undefined ? String(Number(value.toPrecision(7))) : code !== null && code !== undefined ? categories?.[code] ?? "" : "" };
		}));
	}

	/** Neighbours of a node: for points by distance, for graphs by weight. */
	async near(node: number, kind: string): Promise<{ node: number; name: string; value: number }[]> {
		if (link || this.closed)
			return [];
		if (kind !== "graph") {
			const list = await optional(async () => (await getJson<{ neighbours: { node: number; name: string; distance: number }[] }>(
				`/v1/graphs/${this.graph}/neighbours?node=${node}&count=15`)).neighbours, []);
			return list.map(n => ({ node: n.node, name: n.name, value: n.distance }));
		}
		const list = await optional(async () => (await getJson<{ edges: { node: number; name: string; weight: number }[] }>(
			`/v1/graphs/${this.graph}/edges?node=${node}`)).edges, []);
		return list.sort((a, b) => b.weight - a.weight).slice(0, 200).map(n => ({ node: n.node, name: n.name, value: n.weight }));
	}

	/** Uploads a file of labels: a table, which the server joins with the nodes, or a .npy. Its columns get their titles; one
	 * without a title is called by `name`. Few distinct whole numbers are treated as categories. */
	async put(name: string, file: Blob, npy: boolean): Promise<{ columns: Column[]; taken: Taken | null }> {
		const path = `/v1/graphs/${this.graph}/labels`, one = (column: string): string => `${path}/${encodeURIComponent(column)}`;
		const send = async <T>(to: string): Promise<T> => await (await request(to, { method: "PUT", body: file,
			headers: { "Content-Type": npy ? "application/octet-stream" : "text/csv" } })).json() as T;
		try {
			if (npy) {
				const { taken: _, ...column } = await send<Column & { taken?: Taken }>(one(name) + (await classes(file) ? "?kind=category" : ""));
				return { columns: [column], taken: null };
			}
			const { columns, taken } = await send<{ columns: Column[]; taken: Taken }>(path);
			const labels = taken.listed.filter(c => c.role === "label");
			for (const [i, column] of columns.entries()) {
				if (column.kind === "number" && column.ids !== true && await this.hasFew(column))
					columns[i] = await send<Column>(`${one(column.name)}?${new URLSearchParams({ kind: "category", ...(columns.length > 1 ? { column: column.name } : {}) })}`);
			}
			if (columns.length === 1 && labels.length === 1 && !labels[0]!.title && columns[0]!.name !== name)
				columns[0] = await this.rename(columns[0]!.name, name);
			return { columns, taken };
		} finally {
			this.known.clear();
			this.listed = null;
		}
	}

	/** True for whole numbers of which few differ, as numbers of classes. */
	private async hasFew(column: Column): Promise<boolean> {
		const { data } = await this.raw(column), seen = new Set<number>();
		let there = 0;
		for (const x of data) {
			if (Number.isNaN(x))
				continue;
			if (!Number.isInteger(x) || Math.abs(x) > 1e9 || seen.size > FEW_CLASSES)
				return false;
			seen.add(x);
			there++;
		}
		return seen.size > 0 && seen.size <= FEW_CLASSES && 2 * seen.size < there;
	}

	async rename(column: string, name: string): Promise<Column> {
		const { taken: _, ...renamed } = await sendJson<Column & { taken?: Taken }>("PATCH", `/v1/graphs/${this.graph}/labels/${encodeURIComponent(column)}`, { name });
		this.known.clear();
		this.listed = null;
		return renamed;
	}

	/** Orders the categories, and gives them colours; null: those of the server. */
	async arrange(column: string, body: { categories?: string[] | null; colors?: string[] | null }): Promise<void> {
		await sendJson("PATCH", `/v1/graphs/${this.graph}/labels/${encodeURIComponent(column)}`, body);
		this.known.clear();
		this.listed = null;
	}

	async remove(column: string): Promise<void> {
		await request(`/v1/graphs/${this.graph}/labels/${encodeURIComponent(column)}`, { method: "DELETE" });
		this.known.clear();
		this.listed = null;
	}
}

const CLASSES_BYTES = 64e6;

/** True if a .npy holds whole numbers with few distinct values. */
async function classes(file: Blob): Promise<boolean> {
	if (file.size > CLASSES_BYTES)
		return false;
	const bytes = await file.arrayBuffer(), seen = new Set<number>(), head = npyHeader(new Uint8Array(bytes));
	const size = Number(/^[<|][iu]([1248])$/.exec(head?.dtype ?? "")?.[1] ?? 0), view = new DataView(bytes);   // lowest bytes
	for (let at = head?.offset ?? 0; size && at + size <= bytes.byteLength && seen.size <= FEW_CLASSES; at += size)
		seen.add(size === 1 ? view.getUint8(at) : size === 2 ? view.getUint16(at, true) : view.getUint32(at, true));
	return size > 0 && seen.size <= FEW_CLASSES;
}

export function fromCodes(column: Column, raw: Uint32Array, categories: string[]): Values {
	const codes = new Uint16Array(raw.length), counts = new Array<number>(categories.length).fill(0);
	for (let i = 0; i < raw.length; i++) {
		const code = raw[i]!;
		codes[i] = code < MISSING ? code : MISSING;
		if (code < counts.length)
			counts[code]!++;
	}
	return { column, codes, categories, counts, low: 0, high: 0, value: () => NaN };
}

/** Maps numbers to 0 to 65534. The outermost hundredths share the ends of the scale, so that outliers do not compress
 * it; within: they are these. steep: logarithmic, for counts that are mostly small. */
export function numbers(column: Column, raw: Float32Array | Float64Array, steep = false, within?: [number, number]): Values {
	const step = Math.max(1, Math.floor(raw.length / 20000)), sample: number[] = [];
	const on = steep ? Math.log1p : (x: number): number => x, back = steep ? Math.expm1 : (x: number): number => x;
	for (let i = 0; i < raw.length; i += step)
		if (Number.isFinite(raw[i]))
			sample.push(raw[i]!);
	sample.sort((a, b) => a - b);
	const [low, high] = within ?? [sample[Math.floor(sample.length * 0.005)] ?? 0, sample[Math.ceil(sample.length * 0.995) - 1] ?? 1];
	const from = on(low), scale = high > low ? 65534 / (on(high) - from) : 0, codes = new Uint16Array(raw.length);
	for (let i = 0; i < raw.length; i++)
		codes[i] = Number.isFinite(raw[i]) ? scale ? Math.round(Math.min(65534, Math.max(0, (on(raw[i]!) - from) * scale))) : MIDDLE : MISSING;
	return { column, codes, categories: [], counts: [], low, high, value: code => (scale ? back(from + code / scale) : low) };
}

/** Categories in the order of legends, without empty ones: in the order that somebody gave them, else numeric names in theirs,
 * others by size. */
export function legendOrder(v: Values): number[] {
	const order = v.categories.map((_, i) => i).filter(i => v.counts[i]);
	if (v.column.ordered)
		return order;
	const numeric = v.categories.every(c => c !== "" && Number.isFinite(Number(c)));
	return order.sort((a, b) => (numeric ? Number(v.categories[a]) - Number(v.categories[b]) : v.counts[b]! - v.counts[a]!));
}

/** The number of nodes without a category. */
export const unlabelled = (v: Values): number => v.codes.length - v.counts.reduce((sum, n) => sum + n, 0);

/** A number of a column, as people read it. */
export const numberText = (column: Column, x: number, digits = 4): string => (column.date ? dateText(x).slice(0, 10) : number(x, digits));

/** Evenly spaced numbers along a scale, from its low to its high end. */
export const scaleNumbers = (v: Values): string[] =>
	v.high > v.low ? (v.column.date ? [0, 0.5, 1] : [0, 0.25, 0.5, 0.75, 1]).map(at => numberText(v.column, at === 0 ? v.low : at === 1 ? v.high : v.value(at * 65534), 3))
		: [numberText(v.column, v.low, 3)];

/** The elements of the nodes in a frame with this stride. */
export function sampled<T extends Uint16Array | Uint8Array>(all: T, stride: number, n: number): T {
	if (stride === 1)
		return all;
	const out = new (all.constructor as new (n: number) => T)(n);
	for (let i = 0; i < n; i++)
		out[i] = all[i * stride]!;
	return out;
}

const shared = new Map<string, Nodes>();
/** The shared instance for each graph. */
export function nodesOf(job: Job): Nodes {
	let nodes = shared.get(job.graph);
	if (!nodes)
		shared.set(job.graph, nodes = new Nodes(job.graph, job.nodes, job.id));
	return nodes;
}
