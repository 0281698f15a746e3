/* filter.ts -- the conditions of a page on the columns of its nodes. A worker counts; what passes becomes the selection. Only the
 * newest result counts, so that a drag does not wait for its past. */
import { MOST } from "./crossfilter.ts";
import { type DataColumn, rowsOf } from "./rows.ts";
import type { Session } from "./session.ts";
import { Signal } from "./signal.ts";

export type Order = { turn?: number } & ({ do: "begin"; n: number } | { do: "numbers"; values: Float32Array | Float64Array; low: number; high: number } |
	{ do: "words"; codes: Uint32Array; count: number; most: number } | { do: "range"; place: number; within: [number, number] | null } |
	{ do: "shown"; place: number; shown: Uint8Array | null } | { do: "nodes"; list: Uint32Array | null });

export interface Answer {
	turn: number;
	pass: Uint8Array;
	total: number;
	counts: Uint32Array[];
	ms: number;
}

export const WORDS_MOST = 200;       // categories that are counted one by one

/** A column with its histogram. */
export interface Facet {
	column: DataColumn;
	place: number;
	words: string[];             // of categories; those beyond WORDS_MOST count together
	low: number;
	high: number;
	within: [number, number] | null;
	hidden: Set<number>;         // categories, and words.length for nodes without a value
}

export class Filter {
	readonly facets = new Signal<Facet[]>([]);
	readonly counts = new Signal<Uint32Array[]>([]);
	readonly total = new Signal(0);
	readonly found = new Signal<number | null>(null);   // nodes that the words of the search have; null: no search
	ms = 0;                                              // that the last count took, for the tests
	private worker: Worker | null = null;
	private turn = 0;
	private busy = false;
	private last: Order | null = null;
	constructor(private readonly s: Session) {}

	/** Columns that can be filtered, those with the fewest categories first. */
	async choices(): Promise<DataColumn[]> {
		const all = await rowsOf(this.s.job.graph).columns();
		return all.filter(c => c.kind === "date" || c.kind === "number" || c.kind === "category").slice(0, MOST);
	}

	/** Adds the histogram of a column. */
	async add(column: DataColumn): Promise<void> {
		const era = this.era;
		if (this.adding.has(column.name) || this.facets.value.length >= MOST)
			return;
		this.adding.add(column.name);
		const { data, categories } = await rowsOf(this.s.job.graph).values(column);
		if (era !== this.era)
			return;   // the columns have changed meanwhile
		if (!this.worker)
			this.begin();
		const low = column.min ?? 0, high = column.max ?? 1;
		if (data instanceof Uint32Array)
			this.worker!.postMessage({ do: "words", codes: data, count: categories.length, most: WORDS_MOST } satisfies Order, [data.buffer]);
		else
			this.worker!.postMessage({ do: "numbers", values: data, low, high } satisfies Order, [data.buffer]);
		const words = categories.length > WORDS_MOST ? [...categories.slice(0, WORDS_MOST - 1), `${categories.length - WORDS_MOST + 1} others`] : categories;
		this.facets.value = [...this.facets.value, { column, place: this.facets.value.length, words, low, high, within: null, hidden: new Set() }];
		this.send({ do: "nodes", list: this.list });
	}

	private list: Uint32Array | null = null;
	private adding = new Set<string>();   // columns that have, or will have, a histogram
	private era = 0;                      // how often the columns have changed

	private begin(): void {
		this.worker = new Worker(new URL("worker.js", import.meta.url), { type: "module" });
		this.worker.onmessage = ({ data }: MessageEvent<Answer>) => this.take(data);
		this.worker.postMessage({ do: "begin", n: this.s.job.nodes } satisfies Order);
	}

	/** Sends a change with a question for the result; while one is under way, only the newest waits. */
	private send(order: Order): void {
		if (!this.worker)
			this.begin();
		if (this.busy && this.last && this.last.do === order.do && "place" in this.last && "place" in order && this.last.place === order.place) {
			this.last = order;
			return;
		}
		if (this.busy) {
			if (this.last)
				this.worker!.postMessage(this.last);
			this.last = order;
			return;
		}
		this.busy = true;
		this.worker!.postMessage({ ...order, turn: ++this.turn });
	}

	private take(answer: Answer): void {
		this.busy = false;
		const next = this.last;
		this.last = null;
		if (next)
			this.send(next);
		this.ms = answer.ms;
		this.counts.value = answer.counts;
		this.total.value = answer.total;
		this.s.setFlags(this.active ? answer.pass : null);
	}

	get active(): boolean {
		return this.list !== null || this.facets.value.some(f => f.within !== null || f.hidden.size > 0);
	}

	private change(facet: Facet, more: Partial<Facet>): void {
		this.facets.value = this.facets.value.map(f => (f.place === facet.place ? { ...f, ...more } : f));
	}

	range(facet: Facet, within: [number, number] | null): void {
		this.change(facet, { within });
		this.send({ do: "range", place: facet.place, within });
	}

	hide(facet: Facet, hidden: Set<number>): void {
		this.change(facet, { hidden });
		this.send({ do: "shown", place: facet.place, shown: hidden.size ? Uint8Array.from({ length: facet.words.length + 1 }, (_, k) => (hidden.has(k) ? 0 : 1)) : null });
	}

	/** Only nodes whose texts have these words; "": all. */
	async search(text: string): Promise<void> {
		this.list = text.trim() ? await rowsOf(this.s.job.graph).search(text) : null;
		this.found.value = this.list?.length ?? null;
		this.send({ do: "nodes", list: this.list });
	}

	/** Takes back all conditions. */
	clear(): void {
		this.list = null;
		this.found.value = null;
		for (const facet of this.facets.value) {
			if (facet.within)
				this.range(facet, null);
			if (facet.hidden.size)
				this.hide(facet, new Set());
		}
		this.send({ do: "nodes", list: null });
	}

	/** The columns have changed: begins again, without conditions. */
	reset(): void {
		if (this.active)
			this.s.setFlags(null);
		this.end();
		this.era++;
		this.adding.clear();
		this.list = null;
		this.found.value = null;
		this.facets.value = [];
		this.counts.value = [];
	}

	end(): void {
		this.worker?.terminate();
		this.worker = null;
		this.busy = false;
		this.last = null;
	}
}
