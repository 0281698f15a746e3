/* types.ts -- the members of the server's records that the dashboard reads; see proto/openapi.yaml. */

export type State = "queued" | "running" | "paused" | "done" | "failed" | "cancelled";

export interface Problem {
	type: string;
	title: string;
	status: number;
	detail: string;
	pointer?: string;
	parameter?: string;
	file?: string;
	line?: number;
}

export type Value = number | string | boolean | number[] | null;

export interface Quality {
	k: number;
	kl: number | null;
	kl_error: number | null;
	recall: number | null;
	recall_k?: number;
	trustworthiness: number | null;
	trustworthiness_k?: number;
	silhouette: number | null;
	silhouette_column?: string | null;
}

/** version: the larger one is newer; see newer() in live.ts. */
export interface Job {
	id: string;
	version: number;
	graph: string;
	name: string | null;
	state: State;
	priority: number;
	engine: string;
	device: string;
	created: string;
	started: string | null;
	finished: string | null;
	keep?: boolean;
	expires?: string | null;     // when the server deletes it; servers of before have neither
	nodes: number;
	iteration: number;
	iterations: number;
	method?: string;
	input?: { job?: string; layout?: string } | null;   // the clustered layout; null: the graph's points were clustered
	results?: string[];
	kl: number | null;
	stress?: number | null;       // of sammon
	models?: { components: number; bic: number }[];   // of gmm, that were tried
	gradient_norm: number | null;
	seconds: number;
	iterations_per_second: number | null;
	eta_seconds: number | null;
	stop: string | null;
	frame: number;
	layout: boolean;       // the job has ended with a layout
	waiting: { detail: string; expected_seconds: number | null } | null;
	notes: string[];
	parameters: Record<string, Value>;
	resolved: Record<string, Value>;
	problem: Problem | null;
	quality: Quality | null;
	project?: string | null;
	owner: string | null;         // null: nobody, or not known any more
	owner_state: "active" | "disabled" | "deleted" | null;
	time_limit?: number | null;   // seconds that it may be running
	may_change: boolean;          // by the user of this page
}

export interface Neighbours {
	state: "none" | "searching" | "ready" | "failed";
	progress: number;
	k: number;
	metric: string;
	recall: number | null;
	method: string | null;
	problem: Problem | null;
}

/** What a reader took of a file: the schema Taken. */
export interface Taken {
	text: string;
	sign: string;
	listed: { first: number; last: number; role: string; title: string; why: string }[];
	notes: { changes: boolean; text: string }[];
	notes_lost: number;
}

export interface Graph {
	id: string;
	version: number;
	name: string;
	kind: "graph" | "points" | "neighbours";
	format: string;
	created: string;
	nodes: number;
	entries: number;
	named: boolean;
	labels: number;
	label_columns: Column[];
	bytes: { disk: number; memory: number };
	state: "ready" | "damaged";
	pinned: boolean;
	owner: string | null;
	owner_state: "active" | "disabled" | "deleted" | null;
	may_change: boolean;
	resident: boolean;
	columns?: number;
	neighbours?: Neighbours;
	taken?: Taken | null;
	labels_taken?: Taken;
	report: Record<string, number>;
	center?: { columns: number; first: { column: number; value: number }[] } | null;
	warnings: string[];
}

export interface Device {
	id: string;
	version: number;
	engine: string;
	name: string;
	state: "up" | "down" | "idle" | "unusable";
	problem: string | null;
	fallback: string | null;
	worker: { name: string; host: string; state: "connected" | "away" | "retiring" } | null;
	memory_total: number;
	memory_used: number;
	memory_budget: number;
	graph_bytes: number;
	embedding_bytes: number;
	plans: number;
	plan_bytes: number;
	plan_hits: number;
	plan_misses: number;
	jobs_running: number;
	jobs_queued: number;
	graphs_resident: number;
	losses: number;
}

export interface Plan {
	device: string;
	dims: number;
	side: number;
	h: number;
	window: number;
	bytes: number;
	uses: number;
}

export interface Status {
	version: string;
	uptime_seconds: number;
	engine: string;
	engines: string[];
	stream: string | null;
	graphs: number;
	jobs: Record<string, number>;
	limits: Record<string, number>;
}

export interface TracePoint {
	iteration: number;
	seconds: number;
	kl: number;
	gradient_norm: number;
	low: number[];
	high: number[];
}

export interface Column {
	name: string;
	kind: "category" | "number";
	categories?: number;
	min?: number;
	max?: number;
	auto?: true;               // colours a layout at first
	ordered?: true;            // the categories have an order, which somebody gave them
	colors?: string[];         // their colours, which somebody gave them, "#rrggbb"
	date?: true;               // numbers are milliseconds since 1970
	ids?: true;                // numbers that are all different and whole
}

export const ENDED: readonly State[] = ["done", "failed", "cancelled"];
export const ended = (job: { state: State }): boolean => ENDED.includes(job.state);
