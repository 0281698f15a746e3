/* steer.tsx -- sliders for the parameters of a running job, and for perplexity or λ of the next run. */
import { useState } from "preact/hooks";
import { change } from "../core/api.ts";
import { duration, number } from "../core/format.ts";
import { put } from "../core/live.ts";
import { hasDefault, methodOf } from "../core/methods.ts";
import { parseAmount } from "../core/people.ts";
import { useData } from "../core/rights.ts";
import type { Session } from "../core/session.ts";
import { fromSlider, type Steerable, steerables, toSlider } from "../core/steer.ts";
import { ended, type Graph, type Job } from "../core/types.ts";
import { startWarm } from "../core/warm.ts";
import { Charts } from "./charts.tsx";
import { NextRun, OtherMethod } from "./parameters.tsx";
import { Button, tell } from "./parts.tsx";

function Slider({ job, s }: { job: Job; s: Steerable }) {
	const [draft, setDraft] = useState<number | null>(null);
	const given = job.parameters[s.name], automatic = given === s.automatic, inForce = job.resolved[s.name];
	const value = draft ?? (typeof given === "number" ? given : typeof inForce === "number" ? inForce : s.log ? Math.sqrt(s.min * s.max) : s.min);
	const commit = async (v: number | string): Promise<void> => {
		try {
			put(await change(job.id, { [s.name]: v }));
		} catch (error) {
			tell(error);
		}
		setDraft(null);
	};
	const shown = draft === null && automatic ? (typeof inForce === "number" ? `${s.automatic}: ${number(inForce, 3)}` : s.automatic!) : number(value, 4);
	return <div class="slider">
		<label for={`steer-${s.name}`} title={s.hint}>{s.label}</label>
		<output>{shown}</output>
		<input id={`steer-${s.name}`} type="range" min={0} max={1} step={0.001} value={toSlider(s, value)} aria-valuetext={shown}
			disabled={ended(job) || !job.may_change} class={automatic && draft === null ? "automatic" : ""}
			onInput={e => setDraft(fromSlider(s, Number(e.currentTarget.value)))}
			onChange={e => void commit(fromSlider(s, Number(e.currentTarget.value)))} />
		{s.automatic && !automatic && !ended(job) && <Button of={job} kind="quiet" title={`Back to ${s.automatic}`} onClick={() => commit(s.automatic!)}>{s.automatic}</Button>}
	</div>;
}

const GROUPS = [["forces", "Forces"], ["step", "Steps"], ["stop", "When it ends"], ["more", "More"]] as const;

/** How long the run may be running before it ends with the layout that it has then. */
function TimeLimit({ job }: { job: Job }) {
	const [text, setText] = useState(""), seconds = parseAmount(text);
	const set = async (value: number | null): Promise<void> => { put(await change(job.id, { time_limit: value })); setText(""); };
	return <section aria-label="Time limit"><h2>Time limit</h2><form class="row bottom" onSubmit={e => { e.preventDefault(); if (seconds) set(seconds).catch(tell); }}>
		<label class="field grow"><span class="field-label">{job.time_limit ? `${duration(job.time_limit)} of running; then the run ends, and keeps its layout` : "None: how long may it be running?"}</span>
			<input type="text" placeholder="2h, 90min" value={text} disabled={!job.may_change} aria-invalid={text !== "" && !seconds} onInput={e => setText(e.currentTarget.value)} /></label>
		<button type="submit" class="button" disabled={!seconds || !job.may_change}>Set</button>
		{job.time_limit && <Button kind="quiet" of={job} title="Only the limits of its project and of the server hold then" onClick={() => set(null)}>Remove</Button>}</form></section>;
}

function Next({ s, job, graph }: { s: Session; job: Job; graph: Graph | undefined }) {
	const points = graph ? graph.kind !== "graph" : job.resolved["perplexity"] != null;
	const name = points ? "perplexity" : "lambda";
	const inForce = job.resolved[name] ?? job.parameters[name], known = Array.isArray(inForce) ? inForce[0] : inForce;
	const [value, setValue] = useState(typeof known === "number" ? known : points ? 30 : 10);
	const scale: Steerable = { name, label: "", hint: "", group: "forces", log: true, whole: false, automatic: null, min: points ? 2 : 1, max: points ? Math.max(50, Math.min(300, Math.floor(job.nodes / 4))) : 200 };
	return <section class="next" aria-labelledby="next-title">
		<h2 id="next-title">Next run, from this layout</h2>
		<p class="quiet">{points ? "The perplexity belongs to the data" : "λ belongs to the graph"}, so a new value is a new run; it starts where this layout is.</p>
		<div class="slider">
			<label for="next-scale">{points ? "Perplexity" : "λ"}</label><output>{number(value, 3)}</output>
			<input id="next-scale" type="range" min={0} max={1} step={0.005} value={toSlider(scale, value)}
				onInput={e => setValue(fromSlider(scale, Number(e.currentTarget.value)))} />
		</div>
		<Button icon="play" onClick={() => startWarm(job, s.frame.value, { [name]: value })}>Start with {number(value, 3)}</Button>
	</section>;
}

export function SteerPanel({ s, job, graph }: { s: Session; job: Job; graph: Graph | undefined }) {
	const data = useData(job), sliders = steerables(methodOf(job)?.parameters ?? []);
	const other = <OtherMethod key={`other ${job.id}`} job={job} kind={graph?.kind ?? "graph"} nodes={() => s.selectedNodes()} />;
	const none = <p class="quiet">A new run needs the data, which are deleted or not shared with you.</p>;
	if (!data && ended(job))
		return <div class="steer"><Charts job={job} />{none}</div>;
	if (!hasDefault(job))
		return <div class="steer"><Charts job={job} /><NextRun key={job.id} job={job} />{other}</div>;
	return <div class="steer">
		<Charts job={job} />
		{ended(job) && <p class="quiet">The run is over; a new one may start from its layout.</p>}
		{!ended(job) && !job.may_change && <p class="quiet">This run is of another user: only its owner or an administrator may steer it.</p>}
		{!ended(job) && GROUPS.map(([id, title]) => [title, sliders.filter(p => p.group === id)] as const).filter(([, some]) => some.length).map(([title, some]) =>
			<section key={title} aria-label={title}><h2>{title}</h2>{some.map(p => <Slider key={p.name} job={job} s={p} />)}</section>)}
		{!ended(job) && <TimeLimit job={job} />}
		{data ? <><Next key={job.id} s={s} job={job} graph={graph} />{other}</> : none}
	</div>;
}
