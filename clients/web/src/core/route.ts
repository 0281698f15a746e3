/* route.ts -- the fragment of the address: a page and its state. A link to a view is such an address. */
import { Signal } from "./signal.ts";

export interface Route {
	page: string;                     // "", "job", "compare", "data", "server", "account", "admin"
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

/** The token from `spaceland view`, which is in the fragment; it is removed from the address and the history. */
export let handed = "";

function arrive(): Route {
	const { page, id, query: { token, ...query } } = parse(location.hash);
	if (token) {
		handed = token;
		history.replaceState(null, "", address(page, id, query));
	}
	return { page, id, query };
}

export const route = new Signal(arrive());
addEventListener("hashchange", () => { route.value = arrive(); });

export function go(page: string, id = "", query: Record<string, string | undefined> = {}): void {
	location.hash = address(page, id, query);
}

/** Changes this page's query without a new entry in the history. */
export function keep(query: Record<string, string | undefined>): void {
	const { page, id } = route.value;
	history.replaceState(null, "", address(page, id, { ...route.value.query, ...query }));
	route.value.query = parse(location.hash).query;
}
