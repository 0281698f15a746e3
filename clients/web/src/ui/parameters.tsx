/* parameters.tsx -- the parameters of a job of another method than t-SNE: shows them, starts a new run with other
 * values, and changes those that may change while the job runs. And the form that starts another method on a layout. */
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, change, sendJson, submit } from "../core/api.ts";
import { count } from "../core/format.ts";
import { graphs, put } from "../core/live.ts";
import { isDefault, isSteerable, methodNamed, methods, type Method, wordsOf } from "../core/methods.ts";
import { again, chosenOf, MAIN_TSNE, matters, parse, parseAll, write } from "../core/parameters.ts";
import { go } from "../core/route.ts";
import { use } from "../core/signal.ts";
import { ended, type Job, type Value } from "../core/types.ts";
import { Button, Field, say, Select } from "./parts.tsx";

const STARTS = 20;   // nodes from which a signal starts, of those that are selected

function Parameter({ method, name, value, onChange }: { method: string; name: string; value: Value; onChange: (v: Value) => void }) {
	const label = name.replace(/_/g, " "), choices = wordsOf(method, name), [text, setText] = useState(write(value));
	if (choices)
		return <Select label={label} value={String(value)} options={choices.map(c => [c, c.replace(/_/g, " ")] as const)} onChange={onChange} />;
	return <Field label={label}><input type="text" name={name} value={text} inputMode={typeof value === "number" ? "decimal" : undefined}
		onInput={e => { setText(e.currentTarget.value); onChange(parse(e.currentTarget.value)); }} /></Field>;
}

/** What differs from parameters, as it is chosen. */
function useChanges(method: string, parameters: Record<string, Value>): { changed: Record<string, Value>; names: string[]; all: Record<string, Value>; clear: () => void; fields: preact.ComponentChildren } {
	const [changed, setChanged] = useState<Record<string, Value>>({}), all = { ...parameters, ...changed };
	const names = Object.keys(parameters).filter(name => parameters[name] !== null && matters(name, all));
	const set = (name: string) => (v: Value): void => setChanged(was => {
		const { [name]: _, ...rest } = was;
		return write(v) === write(parameters[name]!) ? rest : { ...rest, [name]: v };
	});
	return { changed, names, all, clear: () => setChanged({}), fields: <div class="parameters">{names.map(name =>
		<Parameter key={`${name} ${write(parameters[name]!)}`} method={method} name={name} value={all[name]!} onChange={set(name)} />)}</div> };
}

const chosen = (names: string[], all: Record<string, Value>): Record<string, Value> => Object.fromEntries(names.map(name => [name, all[name]!]));

async function start(body: Record<string, unknown>): Promise<void> {
	const next = await submit(body);
	put(next);
	go("job", next.id);
}

/** The fields that have several values, with semicolons between them, and these values. */
const manyOf = (params: Record<string, Value>): [string, Value[]][] => Object.entries(params).map(([name, v]): [string, Value[]] => [name, typeof v === "string" ? parseAll(v) : [v]]).filter(([, v]) => v.length > 1);
/** On the button that starts them. */
const startText = (params: Record<string, Value>, one: string): string => { const n = manyOf(params).reduce((all, [, v]) => all * v.length, 1); return n > 1 ? `Start ${count(n)} runs` : one; };

/** Starts a run, or a batch of one method: a run of each combination of fields that have several values, with semicolons. */
async function startAll(body: Record<string, unknown>, params: Record<string, Value>): Promise<void> {
	const many = manyOf(params);
	if (!many.length)
		return start({ ...body, params });
	const rest = Object.fromEntries(Object.entries(params).filter(([name]) => !many.some(([other]) => other === name)));
	await sendJson("POST", "/v1/batches", { ...body, params: rest, parameters: Object.fromEntries(many) });
	say(`${many.reduce((n, [, v]) => n * v.length, 1)} runs were submitted.`);
	go("", "", { search: typeof body["name"] === "string" ? body["name"] : undefined });
}

const SEVERAL = <p class="quiet">Several values of one, as in <code>10; 30; 100</code>, make a run each.</p>;

