/* steer.mjs STEER.TS < PARAMETERS.JSON: prints the sliders that the dashboard makes of a method's parameters. */
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const { buildSync } = createRequire(process.argv[2])("esbuild");
const built = buildSync({ entryPoints: [process.argv[2]], bundle: true, format: "esm", write: false });
const { steerables, toSlider, fromSlider } = await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].contents).toString("base64")}`);
console.log(JSON.stringify(steerables(JSON.parse(readFileSync(0))).map(s => ({ ...s, ends: [fromSlider(s, 0), fromSlider(s, 1)], middle: toSlider(s, fromSlider(s, 0.5)) }))));
