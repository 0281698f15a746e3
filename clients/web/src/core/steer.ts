/* steer.ts -- the parameters that may change while a job runs, each with its slider. tests/web compares the list with
 * x-steerable in proto/openapi.yaml. */

export interface Steerable {
	name: string;
	label: string;
	hint: string;
	min: number;
	max: number;
	log?: boolean;
	whole?: boolean;
	automatic?: "auto" | "off";   // the non-numeric value
	group: "forces" | "step" | "stop";
}

export const STEERABLE: readonly Steerable[] = [
	{ name: "late_exaggeration", label: "Late exaggeration", hint: "Factor on the attractive forces after the first phase", min: 0.1, max: 20, log: true, group: "forces" },
	{ name: "exaggeration", label: "Early exaggeration", hint: "Factor on the attractive forces in the first phase", min: 1, max: 50, log: true, group: "forces" },
	{ name: "exaggeration_iterations", label: "Early iterations", hint: "Iterations of early exaggeration", min: 0, max: 2000, whole: true, automatic: "auto", group: "forces" },
	{ name: "exaggeration_decay", label: "Decay", hint: "Iterations in which exaggeration then falls to late exaggeration", min: 0, max: 2000, whole: true, automatic: "auto", group: "forces" },
	{ name: "iterations", label: "Iterations", hint: "Iterations in all; auto: until more is not worth it", min: 1, max: 100000, log: true, whole: true, automatic: "auto", group: "stop" },
	{ name: "learning_rate", label: "Learning rate", hint: "Step size on a quarter of the gradient", min: 1, max: 1e6, log: true, automatic: "auto", group: "step" },
	{ name: "momentum", label: "Momentum", hint: "After early exaggeration", min: 0, max: 0.999, group: "step" },
	{ name: "early_momentum", label: "Early momentum", hint: "During early exaggeration", min: 0, max: 0.999, group: "step" },
	{ name: "gain_least", label: "Least gain", hint: "Least factor on a node's learning rate", min: 1e-4, max: 1, log: true, group: "step" },
	{ name: "gain_added", label: "Gain added", hint: "A gain that falls becomes 0.8 times itself plus this", min: 0, max: 1, group: "step" },
	{ name: "rate_limit", label: "Rate limit", hint: "Most that learning rate × exaggeration × a node's mass may be", min: 0.1, max: 100, log: true, automatic: "off", group: "step" },
	{ name: "max_step", label: "Longest step", hint: "Of a node in one iteration", min: 1e-3, max: 1000, log: true, automatic: "off", group: "step" },
	{ name: "min_gradient_norm", label: "Least gradient", hint: "Stop below it", min: 1e-9, max: 1, log: true, automatic: "off", group: "stop" },
	{ name: "kl_patience", label: "Patience", hint: "Stop when the KL divergence has not fallen for so many iterations", min: 10, max: 10000, log: true, whole: true, automatic: "off", group: "stop" },
	{ name: "kl_tolerance", label: "Tolerance", hint: "Relative fall of the KL divergence that counts", min: 1e-6, max: 0.1, log: true, automatic: "auto", group: "stop" },
	{ name: "max_seconds", label: "Most seconds", hint: "Stop after so much compute time", min: 1, max: 86400, log: true, automatic: "off", group: "stop" },
	{ name: "pause_at", label: "Pause at", hint: "The run pauses by itself after exactly this many iterations", min: 1, max: 1e6, log: true, whole: true, automatic: "off", group: "stop" },
	{ name: "trace_interval", label: "Trace interval", hint: "Iterations between two points of the charts", min: 1, max: 1000, log: true, whole: true, automatic: "off", group: "stop" },
];

/** Converts a value to a slider's position, 0 to 1, and back, rounded to three digits. */
export function toSlider(s: Steerable, value: number): number {
	const v = Math.min(s.max, Math.max(s.min, value));
	return s.log ? Math.log(v / s.min) / Math.log(s.max / s.min) : (v - s.min) / (s.max - s.min);
}
export function fromSlider(s: Steerable, place: number): number {
	const v = s.log ? s.min * (s.max / s.min) ** place : s.min + place * (s.max - s.min);
	return s.whole ? Math.round(v) : Number(v.toPrecision(3));
}
