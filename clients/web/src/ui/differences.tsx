/* differences.tsx -- which columns set the selected nodes apart from the others, or from a selection that was kept. */
import { useEffect, useState } from "preact/hooks";
import { compareCategories, compareNumbers, type Difference } from "../core/differences.ts";
import { count, number, shorten } from "../core/format.ts";
import { dateText, rowsOf } from "../core/rows.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import { Button } from "./parts.tsx";

const SHOWN = 12;

/** Compares all columns, one after the other, so that the page answers in between. */
async function compareAll(s: Session, other: Uint8Array | null): Promise<Difference[]> {
	const rows = rowsOf(s.job.graph), flags = s.selected.value, group = new Uint8Array(s.job.nodes), found: Difference[] = [];
	for (let i = 0; i < group.length; i++)
		group[i] = flags && flags[i]! & 1 ? 1 : !other || other[i]! & 1 ? 2 : 0;
	for (const column of await rows.columns()) {
		if (column.kind !== "number" && column.kind !== "date" && column.kind !== "category")
			continue;
		const { data, categories } = await rows.values(column);
		const one = data instanceof Uint32Array ? compareCategories(column.name, data, categories, group)
			: compareNumbers(column.name, data, group, column.kind === "date" ? x => dateText(x).slice(0, 10) : x => number(x));
		if (one)
			found.push(one);
		await new Promise(resolve => setTimeout(resolve));
	}
	return found.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
}

export function Differences({ s }: { s: Session }) {
	const selected = use(s.selected), n = use(s.selectedCount), [kept, setKept] = useState<Uint8Array | null>(null), [found, setFound] = useState<Difference[] | null>(null);
	useEffect(() => setFound(null), [selected, kept]);
	if (!n || n === s.job.nodes)
		return null;
	const size = kept?.reduce((sum, f) => sum + (f & 1), 0) ?? 0, against = kept ? `the ${count(size)} kept` : "all others";
	return <div class="differences">
		<div class="row wrap"><Button onClick={async () => setFound(await compareAll(s, kept))}>What sets them apart</Button>
			{kept ? <Button kind="quiet" onClick={() => setKept(null)}>Compare with all others</Button>
				: <Button kind="quiet" title="Then select others: they are compared with these" onClick={() => setKept(selected && selected.slice())}>Keep to compare with</Button>}</div>
		{found?.length === 0 && <p class="quiet">There are no columns of numbers, dates or categories to compare.</p>}
		{found && found.length > 0 && <><p class="quiet">Against {against}, the largest effect first: Cliff's δ of the Mann-Whitney test, Cramér's V of the chi-squared test.</p>
			<ul class="differing">{found.slice(0, SHOWN).map(d => <li key={d.column}><b>{shorten(d.column, 28)}</b>
				<span class="quiet" title={`${d.test}: p ${d.p < 1e-4 ? "< 0.0001" : `= ${d.p.toPrecision(2)}`}; ${count(d.n[0])} and ${count(d.n[1])} values`}>{d.test === "chi-squared" ? "V" : "δ"} = {d.effect.toFixed(2)}</span>
				<span class="grow">{shorten(d.first, 30)} <span class="quiet">{d.test === "chi-squared" ? "against" : "median, against"}</span> {shorten(d.second, 30)}</span></li>)}</ul></>}
	</div>;
}
