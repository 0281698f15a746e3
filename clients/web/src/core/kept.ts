/* kept.ts -- the layout that a cancelled run kept, as a frame, since its stream has no more frames. */
import { request } from "./api.ts";
import type { Frame } from "./frame.ts";
import { npyHeader } from "./npy.ts";
import type { Job } from "./types.ts";

/** null: the run kept none. */
export async function keptLayout(job: Job, signal?: AbortSignal): Promise<Frame | null> {
	if (!job.layout)
		return null;
	const bytes = await (await request(`/v1/jobs/${job.id}/layout`, signal ? { signal } : {})).arrayBuffer(), head = npyHeader(new Uint8Array(bytes));
	if (!head || head.dtype !== "<f4" || head.shape.length !== 2)
		return null;
	const [n, dims] = head.shape as [number, 1 | 2 | 3], y = new Float32Array(bytes.slice(head.offset), 0, n * dims);
	const low: [number, number, number] = [0, 0, 0];
	let extent = 0;
	for (let k = 0; k < dims; k++) {
		let least = Infinity, most = -Infinity;
		for (let i = k; i < y.length; i += dims) {
			least = Math.min(least, y[i]!);
			most = Math.max(most, y[i]!);
		}
		low[k] = least;
		extent = Math.max(extent, most - least);
	}
	extent ||= 1;
	const data = Uint16Array.from(y, (v, i) => Math.round((v - low[i % dims]!) / extent * 65535));
	return { job: job.id, dims, final: true, stride: 1, n, nodes: n, end: "cancelled", time: 0, sequence: job.frame, iteration: job.iteration,
		kl: job.kl ?? NaN, low, extent, modelTime: null, data };
}
