/* runs.tsx -- the first page: the drop zone and the list of runs. */
import { useState } from "preact/hooks";
import { change, link, request } from "../core/api.ts";
import { describe, isLayout, layoutOf, measureText } from "../core/clusters.ts";
import { ago, count, duration, number, sentence, several, until } from "../core/format.ts";
import { askOlder, drop, graphs, jobs, newest, older, put } from "../core/live.ts";
import { hasDefault, titleOfMethod } from "../core/methods.ts";
import { useRights } from "../core/rights.ts";
import { address, go, keep, route } from "../core/route.ts";
import { Signal, use } from "../core/signal.ts";
import { ended, type Job } from "../core/types.ts";
import { DropZone } from "./drop.tsx";
import { isOthers, OwnerSelect, OwnerText, ofOwner } from "./owner.tsx";
import { Bar, Button, DeleteButton, StateBadge } from "./parts.tsx";
import { ofProject, ProjectSelect } from "./projects.tsx";
import { Uploaded } from "./taken.tsx";
import { Thumb } from "./thumb.tsx";

const chosen = new Signal<string[]>([]);   // for comparison
const FILTERS = [["", "All"], ["busy", "Under way"], ["done", "Done"], ["bad", "Failed"]] as const;

const passes = (job: Job, filter: string): boolean => filter === "busy" ? !ended(job) : filter === "done" ? job.state === "done" :
	filter === "bad" ? job.state === "failed" || job.state === "cancelled" : true;

export const titleOf = (job: Job): string => job.name ?? graphs.value.get(job.graph)?.name ?? (link ? "Layout" : job.id.slice(-8));

/** A short text of the parameters in which a run differs from others. */
export function gist(job: Job): string {
	if (!isLayout(job))
		return `${describe(job)} · ${count(job.nodes)} nodes`;
	const p = { ...job.parameters, ...job.resolved }, parts = [...(hasDefault(job) ? [] : [titleOfMethod(job)]), ...("dims" in p ? [`${String(p["dims"])}-D`] : []), `${count(job.nodes)} nodes`];
	const scale = p["perplexity"] ?? "auto", lambda = p["lambda"] ?? "auto";
	if (scale !== "auto" && scale !== null)
		parts.push(`perplexity ${Array.isArray(scale) ? scale.map(x => number(Number(x))).join(" + ") : number(Number(scale))}`);
	else if (lambda !== "auto" && lambda !== null)
		parts.push(`λ ${number(Number(lambda))}`);
	return parts.join(" · ");
}

/** A thumbnail of the layout coloured by the job's result. */
function FoundThumb({ job }: { job: Job }) {
	const layout = layoutOf(job, use(jobs));
	return layout ? <Thumb key={layout.id} job={layout} {...(job.state === "done" ? { clusters: job.id } : {})} /> :
		<div class="thumb none">{describe(job)}</div>;
}

