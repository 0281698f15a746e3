/* timeslider.tsx -- a window that moves along a column of dates or numbers, and filters by it. */
import { useEffect, useState } from "preact/hooks";
import type { Facet, Filter } from "../core/filter.ts";
import { number } from "../core/format.ts";
import { dateText } from "../core/rows.ts";
import { Button } from "./parts.tsx";

const STEPS = 120;         // of a whole pass
const STEP_MS = 150;

export function TimeSlider({ filter, f }: { filter: Filter; f: Facet }) {
	const whole = f.high - f.low || 1, within = f.within, [part, setPart] = useState(0.1), [plays, setPlays] = useState(false);
	const at = within ? (within[0] - f.low) / whole : 0, text = (x: number): string => (f.column.kind === "date" ? dateText(Math.round(x)).slice(0, 10) : number(x));
	const show = (place: number, size = part): void => {
		const low = f.low + Math.min(place, 1 - size) * whole;
		filter.range(f, [low, Math.min(f.high, low + size * whole)]);
	};
	useEffect(() => {
		if (!plays)
			return undefined;
		const timer = setTimeout(() => { show(at + part >= 1 - 1e-9 && within ? 0 : Math.min(within ? at + (1 - part) / STEPS : 0, 1 - part)); }, STEP_MS);
		return () => clearTimeout(timer);
	}, [plays, within, part]);
	return <div class="time-slider">
		<div class="row"><Button kind="quiet" icon={plays ? "pause" : "play"} label={plays ? "Pause" : `Play along ${f.column.name}`} onClick={() => setPlays(!plays)} />
			<input type="range" class="grow" min={0} max={1000} value={Math.round(1000 * at)} aria-label={`Begin of the window in ${f.column.name}`}
				aria-valuetext={within ? `${text(within[0])} to ${text(within[1])}` : "all"} onInput={e => { setPlays(false); show(Number(e.currentTarget.value) / 1000); }} /></div>
		<label class="field"><span class="field-label">Width of the window</span><input type="range" min={1} max={100} value={Math.round(100 * part)}
			aria-valuetext={`${Math.round(100 * part)} % of all`} onInput={e => { const size = Number(e.currentTarget.value) / 100; setPart(size); if (within) show(at, size); }} /></label>
		{within && <p class="quiet" role="status">{text(within[0])} – {text(within[1])}</p>}</div>;
}
