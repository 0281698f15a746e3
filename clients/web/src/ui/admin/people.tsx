/* people.tsx -- users: roles, limits, tokens; who is disabled or deleted, and what becomes of what they own. */
import { useState } from "preact/hooks";
import { bytes, day, several } from "../../core/format.ts";
import { addUser, askUsers, changeUser, type Role, ROLES, type User, useLines } from "../../core/people.ts";
import { me } from "../../core/projects.ts";
import { address } from "../../core/route.ts";
import { use } from "../../core/signal.ts";
import { Button, Field, say, Select, tell, useInterval } from "../parts.tsx";
import { Deleting, Disabling, Limits, Renaming, TokensOf, Transferring } from "./persons.tsx";

type Asked = { what: "rename" | "limits" | "tokens" | "transfer" | "delete" | "disable"; user: User };

const lastUsed = (u: User): string => { const last = Math.max(0, ...u.tokens.map(t => t.last_used ?? 0)); return last ? day(last) : "never"; };

function Row({ user: u, ask, changed }: { user: User; ask: (what: Asked["what"]) => void; changed: () => Promise<void> }) {
	return <tr><th scope="row"><a href={address("admin", "audit", { user: u.name })} title="What this user did">{u.name}</a>
			{u.state !== "active" && <span class="badge queued"> {u.state}{u.since ? ` since ${day(u.since)}` : ""}</span>}
			{u.projects.length > 0 && <div class="quiet">{u.projects.join(", ")}</div>}</th>
		<td data-label="Role"><select aria-label={`Role of ${u.name}`} value={u.role} onChange={e => changeUser(u.name, { role: e.currentTarget.value }).then(changed, error => { tell(error); void changed(); })}>
			{ROLES.map(([v, text]) => <option key={v} value={v} selected={v === u.role}>{text}</option>)}</select></td>
		<td data-label="In use"><div>{useLines(u).map(l => <div key={l}>{l}</div>)}</div></td>
		<td class="right" data-label="Tokens"><Button kind="quiet" label={`${several(u.tokens.length, "token")} of ${u.name}`} onClick={() => ask("tokens")}>{u.tokens.length}</Button></td>
		<td data-label="Last used">{lastUsed(u)}</td>
		<td class="actions"><div class="row">
			{u.state === "active" ? <Button kind="quiet" label={`Disable ${u.name}`} onClick={() => ask("disable")}>Disable</Button> :
				<Button kind="quiet" label={`Enable ${u.name}`} onClick={async () => { await changeUser(u.name, { disabled: false }); await changed(); }}>Enable</Button>}
			<Button icon="gauge" kind="quiet" label={`Limits of ${u.name}`} onClick={() => ask("limits")} />
			<Button icon="pen" kind="quiet" label={`Rename ${u.name}`} onClick={() => ask("rename")} />
			<Button icon="give" kind="quiet" label={`Transfer what ${u.name} owns`} onClick={() => ask("transfer")} />
			<Button icon="trash" kind="quiet" label={`Delete ${u.name}`} onClick={() => ask("delete")} /></div></td></tr>;
}

function GoneRow({ user: u, ask, changed }: { user: User; ask: (what: Asked["what"]) => void; changed: () => Promise<void> }) {
	const restore = async (): Promise<void> => {
		await addUser({ name: u.name, restore: u.id });
		say(`${u.name} is back, without tokens and projects.`);
		await changed();
	};
	return <tr><th scope="row">{u.name}<div class="quiet mono">{u.id}</div></th><td data-label="Deleted">{u.since ? day(u.since) : "–"}</td>
		<td data-label="Still owns">{u.erase ? "being deleted, as far as nobody else uses it" : u.things === undefined ? "–" : `${u.things} things`}{u.use?.["disk_bytes"] ? `, ${bytes(u.use["disk_bytes"])}` : ""}</td>
		<td class="actions"><div class="row"><Button kind="quiet" label={`Restore ${u.name}`} onClick={restore}>Restore</Button>
			<Button icon="give" kind="quiet" label={`Transfer what ${u.name} owns`} onClick={() => ask("transfer")} />
			{!u.erase && <Button icon="trash" kind="quiet" label={`Delete what ${u.name} owns`} onClick={() => ask("delete")} />}</div></td></tr>;
}

