/* clusters.ts -- jobs of methods other than t-SNE. Their clusters or signals colour layouts of the same data; clusters
 * can be saved as labels. */
import { getJson, request, submit } from "./api.ts";
import { number, sentence } from "./format.ts";
import { jobs, put } from "./live.ts";
import { gives, isDefault, methodOf, titleOfMethod } from "./methods.ts";
import { firstColumn, fromCodes, numbers, type Values } from "./nodes.ts";
import { npyHeader } from "./npy.ts";
import { type Column, ended, type Job } from "./types.ts";

const PREFIX = "job:";   // prefix of a job's id in place of a column's name; the server's pictures accept it, too

export const colourOfJob = (id: string): string => PREFIX + id;
/** The id of the job that a colour refers to; "": it refers to a column. */
export const jobOfColour = (by: string): string => (by.startsWith(PREFIX) ? by.slice(PREFIX.length) : "");

const COLUMN = "column:";
/** The colour for a column: its name, with a prefix if the name has another meaning. */
export const colourOfColumn = (name: string): string =>
	["", "none", "auto", "density"].includes(name) || name.startsWith(PREFIX) || name.startsWith(COLUMN) ? COLUMN + name : name;

/** The colour of a layout at first; "": one colour. */
export function colourOfFirst(columns: Column[]): string {
	const column = firstColumn(columns);
	return column ? colourOfColumn(column.name) : "";
}

export const isLayout = (job: Job): boolean => methodOf(job)?.layout ?? true;
const finds = (job: Job): boolean => !isLayout(job) && gives(job, "labels");
const hasValues = (job: Job): boolean => methodOf(job)?.values ?? false;

/** The measure of a job's progress: its member in records and traces, and its name; undefined: the KL divergence of the
 * default method, which has charts of its own. */
export function measureOf(job: Job): { key: string; label: string; short: string } | undefined {
	const m = methodOf(job);
	return m && !isDefault(m.name) ? { key: m.measure.name, label: sentence(m.measure.title).replace(/\.$/, ""), short: m.measure.title } : undefined;
}

const LEVELS: Record<string, string> = { sir: "Share of infected", sir_chance: "Share of infected", pagerank: "Change of the newest iteration" };
/** Title of the chart of a job's progress. */
export const measureLabel = (job: Job): string => (hasValues(job) && LEVELS[String(job.parameters["model"])]) || measureOf(job)?.label || "";

export function measureText(job: Job): string {
	const m = measureOf(job), value = m && (job as unknown as Record<string, unknown>)[m.key];
	return m ? `${m.short} ${number(typeof value === "number" ? value : null)}` : `KL ${number(job.kl)}`;
}

/** Jobs that cluster this layout or its data, finished or not; those of this layout first, newest first. */
export function clusterings(layout: Job, all: Iterable<Job>): Job[] {
	return colourings(layout, all).filter(finds);
}

/** The same, plus signals on the same graph. */
export function colourings(layout: Job, all: Iterable<Job>): Job[] {
	const own = (job: Job): number => Number(job.input?.job === layout.id);
	return [...all].filter(job => !isLayout(job) && job.graph === layout.graph && job.nodes === layout.nodes && job.state !== "failed" && job.state !== "cancelled")
		.sort((a, b) => own(b) - own(a) || (a.id < b.id ? 1 : -1));
}

/** The layout that was clustered, else the newest layout of the same data; null: none yet. */
export function layoutOf(clusters: Job, all: ReadonlyMap<string, Job>): Job | null {
	const own = hasValues(clusters) ? undefined : all.get(clusters.input?.job ?? "");
	return own ?? layoutsOf(clusters, all)[0] ?? null;
}

/** Layouts of its data: finished ones first, each newest first. */
export function layoutsOf(found: Job, all: ReadonlyMap<string, Job>): Job[] {
	return [...all.values()].filter(job => isLayout(job) && job.graph === found.graph && job.nodes === found.nodes && (job.layout || !ended(job)))
		.sort((a, b) => Number(b.layout) - Number(a.layout) || (a.id < b.id ? 1 : -1));
}

/** The mixture with the least BIC of those tried, once the job is done. */
export const keptModel = (job: Job): { components: number; bic: number } | undefined =>
	(job.state === "done" && job.models?.length ? job.models.reduce((best, m) => (m.bic < best.bic ? m : best)) : undefined);

const MODELS: Record<string, string> = { heat: "Heat", fitzhugh_nagumo: "FitzHugh–Nagumo waves", nagumo: "Nagumo waves", sir: "SIR epidemic", sir_chance: "SIR epidemic by chance", pagerank: "PageRank" };

/** Describes clusters: "10 clusters of this layout". */
export function describe(clusters: Job, layout?: Job): string {
	const own = !layout ? "a layout" : clusters.input?.job === layout.id ? "this layout" : "another layout";
	const of = clusters.input?.job ? own : clusters.input ? "an uploaded layout" : "the data";
	if (hasValues(clusters))
		return `${MODELS[String(clusters.parameters["model"])] ?? titleOfMethod(clusters)} on the graph`;
	const parts = keptModel(clusters)?.components ?? clusters.parameters["clusters"] ?? clusters.parameters["components"];
	if (parts === undefined)
		return `${titleOfMethod(clusters)} of ${of}`;
	return gives(clusters, "means") ? `mixture of ${Array.isArray(parts) ? parts.join(", ") : String(parts)} Gaussians of ${of}` : `${String(parts)} clusters of ${of}`;
}

