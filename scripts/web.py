"""web.py OUTPUT: the dashboard, bundled and as C arrays for daemon/routes/server/ui.c.

Bundles clients/web with node, without a network, if node is installed and `npm ci` has run there (./dev setup does).
Otherwise the output has one page that explains how to get the dashboard. Runs in each build; bundles only if a source
is newer than the bundle, and writes the output only if it changes."""
import gzip
import hashlib
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
WEB = ROOT / "clients" / "web"
TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
MISSING = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>spaceland</title>
<h1>spaceland</h1>
<p>This server runs, and was built without its dashboard: {why}.
<p>To build it with the dashboard, install Node.js (18 or newer) and npm, then run
<pre>./dev setup web
./dev build</pre>
<p>The commands <code>spaceland</code> and <code>curl</code> do without it; <a href="v1/openapi.yaml">the HTTP interface</a>
is described by the server itself.
</html>
"""


def sources():
    shared = [ROOT / "core" / "picture" / "palette.json"]
    return sorted(p for p in [*shared, *WEB.glob("*.*"), *(WEB / "src").rglob("*.*")] if p.is_file())


def stamp(node):
    """The sources of the bundle."""
    names = "\n".join(f"{p} {p.stat().st_mtime_ns}" for p in [*sources(), pathlib.Path(__file__)])
    return hashlib.sha256(f"{node}\n{(WEB / 'node_modules' / 'esbuild').is_dir()}\n{names}".encode()).hexdigest()


def bundle(folder, node):
    """Returns (path, bytes) of all files, or the page that says what is missing."""
    why = "Node.js was not there" if not node else "its packages were not installed (npm ci)"
    if not node or not (WEB / "node_modules" / "esbuild").is_dir():
        return [("/", MISSING.replace("{why}", why).encode())]
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([node, WEB / "build.mjs", folder], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"web.py: the dashboard cannot be bundled:\n{done.stdout}{done.stderr}")
    return [("/" if p.name == "index.html" else f"/ui/{p.name}", p.read_bytes()) for p in sorted(folder.iterdir())]


def array(name, data):
    text = [f"static const unsigned char {name}[] = {{\n"]
    text += [",".join(map(str, data[at:at + 24])) + ",\n" for at in range(0, len(data), 24)]
    return "".join(text) + "};\n"


def header(files):
    out, rows = [], []
    for i, (path, data) in enumerate(files):
        packed = gzip.compress(data, 9, mtime=0)
        kind = TYPES[pathlib.PurePath(path if path != "/" else "index.html").suffix]
        out += [array(f"ui_plain_{i}", data), array(f"ui_gzip_{i}", packed)]
        rows.append(f'\t{{"{path}", "{kind}", "{hashlib.sha256(data).hexdigest()[:20]}", '
                    f"ui_plain_{i}, sizeof ui_plain_{i}, ui_gzip_{i}, sizeof ui_gzip_{i}}},\n")
    return "".join(out) + "static const struct ui_file ui_files[] = {\n" + "".join(rows) + "};\n"


def main():
    output = pathlib.Path(sys.argv[1])
    node = shutil.which("node")
    mark, kept = output.with_suffix(".stamp"), stamp(node)
    if output.exists() and mark.exists() and mark.read_text() == kept:
        return
    text = header(bundle(output.with_suffix(".dist").resolve(), node))
    if not output.exists() or output.read_text() != text:
        output.write_text(text)
    mark.write_text(kept)


main()
