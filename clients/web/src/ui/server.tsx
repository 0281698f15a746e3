/* server.tsx -- the server's page: devices, memory, plans and the queue. */
import { useState } from "preact/hooks";
import { change, getJson, request } from "../core/api.ts";
import { bytes, count, duration, number, several } from "../core/format.ts";
import { askDevices, devices, jobs, newest, put } from "../core/live.ts";
import { useManages, useRights } from "../core/rights.ts";
import { address } from "../core/route.ts";
import { use } from "../core/signal.ts";
import { type Device, ended, type Job, type Plan, type Status } from "../core/types.ts";
import { Bar, Button, StateBadge, useInterval } from "./parts.tsx";
import { Projects } from "./projects.tsx";
import { OwnerText } from "./owner.tsx";
import { titleOf } from "./runs.tsx";

function DeviceCard({ d }: { d: Device }) {
	const budget = d.memory_budget || d.memory_total || 1, other = Math.max(0, d.memory_used - d.graph_bytes - d.embedding_bytes - d.plan_bytes);
	return <li class="card device">
		<div class="row"><h3>{d.id}</h3><span class="grow" /><span class={`badge ${d.state === "up" ? "running" : d.state === "idle" ? "queued" : "failed"}`}><span class="dot" aria-hidden="true" />{d.state}</span></div>
		<p class="quiet">{d.name}{d.worker && `, on ${d.worker.name}`}{d.worker && d.worker.state !== "connected" && ` (${d.worker.state})`}</p>
		{d.problem && <p class="warning">{d.problem}</p>}
		<><Bar share={d.memory_used / budget} label={`Memory of ${d.id}`} />
			<p class="quiet">{bytes(d.memory_used)} of {bytes(budget)}: graphs {bytes(d.graph_bytes)}, layouts {bytes(d.embedding_bytes)}, plans {bytes(d.plan_bytes)}{other > 1e6 ? `, other ${bytes(other)}` : ""}</p>
			<dl class="facts"><dt>Runs</dt><dd>{d.jobs_running} running, {d.jobs_queued} waiting</dd>
				<dt>Graphs in memory</dt><dd>{d.graphs_resident}</dd>
				<dt>Plans</dt><dd>{d.plans}{d.plan_hits + d.plan_misses > 0 && `, ${Math.round(100 * d.plan_hits / (d.plan_hits + d.plan_misses))} % hits`}</dd>
				{d.losses > 0 && <><dt>Failures</dt><dd>{d.losses}</dd></>}</dl></>
	</li>;
}

function QueueRow({ job, owned }: { job: Job; owned: boolean }) {
	const set = (body: Record<string, unknown>) => async (): Promise<void> => put(await change(job.id, body));
	const title = titleOf(job), may = useRights();
	return <tr>
		<th scope="row"><a href={address("job", job.id)}>{title}</a></th>
		{owned && <td data-label="Owner"><OwnerText of={job} /></td>}
		<td data-label="State"><StateBadge state={job.state} /></td>
		<td data-label="Device">{job.device}</td>
		<td class="wide-cell" data-label="Progress"><Bar share={job.iteration / job.iterations} label={`Progress of ${title}`} state={job.state} /></td>
		<td class="right" data-label="Left">{job.eta_seconds === null ? "–" : duration(job.eta_seconds)}</td>
		<td data-label="Priority">{!may ? job.priority : <div class="row"><Button of={job} kind="quiet" label={`Less priority for ${title}`} disabled={job.priority <= -10} onClick={set({ priority: job.priority - 1 })}>−</Button>
			<span class="priority">{job.priority}</span>
			<Button of={job} kind="quiet" label={`More priority for ${title}`} disabled={job.priority >= 10} onClick={set({ priority: job.priority + 1 })}>+</Button></div>}</td>
		<td class="actions">{may && <div class="row"><Button of={job} icon={job.state === "paused" ? "play" : "pause"} kind="quiet" label={job.state === "paused" ? `Go on with ${title}` : `Pause ${title}`} onClick={set({ paused: job.state !== "paused" })} />
			<Button of={job} icon="close" kind="quiet" label={`Cancel ${title}`} onClick={set({ cancelled: true })} /></div>}</td>
	</tr>;
}

const AT_ZERO: Record<string, string> = { max_connections_per_address: "half of max connections", max_state_bytes: "none" };