function NewUser({ changed }: { changed: () => Promise<void> }) {
	const [name, setName] = useState(""), [role, setRole] = useState<Role>("user");
	const add = async (): Promise<void> => {
		const note = await addUser({ name: name.trim(), role });
		say(note || `${name.trim()} is a user now. Make a token under Tokens.`);
		setName("");
		await changed();
	};
	return <form class="row wrap bottom filters" onSubmit={e => { e.preventDefault(); add().catch(tell); }}>
		<Field label="Name of a new user"><input type="text" maxLength={255} value={name} onInput={e => setName(e.currentTarget.value)} /></Field>
		<Select label="Role" value={role} options={ROLES} onChange={v => setRole(v as Role)} />
		<button type="submit" class="button" disabled={!name.trim()}>Add a user</button></form>;
}

export function People() {
	const [all, setAll] = useState<{ there: User[]; gone: User[] } | null>(null), [asked, setAsked] = useState<Asked | null>(null), [find, setFind] = useState("");
	const changed = async (): Promise<void> => setAll(await askUsers());
	useInterval(changed, 10000, !asked);
	const open = use(me)?.name === null && !sessionStorage.getItem("spaceland-in");   // nobody has logged in
	const close = (): void => setAsked(null), found = (all?.there ?? []).filter(u => u.name.toLowerCase().includes(find.toLowerCase()));
	const parts = asked && { user: asked.user, others: (all?.there ?? []).filter(u => u.id !== asked.user.id), changed, close };
	return <section aria-label="People" class="stack">
		<NewUser changed={changed} />
		{all && all.there.length > 10 && <input class="find" type="search" aria-label="Find users by name" placeholder="Find by name" value={find} onInput={e => setFind(e.currentTarget.value)} />}
		{open && <p class="warning">The server needs no tokens: whoever reaches it is an administrator. Set token_file in its configuration, so that users have rights and limits of their own.</p>}
		{all && (all.there.length === 0 ? <p class="quiet empty">There are no users.</p> :
			<div class="table-scroll card" tabIndex={0} role="region" aria-label="Users"><table class="table wide people"><thead><tr><th scope="col">User</th><th scope="col">Role</th>
				<th scope="col">In use, and limits</th><th scope="col" class="right">Tokens</th><th scope="col">Last used</th><th scope="col"><span class="hidden">Actions</span></th></tr></thead>
				<tbody>{found.map(u => <Row key={u.id} user={u} changed={changed} ask={what => setAsked({ what, user: u })} />)}</tbody></table></div>)}
		{all && all.gone.length > 0 && <><h2>Deleted, with things left</h2><p class="quiet">Their waiting runs wait until you restore the user, transfer what is left, or delete it.</p>
			<div class="table-scroll card" tabIndex={0} role="region" aria-label="Deleted users"><table class="table wide"><thead><tr><th scope="col">User</th><th scope="col">Deleted</th><th scope="col">Still owns</th>
				<th scope="col"><span class="hidden">Actions</span></th></tr></thead>
				<tbody>{all.gone.map(u => <GoneRow key={u.id} user={u} changed={changed} ask={what => setAsked({ what, user: u })} />)}</tbody></table></div></>}
		{parts && (asked.what === "rename" ? <Renaming {...parts} /> : asked.what === "limits" ? <Limits {...parts} /> : asked.what === "tokens" ? <TokensOf {...parts} /> :
			asked.what === "transfer" ? <Transferring {...parts} /> : asked.what === "disable" ? <Disabling {...parts} /> : <Deleting {...parts} />)}
	</section>;
}
