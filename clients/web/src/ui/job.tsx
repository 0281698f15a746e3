/* job.tsx -- the page of one run: its moving picture, and panels for colours, steering and export. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ApiError, change, getJson, link } from "../core/api.ts";
import { isLayout, measureOf, measureText } from "../core/clusters.ts";
import { count, duration, number, sentence } from "../core/format.ts";
import type { Frame } from "../core/frame.ts";
import { graphs, jobs, put, putGraph, setUnread, unread } from "../core/live.ts";
import { hasDefault } from "../core/methods.ts";
import { useData, useRights } from "../core/rights.ts";
import { address, keep, route } from "../core/route.ts";
import { frameAt } from "../core/record.ts";
import { rowsOf } from "../core/rows.ts";
import { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import { ended, type Graph, type Job } from "../core/types.ts";
import { follow, restore } from "../core/view.ts";
import { goOnFrom, stopAndKeep } from "../core/warm.ts";
import { lazy } from "./lazy.tsx";
import { LookPanel } from "./look.tsx";
import { Bar, Button, Missing, say, StateBadge, Tabs, tell } from "./parts.tsx";
import { titleOf } from "./runs.tsx";
import { Stage } from "./stage.tsx";
import { Timeline } from "./timeline.tsx";
import { Title } from "./title.tsx";

const FilterPanel = lazy(() => import("./filter.tsx").then(m => m.FilterPanel));
const MethodPage = lazy(() => import("./methodpage.tsx").then(m => m.MethodPage));
const SteerPanel = lazy(() => import("./steer.tsx").then(m => m.SteerPanel));
const TakePanel = lazy(() => import("./take.tsx").then(m => m.TakePanel));

const TABS = [["look", "Look"], ["filter", "Filter"], ["steer", "Steer"], ["take", "Take away"]] as const;

function Hud({ s, job }: { s: Session; job: Job }) {
	const frame = use(s.frame), place = use(s.replay), over = ended(job);
	const shown = place === null ? frame : frameAt(s.recording, place) ?? frame;
	const kl = shown && !Number.isNaN(shown.kl) ? shown.kl : job.kl;
	return <div class="hud">
		<span><b>{count(Math.max(shown?.iteration ?? 0, place === null ? job.iteration : 0))}</b> of {count(job.iterations)}</span>
		{measureOf(job) ? <span>{measureText(job)}</span> : <span>KL <b>{number(kl)}</b></span>}
		{job.state === "running" && job.iterations_per_second !== null && <span><b>{number(job.iterations_per_second, 3)}</b> it/s</span>}
		{!over && job.eta_seconds !== null && <span><b>{duration(job.eta_seconds)}</b> left</span>}
		{frame && frame.stride > 1 && <span title="Zoom in to see all">every {frame.stride}. node</span>}
	</div>;
}

function Waiting({ job, graph, s }: { job: Job; graph: Graph | undefined; s: Session }) {
	const frame = use(s.frame), problem = use(s.problem);
	if (job.state === "failed" && job.problem)
		return <div class="stage-note"><h2>This run failed</h2><p class="problem" role="alert">{sentence(job.problem.detail)}</p></div>;
	if (frame)
		return null;
	const search = graph?.neighbours?.state === "searching" ? graph.neighbours : null;
	return <div class="stage-note" role="status"><p>{problem ? problem : job.state === "cancelled" ? (job.layout ? "Fetching the layout …" : "This run was cancelled before it had a layout.") :
		search ? `Searching neighbours: ${Math.round(search.progress * 100)} %` : job.waiting ? job.waiting.detail : job.state === "queued" ? "Waiting for a place …" :
		job.state === "paused" ? "Paused. The layout comes when the run goes on." : job.state === "done" ? "Fetching the layout …" : "Preparing the layout …"}</p>
		{search && <Bar share={search.progress} label="Search of neighbours" />}</div>;
}

function Running({ job, s }: { job: Job; s: Session }) {
	const may = useRights(), data = useData(job), graph = use(graphs).get(job.graph), { query } = use(route), tab = (!may && query["tab"] === "steer" ? undefined : query["tab"]) ?? "look", title = titleOf(job), over = ended(job);
	const act = (body: Record<string, unknown>) => async (): Promise<void> => put(await change(job.id, body));
	const showSelection = (): void => {
		if (tab !== "look") {
			keep({ tab: "look" });
			route.notify();
		}
		setTimeout(() => document.querySelector(".selection")?.scrollIntoView({ block: "start", behavior: "smooth" }));
	};
	const focus = use(s.focus)?.node;
	useEffect(() => {   // what a click has chosen is shown where one sees it
		if (focus !== undefined)
			showSelection();
	}, [focus]);
	return <div class="job">
		<div class="job-head">
			<Title job={job} />
			<StateBadge state={job.state} />
			<span class="grow" />
			{!over && may && <Button of={job} icon={job.state === "paused" ? "play" : "pause"} onClick={act({ paused: job.state !== "paused" })}>{job.state === "paused" ? "Go on" : "Pause"}</Button>}
			{!over && may && <Button of={job} icon="stop" kind="primary" title="Ends now; the layout stays" disabled={job.state === "queued"} onClick={() => stopAndKeep(job)}>Stop and keep</Button>}
			{!over && may && <Button of={job} kind="danger" onClick={act({ cancelled: true })}>Cancel</Button>}
			{job.state === "done" && !link && <a class="button" href={address("compare", "", { a: job.id })}>Compare</a>}
		</div>
		<Stage s={s} label={`Layout of ${title}: ${count(job.nodes)} nodes`} showSelection={showSelection} foot={<Timeline s={s} {...(may && data && hasDefault(job) ? { goOn: (frame: Frame) => goOnFrom(job, frame) } : {})} />}>
			<Hud s={s} job={job} />
			<Waiting job={job} graph={graph} s={s} />
			{!over && <div class="stage-progress"><Bar share={job.iteration / job.iterations} label="Progress" state={job.state} /></div>}
		</Stage>
		<aside class="panel" aria-label="Controls">
			<Tabs label="Controls" tabs={TABS.filter(t => (may || t[0] !== "steer") && (!link || t[0] !== "filter"))} value={tab} onChange={id => { keep({ tab: id }); route.notify(); }} />
			<div class="panel-body" role="tabpanel" id={`panel-${tab}`} aria-labelledby={`tab-${tab}`} tabIndex={0}>
				{tab === "filter" ? <FilterPanel s={s} /> : tab === "steer" ? <SteerPanel s={s} job={job} graph={graph} /> : tab === "take" ? <TakePanel s={s} job={job} /> : <LookPanel s={s} job={job} graph={graph} />}
			</div>
		</aside>
	</div>;
}

export function JobPage({ id }: { id: string }) {
	const job = use(jobs).get(id), [missing, setMissing] = useState("");
	useEffect(() => {
		if (!job)
			getJson<Job>(`/v1/jobs/${id}`).then(put, (error: unknown) => setMissing(error instanceof Error ? error.message : String(error)));
	}, [id, !job]);
	useEffect(() => {
		if (job && !link && !graphs.value.has(job.graph) && !unread.value.has(job.graph))
			getJson<Graph>(`/v1/graphs/${job.graph}`).then(putGraph, (error: unknown) => { if (error instanceof ApiError && error.status === 404) setUnread(job.graph); });
	}, [job?.graph]);
	if (!job)
		return missing ? <Missing title="This run cannot be shown" text={missing} /> : <div class="page"><p class="loading" role="status">One moment …</p></div>;
	return isLayout(job) ? <LayoutPage job={job} /> : <MethodPage job={job} />;
}

function LayoutPage({ job }: { job: Job }) {
	const s = useMemo(() => new Session(job, graphs.value.get(job.graph)?.kind ?? "graph", Number(route.value.query["points"]) || undefined), [job.id]);
	useEffect(() => {
		const show = (): void => {
			const lacking = restore(s), { by } = route.value.query;
			if (lacking)
				say(lacking, true);
			s.loadColumns(by === "none" ? "" : by).catch(tell);
		};
		const arrive = (): void => {   // Back, Forward, or a link to another view of this run
			if (route.value.page !== "job" || route.value.id !== s.job.id)
				return;
			if (!route.value.query["by"])
				s.by.value = "";   // the colour at first
			show();
		};
		show();
		const unfollow = follow(s);
		addEventListener("hashchange", arrive);
		const shortcut = (e: KeyboardEvent): void => {
			if (e.target instanceof HTMLInputElement || e.target instanceof HTMLSelectElement || e.ctrlKey || e.metaKey)
				return;
			if (e.key === "/") {
				e.preventDefault();
				keep({ tab: "look" });
				route.notify();
				setTimeout(() => document.getElementById("node-search")?.focus());
			} else if (e.key === "Escape") {
				s.deselect();
			}
		};
		addEventListener("keydown", shortcut);
		Object.assign(window, { spacelandSession: s });   // for tests and the browser's console
		return () => {
			unfollow();
			s.filter.end();
			removeEventListener("hashchange", arrive);
			removeEventListener("keydown", shortcut);
		};
	}, [s]);
	const all = use(graphs), columns = JSON.stringify(all.get(job.graph)?.label_columns), known = useRef(columns);
	useEffect(() => {   // columns may have been set or deleted by anybody
		if (columns && known.current && columns !== known.current) {
			const { by } = route.value.query;
			s.nodes.changed();
			rowsOf(job.graph).changed();
			s.filter.reset();
			s.loadColumns(by === "none" ? "" : by).catch(tell);
		}
		known.current = columns;
	}, [s, columns]);
	return <Running job={job} s={s} />;
}
