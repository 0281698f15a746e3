/* take.tsx -- downloads of the layout and links to the view. */
import { useState } from "preact/hooks";
import { request } from "../core/api.ts";
import { cameraText } from "../gl/camera.ts";
import { address, keep, route } from "../core/route.ts";
import type { Session } from "../core/session.ts";
import { isLong, viewQuery } from "../core/view.ts";
import { use } from "../core/signal.ts";
import { coordinates } from "../core/frame.ts";
import { writeNpy } from "../core/npy.ts";
import type { Job } from "../core/types.ts";
import { fileName, saveBlob } from "../export/save.ts";
import { makePng } from "../export/png.ts";
import { makeHtml } from "../export/html.ts";
import { makeSvg } from "../export/svg.ts";
import { useRights } from "../core/rights.ts";
import { PublicLinks } from "./links.tsx";
import { ShareSection } from "./projects.tsx";
import { titleOf } from "./runs.tsx";
import { Button, say, Select } from "./parts.tsx";

/** The address of the present view. */
export function viewAddress(s: Session): string {
	const here = address("job", s.job.id, { by: s.by.value || "none", ...viewQuery(s, false), view: cameraText(s.camera.value), tab: route.value.query["tab"] });
	return location.origin + location.pathname + here;
}

export function TakePanel({ s, job }: { s: Session; job: Job }) {
	const [scale, setScale] = useState("2"), [legend, setLegend] = useState(true), coloured = use(s.values) !== null, title = titleOf(job), done = job.layout, may = useRights();
	const layout = async (format: "npy" | "csv" | "json"): Promise<void> => {
		if (done) {
			saveBlob(await (await request(`/v1/jobs/${job.id}/layout?format=${format}`)).blob(), fileName(title, format));
			return;
		}
		const frame = s.frame.value;
		if (!frame)
			throw new Error("There is no layout yet.");
		const y = coordinates(frame);
		if (format === "npy") {
			saveBlob(new Blob([writeNpy(y, [frame.n, frame.dims])]), fileName(`${title}-${frame.iteration}`, "npy"));
			return;
		}
		const lines = ["node,x,y,z".split(",").slice(0, frame.dims + 1).join(",")];
		for (let i = 0; i < frame.n; i++)
			lines.push([i * frame.stride, ...y.subarray(i * frame.dims, (i + 1) * frame.dims)].join(","));
		saveBlob(new Blob([lines.join("\n"), "\n"], { type: "text/csv" }), fileName(`${title}-${frame.iteration}`, "csv"));
	};
	const png = async (): Promise<void> => saveBlob(await makePng(s, Number(scale), legend), fileName(title, "png"));
	return <div class="take">
		<section aria-label="Numbers"><h2>Numbers</h2>
			<p class="quiet">{done ? "The layout, a row a node, in the order of the data." : "The run is under way: this is the frame that is shown, rounded to 16 bits."}</p>
			<div class="row wrap"><Button icon="download" onClick={() => layout("npy")}>NumPy</Button>
				<Button icon="download" onClick={() => layout("csv")}>CSV</Button>
				{done && <Button icon="download" onClick={() => layout("json")}>JSON</Button>}</div></section>
		<section aria-label="Pictures"><h2>Pictures</h2>
			<p class="quiet">The view as it is, in the colours of the page.</p>
			<div class="row wrap bottom"><Select label="Size" value={scale} options={[["1", "1×"], ["2", "2×"], ["4", "4×"]]} onChange={setScale} />
				<Button icon="download" onClick={png}>PNG</Button>
				<Button icon="download" onClick={async () => saveBlob(makeSvg(s, title, legend), fileName(title, "svg"))}>SVG</Button></div>
			{coloured && <label class="check"><input type="checkbox" checked={legend} onChange={e => setLegend(e.currentTarget.checked)} />With a legend beside it</label>}</section>
		<section aria-label="A page"><h2>A page</h2>
			<p class="quiet">One HTML file with layout, colours and names that anybody can open, without a server.</p>
			<Button icon="download" onClick={async () => saveBlob(await makeHtml(s, title), fileName(title, "html"))}>HTML</Button></section>
		<ShareSection job={job} />
		{may && job.may_change && <PublicLinks s={s} job={job} />}
		<section aria-label="A link"><h2>A link</h2>
			<p class="quiet">Shows this view, colours and place included, to whoever may see this run on this server.</p>
			<Button icon="link" onClick={async () => {
				const url = viewAddress(s), without = isLong(s) ? ", without the selection, which has too many parts for an address" : "";
				history.replaceState(null, "", url.slice(url.indexOf("#")));
				keep({});
				await navigator.clipboard?.writeText(url).then(() => say(`The link is in the clipboard${without}.`), () => say(`The link is in the address bar${without}.`));
			}}>Copy link</Button></section>
	</div>;
}
