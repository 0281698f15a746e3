/* record.ts -- records received frames, for replay. If they take too much memory, every second one is dropped, so that
 * the recording still covers the whole run. */
import type { Frame } from "./frame.ts";
import { Signal } from "./signal.ts";

const BUDGET_BYTES = 192e6;

/** The frame at a position, or the nearest one: positions may lie beyond the ends, as the recording may have been thinned
 * out meanwhile. */
export const frameAt = ({ frames }: { frames: readonly Frame[] }, place: number): Frame | undefined =>
	frames[Math.min(frames.length - 1, Math.max(0, Math.floor(place)))];

export class Recording {
	readonly frames: Frame[] = [];
	readonly length = new Signal(0);
	private bytes = 0;
	private skip = 1;     // keep every skip-th frame
	private seen = 0;

	add(frame: Frame): void {
		const last = this.frames.at(-1);
		if (last && (last.n !== frame.n || last.dims !== frame.dims || last.job !== frame.job))
			this.clear();   // frames of another sample cannot be mixed with these
		else if (last && last.sequence >= frame.sequence && !frame.final)
			return;
		else if (this.seen++ % this.skip && !frame.final)
			return;
		if (last && last.sequence === frame.sequence && this.frames.length) {
			this.frames.pop();
			this.bytes -= last.data.byteLength;
		}
		this.frames.push(frame);
		this.bytes += frame.data.byteLength;
		if (this.bytes > BUDGET_BYTES && this.frames.length > 8)
			this.thin();
		this.length.value = this.frames.length;
	}

	private thin(): void {
		const kept = this.frames.filter((_, i) => i % 2 === 0 || i === this.frames.length - 1);
		this.frames.splice(0, this.frames.length, ...kept);
		this.bytes = kept.reduce((sum, f) => sum + f.data.byteLength, 0);
		this.skip *= 2;
	}

	clear(): void {
		this.frames.length = 0;
		this.bytes = this.seen = 0;
		this.skip = 1;
		this.length.value = 0;
	}
}
