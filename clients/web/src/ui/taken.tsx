/* taken.tsx -- what the server took of a file, and the columns of labels of some data: renaming and deleting them. */
import { useRef, useState } from "preact/hooks";
import { getJson } from "../core/api.ts";
import { colourOfColumn } from "../core/clusters.ts";
import { number, several, sentence } from "../core/format.ts";
import { putGraph } from "../core/live.ts";
import { type Remedy, remediesOf } from "../core/remedy.ts";
import { useRights } from "../core/rights.ts";
import { go, keep, route } from "../core/route.ts";
import { beginWith, pending, uploads } from "../core/start.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import type { Column, Graph, Taken } from "../core/types.ts";
import { Arrange, MOST_ARRANGED } from "./arrange.tsx";
import { Button, DeleteButton, tell } from "./parts.tsx";

const NOTES = 3;   // shown without a press, if there are more; those about changes are always shown

const Note = ({ note: n }: { note: Taken["notes"][number] }) => <p class={n.changes ? "warning" : "quiet"}>{sentence(n.text)}</p>;

/** The title of a column, by its number from 1; without one its number. */
const titleIn = (taken: Taken | null | undefined) => (column: number): string => {
	const title = taken?.listed.find(c => c.first === column)?.title;
	return title ? `"${title}"` : String(column);
};

/** One line, and the notes about what was left out, guessed or changed. */
export function TakenText({ taken, file, beginning }: { taken: Taken; file?: string; beginning?: boolean }) {
	const notes = [...taken.notes.filter(n => n.changes), ...taken.notes.filter(n => !n.changes)], most = notes.length > NOTES + 1 ? Math.max(NOTES, notes.filter(n => n.changes).length) : notes.length;
	const first = notes.slice(0, most), rest = notes.slice(most);
	return <div class="taken">
		<p>{beginning && "Its beginning: "}{file && <b>{file}: </b>}{taken.text}{taken.sign && <span class="quiet"> · recognised by {taken.sign}</span>}</p>
		{first.map(n => <Note key={n.text} note={n} />)}
		{rest.length > 0 && <details><summary>{several(rest.length, "more note")}</summary>{rest.map(n => <Note key={n.text} note={n} />)}</details>}
		{taken.notes_lost > 0 && <p class="quiet">{several(taken.notes_lost, "more note")}.</p>}</div>;
}

/** Buttons that read the file otherwise, as its notes say. */
function Remedies({ name, list, title, onClick }: { name: string; list: Remedy[]; title: (r: Remedy) => string; onClick: (r: Remedy) => void }) {
	return list.length ? <div class="row wrap remedies" role="group" aria-label={`What can be done with ${name}`}>
		{list.map(r => <Button key={`${r.name}=${r.value}`} title={title(r)} onClick={() => onClick(r)}>{r.text}</Button>)}</div> : null;
}

/** What was taken of uploaded data, and what the server noticed. What a note names as a way out is done with the file, which the
 * user chooses again. */
export function TakenOf({ graph: g }: { graph: Graph }) {
	const input = useRef<HTMLInputElement>(null), remedy = useRef<Remedy | null>(null), may = useRights();
	const notes = [...g.taken?.notes ?? [], ...g.labels_taken?.notes ?? []].map(n => n.text), others = g.warnings.filter(w => !notes.includes(w));
	const remedies = may ? remediesOf([...g.taken?.notes.map(n => n.text) ?? [], ...g.warnings].join("\n"), titleIn(g.taken)) : [];
	const merged = g.report?.["merged"] ?? 0, center = g.center;
	if (!g.taken && !g.labels_taken && !others.length && !center)
		return null;
	return <details class="taken-of"><summary>What was taken</summary>
		{g.taken && <TakenText taken={g.taken} />}
		{g.labels_taken && <TakenText file="Labels" taken={g.labels_taken} />}
		{others.map(w => <p key={w} class="warning">{sentence(w)}</p>)}
		{merged > 0 && !g.warnings.some(w => w.includes("precision")) && <p class="warning">{several(merged, "row")} differ by less than single precision holds, and count as equal.</p>}
		{center && !notes.some(n => n.includes("far from 0")) && <p class="quiet">{several(center.columns, "column")} far from 0 {center.columns === 1 ? "was" : "were"} shifted: {center.first.slice(0, 4).map(c => `column ${c.column} by ${number(c.value)}`).join(", ")}{center.columns > 4 ? ", …" : ""}. Distances stay the same.</p>}
		{remedies.length > 0 && <><input ref={input} type="file" class="hidden-file" tabIndex={-1} aria-label={`File of ${g.name}`} onChange={e => {
				const file = e.currentTarget.files?.[0];
				if (file && remedy.current)
					beginWith(file, remedy.current);
				e.currentTarget.value = "";
			}} />
			<Remedies name={g.name} list={remedies} title={r => `Choose the file again, to read it with ${r.name}=${r.value}`} onClick={r => { remedy.current = r; input.current?.click(); }} /></>}
	</details>;
}

