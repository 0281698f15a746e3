/* route.ts -- the address behind the #: a page, and what it shows. A link to a view is such an address. */
import { Signal } from "./signal.ts";

export interface Route {
	page: string;                     // "", "job", "compare", "data", "server"
	id: string;
	query: Record<string, string>;
}

function parse(hash: string): Route {
	const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
	const [page = "", id = ""] = path.split("/");
	return { page, id, query: Object.fromEntries(new URLSearchParams(query)) };
}

export function address(page: string, id = "", query: Record<string, string | undefined> = {}): string {
	const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "") as [string, string][];
	const text = new URLSearchParams(given).toString();
	return `#/${page}${id ? `/${id}` : ""}${text ? `?${text}` : ""}`;
}

export const route = new Signal(parse(location.hash));
addEventListener("hashchange", () => { route.value = parse(location.hash); });

export function go(page: string, id = "", query: Record<string, string | undefined> = {}): void {
	location.hash = address(page, id, query);
}

/** Changes the query of this page without a new entry in the history. */
export function keep(query: Record<string, string | undefined>): void {
	const { page, id } = route.value;
	history.replaceState(null, "", address(page, id, { ...route.value.query, ...query }));
	route.value.query = parse(location.hash).query;
}
