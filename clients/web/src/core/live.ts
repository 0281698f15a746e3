/* live.ts -- the server's graphs, jobs and devices, kept up to date by /v1/events if the server has it, else by
 * polling. While the tab is hidden it sends no requests: a browser has six connections per server, and other tabs need
 * some. */
import { ApiError, getJson, link, list, locked, offline, part } from "./api.ts";
import { followEvents, type ServerEvent } from "./follow.ts";
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

/** Stores a record. A reply may arrive after the event of the job's end, so an ended job never becomes running
 * again. */
export function put(job: Job): void {
	const known = jobs.value.get(job.id);
	if (known && ended(known) && !ended(job))
		return;
	jobs.value.set(job.id, job);
	jobs.notify();
}

export function putGraph(graph: Graph): void {
	graphs.value.set(graph.id, graph);
	graphs.notify();
}

export function drop(id: string): void {
	if (jobs.value.delete(id))
		jobs.notify();
	if (graphs.value.delete(id)) {
		setUnread(id);
		graphs.notify();
	}
}

/** Fetches the newest records, and keeps those that askOlder() has fetched. Returns where the runs go on. */
async function askAll(): Promise<string | null> {
	const [newestJobs, allGraphs] = await Promise.all([part<Job>(JOBS, LISTED), list<Graph>(GRAPHS, LISTED)]);
	const oldest = newestJobs.next ? newestJobs.items.at(-1)!.id : "", kept = asked ? [...jobs.value.values()].filter(job => job.id < oldest) : [];
	jobs.value = new Map([...newestJobs.items, ...kept].map(job => [job.id, job]));
	graphs.value = new Map(allGraphs.map(graph => [graph.id, graph]));
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
	devices.value = (await getJson<{ items: Device[] }>("/v1/devices")).items;
}

/** After a reset the server sends all records again; meanwhile pages keep the old ones. For records that do not arrive
 * in time, the lists tell whether they are gone, since a busy machine may only be slow. */
let unseen: Set<string> | null = null;
function reset(): void {
	const mine = unseen = new Set([...jobs.value.keys(), ...graphs.value.keys()]);
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
			drop(id);
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
		if (job && !ended(job))
			put({ ...job, ...data } as Job);
		break;
	}
	case "device":
		devices.value = [...devices.value.filter(d => d.id !== data["id"]), data as unknown as Device]
			.sort((a, b) => (a.id < b.id ? -1 : 1));
		break;
	case "removed":
		drop(data["id"] as string);
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
