/* projects.ts -- the logged-in user and the user's projects, fetched on first use. */
import { getJson, link, locked, sendJson } from "./api.ts";
import type { Token } from "./people.ts";
import { Signal } from "./signal.ts";

export interface Me {
	name: string | null;      // null: an administrator by token_file, or a server without tokens
	role: "reader" | "user" | "administrator";
	project: string | null;   // the default project of jobs and graphs
	projects: string[];
	token: Token | null;      // of this login; null: it is none of a user
}

export interface Project {
	name: string;
	share: number;
	keep?: boolean;            // its runs are not deleted by the server itself
	job_seconds?: number;      // that one run may be running; 0: no limit
	members: string[];
	limits: Record<string, number | null>;
	use: Record<string, number>;
}

export interface Access {
	owners: string[];
	readers: string[];
	projects: string[];
	everybody: boolean;
}

export const me = new Signal<Me | null>(null);
export const projects = new Signal<Project[]>([]);

locked.subscribe(() => {   // another user may log in
	me.value = null;
	projects.value = [];
});

let asked = 0;   // the newest question; answers to earlier ones that come later are not taken
/** Fetches both again. */
export async function askProjects(): Promise<void> {
	if (link)
		return;
	const mine = ++asked;
	const [who, all] = await Promise.all([getJson<Me>("/v1/me"), getJson<{ items: Project[] }>("/v1/projects")]);
	if (mine !== asked)
		return;
	me.value = who;
	projects.value = all.items;
}

export async function setMember(project: string, user: string, member: boolean): Promise<void> {
	await sendJson(member ? "PUT" : "DELETE", `/v1/projects/${encodeURIComponent(project)}/members/${encodeURIComponent(user)}`, undefined);
	await askProjects();
}

/** Shares it with these projects and no others. */
export async function shareWith(id: string, names: string[]): Promise<Access> {
	return sendJson<Access>("PUT", `/v1/access/${id}`, { projects: names });
}