function Card({ job }: { job: Job }) {
	const marked = use(chosen).includes(job.id), over = ended(job), title = titleOf(job), may = useRights();
	const none = over && job.state !== "done" && !job.layout ? "no layout" : job.state === "queued" && !job.frame ? "no layout yet" : "";
	const mark = (): void => { chosen.value = marked ? chosen.value.filter(id => id !== job.id) : [...chosen.value.slice(-1), job.id]; };
	return <li class={`card run ${marked ? "marked" : ""}`}>
		<a class="run-link" href={address("job", job.id)} aria-label={`${title}, ${job.state}${none && `, ${none}`}`}>{!isLayout(job) ? <FoundThumb job={job} /> : none ? <div class="thumb none">{none}</div> : <Thumb job={job} />}</a>
		<div class="run-body">
			<div class="row"><h3><a href={address("job", job.id)}>{title}</a></h3><span class="grow" /><StateBadge state={job.state} /></div>
			<p class="quiet">{gist(job)}{isOthers(job) && <> · <OwnerText of={job} /></>}</p>
			{over ? <p class="quiet">{measureText(job)} · {duration(job.seconds)} · {ago(job.created)}{job.expires && until(job.expires, 7) && <b class="expires"> · expires {until(job.expires, 7)}</b>}</p> : <>
				<Bar share={job.iteration / job.iterations} label={`Progress of ${title}`} state={job.state} />
				<p class="quiet">{count(job.iteration)} of {count(job.iterations)}{job.eta_seconds !== null && ` · ${duration(job.eta_seconds)} left`}</p></>}
			{job.problem && <p class="problem">{sentence(job.problem.detail)}</p>}
			<div class="row run-actions">
				{job.state === "done" && isLayout(job) && <Button icon="compare" kind="quiet" pressed={marked} label={`Choose ${title} for comparison`} onClick={mark} />}
				{!over && may && <Button of={job} icon={job.state === "paused" ? "play" : "pause"} kind="quiet" label={job.state === "paused" ? `Go on with ${title}` : `Pause ${title}`}
					onClick={async () => put(await change(job.id, { paused: job.state !== "paused" }))} />}
				{!over && may && <Button of={job} icon="close" kind="quiet" label={`Cancel ${title}`} onClick={async () => put(await change(job.id, { cancelled: true }))} />}
				<span class="grow" />
				{over && may && <DeleteButton what={title} of={job}
					onClick={async () => { await request(`/v1/jobs/${job.id}`, { method: "DELETE" }); drop(job.id); chosen.value = chosen.value.filter(id => id !== job.id); }} />}
			</div>
		</div>
	</li>;
}

const PAGE = 120;   // cards shown at first, and by each press of the button

export function RunsPage() {
	const [most, setMost] = useState(PAGE);
	const rest = use(older), all = newest(use(jobs)), { query } = use(route), filter = query["show"] ?? "", two = use(chosen), may = useRights();
	use(graphs);
	const wanted = (query["search"] ?? "").toLowerCase();
	const project = query["project"] ?? "", owner = query["user"] ?? "";
	const shown = all.filter(job => passes(job, filter) && ofProject(job, project) && ofOwner(job, owner) && (!wanted || titleOf(job).toLowerCase().includes(wanted)));
	return <div class="page">
		<h1 class="hidden">Runs</h1>
		{may ? <DropZone small={all.length > 0} /> : all.length === 0 && <p class="quiet empty">{link ? "A public link shows one run. Open the link again to see it." : "No run is shared with you yet."}{!link && " Your role is that of a reader: you see what others share."}</p>}
		<Uploaded />
		{all.length > 0 && <div class="row wall-head">
			<div class="segments" role="group" aria-label="Which runs">{FILTERS.map(([id, text]) =>
				<button key={id} type="button" aria-pressed={filter === id} onClick={() => { keep({ show: id }); route.notify(); }}>{text}</button>)}</div>
			<input class="find" type="search" aria-label="Find runs by name" placeholder="Find by name" value={query["search"] ?? ""}
				onInput={e => { keep({ search: e.currentTarget.value }); route.notify(); }} />
			<ProjectSelect label="Project" value={project} all="All" none="None" onChange={v => { keep({ project: v || undefined }); route.notify(); }} />
			<OwnerSelect of={all} value={owner} onChange={v => { keep({ user: v || undefined }); route.notify(); }} />
			<span class="grow" />
			<span class="quiet" role="status">{several(shown.length, "run")}</span>
			{two.length === 1 && all.length > 1 && <span class="quiet">Choose a second run to compare.</span>}
			{two.length === 2 && <Button kind="primary" icon="compare" onClick={() => go("compare", "", { a: two[0], b: two[1] })}>Compare the two</Button>}
		</div>}
		<ul class="wall">{shown.slice(0, most).map(job => <Card key={job.id} job={job} />)}</ul>
		{shown.length > most && <div class="row"><Button onClick={() => setMost(most + PAGE)}>{`Show ${count(Math.min(PAGE, shown.length - most))} more`}</Button></div>}
		{rest && shown.length <= most && <div class="row"><Button onClick={askOlder}>Fetch older runs</Button><span class="quiet">The oldest one here is from {ago(all.at(-1)!.created)}.</span></div>}
		{all.length > 0 && !shown.length && <p class="quiet empty">No run is like that.</p>}
	</div>;
}
