/* crossfilter.ts -- histograms of columns that filter each other: each counts the nodes that meet the conditions of all other
 * columns. For every node a bit for each column says that it does not meet that column's condition; a node counts for all
 * histograms if it has no bit, and for one if it has only that column's bit. Runs in a worker. */

export const BINS = 48;
export const MOST = 31;              // columns, bits of a node

export interface Dimension {
	values: Float32Array | Float64Array | Uint32Array;
	bins: Uint16Array;           // per node; `size`: no value
	size: number;                // number of bins
}

export interface Result {
	pass: Uint8Array;            // per node: 1 if it meets all conditions
	total: number;
	counts: Uint32Array[];       // by column, [bins + 1]; the last one counts nodes without a value
}

/** The bin of a number between low and high. */
export const binOf = (x: number, low: number, high: number): number => Math.min(BINS - 1, Math.max(0, Math.floor((x - low) / (high - low || 1) * BINS)));

export class Crossfilter {
	private readonly columns: Dimension[] = [];
	private readonly fails: Uint32Array;
	constructor(readonly n: number) {
		this.fails = new Uint32Array(n);
	}

	/** Adds a column of numbers; returns its place. */
	addNumbers(values: Float32Array | Float64Array, low: number, high: number): number {
		const bins = new Uint16Array(this.n);
		for (let i = 0; i < this.n; i++)
			bins[i] = Number.isFinite(values[i]) ? binOf(values[i]!, low, high) : BINS;
		return this.columns.push({ values, bins, size: BINS }) - 1;
	}

	/** Adds a column of categories; those from `most` on count together as the last one. */
	addCategories(codes: Uint32Array, count: number, most: number): number {
		const bins = new Uint16Array(this.n), size = Math.min(count, most);
		for (let i = 0; i < this.n; i++)
			bins[i] = codes[i]! < count ? Math.min(codes[i]!, size - 1) : size;
		return this.columns.push({ values: codes, bins, size }) - 1;
	}

	/** Only numbers from low to high, both included; null: all nodes. */
	range(place: number, within: [number, number] | null): void {
		const { values } = this.columns[place]!, bit = 1 << place, off = ~bit, { fails } = this;
		if (!within) {
			for (let i = 0; i < this.n; i++)
				fails[i]! &= off;
			return;
		}
		const [low, high] = within;
		for (let i = 0; i < this.n; i++)
			fails[i] = values[i]! >= low && values[i]! <= high ? fails[i]! & off : fails[i]! | bit;
	}

	/** Only categories whose code is in `shown`, an array of 0 and 1 for each bin and one for nodes without a value; null: all. */
	categories(place: number, shown: ArrayLike<number> | null): void {
		const { bins } = this.columns[place]!, bit = 1 << place, off = ~bit, { fails } = this;
		for (let i = 0; i < this.n; i++)
			fails[i] = !shown || shown[bins[i]!] ? fails[i]! & off : fails[i]! | bit;
	}

	/** Only these nodes; null: all. They have the last bit. */
	nodes(list: ArrayLike<number> | null): void {
		const bit = 1 << MOST, { fails } = this;
		for (let i = 0; i < this.n; i++)
			fails[i] = list ? fails[i]! | bit : fails[i]! & ~bit;
		for (let k = 0; list && k < list.length; k++)
			fails[list[k]!]! &= ~bit;
	}

	result(): Result {
		const { fails, columns, n } = this, pass = new Uint8Array(n), counts = columns.map(c => new Uint32Array(c.size + 1));
		const bins = columns.map(c => c.bins), many = columns.length;
		let total = 0;
		for (let i = 0; i < n; i++) {
			const f = fails[i]!;
			if (f === 0) {
				pass[i] = 1;
				total++;
				for (let d = 0; d < many; d++)
					counts[d]![bins[d]![i]!]!++;
			} else if ((f & (f - 1)) === 0) {
				const d = 31 - Math.clz32(f);
				if (d < many)
					counts[d]![bins[d]![i]!]!++;
			}
		}
		return { pass, total, counts };
	}
}