/** What was taken of files that were uploaded in this page, until it is dismissed. graph: only of this one. */
export function Uploaded({ graph }: { graph?: string }) {
	const p = use(pending), list = use(uploads).filter(u => (!graph || u.graph === graph) && u.graph !== p?.graph?.id);   // the card of a file shows it itself
	const again = (u: (typeof list)[number], remedy: Remedy): void => {
		go("");
		beginWith(u.file, remedy, u.options);
	};
	return <>{list.map(u => <div key={u.graph} class="card added" role="status"><div class="grow"><TakenText file={u.file.name} taken={u.taken} />
		{u.known && <p class="quiet">The server has these data already, as {u.known}.</p>}
		<Remedies name={u.file.name} list={remediesOf(u.taken.notes.map(n => n.text).join("\n"), titleIn(u.taken)).filter(r => u.options[r.name] !== r.value)} onClick={r => again(u, r)}
			title={r => `Reads the file once more, with ${r.name}=${r.value}, as other data`} /></div>
		<Button icon="close" kind="quiet" label={`Dismiss what was taken of ${u.file.name}`} onClick={() => { uploads.value = uploads.value.filter(x => x !== u); }} /></div>)}</>;
}

function Row({ s, graph, column }: { s: Session; graph: Graph; column: Column }) {
	const [name, setName] = useState<string | null>(null), [arranging, setArranging] = useState(false), by = use(s.by), shown = by === colourOfColumn(column.name);
	/** Does what gives the column the colour `to` ("": it is deleted). The address has it before, as the event of the change may
	 * come before the reply. */
	const change = async (to: string, work: () => Promise<unknown>): Promise<void> => {
		const before = route.value.query["by"];
		if (shown)
			keep({ by: to || undefined });
		try {
			await work();
		} catch (error) {
			keep({ by: before });
			throw error;
		}
		putGraph(await getJson<Graph>(`/v1/graphs/${graph.id}`));
		if (shown)
			s.by.value = to;
		await s.loadColumns(to && shown ? to : undefined);
	};
	const rename = async (): Promise<void> => {
		const wanted = (name ?? "").trim();
		if (wanted && wanted !== column.name)
			await change(colourOfColumn(wanted), () => s.nodes.rename(column.name, wanted));
		setName(null);
	};
	if (name !== null)
		return <li><form class="row" onSubmit={e => { e.preventDefault(); rename().catch(tell); }}>
			<input type="text" class="grow" maxLength={200} aria-label={`New name of ${column.name}`} value={name} ref={e => { if (e && !e.dataset["seen"]) { e.dataset["seen"] = "1"; e.focus(); e.select(); } }}
				onInput={e => setName(e.currentTarget.value)} onKeyDown={e => { if (e.key === "Escape") setName(null); }} />
			<button type="submit" class="button" disabled={!name.trim()}>Rename</button></form></li>;
	const arrange = async (body: { categories?: string[] | null; colors?: string[] | null }): Promise<void> => {
		await change(colourOfColumn(column.name), () => s.nodes.arrange(column.name, body));
		setArranging(false);
	};
	return <><li class="row"><span class="grow">{column.name} <span class="quiet">{column.kind === "category" ? several(column.categories ?? 0, "label") : "numbers"}</span></span>
		{column.kind === "category" && <Button icon="palette" kind="quiet" label={`Order and colours of ${column.name}`} pressed={arranging} of={graph}
			disabled={(column.categories ?? 0) > MOST_ARRANGED || !column.categories} onClick={() => setArranging(!arranging)} />}
		<Button icon="pen" kind="quiet" label={`Rename ${column.name}`} of={graph} onClick={() => setName(column.name)} />
		<DeleteButton what={column.name} of={graph} onClick={() => change("", () => s.nodes.remove(column.name))} /></li>
		{arranging && <li><Arrange s={s} column={column} done={() => setArranging(false)} save={arrange} /></li>}</>;
}

/** The columns of labels of the run's data. */
export function ColumnList({ s, graph }: { s: Session; graph: Graph }) {
	const columns = use(s.columns);
	return columns.length ? <details class="columns"><summary>{several(columns.length, "column")} of labels</summary>
		<ul class="links" aria-label="Columns of labels">{columns.map(c => <Row key={c.name} s={s} graph={graph} column={c} />)}</ul></details> : null;
}
