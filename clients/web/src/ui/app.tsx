/* app.tsx -- the frame around all pages, and which page it is. */
import "./base.css";
import "./pages.css";
import "./stage.css";
import { render } from "preact";
import { useEffect } from "preact/hooks";
import { link, locked, logout, offline } from "../core/api.ts";
import { jobs, ready, start } from "../core/live.ts";
import { procrustes } from "../core/procrustes.ts";
import { address, route } from "../core/route.ts";
import { use } from "../core/signal.ts";
import { theme, toggleTheme } from "../core/theme.ts";
import { categoryColours } from "../gl/palettes.ts";
import { ComparePage } from "./compare.tsx";
import { DataPage } from "./data.tsx";
import { DropAnywhere } from "./drop.tsx";
import { JobPage } from "./job.tsx";
import { Login } from "./login.tsx";
import { Button, Icon, Notices } from "./parts.tsx";
import { RunsPage } from "./runs.tsx";
import { ServerPage } from "./server.tsx";

const PAGES = [["", "Runs", "runs"], ["data", "Data", "data"], ["compare", "Compare", "compare"], ["server", "Server", "server"]] as const;

function Page() {
	const { page, id } = use(route);
	switch (page) {
	case "job": return <JobPage key={id} id={id} />;
	case "data": return <DataPage />;
	case "compare": return <ComparePage />;
	case "server": return <ServerPage />;
	default: return <RunsPage />;
	}
}

function App() {
	const { page, id } = use(route), shade = use(theme), away = use(offline), closed = use(locked), known = use(ready);
	use(jobs);
	useEffect(() => {
		const name = page === "job" ? jobs.value.get(id)?.name ?? "Run" : PAGES.find(p => p[0] === page)?.[1] ?? "Runs";
		document.title = `${name} · spaceland`;
	}, [page, id, known]);
	if (closed)
		return <><Login /><Notices /></>;
	return <div class={`app page-${page || "runs"}`}>
		<a class="skip" href="#main" onClick={e => { e.preventDefault(); document.getElementById("main")?.focus(); }}>To the content</a>
		<header class="top">
			<a class="brand" href={address("")}><img src="/ui/icon.svg" alt="" width="26" height="26" />spaceland</a>
			<nav aria-label="Pages">
				{!link && PAGES.map(([to, text, icon]) => <a key={to} href={address(to)}
					aria-current={to === page || (to === "" && page === "job") ? "page" : undefined}><Icon name={icon} /><span>{text}</span></a>)}
			</nav>
			<span class="top-end">
				{away && <span class="away" role="status">no connection</span>}
				{sessionStorage.getItem("spaceland-in") && <Button icon="key" kind="quiet" label="Log out" onClick={logout} />}
				<Button icon={shade === "dark" ? "sun" : "moon"} kind="quiet" label={shade === "dark" ? "Light colours" : "Dark colours"} onClick={toggleTheme} />
			</span>
		</header>
		<main id="main" tabIndex={-1}>{known ? <Page /> : <p class="loading" role="status">{away ? "The server cannot be reached. Trying again …" : "One moment …"}</p>}</main>
		{!link && <DropAnywhere />}
		<Notices />
	</div>;
}

start();
Object.assign(window, { spacelandProcrustes: procrustes, spacelandColours: categoryColours });   // for the tests
const root = document.getElementById("app")!;
root.textContent = "";
render(<App />, root);
