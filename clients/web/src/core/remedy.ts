/* remedy.ts -- options of uploads that an error or a note of the server names, as things that the user may do at once:
 * "…; kind=points reads a table of points", "Such rows can be left out (drop_not_finite)". tests/web compares the names with
 * proto/openapi.yaml. */

export interface Remedy {
	name: string;
	value: string;
	text: string;      // on the button
}

/** What each option does, for its button. column: the title of the column that the value names. */
const TEXTS: Record<string, (value: string, column: string) => string> = {
	drop_not_finite: v => (v === "true" ? "Leave out rows with missing values" : "Refuse rows with missing values"),
	kind: v => (v === "points" ? "Read it as a table of points" : v === "graph" ? "Read it as a graph" : v === "neighbours" ? "Read it as neighbours" : `Read it as ${v}`),
	format: v => `Read it as ${v}`,
	isolated: v => (v === "true" ? "It is intended: keep the empty nodes" : "Refuse so many empty nodes"),
	values: v => `The values are ${v}`,
	directed: v => (v === "true" ? "Take the edges as directed" : "Take the edges in both directions"),
	transpose: v => (v === "true" ? "Swap rows and columns" : "Do not swap rows and columns"),
	ignore_columns: (v, column) => (v === "words" ? "Leave out all columns of words" : `Leave out column ${column}`),
	keep_columns: (v, column) => (v === "all" ? "Take all columns of numbers" : `Take column ${column} as numbers`),
	name_column: (_, column) => `Take column ${column} as names`,
	label_column: (_, column) => `Take column ${column} as labels`,
	decimal: v => `Take the ${v === "comma" || v === "," ? "comma" : v === "point" || v === "." ? "point" : v} as the decimal sign`,
	bipartite: v => (v === "true" ? "Keep nodes of the two columns apart" : "Equal names are one node"),
	source: (_, column) => `Edges begin at column ${column}`,
	target: (_, column) => `Edges end at column ${column}`,
	weight: (_, column) => `Weights are in column ${column}`,
	metric: v => `Use ${v} distances`,
};
export const OPTIONS = Object.keys(TEXTS);
const FLAGS = ["drop_not_finite", "isolated", "transpose", "directed", "bipartite"];      // named without a value, they are wanted
const LISTS = ["ignore_columns", "keep_columns", "label_column"];
/** Options that change how columns are read, so that the file is looked at again. */
const READ = ["kind", "format", "values", "transpose", "decimal", "source", "target", "weight", "directed", "bipartite"];

export const readsAnew = (name: string): boolean => READ.includes(name);

/** The options that a text names, each once. titles: of columns, by number from 1. */
export function remediesOf(text: string, titles: (column: number) => string = String): Remedy[] {
	const found = new Map<string, Remedy>();
	for (const [, name, , , value] of text.matchAll(/(?<![\w/])([a-z_]+)(=("?)([^\s;:,()"]+)\3)?(?![\w=])/g)) {
		if (!TEXTS[name!] || (value === undefined && !FLAGS.includes(name!)))
			continue;
		const clean = (value ?? "true").replace(/[.]$/, ""), column = /^\d+$/.test(clean) ? titles(Number(clean)) : clean;
		found.set(`${name}=${clean}`, { name: name!, value: clean, text: TEXTS[name!]!(clean, column) });
	}
	return [...found.values()];
}

/** Adds an option to the query of an upload; lists of columns become longer. */
export function withOption(query: Record<string, string>, { name, value }: { name: string; value: string }): Record<string, string> {
	const before = query[name];
	return { ...query, [name]: LISTS.includes(name) && before && !before.split(",").includes(value) ? `${before},${value}` : value };
}
