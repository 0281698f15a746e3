/* live.ts -- the server's graphs, jobs and devices, kept up to date by /v1/events if the server has it, else by
 * polling. While the tab is hidden it sends no requests: a browser has six connections per server, and other tabs need
 * some. */
import { ApiError, getJson, link, list, locked, offline, part } from "./api.ts";
import { followEvents, type ServerEvent } from "./follow.ts";
import { askMethods } from "./methods.ts";
import { route } from "./route.ts";
import { Signal } from "./signal.ts";
import { type Device, ended, type Graph, type Job } from "./types.ts";

const POLL_MS = 1000, RESET_MS = 3000;
const LISTED = 400;   // number of the newest records that are fetched at first; the stream of events brings all
const JOBS = "/v1/jobs?limit=200", GRAPHS = "/v1/graphs?limit=200";

export const jobs = new Signal(new Map<string, Job>());
export const graphs = new Signal(new Map<string, Graph>());
export const devices = new Signal<Device[]>([]);
export const ready = new Signal(false);
/** Without a stream: where the list of runs goes on that were not fetched. */
export const older = new Signal<string | null>(null);
/** Graphs of runs that are deleted, or not shared with the user. */
export const unread = new Signal<ReadonlySet<string>>(new Set());
export function setUnread(graph: string): void {
	unread.value = new Set([...unread.value, graph]);
}

/** Newest first. */
export const newest = <T extends { id: string }>(map: Map<string, T>): T[] =>
	[...map.values()].sort((a, b) => (a.id < b.id ? 1 : -1));

/** Replies and events come by different connections, in any order: of two records of a thing the one with the larger
 * version is kept, and a record from before the thing's removal is not taken. */
const gone = new Map<string, number>();   // versions of removals
const newer = (record: { id: string; version: number }, known: { version: number } | undefined): boolean =>
	!(record.version < (gone.get(record.id) ?? 0)) && !(known && known.version > record.version);

/** Stores a record unless a newer one is known. */
export function put(job: Job): void {
	if (!newer(job, jobs.value.get(job.id)))
		return;
	jobs.value.set(job.id, job);
	jobs.notify();
}

/** Adds what a reply tells about a job, such as its quality, to whatever record is known now. */
export function putPart(id: string, part: Partial<Job>): void {
	const known = jobs.value.get(id);
	if (known)
		put({ ...known, ...part });
}

export function putGraph(graph: Graph): void {
	if (!newer(graph, graphs.value.get(graph.id)))
		return;
	graphs.value.set(graph.id, graph);
	graphs.notify();
}

/** version: of the removal. */
export function drop(id: string, version = Infinity): void {
	gone.set(id, version);
	if (jobs.value.delete(id))
		jobs.notify();
	if (devices.value.some(d => d.id === id))
		devices.value = devices.value.filter(d => d.id !== id);
	if (graphs.value.delete(id)) {
		setUnread(id);
		graphs.notify();
	}
}

/** The listed records, each the newest that is known. */
const merged = <T extends { id: string; version: number }>(listed: T[], known: ReadonlyMap<string, T>): Map<string, T> =>
	new Map(listed.filter(r => newer(r, undefined)).map(r => [r.id, newer(r, known.get(r.id)) ? r : known.get(r.id)!]));

/** Fetches the newest records, and keeps those that askOlder() has fetched. Returns where the runs go on. */
async function askAll(): Promise<string | null> {
	const [newestJobs, allGraphs] = await Promise.all([part<Job>(JOBS, LISTED), list<Graph>(GRAPHS, LISTED)]);
	const oldest = newestJobs.next ? newestJobs.items.at(-1)!.id : "", kept = asked ? [...jobs.value.values()].filter(job => job.id < oldest) : [];
	jobs.value = merged([...newestJobs.items, ...kept], jobs.value);
	graphs.value = merged(allGraphs, graphs.value);
	ready.value = true;
	return newestJobs.next;
}

let asked = false;   // for older runs
export async function askOlder(): Promise<void> {
	const page = await part<Job>(JOBS, LISTED, older.value);
	asked = true;
	older.value = page.next;
	page.items.forEach(put);
}

export async function askDevices(): Promise<void> {
	const { items } = await getJson<{ items: Device[] }>("/v1/devices"), known = new Map(devices.value.map(d => [d.id, d]));
	devices.value = items.map(d => (newer(d, known.get(d.id)) ? d : known.get(d.id)!));
}

