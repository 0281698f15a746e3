/* table.tsx -- the table beside the map: the selected nodes, or all, with their columns. Only rows in sight are drawn and
 * fetched; the server sorts. A row under the pointer is marked on the map, and a press chooses its node. */
import { Fragment } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, shorten } from "../core/format.ts";
import { part } from "../core/part.ts";
import { type DataColumn, rowsOf, type Value } from "../core/rows.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import { Button, tell } from "./parts.tsx";
import { titleOf } from "./runs.tsx";

const ROW = 30;              // pixels of a row
const SPARE = 12;            // rows drawn above and below those in sight
const TEXT = 160;
/** Browsers draw no higher elements; longer tables scroll faster than their rows. */
const HIGHEST = 8_000_000;

/** A value as people read it. */
export function valueText(value: Value | undefined): string {
	return value === null || value === undefined ? "" : typeof value === "number" ? String(Number(value.toPrecision(7))) : value;
}

/** The nodes to list, in the order of `sort`; until that has come, in the one before. */
function useList(s: Session, sort: string): Uint32Array {
	const flags = use(s.selected), n = s.job.nodes, [order, setOrder] = useState<{ nodes: Uint32Array } | null>(null);
	useEffect(() => {
		let current = true;
		if (sort !== "node")
			rowsOf(s.job.graph).order(sort).then(nodes => { if (current) setOrder({ nodes }); }, tell);
		return () => { current = false; };
	}, [s, sort]);
	return useMemo(() => {
		const all = sort === "node" ? null : order?.nodes;
		if (!flags)
			return all ?? Uint32Array.from({ length: n }, (_, i) => i);
		const out = new Uint32Array(s.selectedCount.value);
		let at = 0;
		for (let k = 0; k < n; k++) {
			const node = all ? all[k]! : k;
			if (flags[node]! & 1)
				out[at++] = node;
		}
		return out.subarray(0, at);
	}, [flags, sort, order, n]);
}

