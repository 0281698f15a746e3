/* audit.tsx -- who changed what: the audit log, by user, object and time. */
import { useEffect, useState } from "preact/hooks";
import { getJson } from "../../core/api.ts";
import { count, several, shorten } from "../../core/format.ts";
import type { AuditEvent } from "../../core/people.ts";
import { keep, route } from "../../core/route.ts";
import { use } from "../../core/signal.ts";
import { Button, Filter, Select, tell } from "../parts.tsx";

const LIMITS: (readonly [string, string])[] = ["100", "1000", "10000"].map(n => [n, count(Number(n))] as const);
const when = (seconds: number): string => new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");

function Row({ e, of }: { e: AuditEvent; of: (object: string) => void }) {
	const changes = e.changes && Object.keys(e.changes).length ? JSON.stringify(e.changes) : "";
	return <tr class={e.status >= 400 ? "refused" : ""}><td data-label="Time" title={e.request ? `request ${e.request}` : ""}>{when(e.time)}</td>
		<td data-label="User"><span>{e.user || (e.role === "none" ? "–" : e.role)}{e.token_name && <span class="quiet"> {e.token_name}</span>}</span></td>
		<td class="flow" data-label="What"><span><b>{e.method}</b> {e.path}{changes && <code class="changes">{changes}</code>}
			{e.omitted && <span class="warning"> {several(e.omitted, "refusal")} before it {e.omitted === 1 ? "was" : "were"} not recorded</span>}</span></td>
		<td data-label="Status" class={e.status >= 400 ? "problem" : ""}>{e.status}</td>
		<td data-label="Object">{e.object ? <Button kind="quiet" title="All about this" label={`All about ${shorten(e.object, 14)}`} onClick={() => of(e.object!)}><span class="mono">{shorten(e.object, 14)}</span></Button> : "–"}</td>
		<td data-label="Address">{e.address}</td></tr>;
}

export function Audit() {
	const { query } = use(route), [events, setEvents] = useState<AuditEvent[] | null>(null), { user, object, since, until } = query, limit = query["limit"] ?? "100";
	const set = (change: Record<string, string | undefined>): void => { keep(change); route.notify(); };
	const utc = (local: string | undefined): string | undefined => local && (local.length === 16 ? `${local}:00Z` : local);
	const ask = new URLSearchParams(Object.entries({ user, object, since: utc(since), until: utc(until), limit }).filter((p): p is [string, string] => !!p[1])).toString();
	const fetch = (): Promise<void> => getJson<{ items: AuditEvent[] }>(`/v1/audit?${ask}`).then(reply => setEvents(reply.items.reverse()));
	useEffect(() => { fetch().catch(tell); }, [ask]);
	return <section aria-label="Audit log" class="stack">
		<div class="row wrap bottom filters"><Filter label="User" value={user} put={v => set({ user: v })} /><Filter label="Id, or project" value={object} put={v => set({ object: v })} />
			<Filter label="From, UTC" kind="datetime-local" value={since} put={v => set({ since: v })} /><Filter label="Before, UTC" kind="datetime-local" value={until} put={v => set({ until: v })} />
			<Select label="At most" value={limit} options={LIMITS} onChange={v => set({ limit: v })} /><span class="grow" /><Button onClick={fetch}>Read again</Button></div>
		{events && (events.length === 0 ? <p class="quiet empty">No line of the audit log is like that.</p> :
			<div class="table-scroll card" tabIndex={0} role="region" aria-label="Events"><table class="table wide"><thead><tr><th scope="col">Time, UTC</th><th scope="col">User, token</th><th scope="col">What</th>
				<th scope="col">Status</th><th scope="col">Object</th><th scope="col">Address</th></tr></thead>
				<tbody>{events.map((e, i) => <Row key={`${e.time} ${i}`} e={e} of={id => set({ object: id, user: undefined })} />)}</tbody></table></div>)}
		{events && events.length === Number(limit) && <p class="quiet">Older lines are not shown.</p>}
	</section>;
}
