/* steer.ts -- the sliders of the parameters that may change while a job runs. The server tells which these are
 * (methods.ts); here is how the known ones look. Others have sliders, too. */
import type { Parameter } from "./methods.ts";

interface Look {
	label: string;
	hint: string;
	min: number;   // of the slider; the parameter may allow more
	max: number;
	log?: boolean;
	group: "forces" | "step" | "stop" | "more";
}

export interface Steerable extends Look {
	name: string;
	whole: boolean;
	automatic: string | null;   // the non-numeric value
}

const LOOKS: Record<string, Look> = {
	late_exaggeration: { label: "Late exaggeration", hint: "Factor on the attractive forces after the first phase", min: 0.1, max: 20, log: true, group: "forces" },
	exaggeration: { label: "Early exaggeration", hint: "Factor on the attractive forces in the first phase", min: 1, max: 50, log: true, group: "forces" },
	exaggeration_iterations: { label: "Early iterations", hint: "Iterations of early exaggeration", min: 0, max: 2000, group: "forces" },
	exaggeration_decay: { label: "Decay", hint: "Iterations in which exaggeration then falls to late exaggeration", min: 0, max: 2000, group: "forces" },
	iterations: { label: "Iterations", hint: "Iterations in all; auto: until more is not worth it", min: 1, max: 100000, log: true, group: "stop" },
	learning_rate: { label: "Learning rate", hint: "Step size on a quarter of the gradient", min: 1, max: 1e6, log: true, group: "step" },
	momentum: { label: "Momentum", hint: "After early exaggeration", min: 0, max: 0.999, group: "step" },
	early_momentum: { label: "Early momentum", hint: "During early exaggeration", min: 0, max: 0.999, group: "step" },
	gain_least: { label: "Least gain", hint: "Least factor on a node's learning rate", min: 1e-4, max: 1, log: true, group: "step" },
	gain_added: { label: "Gain added", hint: "A gain that falls becomes 0.8 times itself plus this", min: 0, max: 1, group: "step" },
	rate_limit: { label: "Rate limit", hint: "Most that learning rate × exaggeration × a node's mass may be", min: 0.1, max: 100, log: true, group: "step" },
	max_step: { label: "Longest step", hint: "Of a node in one iteration", min: 1e-3, max: 1000, log: true, group: "step" },
	min_gradient_norm: { label: "Least gradient", hint: "Stop below it", min: 1e-9, max: 1, log: true, group: "stop" },
	kl_patience: { label: "Patience", hint: "Stop when the KL divergence has not fallen for so many iterations", min: 10, max: 10000, log: true, group: "stop" },
	kl_tolerance: { label: "Tolerance", hint: "Relative fall of the KL divergence that counts", min: 1e-6, max: 0.1, log: true, group: "stop" },
	max_seconds: { label: "Most seconds", hint: "Stop after so much compute time", min: 1, max: 86400, log: true, group: "stop" },
	pause_at: { label: "Pause at", hint: "The run pauses by itself after exactly this many iterations", min: 1, max: 1e6, log: true, group: "stop" },
	trace_interval: { label: "Trace interval", hint: "Iterations between two points of the charts", min: 1, max: 1000, log: true, group: "stop" },
};

const DECADES = 3;   // around the default

/** How a parameter looks that is not listed. */
function lookOf(p: Parameter): Look {
	const usual = typeof p.default === "number" && p.default > 0 ? p.default : 1, reach = 10 ** DECADES;
	const low = p.minimum ?? 0, high = p.maximum ?? usual * reach;
	const log = low >= 0 && high > 100 * Math.max(low, usual / reach);
	const least = p.type === "integer" ? 1 : usual / reach;
	return { label: p.name[0]!.toUpperCase() + p.name.slice(1).replaceAll("_", " "), hint: p.description, group: "more", log,
		min: log ? Math.max(low, least) : Math.max(low, -usual * reach), max: Math.min(high, usual * reach) };
}

/** The sliders of a method, the listed ones first. */
export function steerables(parameters: readonly Parameter[]): Steerable[] {
	const listed = Object.keys(LOOKS), place = (name: string): number => (name in LOOKS ? listed.indexOf(name) : listed.length);
	return parameters.filter(p => p.steerable && (p.type === "number" || p.type === "integer"))
		.map(p => ({ ...(LOOKS[p.name] ?? lookOf(p)), name: p.name, whole: p.type === "integer", automatic: p.automatic }))
		.sort((a, b) => place(a.name) - place(b.name));
}

/** Converts a value to a slider's position, 0 to 1, and back, rounded to three digits. */
export function toSlider(s: Steerable, value: number): number {
	const v = Math.min(s.max, Math.max(s.min, value));
	return s.log ? Math.log(v / s.min) / Math.log(s.max / s.min) : (v - s.min) / (s.max - s.min);
}
export function fromSlider(s: Steerable, place: number): number {
	const v = s.log ? s.min * (s.max / s.min) ** place : s.min + place * (s.max - s.min);
	return s.whole ? Math.round(v) : Number(v.toPrecision(3));
}
