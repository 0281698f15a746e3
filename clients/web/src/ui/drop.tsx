/* drop.tsx -- the drop zone for files, and the detected content of a file. */
import { useEffect, useRef, useState } from "preact/hooks";
import { bytes, count, duration, sentence, several } from "../core/format.ts";
import { isLayout } from "../core/clusters.ts";
import { jobs } from "../core/live.ts";
import { route, go } from "../core/route.ts";
import type { Role } from "../core/guess.ts";
import { encodingsFor } from "../core/recode.ts";
import { remediesOf } from "../core/remedy.ts";
import { use } from "../core/signal.ts";
import type { Job } from "../core/types.ts";
import { again as retry, apply, atOnce, beginAll, cancel, decode, labelsFor, launch, metric, options, pending, queue, send, setAtOnce, swap, transposed, type Pending } from "../core/start.ts";
import { link } from "../core/api.ts";
import { mayChange } from "../core/rights.ts";
import { warmUp } from "../gl/renderer.ts";
import { Bar, Button, Icon, say, Select } from "./parts.tsx";
import { NONE, ProjectSelect } from "./projects.tsx";
import { titleOf } from "./runs.tsx";
import { TakenText } from "./taken.tsx";

const drop = (files: FileList | null | undefined): void => {
	if (!files?.length)
		return;
	if (!mayChange())
		return say(link ? "A public link only shows its run. Drop files on the dashboard of a server." : "Your role is that of a reader, who cannot upload files. An administrator can change it.", true);
	const { page, id } = route.value;
	if (page !== "")
		go("");
	beginAll([...files], page === "job" ? id : "");
};

/** Files may be dropped on any page. Those who may not upload are told; otherwise the browser would leave the page. */
export function DropAnywhere() {
	const [over, setOver] = useState(false);
	useEffect(() => {
		let depth = 0;
		const files = (e: DragEvent): boolean => !!e.dataTransfer?.types.includes("Files");
		const enter = (e: DragEvent): void => { if (files(e)) { depth++; setOver(true); e.preventDefault(); } };
		const leave = (e: DragEvent): void => { if (files(e) && --depth <= 0) { depth = 0; setOver(false); } };
		const at = (e: DragEvent): void => { if (files(e)) e.preventDefault(); };
		const done = (e: DragEvent): void => {
			depth = 0;
			setOver(false);
			if (!files(e))
				return;
			e.preventDefault();
			drop(e.dataTransfer?.files);
		};
		const all = [["dragenter", enter], ["dragleave", leave], ["dragover", at], ["drop", done]] as const;
		for (const [name, f] of all)
			addEventListener(name, f);
		return () => { for (const [name, f] of all) removeEventListener(name, f); };
	}, []);
	return over ? <div class="drop-over" aria-hidden="true"><div><Icon name="upload" size={40} />{mayChange() ? "Drop to lay it out" : "Files cannot be uploaded here"}</div></div> : null;
}

/** How new files are read and laid out. */
function Choices({ p }: { p?: Pending }) {
	const now = use(atOnce), chosen = use(options), distance = use(metric), swapped = use(transposed);
	return <>
		<Select label="Dimensions" value={String(chosen["dims"] ?? 2)} options={[["1", "1"], ["2", "2"], ["3", "3"]]}
			onChange={v => { options.value = { ...options.value, dims: Number(v) }; }} />
		<Select label="Distance" hint="Between points of tables; graphs have none" value={distance} options={[["", "euclidean"], ...METRICS.map(m => [m, m.replace(/_/g, " ")] as const)]} onChange={v => { metric.value = v; }} />
		<ProjectSelect label="Project" value={String(chosen["project"] ?? "")} all="Default" none="None" onChange={v => {
			const { project: _, ...rest } = options.value;
			options.value = v ? { ...rest, project: v === NONE ? null : v } : rest;
		}} />
		<label class="check" title="The columns of a table are the points, as of genes by cells"><input type="checkbox" checked={p ? p.options["transpose"] === "true" : swapped} onChange={e => swap(e.currentTarget.checked)} />
			Swap rows and columns</label>
		<label class="check" title={p ? "Otherwise the page tells first what it will cost" : "Unless the file leaves something to choose"}><input type="checkbox" checked={now} onChange={e => setAtOnce(e.currentTarget.checked)} />
			Start at once</label>
	</>;
}

