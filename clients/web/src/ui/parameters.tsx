/* parameters.tsx -- the parameters of a job of another method than t-SNE: shows them, starts a new run with other
 * values, and changes those that may change while the job runs. */
import { useState } from "preact/hooks";
import { change, submit } from "../core/api.ts";
import { put } from "../core/live.ts";
import { again, CHOICES, matters, parse, STEERABLE_OF, write } from "../core/parameters.ts";
import { go } from "../core/route.ts";
import { ended, type Job, type Value } from "../core/types.ts";
import { Button, Field, say, Select } from "./parts.tsx";

function Parameter({ name, value, onChange }: { name: string; value: Value; onChange: (v: Value) => void }) {
	const label = name.replace(/_/g, " "), choices = CHOICES[name], [text, setText] = useState(write(value));
	if (choices)
		return <Select label={label} value={String(value)} options={choices.map(c => [c, c.replace(/_/g, " ")] as const)} onChange={onChange} />;
	return <Field label={label}><input type="text" name={name} value={text} inputMode={typeof value === "number" ? "decimal" : undefined}
		onInput={e => { setText(e.currentTarget.value); onChange(parse(e.currentTarget.value)); }} /></Field>;
}

export function NextRun({ job }: { job: Job }) {
	const [changed, setChanged] = useState<Record<string, Value>>({}), all = { ...job.parameters, ...changed };
	const names = Object.keys(job.parameters).filter(name => job.parameters[name] !== null && matters(name, all));
	const steerable = names.filter(name => name in changed && STEERABLE_OF[job.method ?? ""]?.includes(name));
	const set = (name: string) => (v: Value): void => setChanged(was => {
		const { [name]: _, ...rest } = was;
		return write(v) === write(job.parameters[name]!) ? rest : { ...rest, [name]: v };
	});
	const start = async (): Promise<void> => {
		const next = await submit(again(job, Object.fromEntries(names.map(name => [name, all[name]!]))));
		put(next);
		go("job", next.id);
	};
	const steer = async (): Promise<void> => {
		put(await change(job.id, Object.fromEntries(steerable.map(name => [name, changed[name]!]))));
		setChanged({});
		say("The run goes on with them.");
	};
	return <section class="next" aria-labelledby="next-title">
		<h2 id="next-title">Parameters, and the next run</h2>
		<div class="parameters">{names.map(name => <Parameter key={`${name} ${write(job.parameters[name]!)}`} name={name} value={all[name]!} onChange={set(name)} />)}</div>
		<div class="row wrap"><Button icon="play" title={`A new run of method ${job.method}`} onClick={start}>{Object.keys(changed).length ? "Start with these" : "Run again"}</Button>
			{!ended(job) && steerable.length > 0 && <Button onClick={steer}>Change this run</Button>}</div>
	</section>;
}
