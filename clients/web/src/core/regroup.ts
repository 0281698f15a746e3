/* regroup.ts -- categories with other names for a view; those with the same name are one. The data keep theirs. */
import { MISSING, type Values } from "./nodes.ts";

/** The names that categories have instead of their own. */
export type Names = ReadonlyMap<string, string>;

/** The values with these names. Categories keep their order; a combined one has the place of its first. */
export function regroup(v: Values, names: Names | undefined): Values {
	if (!names?.size || v.column.kind !== "category")
		return v;
	const place = new Map<string, number>(), to = v.categories.map(word => {
		const name = names.get(word) ?? word, known = place.get(name);
		if (known !== undefined)
			return known;
		place.set(name, place.size);
		return place.size - 1;
	});
	const codes = new Uint16Array(v.codes.length), categories = [...place.keys()], counts = new Array<number>(categories.length).fill(0);
	for (let i = 0; i < codes.length; i++) {
		const code = v.codes[i]!, now = code === MISSING ? MISSING : to[code] ?? MISSING;
		codes[i] = now;
		if (now !== MISSING)
			counts[now]!++;
	}
	const { colors, ...column } = v.column;
	const own = colors && categories.length === v.categories.length ? { colors } : {};
	return { ...v, column: { ...column, ...own, categories: categories.length }, codes, categories, counts };
}
