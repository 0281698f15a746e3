/* persons.tsx -- what can be done with one user: each asks in a window of its own, and says what follows. */
import { useEffect, useState } from "preact/hooks";
import { getJson, part } from "../../core/api.ts";
import { bytes, several } from "../../core/format.ts";
import { type Amounts, askUser, changeUser, deleteUser, parseAmount, things, titleOfAmount, type Top, transfer, type Transferred, type User } from "../../core/people.ts";
import { Dialog } from "../dialog.tsx";
import { Field, say, Select } from "../parts.tsx";
import { Tokens } from "../tokens.tsx";

export interface About {
	user: User;
	others: User[];
	changed: () => Promise<void>;
	close: () => void;
}

/** What the user has, or null until that is known. */
function useHoldings(user: User): Top | null | undefined {
	const [top, setTop] = useState<Top | null | undefined>();
	useEffect(() => {
		getJson<{ items: Top[] }>("/v1/top").then(all => setTop(all.items.find(t => t.id === user.id) ?? null), () => setTop(null));
	}, [user.id]);
	return top;
}

const holdings = (top: Top | null | undefined): string => top === undefined ? "…" :
	top && (top.jobs || top.graphs || top.disk_bytes) ? `${things({ graphs: top.graphs, jobs: top.jobs })}, ${bytes(top.disk_bytes)} on disk` : "nothing";

export function Renaming({ user, changed, close }: About) {
	const [name, setName] = useState(user.name);
	return <Dialog title={`Rename ${user.name}`} verb="Rename" disabled={!name.trim() || name.trim() === user.name} close={close}
		act={async () => { await changeUser(user.name, { name: name.trim() }); await changed(); }}>
		<Field label="New name"><input type="text" maxLength={255} value={name} onInput={e => setName(e.currentTarget.value)} /></Field>
		<p class="quiet">Things, tokens and limits stay. A proxy that logs users in must send the new name from now on.</p></Dialog>;
}

export function Disabling({ user, changed, close }: About) {
	const top = useHoldings(user);
	return <Dialog title={`Disable ${user.name}`} verb="Disable" danger close={close} act={async () => { await changeUser(user.name, { disabled: true }); await changed(); }}>
		<p>The server refuses {user.name}, also after a login by a proxy, and all links that {user.name} made; open streams end.</p>
		<p class="quiet">{top?.running_jobs ? `${several(top.running_jobs, "running run")} go on. ` : ""}{top?.queued_jobs ? `${several(top.queued_jobs, "waiting run")} wait. ` : ""}Tokens, limits and data stay: {holdings(top)}. Enable undoes all of it.</p></Dialog>;
}

const LIMITS = ["device_seconds", "device_bytes", "disk_bytes", "queued_jobs", "running_jobs", "upload_bytes", "requests_per_second", "streams"];

const limitText = (value: number | null | undefined): string => value === null || value === undefined ? "" : String(value);

export function Limits({ user, changed, close }: About) {
	const [texts, setTexts] = useState<Record<string, string>>(Object.fromEntries(LIMITS.map(l => [l, limitText(user.limits[l])])));
	const wrong = LIMITS.filter(l => parseAmount(texts[l]!) === undefined);
	const save = async (): Promise<void> => {
		const limits: Amounts = Object.fromEntries(LIMITS.filter(l => texts[l] !== limitText(user.limits[l])).map(l => [l, parseAmount(texts[l]!)!]));
		if (Object.keys(limits).length)
			await changeUser(user.name, { limits });
		await changed();
	};
	return <Dialog title={`Limits of ${user.name}`} verb="Set" disabled={wrong.length > 0} close={close} act={save}>
		<p class="quiet">Empty: the server's default. 0: no limit. Values may have units, as 20GB or 2h. Accepted runs stay; those beyond a limit wait.</p>
		<div class="pairs">{LIMITS.map(l => <Field key={l} label={titleOfAmount(l)}><input type="text" inputMode="decimal" value={texts[l]!} aria-invalid={wrong.includes(l)}
			placeholder={user.in_force?.[l]?.value ? `default: ${user.in_force[l].value}` : "default: no limit"} onInput={e => setTexts({ ...texts, [l]: e.currentTarget.value })} /></Field>)}</div>
		{wrong.length > 0 && <p class="problem">{titleOfAmount(wrong[0]!)} must be a number, with a unit if you like: 20GB, 512MiB, 2h.</p>}</Dialog>;
}

export function TokensOf({ user, changed, close }: About) {
	const [now, setNow] = useState(user);
	const ask = async (): Promise<void> => { setNow(await askUser(user.name)); await changed(); };
	return <Dialog title={`Tokens of ${user.name}`} close={close}><Tokens of={user.name} tokens={now.tokens} changed={ask} /></Dialog>;
}

// ---- giving things to others ------------------------------------------------------------------------

