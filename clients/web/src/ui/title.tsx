/* title.tsx -- the name of a run above its page. */
import { useState } from "preact/hooks";
import { change } from "../core/api.ts";
import { until } from "../core/format.ts";
import { put } from "../core/live.ts";
import { useRights } from "../core/rights.ts";
import type { Job } from "../core/types.ts";
import { Button, tell } from "./parts.tsx";
import { gist, titleOf } from "./runs.tsx";

/** The name of the run, which its owner may change. */
export function Title({ job }: { job: Job }) {
	const may = useRights(), title = titleOf(job), [name, setName] = useState<string | null>(null);
	const rename = async (): Promise<void> => {
		const wanted = (name ?? "").trim();
		if (wanted && wanted !== job.name)
			put(await change(job.id, { name: wanted }));
		setName(null);
	};
	return <div class="job-title">{name === null ? <div class="row"><h1>{title}</h1>{may && <Button icon="pen" kind="quiet" of={job} label="Rename this run" onClick={() => setName(title)} />}</div> :
		<form class="row" onSubmit={e => { e.preventDefault(); rename().catch(tell); }}><input type="text" maxLength={200} aria-label="Name of this run" value={name}
			ref={e => { if (e && !e.dataset["seen"]) { e.dataset["seen"] = "1"; e.focus(); e.select(); } }} onInput={e => setName(e.currentTarget.value)}
			onKeyDown={e => { if (e.key === "Escape") setName(null); }} /><button type="submit" class="button" disabled={!name.trim()}>Rename</button></form>}
		<p class="quiet">{gist(job)}</p><Expiry job={job} /></div>;
}

/** When the server deletes the run, and a button that prevents it. */
function Expiry({ job }: { job: Job }) {
	const may = useRights(), keep = (yes: boolean): Promise<void> => change(job.id, { keep: yes }).then(put).catch(tell);
	if (job.keep)
		return <p class="quiet row">Kept: the server does not delete it by itself. {may && <Button kind="quiet" of={job} onClick={() => keep(false)}>Keep no longer</Button>}</p>;
	return job.expires ? <p class="quiet row"><span title={job.expires}>The server deletes it {until(job.expires)}.</span> {may && <Button kind="quiet" of={job} onClick={() => keep(true)}>Keep</Button>}</p> : null;
}
