/* links.tsx -- public links to a run: what each shows of its labels and names, until when; revoking them. */
import { useEffect, useState } from "preact/hooks";
import { base, getJson, request, sendJson } from "../core/api.ts";
import { colourOfColumn } from "../core/clusters.ts";
import { day, several } from "../core/format.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import type { Job } from "../core/types.ts";
import { viewQuery } from "../core/view.ts";
import { Button, DeleteButton, say, Select, tell } from "./parts.tsx";

interface Link {
	id: string;
	name: string | null;
	expires: number;
	labels: string[];
	names: boolean;
	path?: string;      // this and the next are in the reply that makes it
	url?: string;
}

const DAY = 86400;
const TIMES: (readonly [string, string])[] = [[String(DAY), "a day"], [String(7 * DAY), "a week"], [String(30 * DAY), "a month"], [String(365 * DAY), "a year"]];

const shownText = ({ labels, names }: Link): string => [...labels, ...(names ? ["names"] : [])].join(", ") || "no labels or names";

/** The address that opens the link with the view of this page. */
function addressOf(link: Link, s: Session): string {
	const { view, all, palette, size, node, selected } = viewQuery(s, false), by = s.by.value;
	const column = s.columns.value.find(c => colourOfColumn(c.name) === by), shown = !column || link.labels.includes(column.name);
	const query = new URLSearchParams(Object.entries({ by: by.startsWith("job:") || !shown ? undefined : by || "none", view, all, palette, size, node, selected })
		.filter((pair): pair is [string, string] => pair[1] !== undefined));
	return (link.url ?? location.origin + base + link.path!) + (query.size ? `?${query}` : "");
}

export function PublicLinks({ s, job }: { s: Session; job: Job }) {
	const columns = use(s.columns).filter(c => c.name !== "degree"), by = use(s.by), [links, setLinks] = useState<Link[] | null>(null), [made, setMade] = useState("");
	const [chosen, setChosen] = useState<string[] | null>(null), [names, setNames] = useState(false), [named, setNamed] = useState(false), [seconds, setSeconds] = useState(String(7 * DAY));
	const path = `/v1/jobs/${job.id}/links`, ask = async (): Promise<void> => setLinks((await getJson<{ items: Link[] }>(path)).items);
	useEffect(() => {
		ask().catch(tell);
		void s.nodes.isNamed().then(setNamed, () => undefined);
	}, [job.id]);
	const labels = chosen ?? columns.filter(c => colourOfColumn(c.name) === by).map(c => c.name);   // at first the one that colours the view
	const make = async (): Promise<void> => {
		const link = await sendJson<Link>("POST", path, { seconds: Number(seconds), labels: [...labels, ...(by === "degree" ? ["degree"] : [])], names });
		const url = addressOf(link, s);
		setMade(url);
		await ask();
		await navigator.clipboard?.writeText(url).then(() => say("The public link is in the clipboard."), () => undefined);
	};
	return <section aria-label="Public links"><h2>A public link</h2>
		<p class="quiet">Shows this run, without a token, to whoever has the link. It shows the labels that are ticked and no others.</p>
		{columns.length > 0 && <div class="ticks" role="group" aria-label="Labels that the link shows">{columns.map(c => <label key={c.name} class="check"><input type="checkbox" checked={labels.includes(c.name)}
			onChange={e => setChosen(e.currentTarget.checked ? [...labels, c.name] : labels.filter(l => l !== c.name))} />{c.name}</label>)}</div>}
		{named && <label class="check"><input type="checkbox" checked={names} onChange={e => setNames(e.currentTarget.checked)} />Names of the nodes</label>}
		<div class="row wrap bottom"><Select label="For" value={seconds} options={TIMES} onChange={setSeconds} />
			<Button icon="link" of={job} onClick={make}>Make a public link</Button></div>
		{made && <p class="made"><input type="text" readOnly aria-label="The public link" value={made} onFocus={e => e.currentTarget.select()} /></p>}
		{links && links.length > 0 && <ul class="links" aria-label={several(links.length, "public link")}>{links.map(l => <li key={l.id} class="row">
			<span class="grow">{l.name && <b>{l.name}: </b>}{shownText(l)} <span class="quiet">until {day(l.expires)}</span></span>
			<DeleteButton what="this link" of={job} title="Revoke: it shows nothing any more" onClick={async () => { await request(`${path}/${l.id}`, { method: "DELETE" }); await ask(); }} /></li>)}</ul>}
	</section>;
}
