/* build.mjs FOLDER -- bundles the dashboard: app.js, app.css, worker.js, viewer.js, index.html and the icon, minified. */
import { build } from "esbuild";
import { copyFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url)), out = process.argv[2];
if (!out) {
	console.error("usage: node build.mjs FOLDER");
	process.exit(2);
}
await mkdir(out, { recursive: true });
const common = { bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none", logLevel: "warning",
	jsx: "automatic", jsxImportSource: "preact" };
await build({ ...common, entryPoints: [join(here, "src/ui/app.tsx")], outfile: join(out, "app.js") });
await build({ ...common, entryPoints: [join(here, "src/worker/worker.ts")], outfile: join(out, "worker.js") });
await build({ ...common, entryPoints: [join(here, "src/viewer/viewer.ts")], outfile: join(out, "viewer.js") });
await copyFile(join(here, "icon.svg"), join(out, "icon.svg"));
await writeFile(join(out, "index.html"), await readFile(join(here, "index.html")));
