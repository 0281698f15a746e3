/* build.mjs FOLDER -- bundles the dashboard, minified: app.js and app.css, the parts that it loads when they are needed
 * (part-NAME-HASH.js), worker.js, viewer.js, map.js (the module that other pages embed), index.html
 * and the icon. `--map`: only map.js. */
import { build } from "esbuild";
import { copyFile, mkdir, readFile, unlink, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url)), out = process.argv[2];
if (!out) {
	console.error("usage: node build.mjs FOLDER");
	process.exit(2);
}
await mkdir(out, { recursive: true });
const common = { bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning",
	jsx: "automatic", jsxImportSource: "preact" };
const map = () => build({ ...common, entryPoints: [join(here, "src/map/map.ts")], outfile: join(out, "map.js") });
if (process.argv[3] === "--map") {
	await map();
	process.exit(0);
}
const { metafile } = await build({ ...common, splitting: true, metafile: true, entryPoints: { app: join(here, "src/ui/app.tsx") },
	outdir: out, chunkNames: "part-[name]-[hash]" });
await build({ ...common, entryPoints: [join(here, "src/worker/worker.ts")], outfile: join(out, "worker.js") });
await build({ ...common, entryPoints: [join(here, "src/viewer/viewer.ts")], outfile: join(out, "viewer.js") });
await map();
await copyFile(join(here, "icon.svg"), join(out, "icon.svg"));

/* What only declares types makes empty chunks, which nobody should fetch. */
const outputs = new Map(Object.entries(metafile.outputs).map(([path, output]) => [basename(path), output]));
const empty = [...outputs].filter(([name, { bytes }]) => !bytes && name.endsWith(".js")).map(([name]) => name);
for (const [name, output] of outputs) {
	const path = join(out, name), unneeded = empty.filter(other => output.imports.some(i => basename(i.path) === other));
	output.imports = output.imports.filter(i => !empty.includes(basename(i.path)));
	if (unneeded.length)
		await writeFile(path, unneeded.reduce((text, other) => text.replaceAll(`import"./${other}";`, ""), await readFile(path, "utf8")));
	if (empty.includes(name))
		await unlink(path);
}

/* The page names what app.js imports, so that the browser fetches all at once. */
const first = new Set(["app.js"]);
for (const name of first)
	for (const { path, kind } of outputs.get(name).imports)
		if (kind === "import-statement")
			first.add(basename(path));
first.delete("app.js");
const preload = [...first].map(name => `<link rel="modulepreload" href="ui/${name}">\n`).join("");
const page = await readFile(join(here, "index.html"), "utf8");
await writeFile(join(out, "index.html"), page.replace("</head>", `${preload}</head>`));
if (process.env.SPACELAND_META)
	await writeFile(process.env.SPACELAND_META, JSON.stringify(metafile));
