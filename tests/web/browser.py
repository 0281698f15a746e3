"""A headless Chromium, driven through ChromeDriver's own HTTP interface (W3C WebDriver)."""
import base64
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import requests

CONTRACT = (pathlib.Path(__file__).resolve().parents[2] / "proto" / "openapi.yaml").read_text()
ABSENT = [path for path in ("/v1/events", "/labels", "/names", "/neighbours", "/edges", "/nodes", "/v1/layouts") if path not in CONTRACT]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
FLAGS = ["--headless=new", "--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-default-apps", "--disable-extensions", "--mute-audio",
         "--ignore-gpu-blocklist", "--force-color-profile=srgb", "--disable-dev-shm-usage"]
# draws WebGL without a graphics card; pages are drawn directly, not with a simulated card
SOFTWARE = ["--enable-unsafe-swiftshader", "--use-angle=swiftshader", "--disable-gpu-rasterization", "--disable-gpu-compositing"]
CHROMIUM = os.environ.get("SPACELAND_CHROMIUM")                         # the program, if it is not the system's
CHROMEDRIVER = os.environ.get("SPACELAND_CHROMEDRIVER", "chromedriver")


def missing(*more):
    """The missing programs of a browser, or ""."""
    for program in (CHROMIUM or "chromium", CHROMEDRIVER, *more):
        if not shutil.which(program):
            return f"{program} is not installed"
    return ""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Element:
    def __init__(self, browser, ident):
        self.browser, self.ident = browser, ident

    def command(self, method, path, body=None):
        return self.browser.command(method, f"/element/{self.ident}{path}", body)

    def click(self):
        """A window that is being opened has no place on the page yet: then it tries again for two seconds."""
        until = time.monotonic() + 2
        while True:
            try:
                return self.command("POST", "/click", {})
            except AssertionError as error:
                if "not interactable" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def send(self, text):
        self.command("POST", "/value", {"text": text})

    @property
    def text(self):
        return self.command("GET", "/text")


