/* account.tsx -- the page of the logged-in user: limits and use, tokens, accounting. */
import { useState } from "preact/hooks";
import { getJson } from "../core/api.ts";
import { type Amounts, type InForce, type Token, tokensPath, useLines } from "../core/people.ts";
import { me, type Me } from "../core/projects.ts";
import { use } from "../core/signal.ts";
import { Accounting } from "./accounting.tsx";
import { useInterval } from "./parts.tsx";
import { Tokens } from "./tokens.tsx";

interface Own extends Me {
	limits: Amounts | null;
	in_force: InForce | null;
	use: Amounts | null;
}

export function AccountPage() {
	const who = use(me), [own, setOwn] = useState<Own | null>(null), [tokens, setTokens] = useState<Token[] | null>(null);
	const ask = async (): Promise<void> => {
		const now = await getJson<Own>("/v1/me");
		me.value = now;
		setOwn(now);
		if (now.name)
			setTokens((await getJson<{ tokens: Token[] }>(tokensPath(null))).tokens);
	};
	useInterval(ask, 10000);
	if (own && !own.name)
		return <div class="page"><h1>Account</h1><p class="quiet">You are an administrator without a name: {own.token === null && who ? "by a token of the server's token_file, or since the server needs no tokens" : ""}. Add a
			user for yourself to have tokens, limits and accounting.</p></div>;
	return <div class="page"><h1>{own?.name ?? "Account"}</h1>
		{own && <p class="quiet">Role: {own.role}.{own.projects.length > 0 && ` Member of ${own.projects.join(", ")}.`}{own.project && ` New runs and data count for ${own.project}.`}</p>}
		{own && <><h2>Limits and use</h2><ul class="card lines">{useLines(own, true).map(l => <li key={l}>{l}</li>)}</ul></>}
		<h2>Tokens</h2>
		{tokens && <div class="card pad"><Tokens of={null} tokens={tokens} changed={ask} /></div>}
		<h2>What you used</h2>
		{own && <Accounting everybody={false} />}
	</div>;
}
