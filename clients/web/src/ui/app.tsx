/* app.tsx -- the frame around all pages; chooses the page. */
import "uplot/dist/uPlot.min.css";
import "./base.css";
import "./pages.css";
import "./stage.css";
import "./columns.css";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { ApiError, embedded, getJson, link, locked, logout, offline, request } from "../core/api.ts";
import { jobs, put, putGraph, ready, start } from "../core/live.ts";
import { procrustes } from "../core/procrustes.ts";
import { askMaintenance, expiryText, maintenance } from "../core/people.ts";
import { type Me, me } from "../core/projects.ts";
import { OPTIONS } from "../core/remedy.ts";
import { address, route } from "../core/route.ts";
import { use } from "../core/signal.ts";
import { theme, toggleTheme } from "../core/theme.ts";
import { categoryColours } from "../gl/palettes.ts";
import { DropAnywhere } from "./drop.tsx";
import { JobPage } from "./job.tsx";
import { lazy } from "./lazy.tsx";
import { Login } from "./login.tsx";
import { Button, Icon, Missing, Notices, useInterval } from "./parts.tsx";
import { RunsPage, titleOf } from "./runs.tsx";

const AccountPage = lazy(() => import("./account.tsx").then(m => m.AccountPage));
const AdminPage = lazy(() => import("./admin/page.tsx").then(m => m.AdminPage));
const ComparePage = lazy(() => import("./compare.tsx").then(m => m.ComparePage));
const DataPage = lazy(() => import("./data.tsx").then(m => m.DataPage));
const ServerPage = lazy(() => import("./server.tsx").then(m => m.ServerPage));

const PAGES = [["", "Runs", "runs"], ["data", "Data", "data"], ["compare", "Compare", "compare"], ["server", "Server", "server"], ["admin", "Admin", "people"]] as const;

function Page() {
	const { page, id } = use(route);
	switch (page) {
	case "job": return <JobPage key={id} id={id} />;
	case "data": return <DataPage />;
	case "compare": return <ComparePage />;
	case "server": return <ServerPage />;
	case "account": return <AccountPage />;
	case "admin": return <AdminPage />;
	case "": return <RunsPage />;
	default: return <Missing title="There is no such page" text={`The address ends in ${location.hash}, which is none of this dashboard.`} />;
	}
}

const READY_MS = 10_000;

/** Shows problems of the server on every page: it cannot be reached, its disk is full. */
function Banner() {
	const away = use(offline), known = use(ready), [trouble, setTrouble] = useState(""), state = use(maintenance), expiry = expiryText(use(me)?.token);
	useInterval(async () => {
		if (link)
			return;
		await request("/v1/health/ready").then(() => setTrouble(""), (error: unknown) => {
			if (error instanceof ApiError && error.status >= 500)
				setTrouble(error.text);
		});
		await askMaintenance().catch(() => undefined);
		if (!me.value)
			me.value = await getJson<Me>("/v1/me");
	}, READY_MS);
	return away ? <p class="banner" role="alert"><b>No connection to the server.</b> {known && "What you see is the last that came. "}Trying again …</p>
		: <>{state?.banner && <p class="banner" role="status">{state.banner.text}</p>}{expiry && <p class="banner" role="status">{expiry} <a href={address("account")}>Replace it</a></p>}{trouble && <p class="banner" role="alert">{trouble}</p>}</>;
}

function App() {
	const { page, id } = use(route), shade = use(theme), away = use(offline), closed = use(locked), known = use(ready), who = use(me);
	use(jobs);
	useEffect(() => {
		const job = jobs.value.get(id), name = page === "job" ? (job ? titleOf(job) : "Run") : page === "account" ? "Account" : PAGES.find(p => p[0] === page)?.[1] ?? "Runs";
		document.title = `${name} · spaceland`;
	}, [page, id, known]);
	if (closed)
		return <><Login /><Notices /></>;
	if (embedded)
		return <div class={`app embedded page-${page || "runs"}`}>
			<main id="main" tabIndex={-1}>{known ? <Page /> : <p class="loading" role="status">{away ? "The server cannot be reached. Trying again …" : "One moment …"}</p>}</main>
			<Notices />
		</div>;
	return <div class={`app page-${page || "runs"}`}>
		<a class="skip" href="#main" onClick={e => { e.preventDefault(); document.getElementById("main")?.focus(); }}>To the content</a>
		<header class="top">
			<a class="brand" href={address("")}><img src="ui/icon.svg" alt="" width="26" height="26" />spaceland</a>
			<nav aria-label="Pages">
				{!link && PAGES.filter(p => p[0] !== "admin" || who?.role === "administrator").map(([to, text, icon]) => <a key={to} href={address(to)}
					aria-current={to === page || (to === "" && page === "job") ? "page" : undefined}><Icon name={icon} /><span>{text}</span></a>)}
			</nav>
			<span class="top-end">
				{who?.name && <a class="who quiet" href={address("account")} title={`You are logged in as ${who.name}, ${who.role}`} aria-current={page === "account" ? "page" : undefined}>{who.name}</a>}
				{!link && sessionStorage.getItem("spaceland-in") && <Button icon="leave" kind="quiet" label="Log out" onClick={logout} />}
				<Button icon={shade === "dark" ? "sun" : "moon"} kind="quiet" label={shade === "dark" ? "Light colours" : "Dark colours"} onClick={toggleTheme} />
			</span>
		</header>
		<Banner />
		<main id="main" tabIndex={-1}>{known ? <Page /> : <p class="loading" role="status">{away ? "The server cannot be reached. Trying again …" : "One moment …"}</p>}</main>
		<DropAnywhere />
		<Notices />
	</div>;
}

start();
Object.assign(window, { spacelandProcrustes: procrustes, spacelandColours: categoryColours, spacelandJobs: jobs, spacelandStore: { put, putGraph }, spacelandOptions: OPTIONS });   // for the tests
const root = document.getElementById("app")!;
root.textContent = "";
render(<App />, root);
