/* api.ts -- requests to the daemon that served this page. Errors are thrown as ApiError with the problem document. A
 * 401 sets `locked`, which shows the login. Logging in sets a cookie, which every request sends. */
import { sentence } from "./format.ts";
import { handed } from "./route.ts";
import { Signal } from "./signal.ts";
import type { Graph, Job, Problem } from "./types.ts";

export class ApiError extends Error {
	constructor(readonly problem: Problem) {
		super(sentence(problem.detail || problem.title));
	}
	get status(): number {
		return this.problem.status;
	}
	/** Text for people: the detail, with the place in a file if there is one. */
	get text(): string {
		const { detail, title, file, line } = this.problem;
		return file ? (detail || title) + (file && line ? ` (line ${line})` : "") : this.message;
	}
}

/** The secret of a public link to one job, /?link=...#/job/ID. It replaces a token and gives access to that job
 * only. */
export const link = new URLSearchParams(location.search).get("link");

/** True in a frame of another page, /?embed=1&link=...#/job/ID: only the map is shown. */
export const embedded = new URLSearchParams(location.search).get("embed") === "1";

/** The path under which this page has the server, "" or "/spaceland": a proxy may have added it. */
export const base = location.pathname.replace(/\/[^/]*$/, "");

const LOGIN = "/v1/login";

export const locked = new Signal(false);
export const offline = new Signal(false);

async function problemOf(response: Response): Promise<Problem> {
	try {
		return await response.json() as Problem;
	} catch {
		return { type: "", title: response.statusText, status: response.status,
			detail: `The server answered with status ${response.status}.` };
	}
}

/** Logs in with the token of the address, if there was one. Called once, and only if nobody is logged in. */
let entering: Promise<boolean> | null = null;
function enter(): Promise<boolean> {
	entering ??= handed ? login(handed).then(() => true, () => false) : Promise.resolve(false);
	return entering;
}

/** fetch() with the login's cookie; throws ApiError for statuses from 400 on, and if the server cannot be reached. */
export async function request(path: string, init: RequestInit = {}, tried = false): Promise<Response> {
	let response: Response;
	try {
		const headers = { ...init.headers as Record<string, string> | undefined, ...(link ? { Authorization: `Bearer ${link}` } : {}) };
		response = await fetch(base + path, { ...init, headers, credentials: "same-origin" });
	} catch (error) {
		if (!init.signal?.aborted)
			offline.value = true;
		throw init.signal?.aborted ? error : new ApiError({ type: "", title: "No connection", status: 0,
			detail: "The server cannot be reached." });
	}
	offline.value = false;
	if (response.status === 401 && !link) {
		if (path !== LOGIN && !tried && await enter())
			return request(path, init, true);
		locked.value = true;
	}
	if (response.status >= 400)
		throw new ApiError(await problemOf(response));
	return response;
}

export async function getJson<T>(path: string, signal?: AbortSignal): Promise<T> {
	return await (await request(path, signal ? { signal } : {})).json() as T;
}

export async function sendJson<T>(method: string, path: string, body: unknown): Promise<T> {
	const response = await request(path, { method, body: JSON.stringify(body),
		headers: { "Content-Type": "application/json" } });
	return (response.status === 204 ? null : await response.json()) as T;
}

/** A part of a paged list, from `cursor` on: about `most` items, or those up to one for which `enough` holds. next: the cursor of
 * the rest; null: there is no more. */
export async function part<T>(path: string, most: number, cursor: string | null = null, enough?: (item: T) => boolean): Promise<{ items: T[]; next: string | null }> {
	const items: T[] = [];
	do {
		const sep = path.includes("?") ? "&" : "?";
		const page: { items: T[]; next: string | null } =
			await getJson(path + (cursor ? `${sep}cursor=${encodeURIComponent(cursor)}` : ""));
		items.push(...page.items);
		cursor = page.next;
	} while (cursor && items.length < most && !(enough && items.length && enough(items.at(-1)!)));
	return { items, next: cursor };
}

/** The items of a paged list, about `most`. */
export const list = async <T>(path: string, most = 1000): Promise<T[]> => (await part<T>(path, most)).items;

/** Throws ApiError if the token is wrong. */
export async function login(token: string): Promise<void> {
	await sendJson("POST", LOGIN, { token });
	sessionStorage.setItem("spaceland-in", "1");
	locked.value = false;
}

export async function logout(): Promise<void> {
	await request(LOGIN, { method: "DELETE" });
	locked.value = true;
}

/** Uploads a file with progress (0 to 1). */
export function upload(file: Blob, name: string, query: Record<string, string>, progress: (share: number) => void,
	signal?: AbortSignal): Promise<Graph> {
	return new Promise((resolve, reject) => {
		const x = new XMLHttpRequest();
		x.open("POST", base + "/v1/graphs?" + new URLSearchParams({ name, ...query }));
		x.setRequestHeader("Content-Type", "application/octet-stream");
		x.responseType = "json";
		x.upload.onprogress = e => progress(e.lengthComputable ? e.loaded / e.total : 0);
		x.onload = () => {
			if (x.status === 401)
				locked.value = true;
			if (x.status < 300)
				resolve(x.response as Graph);
			else
				reject(new ApiError(x.response as Problem ?? { type: "", title: "", status: x.status,
					detail: `The server answered with status ${x.status}.` }));
		};
		x.onerror = () => reject(new ApiError({ type: "", title: "No connection", status: 0,
			detail: "The connection broke during the upload. If the file is large, max_upload_bytes of the server may be smaller." }));
		x.onabort = () => reject(new DOMException("aborted", "AbortError"));
		signal?.addEventListener("abort", () => x.abort());
		x.send(file);
	});
}

export const submit = (body: Record<string, unknown>): Promise<Job> => sendJson("POST", "/v1/jobs", body);
export const change = (job: string, body: Record<string, unknown>): Promise<Job> =>
	sendJson("PATCH", `/v1/jobs/${job}`, body);

/** Uploads an initial layout [n][dims]; returns its id. */
export async function sendLayout(npy: ArrayBuffer): Promise<string> {
	const response = await request("/v1/layouts", { method: "POST", body: npy,
		headers: { "Content-Type": "application/octet-stream" } });
	return (await response.json() as { id: string }).id;
}
