/* html.ts -- saves the view as one HTML file that needs no server: the offline viewer, the layout and its colours.
 * src/viewer/viewer.ts reads the data. */
import { request } from "../core/api.ts";
import type { Ellipse } from "../core/clusters.ts";
import type { Frame } from "../core/frame.ts";
import { oneFrame } from "../core/follow.ts";
import type { MapCluster } from "../core/mapnames.ts";
import { DEGREE, legendOrder, scaleNumbers, unlabelled } from "../core/nodes.ts";
import type { Session } from "../core/session.ts";
import { theme } from "../core/theme.ts";
import { cameraText } from "../gl/camera.ts";
import { texture, scaleTexture } from "../gl/palettes.ts";

export interface OfflineData {
	title: string;
	dims: 1 | 2 | 3;
	n: number;
	low: [number, number, number];
	extent: number;
	theme: "dark" | "light";
	camera: string;
	whole: boolean;            // show outliers, too
	size: number;
	kind: "plain" | "category" | "number";
	density: boolean;
	column: string;
	categories: string[];
	range: [number, number];
	steep: boolean;            // logarithmic scale, for counts
	palette: string;           // base64 of RGBA
	layout: string;            // base64 of uint16
	codes: string;             // base64 of uint16, or ""
	flags: string;             // base64 of a byte a node, not 0 if it is selected; "": nothing is selected
	names: string[];           // empty if nodes have no names
	listed: number[];          // categories of the legend
	none: boolean;             // some nodes have no category
	ellipses: Ellipse[];       // of a mixture
	clusters: MapCluster[];    // whose names are on the map
	contours: boolean;
	numbers: string[];         // along the scale, from its low end
}

const NAMES_MOST = 100_000;

function base64(data: ArrayBufferView): Promise<string> {
	const copy = new Uint8Array(data.byteLength);
	copy.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength));
	return new Promise((resolve, reject) => {
		const reader = new FileReader();
		reader.onload = () => resolve((reader.result as string).split(",")[1] ?? "");
		reader.onerror = () => reject(new Error("The layout could not be packed."));
		reader.readAsDataURL(new Blob([copy]));
	});
}

async function namesOf(s: Session): Promise<string[]> {
	if (s.job.nodes > NAMES_MOST)
		return [];
	const names: string[] = [];
	for (let i = 0; i < s.job.nodes; i++) {
		names.push(await s.nodes.name(i));
		if (i === 0 && names[0] === "0")
			return [];   // the nodes have no names
	}
	return names;
}

export async function makeHtml(s: Session, title: string): Promise<Blob> {
	let frame: Frame | null = s.frame.value;
	if (frame && frame.stride !== 1)
		frame = await oneFrame(s.job.id);
	if (!frame || !s.view)
		throw new Error("There is no layout yet.");
	const v = s.values.value, category = v?.column.kind === "category";
	const data: OfflineData = {
		title, dims: frame.dims, n: frame.n, low: frame.low, extent: frame.extent, theme: theme.value,
		camera: cameraText(s.camera.value), whole: s.whole, size: s.size.value, density: s.by.value === "density",
		kind: !v ? "plain" : category ? "category" : "number", column: v?.column.name ?? "",
		categories: v?.categories ?? [], range: [v?.low ?? 0, v?.high ?? 0], steep: v?.column === DEGREE,
		palette: await base64(category ? texture(s.colours()) : scaleTexture(s.paletteName)),
		layout: await base64(frame.data), codes: v ? await base64(v.codes) : "",
		flags: s.selected.value ? await base64(s.selected.value) : "", names: await namesOf(s),
		ellipses: s.marked.ellipses, clusters: s.marked.clusters, contours: s.contours.value, listed: category ? legendOrder(v) : [], none: category && unlabelled(v) > 0, numbers: v && !category ? scaleNumbers(v) : [],
	};
	const viewer = await (await request("/ui/viewer.js")).text();
	const safe = (text: string): string => text.replace(/<\/(script)/gi, "<\\/$1").replace(/<!--/g, "<\\!--");
	const plain = title.replace(/[&<>]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[c]!);
	return new Blob([`<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<meta name="viewport" content="width=device-width, initial-scale=1">\n`,
		`<title>${plain}</title>\n<body>\n<script type="application/json" id="data">`, JSON.stringify(data).replace(/</g, "\\u003c"),
		`</script>\n<script type="module">`, safe(viewer), "</script>\n</body>\n</html>\n"], { type: "text/html" });
}
