/* parameters.ts -- the parameters of methods other than t-SNE, for forms: their choices, which of them a signal's model
 * uses, and which may change while a job runs. tests/web compares the lists with proto/openapi.yaml. */
import type { Job, Value } from "./types.ts";

export const CHOICES: Record<string, readonly string[]> = {
	metric: ["euclidean", "cosine"],
	seeding: ["plusplus", "parallel"],
	covariance: ["full", "tied", "diag", "spherical"],
	stress: ["sammon", "metric", "kamada_kawai", "auto"],
	optimiser: ["auto", "newton", "gradient", "smacof"],
	start: ["auto", "pca", "random", "classical"],
	lengths: ["unit", "weights", "inverse"],
	model: ["heat", "fitzhugh_nagumo", "nagumo", "sir", "sir_chance", "pagerank"],
	direction: ["rows", "columns", "both"],
	laplacian: ["combinatorial", "random_walk"],
	edges: ["weights", "affinities"],
	integrator: ["euler", "runge_kutta", "bogacki_shampine", "dormand_prince", "crank_nicolson"],
};

/** The same of t-SNE. */
export const CHOICES_TSNE: Record<string, readonly string[]> = {
	preset: ["default", "sgtsnepi", "fitsne", "opentsne", "sklearn", "tsnecuda", "sklearn_barnes_hut", "tsnecuda1"],
	optimizer: ["momentum", "adam"],
	learning_rate_rule: ["phase", "early"],
	gains: ["node", "coordinate"],
	restart: ["nothing", "velocities", "all"],
	accuracy: ["draft", "normal", "fine", "auto"],
	repulsion: ["auto", "grid", "exact", "barnes_hut"],
	init: ["random", "given", "pca", "spectral", "auto"],
};
/** Those of t-SNE that its form shows at first. */
export const MAIN_TSNE = ["preset", "dims", "perplexity", "lambda", "iterations", "seed", "init", "exaggeration", "late_exaggeration", "learning_rate"];
const OF_WARM = ["init_std", "exaggeration_iterations", "kl_tolerance"];

/** The parameters of a run that its user chose, for another run that does not begin with a layout. */
export function chosenOf(job: Job, defaults: Record<string, Value>): Record<string, Value> {
	const warm = job.parameters["init"] === "given";
	return Object.fromEntries(Object.entries(job.parameters).filter(([name, v]) => name in defaults && v !== null && write(v) !== write(defaults[name]!) &&
		name !== "preset" && !(warm && (name === "init" || OF_WARM.includes(name)))));
}

const SEPARATOR = ";";   // between the values of a batch; commas are within one value
/** The values in a field: several make a batch. */
export const parseAll = (text: string): Value[] => text.split(SEPARATOR).map(t => t.trim()).filter(Boolean).map(parse);

export const STEERABLE_OF: Record<string, readonly string[]> = {
	sammon: ["step"],
	signal: ["step", "diffusion", "a", "b", "epsilon", "current", "infection", "recovery", "stimulus_amplitude", "stimulus_start", "stimulus_duration"],
};

const MEDIA = ["fitzhugh_nagumo", "nagumo"], EPIDEMICS = ["sir", "sir_chance"], FLOWS = ["heat", ...MEDIA];
const ONLY: Record<string, readonly string[]> = {   // models that use a parameter; unlisted ones: all except pagerank
	laplacian: FLOWS, diffusion: FLOWS, a: MEDIA, b: MEDIA, epsilon: MEDIA, current: MEDIA, infection: EPIDEMICS, recovery: EPIDEMICS, seed: ["sir_chance"], damping: ["pagerank"], direction: ["pagerank"],
};
const OF_RANK = ["model", "edges", "lambda", "tolerance", "iterations", "damping", "direction", "start_nodes", "start_hops", "start_value"];

/** True if the parameter has an effect, given the others. */
export function matters(name: string, all: Record<string, Value>): boolean {
	const model = all["model"];
	if (name === "lambda" && all["edges"] === "weights")
		return false;
	if (name.startsWith("stimulus_") && name !== "stimulus_nodes" && all["stimulus_nodes"] === "none")
		return false;
	if (typeof model !== "string")
		return true;
	return model === "pagerank" ? OF_RANK.includes(name) : !ONLY[name] || ONLY[name].includes(model);
}

/** Parses a number, numbers separated by commas, or a word. */
export function parse(text: string): Value {
	const parts = text.split(",").map(t => t.trim()).filter(Boolean), numbers = parts.map(Number);
	if (!parts.length || numbers.some(Number.isNaN))
		return text.trim();
	return numbers.length === 1 ? numbers[0]! : numbers;
}
export const write = (v: Value): string => (Array.isArray(v) ? v.join(", ") : String(v ?? ""));

/** The request for another run of the same method on the same input with these parameters. */
export function again(job: Job, params: Record<string, Value>): Record<string, unknown> {
	return { graph: job.graph, method: job.method, params, ...(job.name ? { name: job.name } : {}), ...(job.input ? { input: job.input } : {}),
		...(job.project === undefined ? {} : { project: job.project }) };
}
