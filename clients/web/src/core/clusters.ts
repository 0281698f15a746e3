/* clusters.ts -- jobs of other methods than t-SNE: the clusters or signals that they have found are colours of layouts on the same
 * data, and clusters labels to keep. */
import { getJson, request, submit } from "./api.ts";
import { number } from "./format.ts";
import { jobs, put } from "./live.ts";
import { fromCodes, numbers, type Values } from "./nodes.ts";
import { npyHeader } from "./npy.ts";
import { ended, type Job } from "./types.ts";

const PREFIX = "job:";   // before the job's id, where a column's name may stand; pictures of the server take it, too

export const colourOfJob = (id: string): string => PREFIX + id;
/** The id of the job that a colour names; "": it names a column. */
export const jobOfColour = (by: string): string => (by.startsWith(PREFIX) ? by.slice(PREFIX.length) : "");

const COLUMN = "column:";
/** What colours by a column: its name, unless that means something else. */
export const colourOfColumn = (name: string): string =>
	["", "none", "auto", "density"].includes(name) || name.startsWith(PREFIX) || name.startsWith(COLUMN) ? COLUMN + name : name;

const FOUND = ["kmeans", "gmm", "signal"];   // methods that give no layout
export const isLayout = (job: Job): boolean => !FOUND.includes(job.method ?? "tsne");
const finds = (job: Job): boolean => job.method === "kmeans" || job.method === "gmm";

/** What a job's progress is measured by: the member of its record and of its trace. */
export const MEASURES: Record<string, { key: string; label: string; short: string }> = {
	kmeans: { key: "inertia", label: "Inertia, of each restart in turn", short: "inertia" },
	gmm: { key: "log_likelihood", label: "Log-likelihood", short: "log-likelihood" },
	signal: { key: "level", label: "Level: the mean of the first value", short: "level" },
	sammon: { key: "stress", label: "Stress", short: "stress" },
};

const LEVELS: Record<string, string> = { sir: "Share of infected", sir_chance: "Share of infected", pagerank: "Change of the newest iteration" };
/** What the chart of a job's progress is called. */
export const measureLabel = (job: Job): string => (job.method === "signal" && LEVELS[String(job.parameters["model"])]) || MEASURES[job.method ?? ""]?.label || "";

export function measureText(job: Job): string {
	const m = MEASURES[job.method ?? ""], value = m && (job as unknown as Record<string, unknown>)[m.key];
	return m ? `${m.short} ${number(typeof value === "number" ? value : null)}` : `KL ${number(job.kl)}`;
}

/** Jobs that have found, or are finding, clusters of this layout or of its data; those of this layout first, newest first. */
export function clusterings(layout: Job, all: Iterable<Job>): Job[] {
	return colourings(layout, all).filter(finds);
}

/** The same, and those of signals on the same graph. */
export function colourings(layout: Job, all: Iterable<Job>): Job[] {
	const own = (job: Job): number => Number(job.input?.job === layout.id);
	return [...all].filter(job => !isLayout(job) && job.graph === layout.graph && job.nodes === layout.nodes && job.state !== "failed" && job.state !== "cancelled")
		.sort((a, b) => own(b) - own(a) || (a.id < b.id ? 1 : -1));
}

/** The layout whose clusters they are, else the newest one of the same data; null: there is none yet. */
export function layoutOf(clusters: Job, all: ReadonlyMap<string, Job>): Job | null {
	const own = clusters.method === "signal" ? undefined : all.get(clusters.input?.job ?? "");
	return own ?? layoutsOf(clusters, all)[0] ?? null;
}

/** Layouts of its data: those that are finished first, the newest first. */
export function layoutsOf(found: Job, all: ReadonlyMap<string, Job>): Job[] {
	return [...all.values()].filter(job => isLayout(job) && job.graph === found.graph && job.nodes === found.nodes && (job.layout || !ended(job)))
		.sort((a, b) => Number(b.layout) - Number(a.layout) || (a.id < b.id ? 1 : -1));
}

/** "10 clusters of this layout" */
export function describe(clusters: Job, layout?: Job): string {
	const own = !layout ? "a layout" : clusters.input?.job === layout.id ? "this layout" : "another layout";
	const of = clusters.input?.job ? own : clusters.input ? "an uploaded layout" : "the data";
	if (clusters.method === "signal")
		return `${String(clusters.parameters["model"] ?? "signal").replace(/_/g, " ")} on the graph`;
	const parts = clusters.parameters["clusters"] ?? clusters.parameters["components"];
	return clusters.method === "gmm" ? `mixture of ${Array.isArray(parts) ? parts.join(", ") : String(parts)} Gaussians of ${of}` : `${String(parts)} clusters of ${of}`;
}

async function arrayOf(id: string, name: string, dtype: string): Promise<{ bytes: ArrayBuffer; shape: number[] }> {
	const bytes = await (await request(`/v1/jobs/${id}/results/${name}`)).arrayBuffer(), head = npyHeader(new Uint8Array(bytes));
	if (!head || head.dtype !== dtype)
		throw new Error("The result came in a form that this page does not know; load the page anew.");
	return { bytes: bytes.slice(head.offset), shape: head.shape };
}

/** A category for each cluster; nodes that were dropped have none. */
async function clustersOf(id: string): Promise<Values> {
	const labels = new Int32Array((await arrayOf(id, "labels", "<i4")).bytes), count = labels.reduce((most, c) => Math.max(most, c + 1), 0);
	return fromCodes({ name: "cluster", kind: "category", categories: count }, new Uint32Array(labels.buffer), Array.from({ length: count }, (_, k) => String(k)));
}

/** The first value of each node. */
async function signalOf(id: string): Promise<Values> {
	const { bytes, shape } = await arrayOf(id, "signal", "<f4"), all = new Float32Array(bytes), [n = 0, values = 1] = shape;
	return numbers({ name: "signal", kind: "number" }, Float32Array.from({ length: n }, (_, i) => all[i * values]!));
}

const known = new Map<string, Promise<Values>>();

/** What a job of another method has found, as colours of nodes. It never changes, so it is asked for once. */
export function foundBy(id: string): Promise<Values> {
	let found = known.get(id);
	if (!found) {
		const record = jobs.value.get(id);
		found = Promise.resolve(record ?? getJson<Job>(`/v1/jobs/${id}`)).then(job => (job.method === "signal" ? signalOf(id) : clustersOf(id)));
		found.catch(() => known.delete(id));
		known.set(id, found);
		if (known.size > 20)
			known.delete(known.keys().next().value!);
	}
	return found;
}

/** Starts a search of clusters: of the layout, when it is done, or of the data that was laid out. */
export async function findClusters(layout: Job, clusters: number, of: "layout" | "data"): Promise<Job> {
	const input = of === "data" ? {} : { input: { job: layout.id }, ...(layout.state === "done" ? {} : { after: layout.id }) };
	const job = await submit({ graph: layout.graph, method: "kmeans", params: { clusters, restarts: 4 }, name: layout.name ?? undefined, ...input });
	put(job);
	return job;
}

/** Makes them a column of the graph's labels, for everybody and all of its layouts. */
export async function keepClusters(clusters: Job, column: string): Promise<void> {
	const body = await (await request(`/v1/jobs/${clusters.id}/results/labels`)).arrayBuffer();
	await request(`/v1/graphs/${clusters.graph}/labels/${encodeURIComponent(column)}?kind=category`, { method: "PUT", body,
		headers: { "Content-Type": "application/octet-stream" } });
}
