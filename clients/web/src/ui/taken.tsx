/* taken.tsx -- what the server took of a file, and the columns of labels of some data: renaming and deleting them. */
import { useState } from "preact/hooks";
import { getJson } from "../core/api.ts";
import { colourOfColumn } from "../core/clusters.ts";
import { several, sentence } from "../core/format.ts";
import { putGraph } from "../core/live.ts";
import { keep, route } from "../core/route.ts";
import { uploads } from "../core/start.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import type { Column, Graph, Taken } from "../core/types.ts";
import { Button, DeleteButton, tell } from "./parts.tsx";

/** One line, and the notes about what was left out, guessed or changed. */
export function TakenText({ taken, file, beginning }: { taken: Taken; file?: string; beginning?: boolean }) {
	return <div class="taken">
		<p>{beginning && "Its beginning: "}{file && <b>{file}: </b>}{taken.text}{taken.sign && <span class="quiet"> · {taken.sign}</span>}</p>
		{taken.notes.map(n => <p key={n.text} class={n.changes ? "warning" : "quiet"}>{sentence(n.text)}</p>)}
		{taken.notes_lost > 0 && <p class="quiet">{several(taken.notes_lost, "more note")}.</p>}</div>;
}

/** What was taken of files that were uploaded in this page, until it is dismissed. graph: only of this one. */
export function Uploaded({ graph }: { graph?: string }) {
	const list = use(uploads).filter(u => !graph || u.graph === graph);
	return <>{list.map(u => <div key={u.graph} class="card added" role="status"><TakenText file={u.file} taken={u.taken} />
		<Button icon="close" kind="quiet" label={`Dismiss what was taken of ${u.file}`} onClick={() => { uploads.value = uploads.value.filter(x => x !== u); }} /></div>)}</>;
}

function Row({ s, graph, column }: { s: Session; graph: Graph; column: Column }) {
	const [name, setName] = useState<string | null>(null), by = use(s.by), shown = by === colourOfColumn(column.name);
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
	return <li class="row"><span class="grow">{column.name} <span class="quiet">{column.kind === "category" ? several(column.categories ?? 0, "label") : "numbers"}</span></span>
		<Button icon="pen" kind="quiet" label={`Rename ${column.name}`} of={graph} onClick={() => setName(column.name)} />
		<DeleteButton what={column.name} of={graph} onClick={() => change("", () => s.nodes.remove(column.name))} /></li>;
}

/** The columns of labels of the run's data. */
export function ColumnList({ s, graph }: { s: Session; graph: Graph }) {
	const columns = use(s.columns);
	return columns.length ? <details class="columns"><summary>{several(columns.length, "column")} of labels</summary>
		<ul class="links" aria-label="Columns of labels">{columns.map(c => <Row key={c.name} s={s} graph={graph} column={c} />)}</ul></details> : null;
}
