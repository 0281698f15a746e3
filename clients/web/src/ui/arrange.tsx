/* arrange.tsx -- the order and the colours of a column's categories, for all users, legends and pictures. */
import { useEffect, useState } from "preact/hooks";
import { legendOrder, type Values } from "../core/nodes.ts";
import type { Session } from "../core/session.ts";
import type { Column } from "../core/types.ts";
import { columnColours, toHex } from "../gl/palettes.ts";
import { Button, tell } from "./parts.tsx";

export const MOST_ARRANGED = 100;   // categories that can be arranged by hand

const GROUNDS = [["#0c0f14", "dark"], ["#ffffff", "light"]] as const, FAINT = 1.5;   // contrast as in WCAG, of a dot with its ground

function luminance(hex: string): number {
	const [r, g, b] = [1, 3, 5].map(at => {
		const c = parseInt(hex.slice(at, at + 2), 16) / 255;
		return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	}) as [number, number, number];
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** The grounds on which a colour is hard to see: there is one list of colours for both. */
const faintOn = (hex: string): string[] => GROUNDS.filter(([ground]) => {
	const [low, high] = [luminance(hex), luminance(ground)].sort((a, b) => a - b) as [number, number];
	return (high + 0.05) / (low + 0.05) < FAINT;
}).map(([, name]) => name);

interface Entry {
	code: number;
	name: string;
	colour: string;     // "#rrggbb"
}

/** All categories as legends show them, and those without nodes behind them. */
function entriesOf(v: Values): Entry[] {
	const colours = columnColours(v, "labels"), shown = legendOrder(v), others = v.categories.map((_, i) => i).filter(i => !v.counts[i] && !v.column.ordered);
	return (v.column.ordered ? v.categories.map((_, i) => i) : [...shown, ...others]).map(code => ({ code, name: v.categories[code]!, colour: toHex(colours[code]!) }));
}

export function Arrange({ s, column, done, save }: { s: Session; column: Column; done: () => void; save: (body: { categories?: string[] | null; colors?: string[] | null }) => Promise<void> }) {
	const [values, setValues] = useState<Values | null>(null), [entries, setEntries] = useState<Entry[]>([]), [before, setBefore] = useState<Entry[]>([]);
	useEffect(() => {
		let current = true;
		s.nodes.values(column).then(v => {
			if (!current)
				return;
			setValues(v);
			setBefore(entriesOf(v));
			setEntries(entriesOf(v));
		}, tell);
		return () => { current = false; };
	}, [s, column]);
	if (!values)
		return <p class="quiet" role="status">One moment …</p>;
	const move = (i: number, by: number): void => {
		const list = entries.slice(), [e] = list.splice(i, 1);
		list.splice(i + by, 0, e!);
		setEntries(list);
	};
	const paint = (i: number, colour: string): void => setEntries(entries.map((e, k) => (k === i ? { ...e, colour } : e)));
	const reordered = entries.some((e, i) => e.code !== before[i]?.code), recoloured = entries.some(e => e.colour !== before.find(b => b.code === e.code)?.colour);
	/** Colours are sent if some are chosen, now or before: a new order alone leaves them to the server. */
	const commit = (): Promise<void> => {
		const own = recoloured || !!column.colors, inOrder = reordered ? entries : values.categories.map((_, code) => entries.find(e => e.code === code)!);
		return save({ ...(reordered ? { categories: entries.map(e => e.name) } : {}), ...(own ? { colors: inOrder.map(e => e.colour) } : {}) });
	};
	const faint = recoloured || column.colors ? entries.flatMap(e => faintOn(e.colour).map(ground => `${e.name} is hard to see on ${ground} pages and pictures`)) : [];
	return <div class="arrange" role="group" aria-label={`Order and colours of ${column.name}`}>
		<ol>{entries.map((e, i) => <li key={e.code} class="row">
			<input type="color" aria-label={`Colour of ${e.name}`} value={e.colour} onInput={x => paint(i, x.currentTarget.value)} />
			<span class="grow" title={e.name}>{e.name}</span>
			<Button icon="up" kind="quiet" label={`Move ${e.name} up`} disabled={i === 0} onClick={() => move(i, -1)} />
			<Button icon="down" kind="quiet" label={`Move ${e.name} down`} disabled={i === entries.length - 1} onClick={() => move(i, 1)} /></li>)}</ol>
		<div class="row wrap"><Button kind="primary" disabled={!reordered && !recoloured} onClick={commit}>Save</Button>
			<Button onClick={done}>Cancel</Button>
			{(column.ordered || column.colors) && <Button title="The category of most nodes comes first and has the first colour" onClick={() => save({ categories: null, colors: null })}>By size again</Button>}</div>
		{faint.length > 0 && <p class="warning" role="status">{faint.slice(0, 3).join("; ")}{faint.length > 3 && `; and ${faint.length - 3} more`}.</p>}
		<p class="quiet">For all users, legends and pictures of these data.</p>
	</div>;
}
