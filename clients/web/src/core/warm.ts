/* warm.ts -- jobs that start from an existing layout: with another perplexity or λ, or from an earlier frame. */
import { change, sendLayout, submit } from "./api.ts";
import { coordinates, type Frame } from "./frame.ts";
import { put } from "./live.ts";
import { writeNpy } from "./npy.ts";
import { go, route } from "./route.ts";
import { ended, type Job, type Value } from "./types.ts";

const WARM = { exaggeration_iterations: 0, init_std: 0 };
const CARRIED = ["dims", "late_exaggeration", "dof", "optimizer", "gains", "momentum", "repulsion", "theta", "accuracy", "drop_leaf_edges",
	"lambda", "perplexity", "seed", "preset", "rate_limit", "learning_rate_rule"];

/** The parameters that a new job on the same graph inherits; only those for its kind of graph. */
function carried(job: Job): Record<string, Value> {
	const out: Record<string, Value> = {};
	for (const name of CARRIED) {
		const value = job.parameters[name];
		if (value !== undefined && value !== null && value !== "auto")
			out[name] = value;
	}
	return out;
}

/** Ends a running job and keeps its layout. */
export async function stopAndKeep(job: Job): Promise<Job> {
	if (ended(job))
		return job;
	const stopped = await change(job.id, { stop: true });
	put(stopped);
	return stopped;
}

function openWarm(job: Job): void {
	put(job);
	go("job", job.id, { ...route.value.query, from: undefined });
}

/** Starts a run with changed parameters from this run's layout. */
export async function startWarm(job: Job, frame: Frame | null, changes: Record<string, Value>, iterations = 400): Promise<void> {
	const body = { ...carried(job), ...WARM, iterations, ...changes, graph: job.graph, name: job.name ?? undefined };
	if (job.state === "done") {
		openWarm(await submit({ ...body, initial: job.id }));
		return;
	}
	if (!frame || frame.stride !== 1)
		throw new Error("The run has to be done first: what is here is a sample of its nodes.");
	openWarm(await submit({ ...body, initial: await initialOf(frame) }));
}

/** The iterations of a run that goes on from a frame: those that were asked for and are left. A run that finds its end by
 * itself goes on so: the number in its record is the most that it may take, not what it needs. */
function left(job: Job, frame: Frame): Value {
	const wanted = job.parameters["iterations"];
	return typeof wanted === "number" ? Math.max(100, wanted - frame.iteration) : "auto";
}

/** Starts a new run from an earlier layout and stops the present run, unless that belongs to others. */
export async function goOnFrom(job: Job, frame: Frame): Promise<void> {
	const initial = await initialOf(frame);
	if (!ended(job) && job.may_change)
		await stopAndKeep(job);
	openWarm(await submit({ ...carried(job), ...WARM, iterations: left(job, frame), graph: job.graph, name: job.name ?? undefined, initial }));
}

async function initialOf(frame: Frame): Promise<unknown> {
	return { layout: await sendLayout(writeNpy(coordinates(frame), [frame.n, frame.dims])) };
}
