/* start.ts -- from files to jobs: inspects a file, uploads it, and starts the job if the user has no choice to make. One
 * file at a time; the page shows `pending`, and others wait in `queue`. */
import { ApiError, sendJson, submit, upload } from "./api.ts";
import { type Guess, inspect, type Role } from "./guess.ts";
import { put, putGraph } from "./live.ts";
import { recode } from "./recode.ts";
import { readsAnew, type Remedy, withOption } from "./remedy.ts";
import { go } from "./route.ts";
import { Signal } from "./signal.ts";
import type { Graph, Taken, Value } from "./types.ts";

export interface Estimate {
	seconds: number;
	host_bytes: number;
	engine: string;
}

export interface Pending {
	file: File;
	guess: Guess | null;
	roles: Role[];              // chosen roles of the detected columns
	progress: number;
	stage: "reading" | "choose" | "uploading" | "ready" | "starting" | "failed";
	problem: string;
	again: boolean;             // after a failure: another attempt may succeed
	graph: Graph | null;
	estimate: Estimate | null;
	run: string;                // the run on whose page it was dropped, so that it may be a file of labels; "": none
	options: Record<string, string>;   // of the upload, that the user chose because an error or a note names them
	abort: AbortController;
}

export const pending = new Signal<Pending | null>(null);
export const queue = new Signal<File[]>([]);
/** What was taken of the files that were uploaded, until the user has seen it. */
export const uploads = new Signal<{ graph: string; file: File; options: Record<string, string>; taken: Taken; known: string }[]>([]);   // known: their name, if the server had them before under another one
/** A file of labels that was dropped on a run's page, until that page takes it. */
export const labelsFor = new Signal<{ job: string; file: File } | null>(null);
let from = "";           // the run on whose page the next file was dropped
let several = false;     // several files were given together: the page stays with the list of runs
export const atOnce = new Signal(localStorage.getItem("spaceland-at-once") !== "no");
export const options = new Signal<Record<string, Value>>({});

export function setAtOnce(on: boolean): void {
	atOnce.value = on;
	localStorage.setItem("spaceland-at-once", on ? "yes" : "no");
}

function update(p: Pending, changes: Partial<Pending>): void {
	Object.assign(p, changes);
	if (pending.value === p)
		pending.notify();
}

const stem = (name: string): string => name.replace(/\.(gz|zst)$/, "").replace(/\.[a-z0-9]+$/i, "") || name;

/** Query parameters for the roles of the columns, exactly as shown to the user. */
function columnQuery(p: Pending): Record<string, string> {
	const guess = p.guess;
	if (!guess?.choices)
		return {};
	const kept = guess.listed.flatMap((c, i) => (p.roles[i] === "coordinate" && c.role !== "coordinate" ? [c.column] : []));
	const numbers = (role: Role): number[] => guess.listed.flatMap((c, i) => (p.roles[i] === role ? [c.column] : []));
	const labels = numbers("label"), first = guess.label_columns.find(c => labels.includes(c));
	return { kind: "points", ...(kept.length ? { keep_columns: kept.join() } : {}), name_column: numbers("name").join(), ignore_columns: numbers("ignored").join(),
		label_column: [...(first ? [first] : []), ...labels.filter(c => c !== first)].join() };
}

/** Whether rows and columns of new uploads are swapped: points are columns, as of tables of genes by cells. */
export const transposed = new Signal(false);

/** The distance between points of new uploads; "": the server's. */
export const metric = new Signal("");

/** The metric of an upload that is not known to be a graph; and its project, an empty name: none. */
const projectQuery = (p: Pending): Record<string, string> => ({ ...(metric.value && p.guess?.kind !== "graph" ? { metric: metric.value } : {}),
	...(options.value["project"] === undefined ? {} : { project: String(options.value["project"] ?? "") }) });

/** Does without the present file, and begins the next one if others wait. */
export function cancel(): void {
	pending.value?.abort.abort();
	pending.value = null;
	next();
}

function next(): void {
	const [file, ...rest] = queue.value;
	queue.value = rest;
	if (file)
		void begin(file, undefined, from);
	from = "";
}

/** Reads a file that was uploaded before once more, with an option that a note of its record names; options: those before. */
export function beginWith(file: File, remedy: Remedy, options: Record<string, string> = {}): void {
	queue.value = [];
	several = false;
	void begin(file, withOption(options, remedy));
}

