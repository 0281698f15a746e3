/* rows.ts -- columns of any kind of a graph's nodes, and rows of them. Who may not read the graph, and viewers by a link, see
 * none. */
import { ApiError, base, getJson, link, request } from "./api.ts";
import { unread } from "./live.ts";

export type Kind = "category" | "number" | "date" | "text" | "link" | "image";

export interface DataColumn {
	name: string;
	kind: Kind;
	read: number | null;
	missing: number | null;
	min?: number | null;       // dates: milliseconds
	max?: number | null;
	type?: "float64";
	categories?: number;
	longest?: number;
	why?: string;
	warns?: boolean;
}

export type Value = string | number | null;

export interface Row {
	node: number;
	name: string | null;
	values: Record<string, Value>;
	cut?: string[];
}

const PAGE = 200;            // rows asked for at once
const KEPT = 5000;           // rows of the present list that stay in memory
const CUT = 160;             // bytes of a text in a list

export class Rows {
	private listed: Promise<DataColumn[]> | null = null;
	private kept = new Map<number, Row>();
	private asked = new Map<number, Promise<void>>();
	private orders = new Map<string, Promise<Uint32Array>>();
	private readonly path: string;
	constructor(readonly graph: string) {
		this.path = `/v1/graphs/${graph}`;
	}

	private get closed(): boolean {
		return link !== null || unread.value.has(this.graph);
	}

	/** All columns; fetched once, and again after changed(). */
	columns(): Promise<DataColumn[]> {
		this.listed ??= this.closed ? Promise.resolve([]) : getJson<{ columns: DataColumn[] }>(`${this.path}/columns`).then(r => r.columns, (error: unknown) => {
			if (error instanceof ApiError && [403, 404].includes(error.status))
				return [];
			throw error;
		});
		this.listed.catch(() => { this.listed = null; });
		return this.listed;
	}

	changed(): void {
		this.listed = null;
		this.kept.clear();
		this.orders.clear();
	}

	/** One row with whole texts. */
	async row(node: number): Promise<Row | null> {
		if (this.closed)
			return null;
		return (await getJson<{ rows: Row[] }>(`${this.path}/rows?nodes=${node}`)).rows[0] ?? null;
	}

	/** A row of a list, with texts cut, if it is there already. */
	at(node: number): Row | undefined {
		return this.kept.get(node);
	}

	/** Fetches the rows of these nodes that are not there yet. */
	async want(nodes: ArrayLike<number>): Promise<void> {
		const lacking = Array.from(nodes).filter(node => !this.kept.has(node) && !this.asked.has(node)), waits: Promise<void>[] = [];
		for (let at = 0; at < lacking.length; at += PAGE) {
			const some = lacking.slice(at, at + PAGE), done = this.fetch(some);
			some.forEach(node => this.asked.set(node, done));
			waits.push(done.finally(() => some.forEach(node => this.asked.delete(node))));
		}
		await Promise.all([...waits, ...Array.from(nodes).flatMap(node => this.asked.get(node) ?? [])]);
	}

	private async fetch(nodes: number[]): Promise<void> {
		const { rows } = await getJson<{ rows: Row[] }>(`${this.path}/rows?nodes=${nodes.join(",")}&cut=${CUT}&limit=${PAGE}`);
		for (const row of rows)
			this.kept.set(row.node, row);
		for (const node of this.kept.keys()) {
			if (this.kept.size <= KEPT)
				break;
			this.kept.delete(node);
		}
	}

	/** Rows of these nodes, whole, with the columns named; of up to 1000 nodes. */
	async whole(nodes: number[], columns: string[]): Promise<Row[]> {
		const out: Row[] = [];
		let cursor: string | null = null;
		do {
			const query: URLSearchParams = new URLSearchParams({ nodes: nodes.join(","), columns: columns.join(";"), limit: "10000", ...(cursor ? { cursor } : {}) });
			const page: { rows: Row[]; next: string | null } = await getJson(`${this.path}/rows?${query}`);
			out.push(...page.rows);
			cursor = page.next;
		} while (cursor);
		return out;
	}

	private async numbersOf(query: URLSearchParams): Promise<Uint32Array> {
		const reply = await request(`${this.path}/rows?${query}`, { headers: { Accept: "application/octet-stream" } });
		return new Uint32Array(await reply.arrayBuffer());
	}

	/** The nodes whose texts have these words; the best ones first. */
	search(text: string): Promise<Uint32Array> {
		return this.numbersOf(new URLSearchParams({ search: text }));
	}

	/** All nodes in the order of a column. */
	order(sort: string): Promise<Uint32Array> {
		let found = this.orders.get(sort);
		if (!found) {
			this.orders.clear();   // one order of a million nodes is enough
			found = this.numbersOf(new URLSearchParams({ sort }));
			found.catch(() => this.orders.delete(sort));
			this.orders.set(sort, found);
		}
		return found;
	}

	/** All values: numbers, dates as milliseconds (NaN: none), or codes of categories. */
	async values(column: DataColumn): Promise<{ data: Float32Array | Float64Array | Uint32Array; categories: string[] }> {
		const path = `${this.path}/columns/${encodeURIComponent(column.name)}`;
		const bytes = await (await request(path, { headers: { Accept: "application/octet-stream" } })).arrayBuffer();
		if (column.kind === "date") {
			const whole = new BigInt64Array(bytes), data = new Float64Array(whole.length);
			for (let i = 0; i < whole.length; i++)
				data[i] = whole[i] === NO_DATE ? NaN : Number(whole[i]);
			return { data, categories: [] };
		}
		if (column.kind === "number")
			return { data: column.type ? new Float64Array(bytes) : new Float32Array(bytes), categories: [] };
		const { categories } = await getJson<{ categories: string[] }>(`${path}?from=0&count=1`);
		return { data: new Uint32Array(bytes), categories };
	}

	/** Sets the columns of a file: of a text all, by their titles; of an array or a zip of images one, called `name`. Returns the
	 * columns, and what was left out or guessed. */
	async put(name: string, file: Blob, whole: boolean): Promise<{ columns: DataColumn[]; notes: string[] }> {
		const one = whole ? `/${encodeURIComponent(name)}` : "";
		const reply = await (await request(`${this.path}/columns${one}`, { method: "PUT", body: file, headers: { "Content-Type": "application/octet-stream" } })).json() as
			DataColumn & { columns?: DataColumn[]; taken?: { notes: { text: string }[] } };
		this.changed();
		const columns = reply.columns ?? [reply];
		return { columns, notes: [...(reply.taken?.notes ?? []).map(n => n.text), ...columns.flatMap(c => (c.why ? `${c.name}: ${c.why}` : []))] };
	}

	/** The address of a node's image. */
	image(column: string, node: number): string {
		return `${base}${this.path}/columns/${encodeURIComponent(column)}/images/${node}`;
	}
}

const NO_DATE = -(2n ** 63n);

const shared = new Map<string, Rows>();
/** The shared instance for each graph. */
export function rowsOf(graph: string): Rows {
	let rows = shared.get(graph);
	if (!rows)
		shared.set(graph, rows = new Rows(graph));
	return rows;
}

/** A moment as the server writes it: a day, and its time unless it is midnight. */
export const dateText = (ms: number): string => new Date(ms).toISOString().replace("T00:00:00.000Z", "").replace(".000Z", "Z");
