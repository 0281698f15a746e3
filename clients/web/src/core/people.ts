/* people.ts -- users, tokens, what they use and did, and maintenance: requests that administrators send, and those of a
 * user about himself. */
import { getJson, list, request, sendJson } from "./api.ts";
import { bytes, count, day, duration, several, until } from "./format.ts";
import { Signal } from "./signal.ts";

export type Amounts = Record<string, number | null>;
export type InForce = Record<string, { value: number | null; of: "user" | "server" | null; option: string | null }>;
export type Role = "reader" | "user" | "administrator";

export const ROLES: (readonly [Role, string])[] = [["reader", "reader"], ["user", "user"], ["administrator", "administrator"]];

export interface Token {
	id: string;
	name: string | null;
	created: number;           // seconds since 1970, as the others
	expires: number | null;
	last_used: number | null;
	token?: string;            // in the reply that makes it
}

const SOON_DAYS = 7;

export const soon = (t: Token): boolean => t.expires !== null && t.expires * 1000 - Date.now() < SOON_DAYS * 86_400_000;
export const untilDay = (t: Token): string => t.expires === null ? "never" : t.expires * 1000 <= Date.now() ? "has expired" : soon(t) ? until(new Date(t.expires * 1000).toISOString()) : day(t.expires);

/** Of the logged-in user: a line if the token of this login ends within a week; null otherwise. */
export function expiryText(token: Token | null | undefined): string | null {
	return token && soon(token) ? `Your token expires ${untilDay(token)}.` : null;
}

export interface User {
	id: string;
	name: string;
	role: Role;
	state: "active" | "disabled" | "deleted";
	since: number | null;
	erase?: boolean;           // of deleted users: what they own is being deleted
	things?: number;
	tokens: Token[];
	limits: Amounts;
	in_force?: InForce;
	use?: Amounts;
	project: string | null;
	projects: string[];
}

/** Who has and uses how much, a user or a project. */
export interface Top {
	id: string | null;
	name: string | null;
	state: User["state"] | null;
	device_seconds: number;
	device_bytes: number;
	disk_bytes: number;
	running_jobs: number;
	queued_jobs: number;
	jobs: number;
	graphs: number;
}

export interface Account {
	day: string | null;
	user: string | null;
	user_id: string | null;
	project: string | null;
	project_id: string | null;
	device_seconds: number;
	allocation_seconds: number;
	gpu_seconds: number;
	jobs: number;
	disk_byte_days: number;
}

export interface AuditEvent {
	time: number;
	request: string | null;
	user: string;
	user_id?: string | null;
	role: string;
	token: string | null;
	token_name: string | null;
	address: string;
	method: string;
	path: string;
	object: string | null;
	status: number;
	changes?: Record<string, unknown>;
	omitted?: number;
}

export interface Maintenance {
	drain: { since: string; by: string | null; reason: string; who: string; due: boolean } | null;
	banner: { text: string; since: string; until: string | null } | null;
	notice: string | null;
}

export interface Retention {
	result_retention_s: number;
	max_finished_jobs: number;
	pending: { result_retention_s: number; max_finished_jobs: number; jobs: number; since: string } | null;
	protected: number;
	expire_in_a_day: number;
	expire_in_a_week: number;
	state: { max_state_bytes: number; collect_after_s: number; pending: { max_state_bytes: number; collect_after_s: number; items: number; bytes: number; since: string } | null };
}

export interface Transferred {
	graphs: number;
	jobs: number;
	batches: number;
	layouts: number;
	links: number;
}

export const maintenance = new Signal<Maintenance | null>(null);
export const askMaintenance = async (): Promise<void> => { maintenance.value = await getJson<Maintenance>("/v1/maintenance"); };
export async function maintain(what: "drain" | "banner", body: Record<string, unknown> | null): Promise<void> {
	maintenance.value = await sendJson<Maintenance>(body ? "PUT" : "DELETE", `/v1/maintenance/${what}`, body ?? undefined);
}

const path = (name: string): string => `/v1/users/${encodeURIComponent(name)}`;

const MOST = 50;   // most users whose use is fetched

/** All users, the first of them with what they use, and the deleted ones who still own something. */
export async function askUsers(): Promise<{ there: User[]; gone: User[] }> {
	const [all, gone] = await Promise.all([list<User>("/v1/users"), list<User>("/v1/users?state=deleted")]);
	const known = await Promise.all(all.slice(0, MOST).map(u => getJson<User>(path(u.name)).catch(() => u)));
	return { there: [...known, ...all.slice(MOST)], gone: await Promise.all(gone.slice(0, MOST).map(u => getJson<User>(path(u.id)).catch(() => u))) };
}