class Browser:
    def __init__(self, size=(1280, 800), downloads=None, scale=1, graphics=SOFTWARE):
        self.scale = scale
        self.folder = tempfile.mkdtemp(prefix="spaceland-chromium-")
        self.session = requests.Session()
        self.session.trust_env = False
        self.port = free_port()
        self.driver = subprocess.Popen([CHROMEDRIVER, f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.root = f"http://127.0.0.1:{self.port}"
        self.id = None
        for _ in range(200):
            try:
                if self.session.get(self.root + "/status", timeout=2).json()["value"]["ready"]:
                    break
            except requests.ConnectionError:
                time.sleep(0.05)
        options = {"args": [*FLAGS, *graphics, f"--window-size={size[0]},{size[1]}", f"--force-device-scale-factor={scale}"],
                   "prefs": {"download.default_directory": str(downloads or self.folder), "download.prompt_for_download": False},
                   **({"binary": CHROMIUM} if CHROMIUM else {})}
        reply = self.session.post(self.root + "/session", timeout=60, json={"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"},
            "unhandledPromptBehavior": "accept"}}}).json()["value"]
        assert "sessionId" in reply, reply
        self.id = reply["sessionId"]

    def command(self, method, path, body=None):
        reply = self.session.request(method, f"{self.root}/session/{self.id}{path}", timeout=90,
                                     data=json.dumps(body) if body is not None else None).json()["value"]
        if isinstance(reply, dict) and "error" in reply and "message" in reply:
            raise AssertionError(f"{reply['error']}: {reply['message'][:800]}")
        return reply

    # ---- pages -------------------------------------------------------------------------

    def go(self, url):
        self.command("POST", "/url", {"url": url})

    def reload(self):
        self.command("POST", "/refresh", {})

    def run(self, script, *arguments):
        """Runs a function's body and returns its value, after a promise is resolved."""
        return self.command("POST", "/execute/sync", {"script": script, "args": [
            {ELEMENT: a.ident} if isinstance(a, Element) else a for a in arguments]})

    def find(self, selector, seconds=10):
        return self.wait(lambda: self.maybe(selector), seconds, f"there is {selector}")

    def maybe(self, selector):
        found = self.command("POST", "/elements", {"using": "xpath" if selector.startswith("//") else "css selector", "value": selector})
        return Element(self, found[0][ELEMENT]) if found else None

    def button(self, text, seconds=10):
        """Finds a button by its text or label."""
        return self.find(f"//button[normalize-space()='{text}' or @aria-label='{text}']", seconds)

    def wait(self, condition, seconds=10, what="condition"):
        end = time.monotonic() + seconds * 2
        while True:
            value = condition()
            if value:
                return value
            assert time.monotonic() < end, f"{what}: not within {seconds * 2} s; the page says:\n{self.text()[:1500]}"
            time.sleep(0.03)

    def text(self):
        return self.run("return document.body.innerText")

    def see(self, text, seconds=10):
        self.wait(lambda: text in self.text(), seconds, f"the page says {text!r}")

    # ---- doing ---------------------------------------------------------------------------

    def drop(self, *paths):
        """Drops files of this machine on the page, together."""
        self.run("""const transfer = new DataTransfer();
            for (const [name, data] of arguments[0]) {
                const raw = atob(data), bytes = new Uint8Array(raw.length);
                for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
                transfer.items.add(new File([bytes], name));
            }
            window.droppedAt = performance.now();
            for (const type of ["dragenter", "dragover", "drop"])
                document.body.dispatchEvent(new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer: transfer}));""",
                 [[pathlib.Path(p).name, base64.b64encode(pathlib.Path(p).read_bytes()).decode()] for p in paths])

    def slide(self, selector, place):
        """Moves a range input to a place between 0 and 1 and lets go."""
        self.run("""const e = document.querySelector(arguments[0]), v = Number(e.min) + arguments[1] * (Number(e.max) - Number(e.min));
            Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(e, String(v));
            e.dispatchEvent(new Event("input", {bubbles: true}));
            e.dispatchEvent(new Event("change", {bubbles: true}));""", selector, place)

    def choose(self, label, value):
        """Chooses an option of the select with this label."""
        self.run("""const e = [...document.querySelectorAll("select")].find(s => s.closest("label")?.textContent.startsWith(arguments[0]));
            e.value = arguments[1];
            e.dispatchEvent(new Event("change", {bubbles: true}));""", label, value)

    def mouse(self, *steps):
        """("move", x, y), ("down",), ("up",): in CSS pixels of the page."""
        actions = [{"type": "pointerMove", "x": int(s[1]), "y": int(s[2]), "duration": 20} if s[0] == "move" else
                   {"type": {"down": "pointerDown", "up": "pointerUp"}[s[0]], "button": 0} for s in steps]
        self.command("POST", "/actions", {"actions": [{"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    def key(self, text):
        self.command("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": [
            {"type": kind, "value": c} for c in text for kind in ("keyDown", "keyUp")]}]})

    # ---- looking -----------------------------------------------------------------------------

    def screenshot(self, path):
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(path).write_bytes(base64.b64decode(self.command("GET", "/screenshot")))

    def devtools(self, command, **parameters):
        """Sends a command of the Chrome DevTools protocol."""
        return self.command("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def size(self, width, height, scale=None, mobile=False):
        """In CSS pixels; scale: pixels of the screen for each of them (None: self.scale)."""
        scale = scale or self.scale
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)

    def pixels(self, index=0):
        """(a hash of the pixels of a layout's canvas, how many of them are not the background)."""
        return self.run("""const s = document.querySelectorAll("canvas.gl")[arguments[0]], c = document.createElement("canvas");
            c.width = 200; c.height = 160;
            const g = c.getContext("2d");
            return new Promise(resolve => requestAnimationFrame(() => {
                s.spacelandView.render();
                g.drawImage(s, 0, 0, 200, 160);
                const d = g.getImageData(0, 0, 200, 160).data;
                let hash = 0, ink = 0;
                for (let i = 0; i < d.length; i += 4) {
                    hash = (Math.imul(hash, 31) + d[i] + 7 * d[i + 1] + 13 * d[i + 2]) | 0;
                    ink += Math.abs(d[i] - d[0]) + Math.abs(d[i + 1] - d[1]) + Math.abs(d[i + 2] - d[2]) > 24;
                }
                resolve([hash, ink]);
            }));""", index)

    def errors(self):
        """Errors on the console since the last call, except those about paths that the server does not have yet."""
        return [e["message"] for e in self.command("POST", "/se/log", {"type": "browser"})
                if e["level"] == "SEVERE" and not any(path in e["message"] for path in ABSENT)]

    def tab(self):
        """Opens a new tab; returns the handle of the previous one."""
        before = self.command("GET", "/window")
        self.command("POST", "/window", {"handle": self.command("POST", "/window/new", {"type": "tab"})["handle"]})
        return before

    def switch(self, handle):
        self.command("POST", "/window", {"handle": handle})

    def close(self):
        try:
            if self.id:
                self.session.delete(f"{self.root}/session/{self.id}", timeout=10)
        except requests.RequestException:
            pass
        self.driver.terminate()
        self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