const METRICS = ["cosine", "correlation", "inner_product", "l1", "linf", "hamming", "jaccard"];

export function DropZone({ small }: { small: boolean }) {
	const input = useRef<HTMLInputElement>(null);
	const p = use(pending);
	useEffect(warmUp, []);
	if (p)
		return <PendingCard p={p} />;
	return <section class={`drop card ${small ? "small" : ""}`} aria-labelledby="drop-title">
		<input ref={input} id="file" type="file" class="hidden-file" tabIndex={-1} aria-label="File to lay out"
			multiple onChange={e => { drop(e.currentTarget.files); e.currentTarget.value = ""; }} />
		<div class="drop-icon"><Icon name="upload" size={small ? 26 : 34} /></div>
		<div class="drop-text">
			<h2 id="drop-title">Drop files to lay them out</h2>
			<p>A table of points (csv, npy, npz), a sparse matrix (mtx, npz) or a list of edges; as they are, in gzip, zstd, zip or tar.</p>
		</div>
		<div class="drop-choices">
			<Button kind="primary" onClick={() => input.current?.click()}>Choose a file</Button>
			<Choices />
		</div>
	</section>;
}

const ROLES: [Role, string][] = [["coordinate", "numbers"], ["name", "names"], ["label", "labels"], ["ignored", "ignored"]];

function Columns({ p }: { p: Pending }) {
	const set = (i: number, role: Role): void => {   // one column has the names; several may have labels
		p.roles = p.roles.map((r, k) => (k === i ? role : r === "name" && role === "name" ? "ignored" : r));
		p.guess!.choices = true;
		pending.notify();
	};
	return <div class="columns-scroll" tabIndex={0} role="region" aria-label="Columns of the file"><table class="table">
		<thead><tr><th scope="col">Column</th><th scope="col" class="examples">Begins with</th><th scope="col">Taken as</th></tr></thead>
		<tbody>{p.guess!.listed.map((c, i) => {
			const title = c.title || String(c.column);
			return <tr key={i}><th scope="row">{title}</th><td class="examples">{c.examples.join(", ")}</td>
				<td><select aria-label={`Column ${title} is taken as`} value={p.roles[i]}
					onChange={e => set(i, e.currentTarget.value as Role)}>
					{ROLES.filter(([v]) => v !== "coordinate" || c.role === v || p.guess!.numbering.has(c.column)).map(([v, t]) => <option key={v} value={v} selected={v === p.roles[i]}>{t}</option>)}
				</select></td></tr>;
		})}</tbody>
	</table></div>;
}

/** Buttons that read a text that is not UTF-8. */
export function Encodings({ file, complaint, choose }: { file: File; complaint: string; choose: (encoding: string) => Promise<unknown> }) {
	const all = encodingsFor(complaint, file);
	return all.length ? <div class="row wrap remedies" role="group" aria-label={`Encodings of ${file.name}`}>{all.map(([name, text]) => <Button key={name} title={`Converts it from ${name} in this page`}
		onClick={() => choose(name)}>{all.length > 1 ? `Its letters are ${text}` : `Convert it from ${text}`}</Button>)}</div> : null;
}

