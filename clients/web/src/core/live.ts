/* live.ts -- what the server has, kept up to date: by /v1/events if the server has that, else by asking again.
 * Nothing is asked while the tab is hidden: a browser has six connections a server, and other tabs want some. */
import { ApiError, getJson, link, list, locked, offline } from "./api.ts";
import { followEvents, type ServerEvent } from "./follow.ts";
import { route } from "./route.ts";
import { Signal } from "./signal.ts";
import { type Device, ended, type Graph, type Job } from "./types.ts";

const POLL_MS = 1000, RESET_MS = 3000;
const LISTED = 400;   // newest records that are asked for

export const jobs = new Signal(new Map<string, Job>());
export const graphs = new Signal(new Map<string, Graph>());
export const devices = new Signal<Device[]>([]);
export const ready = new Signal(false);

/** Newest first. */
export const newest = <T extends { id: string }>(map: Map<string, T>): T[] =>
	[...map.values()].sort((a, b) => (a.id < b.id ? 1 : -1));

/** The reply to a request may come after the event of the job's end; a job that has ended does not run again. */
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
	if (graphs.value.delete(id))
		graphs.notify();
}

async function askAll(): Promise<void> {
	const [allJobs, allGraphs] = await Promise.all([list<Job>("/v1/jobs?limit=200", LISTED), list<Graph>("/v1/graphs?limit=200", LISTED)]);
	jobs.value = new Map(allJobs.map(job => [job.id, job]));
	graphs.value = new Map(allGraphs.map(graph => [graph.id, graph]));
	ready.value = true;
}

export async function askDevices(): Promise<void> {
	devices.value = (await getJson<{ items: Device[] }>("/v1/devices")).items;
}

/** After a reset all records come again; pages keep what they show meanwhile. Of those that have not come within some time the
 * lists say whether they are gone: on a busy machine they may just be late. */
let unseen: Set<string> | null = null;
function reset(): void {
	const mine = unseen = new Set([...jobs.value.keys(), ...graphs.value.keys()]);
	setTimeout(() => void sweep(mine).catch(() => undefined), RESET_MS);
}

async function sweep(mine: Set<string>): Promise<void> {
	if (unseen !== mine || !mine.size)
		return;
	const lists = await Promise.all([list<Job>("/v1/jobs?limit=200", LISTED), list<Graph>("/v1/graphs?limit=200", LISTED)]);
	if (unseen !== mine)
		return;   // another reset
	unseen = null;
	lists.forEach((items, which) => {
		const ids = new Set(items.map(item => item.id)), oldest = items.length < LISTED ? "" : items.at(-1)!.id;
		for (const id of mine)
			if ((which ? graphs : jobs).value.has(id) && !ids.has(id) && id > oldest)
				drop(id);
	});
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
			const busy = [...jobs.value.values()].some(job => !ended(job));
			await askAll();
			await new Promise(resolve => setTimeout(resolve, busy ? POLL_MS : 2 * POLL_MS));
		} catch (error) {
			if (error instanceof ApiError && error.status === 401)
				return;
			await new Promise(resolve => setTimeout(resolve, 2 * POLL_MS));
		}
	}
}

let running: AbortController | null = null;
let streams = true;  // the server has /v1/events, as far as we know

/** By a link there is one job; its page says it when the link is void. */
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
		await askAll();
		if (streams)
			await followEvents("/v1/events", onEvent, () => { offline.value = false; }, signal);
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
	locked.subscribe(update);
	update();
}