function Cell({ s, column, node, value }: { s: Session; column: DataColumn; node: number; value: Value | undefined }) {
	if (column.kind === "image")
		return <td>{value ? <img class="cell-image" src={rowsOf(s.job.graph).image(column.name, node)} alt="" loading="lazy" /> : ""}</td>;
	if (column.kind === "link" && typeof value === "string")
		return <td><a href={value} target="_blank" rel="noopener noreferrer" title={value}>{shorten(value.replace(/^https?:\/\//i, ""), 40)}</a></td>;
	return <td class={column.kind === "number" ? "right" : ""} title={typeof value === "string" && value.length > 30 ? value : undefined}>{valueText(value)}</td>;
}

function Head({ column, sort, onSort }: { column: { name: string; kind: string }; sort: string; onSort: (sort: string) => void }) {
	const up = sort === column.name, down = sort === `-${column.name}`;
	if (column.kind === "image")
		return <th scope="col">{shorten(column.name, 30)}</th>;
	return <th scope="col" aria-sort={up ? "ascending" : down ? "descending" : "none"} class={column.kind === "number" ? "right" : ""}>
		<button type="button" title={`Sort by ${column.name}`} onClick={() => onSort(up ? `-${column.name}` : down ? "node" : column.name)}>
			{shorten(column.name, 30)}<span aria-hidden="true">{up ? " ▲" : down ? " ▼" : ""}</span></button></th>;
}

/** Where the list is scrolled to: its first row in sight, and the height of what scrolls. */
function useWindow(length: number, box: { current: HTMLDivElement | null }): { first: number; rows: number; height: number; top: number; scroll: () => void; show: (row: number) => void } {
	const [place, setPlace] = useState({ top: 0, seen: 300 });
	const height = Math.min(length * ROW, HIGHEST), most = Math.max(1, height - place.seen), stretch = length * ROW > HIGHEST ? (length * ROW - place.seen) / most : 1;
	const scroll = (): void => { if (box.current) setPlace({ top: box.current.scrollTop, seen: box.current.clientHeight || 300 }); };
	useEffect(() => {
		const watch = new ResizeObserver(scroll);
		if (box.current)
			watch.observe(box.current);
		return () => watch.disconnect();
	}, []);
	const first = Math.max(0, Math.min(length - 1, Math.floor(place.top * stretch / ROW) - SPARE)), rows = Math.min(length - first, Math.ceil(place.seen / ROW) + 2 * SPARE);
	const top = stretch === 1 ? first * ROW : Math.max(0, place.top - (Math.floor(place.top * stretch / ROW) - first) * ROW);
	return { first, rows, height, top, scroll, show: row => {
		const at = row * ROW / stretch, e = box.current;
		if (e && (at < e.scrollTop || at > e.scrollTop + e.clientHeight - 3 * ROW))
			e.scrollTop = Math.max(0, at - e.clientHeight / 2);
	} };
}

export function TablePanel({ s, close }: { s: Session; close: () => void }) {
	const [columns, setColumns] = useState<DataColumn[] | null>(null), [sort, setSort] = useState("node"), [, draw] = useState(0);
	const box = useRef<HTMLDivElement>(null), list = useList(s, sort), rows = rowsOf(s.job.graph), listed = use(s.columns);
	const { first, rows: many, height, top, scroll, show } = useWindow(list.length, box);
	const selected = use(s.selectedCount), chosen = use(s.focus)?.node, hover = use(s.hover)?.node;
	useEffect(() => { rows.columns().then(setColumns, tell); }, [rows, listed]);
	const seen = list.subarray(first, first + many);
	useEffect(() => {
		const timer = setTimeout(() => void rows.want(seen).then(() => draw(k => k + 1), tell), 60);
		return () => clearTimeout(timer);
	}, [list, first, many, columns]);
	useEffect(() => {   // what was pressed on the map comes into sight
		const at = chosen === undefined ? -1 : list.indexOf(chosen);
		if (at >= 0)
			show(at);
	}, [chosen, list]);
	const shown = (columns ?? []).slice(0, 60), named = rows.at(seen[0] ?? -1)?.name !== null;
	const [written, setWritten] = useState(-1);
	const save = (format: "csv" | "npy") => async (): Promise<void> => {
		const [{ makeSelectionCsv, makeSelectionNpy }, { fileName, saveBlob }] = await part(Promise.all([import("../export/selection.ts"), import("../export/save.ts")]));
		setWritten(0);
		try {
			saveBlob(await (format === "csv" ? makeSelectionCsv : makeSelectionNpy)(s, setWritten), fileName(`${titleOf(s.job)}-${selected ? "selection" : "rows"}`, format));
		} finally {
			setWritten(-1);
		}
	};
	return <section class="table-panel" aria-label="Table">
		<div class="row table-head"><b>{`${count(list.length)} ${selected ? "selected" : list.length === 1 ? "row" : "rows"}`}</b><span class="grow" />
			{written > 0 && <span class="quiet" role="status">{count(written)} rows are written …</span>}
			<Button icon="download" kind="quiet" title="All rows of this list: numbers, names, all columns, coordinates" onClick={save("csv")}>CSV</Button>
			<Button icon="download" kind="quiet" title="The same as a structured array of NumPy, without texts" onClick={save("npy")}>npy</Button>
			<Button icon="close" kind="quiet" label="Close the table" onClick={close} /></div>
		<div class="table-view" ref={box} tabIndex={0} role="region" aria-label="Rows" onScroll={scroll}>
			<table class="rows" aria-rowcount={list.length + 1}>
				<thead><tr aria-rowindex={1}><Head column={{ name: named ? "name" : "node", kind: "text" }} sort={sort} onSort={setSort} />
					{shown.map(c => <Head key={c.name} column={c} sort={sort} onSort={setSort} />)}</tr></thead>
				<tbody>
					{top > 0 && <tr aria-hidden="true" class="space"><td colSpan={shown.length + 1} style={{ height: `${top}px` }} /></tr>}
					{Array.from(seen, (node, k) => {
						const row = rows.at(node);
						return <tr key={node} aria-rowindex={first + k + 2} class={node === chosen ? "chosen" : node === hover ? "hover" : ""}
							onMouseEnter={() => { s.hover.value = { node, x: -9999, y: 0 }; }} onMouseLeave={() => { s.hover.value = null; }} onClick={() => void s.choose(node)}>
							<th scope="row"><button type="button" class="link" aria-pressed={node === chosen}>{shorten(row?.name ?? String(node), 48)}</button></th>
							{shown.map(c => <Cell key={c.name} s={s} column={c} node={node} value={row?.values[c.name]} />)}</tr>;
					})}
					<tr aria-hidden="true" class="space"><td colSpan={shown.length + 1} style={{ height: `${Math.max(0, height - top - seen.length * ROW)}px` }} /></tr>
				</tbody></table>
			{list.length === 0 && <p class="quiet empty">No rows.</p>}
		</div></section>;
}

/** The columns of one node, with its image and whole texts. */
export function PointFacts({ s, node }: { s: Session; node: number }) {
	const [columns, setColumns] = useState<DataColumn[]>([]), [values, setValues] = useState<Record<string, Value> | null>(null), listed = use(s.columns);
	const rows = rowsOf(s.job.graph);
	useEffect(() => {
		let current = true;
		setValues(null);
		void Promise.all([rows.columns(), rows.row(node)]).then(([all, row]) => {
			if (current) {
				setColumns(all);
				setValues(row?.values ?? null);
			}
		}, () => undefined);
		return () => { current = false; };
	}, [rows, node, listed]);
	if (!values)
		return null;
	const images = columns.filter(c => c.kind === "image" && values[c.name]), long = columns.filter(c => c.kind === "text" && valueText(values[c.name]).length > 60);
	const short = columns.filter(c => c.kind !== "image" && !long.includes(c)).slice(0, 40);
	return <>{images.map(c => <figure key={c.name} class="point-image"><img src={rows.image(c.name, node)} alt={`${c.name} of node ${node}`} /></figure>)}
		{short.length > 0 && <dl class="facts" aria-label="Labels of the node">{short.map(c => <Fragment key={c.name}>
			<dt>{c.name}</dt><dd>{c.kind === "link" && values[c.name] ? <a href={String(values[c.name])} target="_blank" rel="noopener noreferrer">{shorten(String(values[c.name]).replace(/^https?:\/\//i, ""), 40)}</a> : valueText(values[c.name]) || "–"}</dd></Fragment>)}</dl>}
		{long.map(c => <div key={c.name} class="point-text"><h3>{c.name}</h3><p tabIndex={0} role="region" aria-label={c.name}>{valueText(values[c.name]).slice(0, 20000)}</p></div>)}</>;
}

/** The first columns of the node under the pointer, for its tooltip. */
export function TipFacts({ s, node, without }: { s: Session; node: number; without: string }) {
	const [columns, setColumns] = useState<DataColumn[]>([]), [, draw] = useState(0), rows = rowsOf(s.job.graph);
	useEffect(() => {
		let current = true;
		const timer = setTimeout(() => void rows.columns().then(async all => {
			if (all.length && current) {
				setColumns(all);
				await rows.want([node]);
				draw(k => k + 1);
			}
		}, () => undefined), 60);
		return () => { current = false; clearTimeout(timer); };
	}, [rows, node]);
	const row = rows.at(node), image = columns.find(c => c.kind === "image" && row?.values[c.name]);
	const facts = columns.filter(c => c.kind !== "image" && c.kind !== "link" && c.name !== without && row && row.values[c.name] !== null && row.values[c.name] !== undefined).slice(0, 4);
	if (!row)
		return null;
	return <>{image && <img class="tip-image" src={rows.image(image.name, node)} alt="" />}
		{facts.map(c => <span key={c.name}>{c.name}: {shorten(valueText(row.values[c.name]), c.kind === "text" ? TEXT : 40)}</span>)}</>;
}
