/* parameters.ts -- the parameters of methods, for forms: those that t-SNE's shows first, and which of them a signal's
 * model uses. Their names, words and defaults are the server's (methods.ts). */
import type { Job, Value } from "./types.ts";

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