async function arrayOf(id: string, name: string): Promise<{ bytes: ArrayBuffer; dtype: string; shape: number[] }> {
	const bytes = await (await request(`/v1/jobs/${id}/results/${name}`)).arrayBuffer(), head = npyHeader(new Uint8Array(bytes));
	if (!head || !["<i4", "<f4", "<f8"].includes(head.dtype))
		throw new Error("The result came in a form that this page does not know; load the page anew.");
	return { bytes: bytes.slice(head.offset), dtype: head.dtype, shape: head.shape };
}

/** Clusters as categories; dropped nodes have none. */
function clustersOf(bytes: ArrayBuffer): Values {
	const labels = new Int32Array(bytes), count = labels.reduce((most, c) => Math.max(most, c + 1), 0);
	return fromCodes({ name: "cluster", kind: "category", categories: count }, new Uint32Array(labels.buffer), Array.from({ length: count }, (_, k) => String(k)));
}

/** The first array of the result, which has an entry for each node: whole numbers are categories; of values the first. */
async function firstOf(job: Job): Promise<Values> {
	const name = methodOf(job)?.results[0]?.name ?? "labels", { bytes, dtype, shape } = await arrayOf(job.id, name);
	if (dtype === "<i4")
		return clustersOf(bytes);
	const all = dtype === "<f8" ? new Float64Array(bytes) : new Float32Array(bytes), [n = 0, values = 1] = shape;
	return numbers({ name, kind: "number" }, Float32Array.from({ length: n }, (_, i) => all[i * values]!));
}

/** A Gaussian of a mixture in 2-D, as the ellipse at one standard deviation from its mean. */
export interface Ellipse {
	x: number;
	y: number;
	radii: [number, number];
	angle: number;       // of the first radius, in radians
}

const MOST_ELLIPSES = 500;

/** The Gaussians of a mixture that was fitted to this 2-D layout; none of other jobs. */
export async function ellipsesOf(id: string, layout: Job): Promise<Ellipse[]> {
	const job = jobs.value.get(id);
	if (!job || !gives(job, "means") || !gives(job, "covariances") || job.state !== "done" || job.input?.job !== layout.id)
		return [];
	const [means, covariances] = await Promise.all(["means", "covariances"].map(name => arrayOf(id, name))), [k = 0, d = 0] = means!.shape;
	if (d !== 2 || k > MOST_ELLIPSES)
		return [];
	const mean = new Float64Array(means!.bytes), c = new Float64Array(covariances!.bytes);
	return Array.from({ length: k }, (_, i) => {   // full: [k, 2, 2], tied: [2, 2], diag: [k, 2], spherical: [k]
		const at = c.length === 4 * k ? 4 * i : 0;
		const [xx, xy, yy] = c.length === 2 * k && covariances!.shape.length === 2 && job.parameters["covariance"] === "diag" ? [c[2 * i]!, 0, c[2 * i + 1]!] :
			covariances!.shape.length === 1 ? [c[i]!, 0, c[i]!] : [c[at]!, c[at + 1]!, c[at + 3]!];
		const middle = (xx + yy) / 2, apart = Math.hypot((xx - yy) / 2, xy);
		return { x: mean[2 * i]!, y: mean[2 * i + 1]!, radii: [Math.sqrt(middle + apart), Math.sqrt(Math.max(0, middle - apart))] as [number, number],
			angle: Math.atan2(2 * xy, xx - yy) / 2 };
	});
}

const known = new Map<string, Promise<Values>>();

/** The result of a job of another method, as colours of nodes. It never changes, so it is fetched once. */
export function foundBy(id: string): Promise<Values> {
	let found = known.get(id);
	if (!found) {
		const record = jobs.value.get(id);
		found = Promise.resolve(record ?? getJson<Job>(`/v1/jobs/${id}`)).then(firstOf);
		found.catch(() => known.delete(id));
		known.set(id, found);
		if (known.size > 20)
			known.delete(known.keys().next().value!);
	}
	return found;
}

/** Starts k-means on the layout, once it is done, or on its data. */
export async function findClusters(layout: Job, clusters: number, of: "layout" | "data"): Promise<Job> {
	const input = of === "data" ? {} : { input: { job: layout.id }, ...(layout.state === "done" ? {} : { after: layout.id }) };
	const job = await submit({ graph: layout.graph, method: "kmeans", params: { clusters, restarts: 4 }, name: layout.name ?? undefined, ...input });
	put(job);
	return job;
}

/** Saves clusters as a column of the graph's labels, for all users and all of its layouts. */
export async function keepClusters(clusters: Job, column: string): Promise<void> {
	const body = await (await request(`/v1/jobs/${clusters.id}/results/labels`)).arrayBuffer();
	await request(`/v1/graphs/${clusters.graph}/labels/${encodeURIComponent(column)}?kind=category`, { method: "PUT", body,
		headers: { "Content-Type": "application/octet-stream" } });
}
