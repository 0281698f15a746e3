"""Layouts in a notebook, live, and as standalone pages.

With anywidget, the browser receives and draws the frames (static/view.js). Without it, the notebook shows pictures made
here while the job runs, and at the end a page that can be moved and zoomed.
"""
from __future__ import annotations

import base64
import html
import importlib.resources
import json
import pathlib
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from ._colours import Bytes, Owned, colours_of, legend_of, png
from ._label_tables import has_index, in_order
from .errors import BadValue, SpacelandError
from .frames import Frame

if TYPE_CHECKING:
    from .job import Job

__all__ = ["show", "save_html", "mimebundle", "page", "picture"]

MAX_POINTS = 200_000   # most points in a browser; larger graphs are sampled
HEIGHT = 480


def module_source() -> str:
    """The text of static/view.js."""
    return (importlib.resources.files("spaceland.static") / "view.js").read_text(encoding="utf-8")


@dataclass
class _Look:
    """Colours of the nodes on a light and on a dark background, and their legend."""

    colours: Optional[Bytes] = None
    dark: Optional[Bytes] = None
    legend: List[Tuple[str, str, str]] = field(default_factory=list)

    @property
    def dark_bytes(self) -> bytes:
        return b"" if self.dark is None else self.dark.tobytes()

    @property
    def bytes(self) -> bytes:
        return b"" if self.colours is None else self.colours.tobytes()


def _column(graph: Any, name: str) -> Tuple[Any, Owned]:
    """A column of the server, with the order and the colours of its categories."""
    return graph.labels(name), graph._owned(name)


def _uploaded(job: "Job") -> Tuple[Any, Owned]:
    """Fetches the labels of a job that another client submitted: the column that pictures of the server show."""
    try:
        graph = job.graph
        chosen = next((column["name"] for column in graph.label_columns() if column.get("auto")), None)
        return (None, Owned()) if chosen is None else _column(graph, chosen)
    except SpacelandError:
        return None, Owned()  # the graph has been deleted


def _look(job: "Job", labels: Any) -> _Look:
    owned = Owned()
    if labels is None and job._source is None:
        labels, owned = _uploaded(job)
    elif labels is None and job._source is not None:
        labels, owned = job._source.values, Owned(None, job._source.colours)
    elif isinstance(labels, str):
        labels, owned = _column(job.graph, labels)
    elif has_index(labels):
        labels = in_order(labels, job.graph, "labels")
    if labels is None:
        return _Look()
    if len(labels) != job.record["nodes"]:
        raise BadValue(f"there are {len(labels)} labels for {job.record['nodes']} nodes; there must be one for each")
    return _Look(colours_of(labels, owned), colours_of(labels, owned, light=False), legend_of(labels, owned))


PRINT_DPI = 300   # of a PDF


def _kind_of(path: Any) -> str:
    """png, svg or pdf, as the name of the file ends."""
    if path is None:
        return "png"
    ending = pathlib.PurePath(path).suffix.lower()
    if ending not in (".png", ".svg", ".pdf"):
        raise BadValue(f"{str(path)!r} ends in {ending or 'nothing'}; pictures are made as .png, .svg and .pdf")
    return ending[1:]


def picture(job: "Job", path: Any, layout: "Optional[Job]", color: "Union[str, Job, None]", options: Dict[str, Any]) -> bytes:
    """Fetches a picture from the server; see Job.picture."""
    _kind_of(path)
    job.wait()
    drawn = job
    if not job.gives_layout:
        given = (job.record.get("input") or {}).get("job")
        if layout is None and given is None:
            raise SpacelandError(f"job {job.id} is of method {job.method}, which gives no layout; layout=... names a job on the same "
                                 "graph, on whose layout it is drawn")
        drawn, color = layout or job.client.job(str(given)), job if color is None else color
    elif layout is not None:
        raise SpacelandError(f"job {job.id} is of method {job.method} and drawn on its own layout; color=... draws another job on it")
    if color is None and job._source is not None:
        color = job._source.shown
    for other in (drawn, color):
        if other is not job and not (other is None or isinstance(other, str)):
            other.wait()
    query = {name: str(value).lower() if isinstance(value, bool) else value for name, value in options.items()}
    if color is not None:
        query["color"] = color if isinstance(color, str) else f"job:{color.id}"
    kind = _kind_of(path)
    if kind == "pdf":
        query.setdefault("dpi", PRINT_DPI)
    data = job.client.http.request("GET", f"{drawn.path}/picture.{'svg' if kind == 'svg' else 'png'}", query=query).content
    if kind == "pdf":
        from ._pdf import pdf_of_png
        data = pdf_of_png(data, float(query["dpi"]))
    if path is not None:
        with open(path, "wb") as file:
            file.write(data)
    return bytes(data)


def _check_layout(job: "Job") -> None:
    if not job.gives_layout:
        raise SpacelandError(f"job {job.id} is of method {job.method}, which gives no layout to show; picture(layout=...) draws "
                             "it on the layout of another job, whose widget() takes its labels")


