/* filter.tsx -- the panel of histograms that filter each other and the map, and the search in texts. */
import { useEffect, useRef, useState } from "preact/hooks";
import { BINS } from "../core/crossfilter.ts";
import type { Facet, Filter } from "../core/filter.ts";
import { ApiError } from "../core/api.ts";
import { count, number, sentence } from "../core/format.ts";
import { useData, useRights } from "../core/rights.ts";
import { type DataColumn, dateText, rowsOf } from "../core/rows.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import { theme } from "../core/theme.ts";
import { lazy } from "./lazy.tsx";
import { Button, Field, tell } from "./parts.tsx";

const FIRST = 6;             // histograms at first
const FEW = 8;               // categories shown at first
const WIDTH = 300, HEIGHT = 56;

const textOf = (f: Facet, x: number): string => (f.column.kind === "date" ? dateText(x).slice(0, 10) : number(x));

function paint(canvas: HTMLCanvasElement, f: Facet, counts: Uint32Array | undefined): void {
	const g = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
	if (!g || !counts)
		return;
	const most = Math.max(1, ...counts.subarray(0, BINS)), step = WIDTH / BINS, [low, high] = f.within ?? [f.low, f.high];
	const x = (v: number): number => (v - f.low) / (f.high - f.low || 1) * WIDTH;
	g.clearRect(0, 0, WIDTH, HEIGHT);
	if (f.within) {
		g.fillStyle = style.getPropertyValue("--hover");
		g.fillRect(x(low), 0, Math.max(1, x(high) - x(low)), HEIGHT);
	}
	for (let k = 0; k < BINS; k++) {
		const middle = f.low + (k + 0.5) / BINS * (f.high - f.low), inside = !f.within || (middle >= low && middle <= high);
		const h = counts[k] ? Math.max(1.5, counts[k]! / most * (HEIGHT - 2)) : 0;
		g.fillStyle = style.getPropertyValue(inside ? "--accent" : "--line");
		g.fillRect(k * step + 0.5, HEIGHT - h, step - 1, h);
	}
}

/** A histogram of numbers or dates; a drag across it, or the two fields below, choose a range. */
function Range({ filter, f, counts }: { filter: Filter; f: Facet; counts: Uint32Array | undefined }) {
	const canvas = useRef<HTMLCanvasElement>(null), from = useRef<number | null>(null), shade = use(theme);
	useEffect(() => { if (canvas.current) paint(canvas.current, f, counts); }, [f, counts, shade]);
	const at = (e: PointerEvent): number => {
		const r = canvas.current!.getBoundingClientRect();
		return f.low + Math.min(1, Math.max(0, (e.clientX - r.left) / r.width)) * (f.high - f.low);
	};
	const drag = (e: PointerEvent): void => {
		if (from.current === null)
			return;
		const x = at(e), range: [number, number] = [Math.min(from.current, x), Math.max(from.current, x)];
		filter.range(f, range[1] - range[0] > (f.high - f.low) / 400 ? range : null);
	};
	const read = (text: string): number => (f.column.kind === "date" ? Date.parse(text) : Number(text));
	const set = (end: 0 | 1) => (e: { currentTarget: HTMLInputElement }): void => {
		const text = e.currentTarget.value.trim(), x = read(text), range: [number, number] = [...(f.within ?? [f.low, f.high])];
		range[end] = text && Number.isFinite(x) ? x + (end && f.column.kind === "date" && text.length === 10 ? 86_399_999 : 0) : end ? f.high : f.low;
		filter.range(f, range[0] <= f.low && range[1] >= f.high ? null : range);
	};
	const value = (end: 0 | 1): string => (f.within ? f.column.kind === "date" ? textOf(f, f.within[end]) : String(Number(f.within[end].toPrecision(6))) : "");
	return <><canvas ref={canvas} class="histogram" width={WIDTH} height={HEIGHT} aria-hidden="true"
			onPointerDown={e => { from.current = at(e); canvas.current!.setPointerCapture(e.pointerId); }} onPointerMove={drag}
			onPointerUp={e => { drag(e); from.current = null; }} onPointerCancel={() => { from.current = null; }} />
		<div class="range-ends">
			{([0, 1] as const).map(end => {
				const label = `${end ? "Last" : "First"} ${f.column.name}`, about = { key: end, value: value(end), placeholder: textOf(f, end ? f.high : f.low), onChange: set(end) };
				return f.column.kind === "date" ? <input type="date" aria-label={label} {...about} /> : <input type="text" inputMode="decimal" aria-label={label} {...about} />;
			})}</div></>;
}