export function NextRun({ job }: { job: Job }) {
	const { changed, names, all, clear, fields } = useChanges(job.method ?? "", job.parameters);
	const steerable = names.filter(name => name in changed && isSteerable(job, name));
	const steer = async (): Promise<void> => {
		put(await change(job.id, chosen(steerable, all)));
		clear();
		say("The run goes on with them.");
	};
	return <section class="next" aria-labelledby="next-title">
		<h2 id="next-title">Parameters, and the next run</h2>
		{fields}
		<div class="row wrap"><Button icon="play" title={`A new run of method ${job.method}`} onClick={() => startAll(again(job, {}), chosen(names, all))}>{startText(chosen(names, all), Object.keys(changed).length ? "Start with these" : "Run again")}</Button>
			{!ended(job) && steerable.length > 0 && <Button of={job} onClick={steer}>Change this run</Button>}</div>
	</section>;
}

/** The form of t-SNE: the main parameters, and all others below. Several values of one, with semicolons between them, make a
 * batch: a run of each combination. */
function TsneForm({ job }: { job: Job }) {
	const TSNE = methods.value[0]?.name ?? "", own = (job.method ?? TSNE) === TSNE, [preset, setPreset] = useState(own ? String(job.parameters["preset"] ?? "default") : "default");
	const [base, setBase] = useState<Record<string, Value> | null>(null), [changed, setChanged] = useState<Record<string, string>>({}), [problem, setProblem] = useState("");
	const first = useRef(true), data = graphs.value.get(job.graph)?.name ?? job.name ?? "";
	useEffect(() => {
		sendJson<{ parameters: Record<string, Value> }>("POST", "/v1/jobs/dry-run", { graph: job.graph, preset }).then(({ parameters }) => {
			setBase(parameters);
			setChanged(own && first.current ? Object.fromEntries(Object.entries(chosenOf(job, parameters)).map(([name, v]) => [name, write(v)])) : {});
			first.current = false;
		}, (error: unknown) => setProblem(error instanceof ApiError ? error.text : String(error)));
	}, [preset]);
	if (problem || !base)
		return problem ? <p class="problem" role="alert">{problem}</p> : null;
	const kind = graphs.value.get(job.graph)?.kind, other = kind === "graph" ? "perplexity" : kind ? "lambda" : "";   // each is for one kind of data
	const names = Object.keys(base).filter(name => base[name] !== null && name !== "preset" && name !== other);
	const set = (name: string, text: string): void => setChanged(({ [name]: _, ...rest }) => (text.trim() === "" || text === write(base[name]!) ? rest : { ...rest, [name]: text }));
	const field = (name: string) => {
		const label = name.replace(/_/g, " "), options = wordsOf(TSNE, name)?.filter(c => c !== "given"), value = changed[name] ?? write(base[name]!);
		return options ? <Select key={name} label={label} value={value} options={options.map(c => [c, c.replace(/_/g, " ")] as const)} onChange={v => set(name, v)} /> :
			<Field key={`${name} ${preset}`} label={label}><input type="text" name={name} value={value} placeholder={write(base[name]!)} aria-label={label} onInput={e => set(name, e.currentTarget.value)} /></Field>;
	};
	const values = Object.entries(changed).map(([name, text]) => [name, parseAll(text)] as const).filter(([, v]) => v.length > 0);
	const many = values.filter(([, v]) => v.length > 1), runs = many.reduce((n, [, v]) => n * v.length, 1);
	const together = values.flatMap(([name, v]) => v.filter(x => Array.isArray(x)).map(x => `${name.replace(/_/g, " ")} ${(x as number[]).join(" and ")}`));
	const submitAll = async (): Promise<void> => {
		const common = { graph: job.graph, ...(preset === "default" ? {} : { preset }), ...(job.project === undefined ? {} : { project: job.project }),
			...Object.fromEntries(values.filter(([, v]) => v.length === 1).map(([name, v]) => [name, v[0]!])) };
		const title = [data, ...(preset === "default" ? [] : [preset]), ...values.filter(([, v]) => v.length === 1).map(([name, v]) => `${name}=${write(v[0]!)}`)].join(" ").slice(0, 150);
		if (!many.length) {
			await start({ ...common, ...(title ? { name: title } : {}) });
			return;
		}
		await sendJson("POST", "/v1/batches", { ...common, ...(title ? { name: title } : {}), parameters: Object.fromEntries(many) });
		say(`${count(runs)} runs were submitted.`);
		go("", "", { search: title || undefined });
	};
	return <>{SEVERAL}
		<div class="parameters"><Select label="preset" value={preset} options={(wordsOf(TSNE, "preset") ?? []).map(c => [c, c.replace(/_/g, " ")] as const)} onChange={setPreset} />
			{MAIN_TSNE.filter(name => names.includes(name)).map(field)}</div>
		<details><summary>All parameters</summary><div class="parameters">{names.filter(name => !MAIN_TSNE.includes(name)).map(field)}</div></details>
		{together.length > 0 && <p class="quiet" role="status">In one run: {together.join("; ")}. The decimal sign is a point.</p>}
		<Button icon="play" onClick={submitAll}>{runs > 1 ? `Start ${count(runs)} runs` : "Start"}</Button></>;
}