/** After a reset the server sends all records again; meanwhile pages keep the old ones. For records that do not arrive
 * in time, the lists tell whether they are gone, since a busy machine may only be slow. */
let unseen: Set<string> | null = null;
function reset(): void {
	const mine = unseen = new Set([...jobs.value.keys(), ...graphs.value.keys()]);
	gone.clear();   // some may have been hidden from the user, and be shared again
	for (const record of [...jobs.value.values(), ...graphs.value.values()])
		record.version = 0;   // all that follows is true, even if the clock of a server was set back over its restart
	setTimeout(() => void sweep(mine).catch(() => undefined), RESET_MS);
}

async function sweep(mine: Set<string>): Promise<void> {
	if (unseen !== mine || !mine.size)
		return;
	const first = [...mine].sort()[0]!;
	const lists = await Promise.all([part<Job>(JOBS, Infinity, null, job => job.id < first), part<Graph>(GRAPHS, Infinity, null, graph => graph.id < first)]);
	if (unseen !== mine)
		return;   // superseded by another reset
	unseen = null;
	const there = new Set(lists.flatMap(l => (l.items as { id: string }[]).map(item => item.id)));
	for (const id of mine)
		if (!there.has(id))
			drop(id, 0);
}

function onEvent(e: ServerEvent): void {
	if (e.event === "reset") {
		reset();
		return;
	}
	const data = JSON.parse(e.data) as Record<string, unknown>;
	if (e.event !== "progress")
		unseen?.delete(data["id"] as string);
	switch (e.event) {
	case "job":
	case "state":
		put(data as unknown as Job);
		break;
	case "graph":
		putGraph(data as unknown as Graph);
		break;
	case "progress": {
		const job = jobs.value.get(data["id"] as string);
		if (job && !ended(job) && newer(data as unknown as Job, job))
			put({ ...job, ...data } as Job);
		break;
	}
	case "device":
		if (!newer(data as unknown as Device, devices.value.find(d => d.id === data["id"])))
			break;
		devices.value = [...devices.value.filter(d => d.id !== data["id"]), data as unknown as Device]
			.sort((a, b) => (a.id < b.id ? -1 : 1));
		break;
	case "removed":
		drop(data["id"] as string, data["version"] as number | undefined);
	}
}

async function poll(signal: AbortSignal): Promise<void> {
	while (!signal.aborted) {
		try {
			const busy = [...jobs.value.values()].some(job => !ended(job)), next = await askAll();
			if (!asked)
				older.value = next;
			await new Promise(resolve => setTimeout(resolve, busy ? POLL_MS : 2 * POLL_MS));
		} catch (error) {
			if (error instanceof ApiError && error.status === 401)
				return;
			await new Promise(resolve => setTimeout(resolve, 2 * POLL_MS));
		}
	}
}

let running: AbortController | null = null;
let streams = true;  // false: the server has no /v1/events
/** Where the stream goes on when the tab is seen again. */
const place = { last: "" };

/** A public link shows one job; its page reports an invalid link. */
async function runLinked(signal: AbortSignal): Promise<void> {
	await askMethods().catch(() => undefined);
	ready.value = true;
	const job = `/v1/jobs/${route.value.id}`;
	await getJson<Job>(job, signal).then(put);
	await followEvents(`${job}/events`, event => onEvent({ ...event, data: JSON.stringify({ id: route.value.id, ...JSON.parse(event.data) as object }) }),
		() => { offline.value = false; }, signal);
}

async function run(signal: AbortSignal): Promise<void> {
	if (link)
		return runLinked(signal).catch(() => undefined);
	try {
		await askMethods();
		if (!place.last)
			await askAll();
		if (streams)
			await followEvents("/v1/events", onEvent, () => { offline.value = false; older.value = null; }, signal, place);
	} catch (error) {
		if (error instanceof ApiError && error.status === 404)
			streams = false;
		if (error instanceof ApiError && error.status === 401)
			return;
	}
	if (!signal.aborted)
		await poll(signal);
}

function update(): void {
	const wanted = !locked.value && document.visibilityState === "visible";
	if (wanted && !running) {
		running = new AbortController();
		void run(running.signal);
	} else if (!wanted && running) {
		running.abort();
		running = null;
	}
}

export function start(): void {
	document.addEventListener("visibilitychange", update);
	locked.subscribe(() => {   // another user may log in, who sees other records
		place.last = "";
		asked = false;
		update();
	});
	update();
}