interface Thing {
	id: string;
	name: string | null;
	kind: string;
}

const MOST = 200;   // of each kind, to choose from
const KINDS = [["graphs", "data"], ["jobs", "run"], ["batches", "batch"], ["layouts", "uploaded layout"]] as const;

async function owned(user: User): Promise<Thing[]> {
	const parts = await Promise.all(KINDS.map(([path]) => part<{ id: string; name?: string | null }>(`/v1/${path}?user=${encodeURIComponent(user.id)}`, MOST)));
	return parts.flatMap((p, i) => p.items.slice(0, MOST).map(item => ({ id: item.id, name: item.name ?? null, kind: KINDS[i]![1] })));
}

export function Transferring({ user, others, changed, close }: About) {
	const who = user.state === "deleted" ? user.id : user.name, active = others.filter(u => u.state === "active");
	const [to, setTo] = useState(""), [some, setSome] = useState(false), [all, setAll] = useState<Thing[] | null>(null), [chosen, setChosen] = useState<string[]>([]), [counts, setCounts] = useState<Transferred | null>(null);
	useEffect(() => {
		if (some && !all)
			owned(user).then(setAll, () => setAll([]));
	}, [some]);
	useEffect(() => {
		let gone = false;
		setCounts(null);
		if (to && (!some || chosen.length))
			transfer(who, to, true, some ? chosen : undefined).then(reply => { if (!gone) setCounts(reply); }, () => undefined);
		return () => { gone = true; };
	}, [to, some, chosen]);
	const act = async (): Promise<void> => {
		const done = await transfer(who, to, false, some ? chosen : undefined);
		say(`${to} has ${things(done)} of ${user.name} now.`);
		await changed();
	};
	return <Dialog title={`Transfer what ${user.name} owns`} verb="Transfer" disabled={!counts} close={close} act={act}>
		<Select label="To" value={to} onChange={setTo} options={[["", "Choose a user"], ...active.map(u => [u.name, u.name] as const)]} />
		<div class="row" role="group" aria-label="What"><label class="check"><input type="radio" name="what" checked={!some} onChange={() => setSome(false)} />Everything</label>
			<label class="check"><input type="radio" name="what" checked={some} onChange={() => setSome(true)} />Only what I choose</label></div>
		{some && (all === null ? <p class="quiet">One moment …</p> : all.length === 0 ? <p class="quiet">{user.name} owns nothing.</p> :
			<div class="ticks" role="group" aria-label="Things" tabIndex={0}>{all.map(t => <label key={t.id} class="check"><input type="checkbox" checked={chosen.includes(t.id)}
				onChange={e => setChosen(e.currentTarget.checked ? [...chosen, t.id] : chosen.filter(id => id !== t.id))} />{t.name ?? t.id.slice(-8)} <span class="quiet">{t.kind}</span></label>)}</div>)}
		<p role="status">{counts && `${to} gets ${things(counts)}${some ? "" : ", and the links to them"}. They count for the limits of ${to} from then on.`}</p></Dialog>;
}

// ---- deleting --------------------------------------------------------------------------------------

export function Deleting({ user, changed, close }: About) {
	const top = useHoldings(user), gone = user.state === "deleted", [data, setData] = useState(gone), [typed, setTyped] = useState("");
	const act = async (): Promise<void> => { await deleteUser(gone ? user.id : user.name, data); await changed(); };
	return <Dialog title={gone ? `Delete what ${user.name} owns` : `Delete ${user.name}`} verb={data ? "Delete with all data" : "Delete the user"} danger disabled={top === undefined || (data && typed !== user.name)} close={close} act={act}>
		<p>{user.name} owns {holdings(top)}{user.tokens.length ? `, and has ${several(user.tokens.length, "token")}` : ""}.</p>
		{!gone && <div class="stack" role="group" aria-label="The data"><label class="check"><input type="radio" name="data" checked={!data} onChange={() => setData(false)} />Keep the data: waiting runs wait until you transfer the data, delete it, or restore the user</label>
			<label class="check"><input type="radio" name="data" checked={data} onChange={() => setData(true)} />Delete the data, too</label></div>}
		{data && <><p class="problem">{top?.running_jobs || top?.queued_jobs ? `${several(top.running_jobs + top.queued_jobs, "run")} that ${top.running_jobs + top.queued_jobs === 1 ? "has" : "have"} not ended will be cancelled. ` : ""}All
			runs, graphs and layouts that {user.name} alone owns are deleted, as soon as nobody else's run uses them. This cannot be undone.</p>
			<Field label={`Type the name ${user.name} to go on`}><input type="text" autocomplete="off" value={typed} onInput={e => setTyped(e.currentTarget.value)} /></Field></>}
		{!gone && <p class="quiet">The tokens and the links that {user.name} made are gone at once. A user of this name who is added later is another person.</p>}</Dialog>;
}
