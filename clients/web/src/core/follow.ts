/* follow.ts -- streams from the server that continue after a broken connection: frames of a job, server-sent events. */
import { ApiError, request } from "./api.ts";
import { decodeFrame, type Frame, FrameParser } from "./frame.ts";

const RETRY_MS = [300, 600, 1200, 2500, 5000];

const sleep = (ms: number, signal: AbortSignal): Promise<void> => new Promise(resolve => {
	const timer = setTimeout(resolve, ms);
	signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
});

async function chunks(response: Response, each: (chunk: Uint8Array) => void): Promise<void> {
	const reader = response.body!.getReader();
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			return;
		each(value);
	}
}

/** Repeats `once` until it returns true, the signal aborts, or the server refuses (4xx). */
async function again(once: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
	for (let failures = 0; !signal.aborted;) {
		try {
			if (await once())
				return;
			failures = 0;
		} catch (error) {
			if (signal.aborted)
				return;
			if (error instanceof ApiError && error.status >= 400 && error.status < 500)
				throw error;
			failures++;
		}
		await sleep(RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]!, signal);
	}
}

/** Calls `each` for the frames of a job, up to the final one. A slow reader slows the server's stream. */
export function followFrames(job: string, maxPoints: number, each: (frame: Frame) => void, signal: AbortSignal): Promise<void> {
	const query = new URLSearchParams({ type: "u16" });
	if (maxPoints)
		query.set("max_points", String(maxPoints));
	return again(async () => {
		const response = await request(`/v1/jobs/${job}/frames?${query}`, { signal });
		const parser = new FrameParser();
		let final = false, came = false;
		await chunks(response, chunk => {
			for (const frame of parser.push(chunk)) {
				came = true;
				final ||= frame.final;
				each(frame);
			}
		});
		return final || !came;  // a failed job has no frames
	}, signal);
}

/** Fetches one frame; null: there is none within `wait` seconds. Frames are made on request, so wait = 0 may find
 * none. */
export async function oneFrame(job: string, options: { after?: number; maxPoints?: number; type?: "u16" | "f32"; wait?: number; signal?: AbortSignal } = {}): Promise<Frame | null> {
	const query = new URLSearchParams({ wait: String(options.wait ?? 10), after: String(options.after ?? 0), type: options.type ?? "u16" });
	if (options.maxPoints)
		query.set("max_points", String(options.maxPoints));
	const response = await request(`/v1/jobs/${job}/frame?${query}`, options.signal ? { signal: options.signal } : {});
	if (response.status === 204)
		return null;
	const frame = decodeFrame(await response.arrayBuffer());
	return frame.n ? frame : null;
}

export interface ServerEvent {
	event: string;
	id: string;
	data: string;
}

/** Parses server-sent events (WHATWG HTML, 9.2.6). */
export class EventParser {
	private rest = "";
	id = "";   // of the newest event
	push(text: string): ServerEvent[] {
		const blocks = (this.rest + text).replace(/\r\n?/g, "\n").split("\n\n");
		this.rest = blocks.pop()!;
		const events: ServerEvent[] = [];
		for (const block of blocks) {
			let event = "message";
			const data: string[] = [];
			for (const line of block.split("\n")) {
				const colon = line.indexOf(":"), field = colon < 0 ? line : line.slice(0, colon);
				const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
				if (field === "event")
					event = value;
				else if (field === "id")
					this.id = value;
				else if (field === "data")
					data.push(value);
			}
			if (data.length)
				events.push({ event, id: this.id, data: data.join("\n") });
		}
		return events;
	}
}

/** Server-sent events of an address. Uses fetch(), since EventSource has no status and no abort signal. place: where the
 * stream goes on, also in a later call. */
export function followEvents(path: string, each: (event: ServerEvent) => void, connected: () => void,
	signal: AbortSignal, place = { last: "" }): Promise<void> {
	return again(async () => {
		const response = await request(path, { signal, headers: { Accept: "text/event-stream",
			...(place.last ? { "Last-Event-ID": place.last } : {}) } });
		if (response.status === 204)
			return true;
		connected();
		const parser = new EventParser(), decoder = new TextDecoder();
		await chunks(response, chunk => {
			for (const event of parser.push(decoder.decode(chunk, { stream: true })))
				each(event);
			place.last = parser.id || place.last;
		});
		return false;
	}, signal);
}