const limitText = (name: string, value: number): string =>
	value === 0 && name in AT_ZERO ? AT_ZERO[name]! : name.endsWith("bytes") ? bytes(value) : count(value);

/** Initially closed: few people need it, and there may be hundreds of plans. */
function Plans({ plans, dropped }: { plans: Plan[]; dropped: () => void }) {
	const may = useManages(), [all, setAll] = useState(false), shown = all ? plans : plans.slice(0, 12);
	return <><h2>Plans</h2>{plans.length === 0 ? <p class="quiet empty">No Fourier plan is cached.</p> :
		<details class="plans"><summary class="quiet">{several(plans.length, "Fourier plan")}, {bytes(plans.reduce((sum, p) => sum + p.bytes, 0))}</summary>
			<div class="table-scroll card" tabIndex={0} role="region" aria-label="Plans"><table class="table wide"><thead><tr><th scope="col">Device</th><th scope="col">Grid</th><th scope="col" class="right">Spacing</th>
				<th scope="col" class="right">Window</th><th scope="col" class="right">Memory</th><th scope="col" class="right">Uses</th></tr></thead>
				<tbody>{shown.map((p, i) => <tr key={i}><th scope="row">{p.device}</th><td data-label="Grid">{Array<number>(p.dims).fill(p.side).join(" × ")}</td><td class="right" data-label="Spacing">{number(p.h, 3)}</td>
					<td class="right" data-label="Window">{p.window}</td><td class="right" data-label="Memory">{bytes(p.bytes)}</td><td class="right" data-label="Uses">{count(p.uses)}</td></tr>)}</tbody></table></div>
			<div class="row">{plans.length > shown.length && <Button kind="quiet" onClick={() => setAll(true)}>{`Show all ${count(plans.length)}`}</Button>}<span class="grow" />
				{may && <Button icon="trash" kind="quiet" onClick={async () => { await request("/v1/plans", { method: "DELETE" }); dropped(); }}>Drop unused</Button>}</div>
		</details>}</>;
}

export function ServerPage() {
	const list = use(devices), queue = newest(use(jobs)).filter(j => !ended(j)).reverse(), owned = queue.some(j => j.owner);
	const [status, setStatus] = useState<Status | null>(null), [plans, setPlans] = useState<Plan[]>([]);
	useInterval(async () => {
		const [now, cached] = await Promise.all([getJson<Status>("/v1/status"), getJson<{ items: Plan[] }>("/v1/plans"), askDevices()]);
		setStatus(now);
		setPlans(cached.items);
	}, 2000);
	const unusable = list.filter(d => d.state === "unusable");
	return <div class="page">
		<h1>Server</h1>
		{status && <p class="quiet">spaceland {status.version}, up {duration(status.uptime_seconds)} · {several(status.graphs, "graph")} · {several(status.jobs["done"] ?? 0, "run")} done
			{status.stream && <> · frames at <code>{status.stream}</code></>}</p>}
		<h2>Devices</h2>
		<ul class="wall devices">{list.filter(d => d.state !== "unusable").map(d => <DeviceCard key={d.id} d={d} />)}</ul>
		{unusable.length > 0 && <details><summary class="quiet">{count(unusable.length)} {unusable.length === 1 ? "device is" : "devices are"} not usable here</summary>
			<dl class="unusable">{unusable.map(d => <><dt>{d.id}</dt><dd>{d.problem}</dd></>)}</dl></details>}
		<h2>Queue</h2>
		{queue.length === 0 ? <p class="quiet empty">{status && ["running", "queued", "paused"].some(state => status.jobs[state]) ? "Only runs that are not shared with you run or wait." : "Nothing runs or waits."}</p> :
			<div class="table-scroll card" tabIndex={0} role="region" aria-label="Queue"><table class="table wide"><thead><tr><th scope="col">Run</th>{owned && <th scope="col">Owner</th>}<th scope="col">State</th><th scope="col">Device</th>
				<th scope="col">Progress</th><th scope="col" class="right">Left</th><th scope="col">Priority</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
				<tbody>{queue.map(j => <QueueRow key={j.id} job={j} owned={owned} />)}</tbody></table></div>}
		<Projects />
		{status && <><h2>Limits</h2><dl class="facts limits card">{Object.entries(status.limits).map(([k, v]) => <><dt>{k.replace(/_/g, " ")}</dt><dd>{limitText(k, v)}</dd></>)}</dl></>}
		<Plans plans={plans} dropped={() => setPlans([])} />
	</div>;
}
