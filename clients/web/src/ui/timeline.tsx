/* timeline.tsx -- the recorded frames: a slider, replay, and new runs from one of them. */
import { useEffect, useRef, useState } from "preact/hooks";
import { count, number } from "../core/format.ts";
import type { Frame } from "../core/frame.ts";
import { frameAt, type Recording } from "../core/record.ts";
import { jobs } from "../core/live.ts";
import { type Signal, use } from "../core/signal.ts";
import { ended, type Job } from "../core/types.ts";
import { Button } from "./parts.tsx";

const REPLAY_S = 6;   // longest replay

const moment = (f: Frame): string => (f.modelTime === null ? `it. ${count(f.iteration)}` : `t = ${number(f.modelTime)}`);

/** The source of a replay: the frames of a layout or of a signal. */
export interface Replayed {
	job: Job;
	recording: Recording;
	replay: Signal<number | null>;
	seek(place: number | null): void;
}

export function Timeline({ s, goOn }: { s: Replayed; goOn?: (frame: Frame) => Promise<void> }) {
	const job = use(jobs).get(s.job.id) ?? s.job, over = ended(job), paused = job.state === "paused", length = use(s.recording.length), place = use(s.replay), [playing, setPlaying] = useState(false);
	const going = useRef(0);
	useEffect(() => {
		if (!playing)
			return;
		let last = performance.now();
		const end = s.recording.frames.length - 1, pace = Math.max(4, end / REPLAY_S);   // frames per second
		const step = (now: number): void => {
			const next = (s.replay.value ?? 0) + Math.max(0, now - last) / 1000 * pace;   // the first picture may have begun before
			last = now;
			if (next >= end) {
				s.seek(null);
				setPlaying(false);
				return;
			}
			s.seek(next);
			going.current = requestAnimationFrame(step);
		};
		going.current = requestAnimationFrame(step);
		return () => cancelAnimationFrame(going.current);
	}, [playing, s]);
	if (length < 2)
		return null;
	const at = place ?? length - 1, frame = frameAt(s.recording, at);
	if (!frame)
		return null;
	const play = (): void => {
		if (!playing && (place === null || place >= length - 1))
			s.seek(0);
		setPlaying(!playing);
	};
	return <div class="timeline" role="group" aria-label="Replay">
		<Button icon={playing ? "pause" : "play"} kind="quiet" label={playing ? "Hold the replay" : "Replay the recorded frames"} onClick={play} />
		<input type="range" class="grow" min={0} max={length - 1} step="any" value={at} aria-label="Recorded frame"
			aria-valuetext={moment(frame)}
			onInput={e => { setPlaying(false); s.seek(Number(e.currentTarget.value)); }} />
		<span class="timeline-at">{place === null ? (frame.final ? "final" : over ? "last" : paused ? "paused" : "live") : moment(frame)}</span>
		{place !== null && <>
			{goOn && <Button icon="undo" kind="quiet" label="Go on from here in a new run" disabled={frame.stride !== 1}
				title={frame.stride !== 1 ? "This frame holds a sample of the nodes" : "Go on from here in a new run"}
				onClick={() => goOn(frame)}><span class="wide-only">Go on from here</span></Button>}
			<Button kind="quiet" onClick={() => { setPlaying(false); s.seek(null); }}>{over ? "End" : "Live"}</Button></>}
	</div>;
}