def page(frame: Frame, look: Optional[_Look] = None, title: str = "layout") -> str:
    """Returns a standalone HTML page that shows one frame."""
    look = look or _Look()
    legend = json.dumps(look.legend).replace("<", "\\u003c")  # so that no text can close the script element
    script = module_source().replace("</script", "<\\/script")

    def data(content: bytes) -> str:
        return base64.b64encode(content).decode()
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>:root {{ color-scheme: light dark }} html, body, #view {{ margin: 0; height: 100%; overflow: hidden }}</style></head>
<body><div id="view"></div>
<script type="module">
{script}
const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const view = createView(document.getElementById("view"));
view.setColours(bytes("{data(look.bytes)}"), bytes("{data(look.dark_bytes)}"));
view.setLegend({legend});
view.setFrame(bytes("{data(frame.data)}"));
</script></body></html>
"""


def save_html(job: "Job", path: Any, labels: Any = None, max_points: int = MAX_POINTS) -> None:
    """Writes the present layout to one HTML file; see Job.save_html."""
    _check_layout(job)
    frame = job.frames("u16", max_points).next()
    if frame is None or not frame.n:
        raise SpacelandError(f"job {job.id} has no layout to show; it is {job.state}")
    with open(path, "w", encoding="utf-8") as file:
        file.write(page(frame, _look(job, labels), job.record["name"] or job.id))


def _frame_html(frame: Frame, look: _Look, height: int) -> str:
    """Returns the page in an iframe, for a notebook's output."""
    return (f'<div><iframe srcdoc="{html.escape(page(frame, look))}" sandbox="allow-scripts" title="layout" '
            f'style="width:100%;height:{height}px;border:0"></iframe></div>')


def mimebundle(job: "Job", include: Any = None, exclude: Any = None) -> Dict[str, Any]:
    """The display of a job at the end of a notebook's cell: its state, and a picture if it is done."""
    bundle: Dict[str, Any] = {}
    try:
        if not job.ended:
            job.refresh()
        bundle["text/plain"] = repr(job)
        if job.state == "done":
            bundle["image/png"] = base64.b64encode(job.picture(width=HEIGHT, height=HEIGHT)).decode()
    except SpacelandError:
        bundle["text/plain"] = repr(job)  # the server is gone
    return bundle


def show(job: "Job", labels: Any = None, max_points: int = MAX_POINTS, height: int = HEIGHT) -> Any:
    """Shows the layout while the job runs, also while other cells run.

    labels: a value for each node, which colours it, or the name of a column of labels on the server; default: the
    uploaded labels. Returns the widget, whose close() ends it; without anywidget, the handle of the output.
    """
    _check_layout(job)
    look = _look(job, labels)
    try:
        import anywidget
        import traitlets
    except ImportError:
        return _show_pictures(job, look, max_points, height)
    widget = _widget_class(anywidget, traitlets)(height=height, colours=look.bytes, dark=look.dark_bytes, legend=look.legend)

    def follow() -> None:
        for frame in job.frames("u16", max_points):
            if getattr(widget, "comm", True) is None:
                return  # closed
            if frame.n:  # after a cancelled job the last picture stays
                widget.frame = frame.data
    _in_background(follow)
    return widget


_class: Any = None


def _widget_class(anywidget: Any, traitlets: Any) -> Any:
    global _class
    if _class is None:
        class LayoutWidget(anywidget.AnyWidget):  # type: ignore[misc]
            """One canvas. view.js reads its traits."""
            _esm = module_source()
            frame = traitlets.Bytes(b"").tag(sync=True)
            colours = traitlets.Bytes(b"").tag(sync=True)
            dark = traitlets.Bytes(b"").tag(sync=True)
            legend = traitlets.List([]).tag(sync=True)
            height = traitlets.Int(HEIGHT).tag(sync=True)
        _class = LayoutWidget
    return _class


def _show_pictures(job: "Job", look: _Look, max_points: int, height: int) -> Any:
    try:
        from IPython.display import HTML, Image, display
    except ImportError:
        raise SpacelandError("widgets are for notebooks, and need IPython; Job.save_html writes a page for any browser, "
                             "Job.picture a picture") from None

    def picture(frame: Frame) -> Any:
        few = None if look.colours is None else look.colours[::frame.stride]
        return Image(data=png(frame.layout, few, height), alt=f"layout after {frame.iteration} iterations")

    frames = job.frames("u16", max_points)
    first = frames.next()
    if first is None or not first.n:
        raise SpacelandError(f"job {job.id} has no layout to show; it is {job.state}")
    handle = display(picture(first), display_id=True)
    if handle is None:
        raise SpacelandError("widgets are for notebooks, and this is none; Job.save_html writes a page for any browser, "
                             "Job.picture a picture")

    handle._ipython_display_ = lambda: None  # at the end of a cell, no text about the handle below the picture

    def follow(newest: Frame) -> None:
        while not newest.final:
            next = frames.next()
            if next is None:
                break
            if not next.n:
                break  # the job was cancelled; the last picture stays
            newest = next
            if not newest.final:
                handle.update(picture(newest))
        handle.update(HTML(_frame_html(newest, look, height)))
    _in_background(lambda: follow(first))
    return handle


def _in_background(follow: Any) -> None:
    def run() -> None:
        try:
            follow()
        except SpacelandError:
            pass  # the server is gone; the last picture stays
    threading.Thread(target=run, name="spaceland widget", daemon=True).start()
