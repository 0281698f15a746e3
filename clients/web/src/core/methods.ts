/* methods.ts -- the methods of this server, as it describes them itself (GET /v1/methods). The dashboard has no list of
 * them: forms, charts and texts are made from these, so a method that is added appears without a touch. */
import { getJson } from "./api.ts";
import { Signal } from "./signal.ts";
import type { Job, Value } from "./types.ts";

export interface Parameter {
	name: string;
	type: string;
	description: string;
	default: Value;
	steerable: boolean;
	automatic: string | null;
	words: string[];
	minimum: number | null;   // of numbers
	maximum: number | null;
}

export interface Method {
	name: string;
	title: string;
	summary: string;
	input: ("graph" | "points" | "neighbours" | "layout")[];
	layout: boolean;
	values: boolean;     // nodes have values, which change while the job runs
	measure: { name: string; title: string };
	results: { name: string; description: string }[];
	parameters: Parameter[];
}

/** In the server's order; the first is the default. Empty until the server has answered. */
export const methods = new Signal<Method[]>([]);

/** Asks the server, once. */
export async function askMethods(): Promise<void> {
	if (!methods.value.length)
		methods.value = (await getJson<{ methods: Method[] }>("/v1/methods")).methods;
}

export const isDefault = (name: string): boolean => name === (methods.value[0]?.name ?? name);
export const hasDefault = (job: Job): boolean => job.method === undefined || isDefault(job.method);
export const methodNamed = (name: string): Method | undefined => methods.value.find(m => m.name === name);
export const methodOf = (job: Job): Method | undefined => (job.method === undefined ? methods.value[0] : methodNamed(job.method));
export const titleOfMethod = (job: Job): string => methodOf(job)?.title ?? job.method ?? "";
export const gives = (job: Job, result: string): boolean => methodOf(job)?.results.some(r => r.name === result) ?? false;

/** The words of a parameter; undefined: it is none with words. */
export function wordsOf(method: string, parameter: string): readonly string[] | undefined {
	const words = methodNamed(method)?.parameters.find(p => p.name === parameter)?.words;
	return words?.length ? words : undefined;
}
export const isSteerable = (job: Job, parameter: string): boolean => methodOf(job)?.parameters.some(p => p.name === parameter && p.steerable) ?? false;
