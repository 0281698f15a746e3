/* page.tsx -- the pages of administrators: people, who uses what, accounting, audit log, maintenance. */
import { Accounting } from "../accounting.tsx";
import { Missing } from "../parts.tsx";
import { Projects } from "../projects.tsx";
import { me } from "../../core/projects.ts";
import { address, route } from "../../core/route.ts";
import { use } from "../../core/signal.ts";
import { Audit } from "./audit.tsx";
import { MaintenancePart } from "./maintenance.tsx";
import { People } from "./people.tsx";
import { NewProject, ProjectActions } from "./projects.tsx";
import { Use } from "./use.tsx";

const PARTS = [["", "People"], ["projects", "Projects"], ["use", "Use"], ["accounting", "Accounting"], ["audit", "Audit log"], ["maintenance", "Maintenance"]] as const;

export function AdminPage() {
	const { id } = use(route), who = use(me), title = PARTS.find(p => p[0] === id)?.[1];
	if (who && who.role !== "administrator")
		return <Missing title="For administrators" text="Your role does not let you see this page." />;
	if (!title)
		return <Missing title="There is no such page" text={`The address ends in ${location.hash}, which is none of this dashboard.`} />;
	return <div class="page"><h1 class="hidden">{title}</h1>
		<nav class="segments parts" aria-label="Administration">{PARTS.map(([to, text]) => <a key={to} href={address("admin", to)} aria-current={to === id ? "page" : undefined}>{text}</a>)}</nav>
		{id === "" ? <People /> : id === "projects" ? <section aria-label="Projects of the server" class="stack"><Projects add={<NewProject />} actions={p => <ProjectActions p={p} />} /></section> : id === "use" ? <Use /> : id === "accounting" ? <Accounting everybody /> : id === "audit" ? <Audit /> : <MaintenancePart />}
	</div>;
}
