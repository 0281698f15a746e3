/* tokens.tsx -- the tokens of a user: until when, used when; make, replace and revoke them. The page shows a new one once. */
import { useState } from "preact/hooks";
import { login } from "../core/api.ts";
import { day } from "../core/format.ts";
import { makeToken, revokeToken, soon, type Token, untilDay } from "../core/people.ts";
import { askProjects, me } from "../core/projects.ts";
import { use } from "../core/signal.ts";
import { Button, DeleteButton, Field, say, Select, tell } from "./parts.tsx";

const DAYS: (readonly [string, string])[] = [["7", "a week"], ["30", "a month"], ["90", "three months"], ["365", "a year"]];

/** How long a new token may be valid: one of one's own at most as long as that of this login. */
function daysOf(mine: Token | null | undefined): (readonly [string, string])[] {
	const life = mine?.expires ? (mine.expires - mine.created) / 86400 : Infinity;
	return [...DAYS.filter(([days]) => Number(days) < life), ["", life < Infinity ? "as long as this login's" : "no end"]];
}
const OVERLAPS: (readonly [string, string])[] = [["0", "at once"], ["3600", "in an hour"], ["86400", "in a day"], ["604800", "in a week"]];
const LOGIN_S = 5;   // a replaced token of this login is valid until the page has logged in with the new one

/** A token that was just made, to copy. */
function Made({ token }: { token: string }) {
	return <p class="made"><label class="field"><span class="field-label">The new token. It is shown only now: copy it, and keep it secret.</span>
		<input type="text" readOnly class="mono" value={token} onFocus={e => e.currentTarget.select()} /></label></p>;
}

/** of: the user; null: the one who is logged in. changed: fetches the tokens again. */
export function Tokens({ of, tokens, changed }: { of: string | null; tokens: Token[]; changed: () => Promise<unknown> }) {
	const session = use(me)?.token, mine = of === null ? session?.id : undefined, choices = daysOf(of === null ? session : null), [made, setMade] = useState(""), [name, setName] = useState(""), [days, setDays] = useState(of === null ? "" : "90"), [overlap, setOverlap] = useState("3600");
	const show = async (token: Token): Promise<void> => {
		setMade(token.token!);
		await navigator.clipboard?.writeText(token.token!).then(() => say("The token is in the clipboard."), () => undefined);
		await changed();
	};
	const make = async (): Promise<void> => {
		await show(await makeToken(of, { ...(name.trim() ? { name: name.trim() } : {}), ...(days ? { days: Number(days) } : {}) }));
		setName("");
	};
	const replace = async (t: Token): Promise<void> => {
		const token = await makeToken(null, { replaces: t.id, overlap_seconds: Math.max(Number(overlap), t.id === mine ? LOGIN_S : 0) });
		if (t.id === mine) {   // this page goes on with the new one
			await login(token.token!);
			await askProjects();
		}
		await show(token);
	};
	return <div class="tokens">
		{tokens.length === 0 ? <p class="quiet">{of ?? "You"} {of ? "has" : "have"} no token.</p> :
			<div class="table-scroll" tabIndex={0} role="region" aria-label="Tokens"><table class="table wide"><thead><tr><th scope="col">Token</th><th scope="col">Expires</th><th scope="col">Last used</th>
				<th scope="col"><span class="hidden">Actions</span></th></tr></thead><tbody>{tokens.map(t => { const title = t.name ?? t.id.slice(-8); return <tr key={t.id}>
				<th scope="row">{title}{t.id === mine && <span class="quiet"> of this login</span>}<div class="quiet mono">{t.id}</div></th>
				<td data-label="Expires" class={soon(t) ? "warning" : ""}>{untilDay(t)}</td><td data-label="Last used">{t.last_used ? day(t.last_used) : "never"}</td>
				<td class="actions"><div class="row">{of === null && <Button kind="quiet" label={`Replace ${title}`} onClick={() => replace(t)}>Replace</Button>}
					<DeleteButton what={title} of={{ may_change: true }} title={t.id === mine ? "Revoke: this page asks for a token then" : "Revoke"}
						onClick={async () => { await revokeToken(of, t.id); await changed(); }} /></div></td></tr>; })}</tbody></table></div>}
		{made && <Made token={made} />}
		<div class="row wrap bottom"><Field label="Name of a new token"><input type="text" maxLength={200} placeholder="laptop" value={name}
			onInput={e => setName(e.currentTarget.value)} onKeyDown={e => { if (e.key === "Enter") { e.preventDefault(); make().catch(tell); } }} /></Field>
			<Select label="Valid for" value={days} options={choices} onChange={setDays} />
			<Button icon="key" onClick={make}>Make a token</Button><span class="grow" />
			{of === null && <Select label="A replaced one ends" value={overlap} options={OVERLAPS} onChange={setOverlap} />}</div>
	</div>;
}