/** Categories with their numbers; each can be hidden, or shown alone. */
function Words({ filter, f, counts, s }: { filter: Filter; f: Facet; counts: Uint32Array | undefined; s: Session }) {
	const [all, setAll] = useState(false), [naming, setNaming] = useState(false), names = use(s.names).get(f.column.name), size = f.words.length;
	const order = f.words.map((_, k) => k).sort((a, b) => (counts?.[b] ?? 0) - (counts?.[a] ?? 0) || a - b), most = Math.max(1, ...(counts ?? [1]));
	const shown = all ? order : order.slice(0, FEW);
	const toggle = (k: number): void => {
		const hidden = new Set(f.hidden);
		if (!hidden.delete(k))
			hidden.add(k);
		filter.hide(f, hidden);
	};
	const only = (k: number): void => {
		const others = Array.from({ length: size + 1 }, (_, other) => other).filter(other => other !== k), alone = f.hidden.size === size && !f.hidden.has(k);
		filter.hide(f, new Set(alone ? [] : others));
	};
	const shownName = (name: string): string => (names?.has(name) ? `${names.get(name)!} (${name})` : name);
	const line = (k: number, name: string) => <li key={k} class={f.hidden.has(k) ? "word off" : "word"}>
		{naming && k < size ? <input type="text" aria-label={`Name of ${name}`} value={names?.get(name) ?? name} onChange={e => s.rename(f.column.name, name, e.currentTarget.value.trim()).catch(tell)} />
			: <label class="check"><input type="checkbox" checked={!f.hidden.has(k)} onChange={() => toggle(k)} /><span class="word-name" title={shownName(name)}>{shownName(name)}</span></label>}
		<span class="word-bar" aria-hidden="true"><span ref={e => { if (e) e.style.width = `${(counts?.[k] ?? 0) / most * 100}%`; }} /></span>
		<span class="quiet">{count(counts?.[k] ?? 0)}</span>
		<Button kind="quiet" title={`Show ${name} alone; again: all`} label={`Only ${name}`} icon="fit" onClick={() => only(k)} /></li>;
	return <><ul class="words">{shown.map(k => line(k, f.words[k]!))}{(counts?.[size] ?? 0) > 0 || f.hidden.has(size) ? line(size, "none") : null}</ul>
		<div class="row wrap">{size > FEW && <Button kind="quiet" onClick={() => setAll(!all)}>{all ? "Fewer" : `All ${count(size)}`}</Button>}
			<Button kind="quiet" pressed={naming} title="Other names on the map and in the legend, for this view; categories with the same name are one" onClick={() => setNaming(!naming)}>Rename, combine</Button></div></>;
}

function Texts({ filter }: { filter: Filter }) {
	const [text, setText] = useState(""), [problem, setProblem] = useState(""), found = use(filter.found);
	const ask = (value: string): void => {
		setProblem("");
		filter.search(value).catch((error: unknown) => setProblem(error instanceof Error ? error.message : String(error)));
	};
	return <section aria-label="Texts"><Field label="Words in texts" hint={'All words; "several words" that follow each other; begin*'}>
		<input type="search" value={text} placeholder="neural net*" onInput={e => { setText(e.currentTarget.value); if (!e.currentTarget.value) ask(""); }}
			onChange={e => ask(e.currentTarget.value)} /></Field>
		{problem ? <p class="problem" role="alert">{problem}</p> : found !== null && <p class="quiet" role="status">{count(found)} nodes have {found === 1 ? "it" : "them"}.</p>}</section>;
}