/** Swaps rows and columns of the present file, or of the next ones. */
export function swap(on: boolean): void {
	const p = pending.value;
	transposed.value = on;
	if (p)
		void begin(p.file, { ...p.options, transpose: String(on) }, p.run);
}

/** Lays out files, one after the other. */
export function beginAll(files: File[], run = ""): void {
	const p = pending.value, busy = !!p && p.stage !== "failed" && !(p.stage === "choose" && p.guess?.problem);
	several = busy || files.length > 1;
	from = several ? "" : run;
	queue.value = [...queue.value, ...files];
	if (!busy)
		cancel();
}

async function begin(file: File, options: Record<string, string> = transposed.value ? { transpose: "true" } : {}, run = ""): Promise<void> {
	pending.value?.abort.abort();
	const p: Pending = { file, guess: null, roles: [], progress: 0, stage: "reading", problem: "", again: false, graph: null,
		estimate: null, run, options, abort: new AbortController() };
	pending.value = p;
	try {
		const guess = await inspect(file, options);
		update(p, { guess, roles: guess.listed.map(c => c.role), stage: "choose" });
		if (!guess.choices && !run)
			await send(p);
	} catch (error) {
		fail(p, error);
	}
}

/** Reads the present file as a text of this encoding. */
export async function decode(p: Pending, encoding: string): Promise<void> {
	try {
		await begin(await recode(p.file, encoding), p.options, p.run);
	} catch (error) {
		fail(p, error);
	}
}

/** After a failure: does again what has failed. */
export async function again(p: Pending): Promise<void> {
	await (p.graph ? launch(p) : p.guess ? send(p) : begin(p.file, p.options));
}

const ROLE_OF: Record<string, Role> = { keep_columns: "coordinate", ignore_columns: "ignored", name_column: "name", label_column: "label" };

/** Reads the file with an option that an error or a note names. */
export async function apply(p: Pending, remedy: Remedy): Promise<void> {
	const role = ROLE_OF[remedy.name], i = p.guess?.listed.findIndex(c => String(c.column) === remedy.value) ?? -1;
	if (role && i >= 0) {   // as if it was chosen in the list of columns
		p.roles[i] = role;
		p.guess!.choices = true;
		await send(p);
		return;
	}
	p.options = withOption(p.options, remedy);
	if (readsAnew(remedy.name) || !p.guess || p.guess.problem)
		await begin(p.file, p.options);
	else
		await send(p);
}

/** Uploads; then starts the job if requested, else shows its estimated cost. */
export async function send(p: Pending): Promise<void> {
	update(p, { stage: "uploading", problem: "", progress: 0 });
	try {
		const name = stem(p.file.name), graph = await upload(p.file, name, { ...Object.entries(p.options).reduce((query, [name, value]) => withOption(query, { name, value }), columnQuery(p)), ...projectQuery(p) }, share => update(p, { progress: share }), p.abort.signal);
		putGraph(graph);
		update(p, { graph, stage: "ready", progress: 1 });
		if (graph.taken)
			uploads.value = [...uploads.value.filter(u => u.graph !== graph.id), { graph: graph.id, file: p.file, options: p.options, taken: graph.taken, known: graph.name === name ? "" : graph.name }].slice(-20);
		if (atOnce.value)
			await launch(p);
		else
			update(p, { estimate: await sendJson<Estimate>("POST", "/v1/jobs/dry-run", { ...options.value, graph: graph.id }) });
	} catch (error) {
		fail(p, error);
	}
}

export async function launch(p: Pending): Promise<void> {
	if (!p.graph)
		return;
	update(p, { stage: "starting", problem: "" });
	try {
		const job = await submit({ ...options.value, graph: p.graph.id, name: stem(p.file.name).slice(0, 200) });
		put(job);
		if (pending.value === p)
			pending.value = null;
		if (several)
			next();
		else
			go("job", job.id);
	} catch (error) {
		fail(p, error);
	}
}

function fail(p: Pending, error: unknown): void {
	if (error instanceof DOMException && error.name === "AbortError")
		return;
	const refused = error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429;
	update(p, { stage: "failed", again: !refused, problem: error instanceof ApiError ? error.text : error instanceof Error ? error.message : String(error) });
}