function PendingCard({ p }: { p: Pending }) {
	const { guess, graph, estimate, stage } = p, swapped = p.options["transpose"] === "true";
	const of = use(jobs).get(p.run), run = of && isLayout(of) && of.may_change ? of : null;
	/** Back on the page of the run, as if its button had been used. */
	const addTo = (job: Job): void => {
		labelsFor.value = { job: job.id, file: p.file };
		cancel();
		go("job", job.id);
	};
	const waiting = use(queue), titles = (column: number): string => { const title = guess?.listed.find(c => c.column === column)?.title; return title ? `"${title}"` : String(column); };
	const told = [p.problem, ...(!p.problem ? [...guess?.warnings ?? [], ...(guess?.taken ?? graph?.taken)?.notes.map(n => n.text) ?? []] : [])].join("\n");
	const remedies = graph || stage === "uploading" || stage === "starting" ? [] : remediesOf(told, titles).filter(r => p.options[r.name] !== r.value && !(r.name === "ignore_columns" && p.options[r.name]?.split(",").includes(r.value)));
	const altered = guess?.listed.some((c, i) => c.role !== p.roles[i]), again = stage === "failed" && !graph && altered;   // the column that was refused may be taken otherwise
	const more = guess ? guess.columns - guess.listed.length : 0, left = guess?.listed.filter((c, i) => c.role === "coordinate" && p.roles[i] !== "coordinate").length ?? 0;
	return <section class="card pending" aria-labelledby="pending-title" aria-busy={stage === "uploading" || stage === "starting"}>
		<div class="row"><h2 id="pending-title">{p.file.name}</h2><span class="quiet">{bytes(p.file.size)}</span>
			<span class="grow" /><Button icon="close" kind="quiet" label="Do without this file" onClick={cancel} /></div>
		{guess && !(p.problem && !guess.columns) && <p>{guess.summary}{guess.columns > 0 && `, ${guess.header ? "with" : "without"} a header`}.</p>}
		{guess && guess.columns > 0 && <><Columns p={p} />{more > 0 && <p class="quiet">{several(more, "more column")} of numbers, which are coordinates.</p>}</>}
		{graph?.taken ? <TakenText taken={graph.taken} /> : guess?.taken && !p.problem && !swapped && <TakenText taken={guess.taken} beginning={!guess.whole} />}
		{!graph && swapped && guess && guess.coordinates > 0 && <p>Rows and columns are swapped: the {several(guess.coordinates, "column")} of numbers are the points, and each row is a coordinate.</p>}
		{!p.problem && [...guess?.warnings ?? [], ...(graph?.warnings ?? []).filter(w => !graph?.taken?.notes.some(n => n.text === w))].map(w => <p key={w} class="warning">{sentence(w)}</p>)}
		{stage === "uploading" && <><Bar share={p.progress} label="Upload" /><p class="quiet" role="status">{p.progress < 1 ? "Uploading …" : "The server reads it …"}</p></>}
		{estimate && <p class="quiet">About {duration(estimate.seconds)} on {estimate.engine}, {bytes(estimate.host_bytes)} of memory for {count(graph!.nodes)} nodes.</p>}
		{p.problem && <p class="problem" role="alert">{p.problem}</p>}
		{remedies.length > 0 && <div class="row wrap remedies" role="group" aria-label="What can be done">{remedies.map(r => <Button key={`${r.name}=${r.value}`} title={`${r.name}=${r.value}`}
			onClick={() => apply(p, r)}>{r.text}</Button>)}</div>}
		{!graph && (stage === "failed" || (stage === "choose" && (guess?.choices || p.run))) && <Encodings file={p.file} complaint={told} choose={name => decode(p, name)} />}
		{waiting.length > 0 && <p class="quiet" role="status">{several(waiting.length, "more file")} {waiting.length === 1 ? "waits" : "wait"}: {waiting.map(f => f.name).join(", ")}</p>}
		{stage === "choose" && !guess?.problem && <div class="drop-choices left"><Choices p={p} /></div>}
		<div class="row">
			{stage === "choose" && run && <Button kind="primary" icon="plus" title="The columns of the file become labels of the run's data" onClick={() => addTo(run)}>{`Add it as labels to ${titleOf(run)}`}</Button>}
			{(stage === "choose" || again) && (guess?.problem && !altered ? <Button onClick={cancel}>Choose another file</Button> :
				<Button kind={run ? undefined : "primary"} icon="play" disabled={guess !== null && guess.coordinates > 0 && left >= guess.coordinates} onClick={() => send(p)}>Upload and lay out</Button>)}
			{(stage === "ready" || stage === "starting") && <Button kind="primary" icon="play" disabled={stage === "starting"} onClick={() => launch(p)}>Lay out</Button>}
			{stage === "failed" && <>{(graph || p.again) && <Button kind="primary" onClick={() => retry(p)}>Try again</Button>}
				{!graph && <Button onClick={cancel}>Choose another file</Button>}</>}
		</div>
	</section>;
}