/** True if a run begins with this layout rather than with its data. */
const ofLayout = (m: Method): boolean => m.input.includes("layout") && !m.layout;

/** The form of one method: the server's defaults, but such that something is to be seen. */
function MethodForm({ job, body, nodes }: { job: Job; body: Record<string, unknown>; nodes: number[] }) {
	const [defaults, setDefaults] = useState<Record<string, Value> | null>(null), [problem, setProblem] = useState("");
	useEffect(() => {
		sendJson<{ parameters: Record<string, Value> }>("POST", "/v1/jobs/dry-run", body).then(({ parameters }) => setDefaults({ ...parameters,
			...("components" in parameters ? { components: [4, 8, 16] } : {}),
			...("start_nodes" in parameters ? { start_nodes: nodes.length ? nodes : [0], snapshots: 100 } : {}) }),
		(error: unknown) => setProblem(error instanceof ApiError ? error.text : String(error)));
	}, []);
	return problem ? <p class="problem" role="alert">{problem}</p> : defaults && <FormOf job={job} body={body} defaults={defaults} />;
}

function FormOf({ job, body, defaults }: { job: Job; body: Record<string, unknown>; defaults: Record<string, Value> }) {
	const { names, all, fields } = useChanges(String(body["method"]), defaults);
	return <>{SEVERAL}{fields}<Button icon="play" onClick={() => startAll({ ...body, ...(job.name ? { name: job.name } : {}),
		...(job.project === undefined ? {} : { project: job.project }) }, chosen(names, all))}>{startText(chosen(names, all), "Start")}</Button></>;
}

/** Another method on the same data, or on this layout. nodes: where a signal may start. */
export function OtherMethod({ job, kind, nodes }: { job: Job; kind: "graph" | "points" | "neighbours"; nodes: () => number[] }) {
	const points = kind === "points", all = use(methods);
	const [method, setMethod] = useState(""), [of, setOf] = useState("layout"), found = methodNamed(method), clusters = !!found && ofLayout(found);
	const layout = clusters && (of === "layout" || !points);
	const body = { graph: job.graph, method, ...(layout ? { input: { job: job.id }, ...(job.state === "done" ? {} : { after: job.id }) } : {}) };
	return <section class="next" aria-labelledby="other-title">
		<h2 id="other-title">Another run</h2>
		<div class={clusters && points ? "pair" : ""}>
			<Select label="Method" value={method} options={[["", "Choose one"], ...all.filter(m => ofLayout(m) || m.input.includes(kind)).map(m => [m.name, `${m.title}: ${m.summary}`] as const)]} onChange={setMethod} />
			{clusters && points && <Select label="Of" value={of} options={[["layout", "this layout"], ["data", "the data"]]} onChange={setOf} />}
		</div>
		{method && isDefault(method) && <TsneForm key={method} job={job} />}
		{method && !isDefault(method) && <MethodForm key={`${method} ${layout}`} job={job} body={body} nodes={nodes().slice(0, STARTS)} />}
	</section>;
}
