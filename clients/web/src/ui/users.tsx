/* users.tsx -- for administrators: users, their roles, limits and use. */
import { useState } from "preact/hooks";
import { getJson, link, list } from "../core/api.ts";
import { bytes, count, duration } from "../core/format.ts";
import { useInterval } from "./parts.tsx";

type Amounts = Record<string, number | null>;

interface User {
	name: string;
	role: "reader" | "user" | "administrator";
	state: "active" | "disabled" | "deleted";
	tokens: { last_used: number | null }[];
	limits: Amounts;
	in_force?: Record<string, { value: number | null; option: string | null }>;
	use?: Amounts;
}

const MOST = 50;   // most users whose use is fetched
const TITLES: Record<string, string> = { device_seconds: "device time a day", device_bytes: "device memory", disk_bytes: "disk", upload_bytes: "an upload" };

const amount = (what: string, value: number): string =>
	what.endsWith("bytes") ? bytes(value) : what.endsWith("seconds") ? duration(value) : count(value);

/** Lines such as "disk: 1.2 GB of 20 GB" for each resource that is limited or in use. */
function lines(user: User): string[] {
	const names = new Set([...Object.keys(user.limits), ...Object.keys(user.use ?? {})]), out: string[] = [];
	for (const what of names) {
		const rule = user.in_force?.[what], common = rule?.option && !rule.option.startsWith("user_");   // the same for all requests
		const limit = rule ? common ? null : rule.value : user.limits[what], used = user.use?.[what], title = TITLES[what] ?? what.replace(/_/g, " ");
		if (limit)
			out.push(`${title}: ${typeof used === "number" ? `${amount(what, used)} of ` : ""}${amount(what, limit)}`);
		else if (typeof used === "number" && used > 0)
			out.push(`${title}: ${amount(what, used)}`);
	}
	return out;
}

const day = (seconds: number | null): string => seconds ? new Date(1000 * seconds).toISOString().slice(0, 10) : "never";

export function Users() {
	const [users, setUsers] = useState<User[]>([]), [shown, setShown] = useState(true);
	useInterval(async () => {
		if (link || !shown)
			return;
		if ((await getJson<{ role: string }>("/v1/me")).role !== "administrator") {
			setShown(false);
			return;
		}
		const all = await list<User>("/v1/users");
		const known = await Promise.all(all.slice(0, MOST).map(u => getJson<User>(`/v1/users/${encodeURIComponent(u.name)}`)));
		setUsers([...known, ...all.slice(MOST)]);
	}, 10000);
	if (users.length === 0)
		return null;
	return <><h2>Users</h2>
		<div class="table-scroll card" tabIndex={0} role="region" aria-label="Users"><table class="table wide"><thead><tr><th scope="col">User</th><th scope="col">Role</th>
			<th scope="col">In use, and limits</th><th scope="col">Tokens</th><th scope="col">Last used</th></tr></thead>
			<tbody>{users.map(u => <tr key={u.name}><th scope="row">{u.name}</th><td data-label="Role">{u.role}{u.state !== "active" && `, ${u.state}`}</td>
				<td data-label="In use"><div>{lines(u).map(l => <div key={l}>{l}</div>)}</div></td><td data-label="Tokens">{u.tokens.length}</td>
				<td data-label="Last used">{day(Math.max(0, ...u.tokens.map(t => t.last_used ?? 0)))}</td></tr>)}</tbody></table></div></>;
}