/** Sets columns of a file, and tells what the server read. */
function AddColumns({ s }: { s: Session }) {
	const input = useRef<HTMLInputElement>(null), [told, setTold] = useState<{ columns: DataColumn[]; notes: string[] } | null>(null), [problem, setProblem] = useState("");
	const add = async (file: File): Promise<void> => {
		setTold(null);
		setProblem("");
		try {
			const name = file.name.replace(/\.[^.]*$/, "").slice(0, 60) || "column";
			setTold(await rowsOf(s.job.graph).put(name, file, /\.(npy|zip)$/i.test(file.name)));
			s.nodes.changed();
			s.filter.reset();
			await s.loadColumns(s.by.value || "");
		} catch (error) {
			setProblem(error instanceof ApiError ? error.text : error instanceof Error ? error.message : String(error));
		}
	};
	return <section aria-label="Columns from a file">
		<input ref={input} type="file" class="hidden-file" tabIndex={-1} aria-label="File of columns" accept=".csv,.tsv,.txt,.npy,.zip,.gz,.zst"
			onChange={e => { const file = e.currentTarget.files?.[0]; e.currentTarget.value = ""; if (file) void add(file); }} />
		<Button icon="plus" kind="quiet" title="A table with names or numbers of the nodes; a .npy; or images, as a zip or an array of uint8" onClick={() => input.current?.click()}>Add columns from a file</Button>
		{problem && <p class="problem" role="alert">{problem}</p>}
		{told && <div class="taken" role="status"><p>{told.columns.map(c => `${c.name} (${c.kind}, ${count(c.read ?? 0)} read${c.missing ? `, ${count(c.missing)} missing` : ""})`).join("; ")}</p>
			{told.notes.map(n => <p key={n} class="quiet">{sentence(n)}</p>)}</div>}</section>;
}

const TimeSlider = lazy(() => import("./timeslider.tsx").then(m => m.TimeSlider));

/** A window that moves along the column, once it is asked for. */
function Moving({ filter, f }: { filter: Filter; f: Facet }) {
	const [open, setOpen] = useState(false);
	return open ? <TimeSlider filter={filter} f={f} /> : <Button kind="quiet" icon="play" label={`Move along ${f.column.name}`} onClick={() => setOpen(true)}>Move along</Button>;
}

export function FilterPanel({ s }: { s: Session }) {
	const filter = s.filter, facets = use(filter.facets), counts = use(filter.counts), total = use(filter.total);
	const rights = useRights(), data = useData(s.job), may = rights && data;
	const [choices, setChoices] = useState<DataColumn[] | null>(null), [texts, setTexts] = useState(false), listed = use(s.columns);
	useEffect(() => {
		void filter.choices().then(async all => {
			setChoices(all);
			if (!filter.facets.value.length)
				for (const column of all.filter(c => (c.categories ?? 0) <= 1000).slice(0, FIRST))
					await filter.add(column);
		}).catch(tell);
		void rowsOf(s.job.graph).columns().then(all => setTexts(all.some(c => c.kind === "text")), () => undefined);
	}, [s, listed]);
	const others = (choices ?? []).filter(c => !facets.some(f => f.column.name === c.name));
	if (choices?.length === 0 && !texts)
		return <div class="filters"><p class="quiet">This data has no columns to filter by.</p>{may && <AddColumns s={s} />}</div>;
	return <div class="filters">
		<div class="row"><b role="status">{filter.active ? `${count(total)} of ${count(s.job.nodes)}` : `${count(s.job.nodes)} nodes`}</b><span class="grow" />
			<Button kind="quiet" disabled={!filter.active} onClick={() => filter.clear()}>Clear</Button></div>
		{texts && <Texts filter={filter} />}
		{facets.map(f => <section key={f.column.name} aria-label={`Filter by ${f.column.name}`}><div class="row"><h2>{f.column.name}</h2><span class="grow" />
			{(f.within ?? f.hidden.size) ? <Button kind="quiet" onClick={() => (f.within ? filter.range(f, null) : filter.hide(f, new Set()))}>All</Button> : null}</div>
			{f.column.kind === "category" ? <Words filter={filter} f={f} counts={counts[f.place]} s={s} /> : <Range filter={filter} f={f} counts={counts[f.place]} />}
			{f.column.kind !== "category" && <Moving filter={filter} f={f} />}</section>)}
		{others.length > 0 && <Field label="More columns"><select value="" onChange={e => {
			const column = others.find(c => c.name === e.currentTarget.value);
			e.currentTarget.value = "";
			if (column)
				filter.add(column).catch(tell);
		}}><option value="">Choose …</option>{others.map(c => <option key={c.name} value={c.name}>{c.name}</option>)}</select></Field>}
		{may && <AddColumns s={s} />}
	</div>;
}
