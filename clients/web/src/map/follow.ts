/* follow.ts -- frames of a job of any server, also of another origin, without the dashboard. A broken connection is
 * tried again; what the server refuses (4xx) is an error with its words. */
import { type Frame, FrameParser } from "../core/frame.ts";

export interface FollowOptions {
	server: string;          // "https://lab.example/spaceland"
	job: string;
	token?: string;          // of a user or of a public link
	maxPoints: number;       // larger layouts are sampled by the server
}

const RETRY_MS = [300, 600, 1200, 2500, 5000];
const HEADER_MOST = 65536;   // bytes; a header's length is a 16-bit number

class Refused extends Error {}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise(resolve => {
		const timer = setTimeout(resolve, ms);
		signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
	});
}

async function refusal(response: Response): Promise<Refused> {
	const problem = await response.json().catch(() => null) as { detail?: string; title?: string } | null;
	return new Refused(problem?.detail || problem?.title || `The server answered with status ${response.status}.`);
}

/** Calls `each` for the frames of a job up to the final one. trouble: called when the connection breaks, before it is tried
 * again. Rejects if the server refuses, or if it was never reached. */
export async function follow(o: FollowOptions, each: (frame: Frame) => void, trouble: (error: Error) => void, signal: AbortSignal): Promise<void> {
	const url = `${o.server.replace(/\/+$/, "")}/v1/jobs/${encodeURIComponent(o.job)}/frames?type=u16&max_points=${o.maxPoints}`;
	const init: RequestInit = { signal, mode: "cors", credentials: "omit", cache: "no-store", ...(o.token ? { headers: { Authorization: `Bearer ${o.token}` } } : {}) };
	let reached = false;
	for (let failures = 0; !signal.aborted;) {
		try {
			const response = await fetch(url, init);
			reached = true;
			if (!response.ok)
				throw response.status < 500 ? await refusal(response) : new Error(`The server answered with status ${response.status}.`);
			const parser = new FrameParser(HEADER_MOST + 6 * o.maxPoints), reader = response.body!.getReader();
			let final = false, came = false;
			for (;;) {
				const { done, value } = await reader.read();
				if (done)
					break;
				for (const frame of parser.push(value)) {
					came = true;
					final ||= frame.final;
					each(frame);
				}
			}
			if (final || !came)
				return;   // a failed job has no frames
			failures = 0;
		} catch (error) {
			if (signal.aborted)
				return;
			if (error instanceof Refused || error instanceof RangeError)
				throw error;
			failures++;
			const told = reached ? new Error(`The connection to ${o.server} broke; trying again.`)
				: new Error(`${o.server} cannot be reached from ${location.origin}; the server's option allowed_origins must name this origin.`);
			if (!reached && failures >= RETRY_MS.length)
				throw told;
			trouble(told);
		}
		await sleep(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]!, signal);
	}
}