export const askUser = (name: string): Promise<User> => getJson(path(name));

/** Adds a user; restore: the id of a deleted one who comes back. Resolves to what the server has to say about it, or "". */
export async function addUser(body: { name: string; role?: Role; restore?: string }): Promise<string> {
	const reply = await request("/v1/users", { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });
	const note = reply.headers.get("Spaceland-Note");
	return note ? String(JSON.parse(note)) : "";
}

export const changeUser = (name: string, body: Record<string, unknown>): Promise<User> => sendJson("PATCH", path(name), body);
export const deleteUser = (name: string, data: boolean): Promise<Response> => request(`${path(name)}?data=${data ? "delete" : "keep"}`, { method: "DELETE" });
export const transfer = (from: string, to: string, dry: boolean, things?: string[]): Promise<Transferred> =>
	sendJson("POST", `${path(from)}/transfer`, { to, dry_run: dry, ...(things ? { things } : {}) });

/** of: a user; null: oneself. */
export const tokensPath = (of: string | null): string => of === null ? "/v1/me/tokens" : `${path(of)}/tokens`;
export const makeToken = (of: string | null, body: Record<string, unknown>): Promise<Token> => sendJson("POST", tokensPath(of), body);
export const revokeToken = (of: string | null, id: string): Promise<Response> => request(`${tokensPath(of)}/${id}`, { method: "DELETE" });

// ---- as text -----------------------------------------------------------------------------------

/** "3 graphs, 12 runs and 1 link"; "nothing". */
export function things(t: Partial<Transferred>): string {
	const NAMES = [["graphs", "graph"], ["jobs", "run"], ["batches", "batch"], ["layouts", "uploaded layout"], ["links", "public link"]] as const;
	const parts = NAMES.flatMap(([key, name]) => t[key] ? [name === "batch" && t[key] !== 1 ? `${count(t[key])} batches` : several(t[key], name)] : []);
	return parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)!}` : parts[0] ?? "nothing";
}

const TITLES: Record<string, string> = { device_seconds: "device time a day", device_bytes: "device memory", disk_bytes: "disk", upload_bytes: "an upload" };
export const titleOfAmount = (what: string): string => TITLES[what] ?? what.replace(/_/g, " ");
export const amount = (what: string, value: number): string =>
	what.endsWith("bytes") ? bytes(value) : what.endsWith("seconds") ? duration(value) : count(value);

/** Lines such as "disk: 1.2 GB of 20 GB" for each resource that is limited or in use; all: also limits that everybody has. */
export function useLines(user: { limits: Amounts | null; in_force?: InForce | null; use?: Amounts | null }, all = false): string[] {
	const names = new Set([...Object.keys(user.limits ?? {}), ...Object.keys(user.use ?? {})]), out: string[] = [];
	for (const what of names) {
		const rule = user.in_force?.[what], common = !all && rule?.option && !rule.option.startsWith("user_");   // the same for all requests
		const limit = rule ? common ? null : rule.value : user.limits?.[what], used = user.use?.[what], title = titleOfAmount(what);
		const whose = !all || !rule?.of ? "" : rule.of === "user" ? " (your own limit)" : " (the server's limit)";
		if (limit)
			out.push(`${title}: ${typeof used === "number" ? `${amount(what, used)} of ` : ""}${amount(what, limit)}${whose}`);
		else if (typeof used === "number" && (used > 0 || all))
			out.push(`${title}: ${amount(what, used)}${all ? ", without limit" : ""}`);
	}
	return out;
}

/** A text such as 20GB, 2h or 100 as a number; null: the server's default; undefined: it is neither. */
export function parseAmount(text: string): number | null | undefined {
	const plain = text.trim(), parts = /^([\d.]+) ?([a-zA-Z]*)$/.exec(plain);
	if (!plain || plain === "default")
		return null;
	const UNITS: Record<string, number> = { "": 1, b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40, s: 1, min: 60, h: 3600, d: 86400 };
	const unit = parts && UNITS[parts[2]!.toLowerCase()], value = parts ? Number(parts[1]) : NaN;
	return unit && Number.isFinite(value) ? value * unit : undefined;
}
