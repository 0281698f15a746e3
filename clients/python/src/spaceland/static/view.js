/* view.js -- draws a layout on a canvas, live. One ES module without dependencies, for the widget and for saved pages.
 *
 *   const view = createView(element)          fills the element with a canvas
 *   view.setFrame(buffer)                     a frame from the server, see proto/frame.md
 *   view.setColours(light, dark)              r, g, b of each node of the graph, on a light and on a dark page; null: one colour
 *   view.setLegend([[text, light, dark], ...])   CSS colours
 *   view.destroy()
 *
 * Dragging moves (3-D: rotates), the wheel zooms, a double click shows everything. Draws with WebGL2 if available, else on
 * a 2-D canvas. Frames go to graphics memory unchanged; between frames, points move smoothly. */

const VERSION = 2, HEADER_LEAST = 80;
const MOVE_MS = 250;  // from one frame to the next
const PLAIN = [86, 140, 214];

/* {dims, type, final, stride, n, nodes, sequence, iteration, kl, low, extent, points}; points: typed array [n * dims] */
export function decodeFrame(buffer) {
	const v = new DataView(buffer.buffer ?? buffer, buffer.byteOffset ?? 0, buffer.byteLength);
	if (v.byteLength < HEADER_LEAST || v.getUint8(26) !== VERSION)
		throw new Error(`not a frame of version ${VERSION}`);
	const dims = v.getUint8(27), type = v.getUint8(28), n = v.getUint32(32, true), header = v.getUint16(68, true);
	const stride = v.getUint16(30, true);
	const bytes = n * dims * (type === 0 ? 2 : 4);
	if (dims < 1 || dims > 3 || type > 1 || stride < 1 || header < HEADER_LEAST || v.byteLength !== header + bytes)
		throw new Error(`a frame of ${n} points in ${dims} dimensions has ${header + bytes} bytes, not ${v.byteLength}`);
	const start = v.byteOffset + header, payload = v.buffer.slice(start, start + bytes);
	return {
		dims, type, n, final: (v.getUint8(29) & 1) === 1, stride, sequence: v.getUint32(36, true),
		iteration: v.getUint32(40, true), kl: v.getFloat32(44, true),
		low: [48, 52, 56].map((at) => v.getFloat32(at, true)), extent: v.getFloat32(60, true), nodes: v.getUint32(64, true),
		points: type === 0 ? new Uint16Array(payload) : new Float32Array(payload),
	};
}

/* ---- drawing by WebGL2 ------------------------------------------------------------------------ */

/* from, to: positions in two frames, in units of their boxes; both boxes are in layout units, so that points do not jump
 * when the box grows. */
const VERTEX = `#version 300 es
in vec3 from, to, colour;
uniform vec4 from_box, to_box;  // low, extent
uniform float t, size, jitter;
uniform mat3 turn;
uniform vec3 centre;
uniform vec2 scale, shift;
out vec4 shade;
void main() {
	vec3 p = mix(from_box.xyz + from_box.w * from, to_box.xyz + to_box.w * to, t) - centre;
	p.y += jitter * (fract(float(gl_VertexID) * 0.61803398875) - 0.5);
	p = turn * p;
	gl_Position = vec4(p.xy * scale + shift, 0.0, 1.0);
	gl_PointSize = size;
	shade = vec4(colour, 0.0);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 shade;
uniform float opacity;
out vec4 result;
void main() {
	float r = length(gl_PointCoord - 0.5) * 2.0;
	float a = opacity * (1.0 - smoothstep(0.7, 1.0, r));
	result = vec4(shade.rgb * a, a);
}`;

function compile(gl, kind, source) {
	const shader = gl.createShader(kind);
	gl.shaderSource(shader, source);
	gl.compileShader(shader);
	if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS))
		throw new Error(gl.getShaderInfoLog(shader));
	return shader;
}

function webglPainter(canvas) {
	const gl = canvas.getContext("webgl2", { alpha: true, antialias: false, premultipliedAlpha: true });
	if (!gl)
		return null;
	const program = gl.createProgram();
	gl.attachShader(program, compile(gl, gl.VERTEX_SHADER, VERTEX));
	gl.attachShader(program, compile(gl, gl.FRAGMENT_SHADER, FRAGMENT));
	gl.linkProgram(program);
	gl.useProgram(program);
	gl.enable(gl.BLEND);
	gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
	const at = (name) => gl.getUniformLocation(program, name);
	const uniform = Object.fromEntries(["from_box", "to_box", "t", "size", "jitter", "turn", "centre", "scale", "shift",
		"opacity"].map((name) => [name, at(name)]));
	const attribute = { from: 0, to: 0, colour: 0 };
	for (const name in attribute)
		attribute[name] = gl.getAttribLocation(program, name);
	let from = gl.createBuffer(), to = gl.createBuffer();
	const colour = gl.createBuffer();
	let shown = null, before = null, hasColour = false;

	function bind(buffer, place, frame) {
		gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
		gl.enableVertexAttribArray(place);
		if (frame.type === 0)
			gl.vertexAttribPointer(place, frame.dims, gl.UNSIGNED_SHORT, true, 0, 0);
		else
			gl.vertexAttribPointer(place, frame.dims, gl.FLOAT, false, 0, 0);
	}
	/* float32 coordinates are in layout units already */
	const box = (f) => (f.type === 0 ? [...f.low, f.extent] : [0, 0, 0, 1]);

	return {
		setFrame(frame) {
			[from, to] = [to, from];
			gl.bindBuffer(gl.ARRAY_BUFFER, to);
			gl.bufferData(gl.ARRAY_BUFFER, frame.points, gl.DYNAMIC_DRAW);
			before = shown && shown.n === frame.n && shown.dims === frame.dims ? shown : null;
			shown = frame;
		},
		setColours(bytes) {
			hasColour = bytes !== null;
			if (!hasColour)
				return;
			gl.bindBuffer(gl.ARRAY_BUFFER, colour);
			gl.bufferData(gl.ARRAY_BUFFER, bytes, gl.STATIC_DRAW);
		},
		draw(look, t) {
			gl.viewport(0, 0, canvas.width, canvas.height);
			gl.clearColor(0, 0, 0, 0);
			gl.clear(gl.COLOR_BUFFER_BIT);
			const old = before ?? shown;
			bind(before ? from : to, attribute.from, old);
			bind(to, attribute.to, shown);
			if (hasColour) {
				gl.bindBuffer(gl.ARRAY_BUFFER, colour);
				gl.enableVertexAttribArray(attribute.colour);
				gl.vertexAttribPointer(attribute.colour, 3, gl.UNSIGNED_BYTE, true, 0, 0);
			} else {
				gl.disableVertexAttribArray(attribute.colour);
				gl.vertexAttrib3f(attribute.colour, ...PLAIN.map((c) => c / 255));
			}
			gl.uniform4fv(uniform.from_box, box(old));
			gl.uniform4fv(uniform.to_box, box(shown));
			gl.uniform1f(uniform.t, t);
			gl.uniform1f(uniform.size, look.size);
			gl.uniform1f(uniform.jitter, look.jitter);
			gl.uniform1f(uniform.opacity, look.opacity);
			gl.uniformMatrix3fv(uniform.turn, true, look.turn);
			gl.uniform3fv(uniform.centre, look.centre);
			gl.uniform2fv(uniform.scale, look.scale);
			gl.uniform2fv(uniform.shift, look.shift);
			gl.drawArrays(gl.POINTS, 0, shown.n);
		},
		destroy() {
			gl.getExtension("WEBGL_lose_context")?.loseContext();
		},
	};
}

/* ---- the same without WebGL: no smooth motion ----------------------------------------------------- */

function plainPainter(canvas) {
	const context = canvas.getContext("2d");
	let frame = null, colours = null;
	return {
		setFrame(next) { frame = next; },
		setColours(bytes) { colours = bytes; },
		draw(look) {
			context.clearRect(0, 0, canvas.width, canvas.height);
			context.globalAlpha = look.opacity;
			const { points, dims, low, extent, type, n } = frame, m = look.turn;
			for (let i = 0; i < n; i++) {
				const p = [0, 0, 0];
				for (let k = 0; k < dims; k++)
					p[k] = (type === 0 ? low[k] + extent * points[i * dims + k] / 65535 : points[i * dims + k]) - look.centre[k];
				p[1] += look.jitter * ((i * 0.61803398875) % 1 - 0.5);
				const x = (m[0] * p[0] + m[1] * p[1] + m[2] * p[2]) * look.scale[0] + look.shift[0];
				const y = (m[3] * p[0] + m[4] * p[1] + m[5] * p[2]) * look.scale[1] + look.shift[1];
				const c = colours ? colours.subarray(3 * i, 3 * i + 3) : PLAIN;
				context.fillStyle = `rgb(${c[0]},${c[1]},${c[2]})`;
				context.fillRect((x + 1) / 2 * canvas.width - look.size / 2, (1 - y) / 2 * canvas.height - look.size / 2,
					look.size, look.size);
			}
		},
		destroy() {},
	};
}

/* ---- the view --------------------------------------------------------------------------------------- */

function multiply(a, b) {
	const c = new Array(9);
	for (let i = 0; i < 3; i++)
		for (let k = 0; k < 3; k++)
			c[3 * i + k] = a[3 * i] * b[k] + a[3 * i + 1] * b[3 + k] + a[3 * i + 2] * b[6 + k];
	return c;
}

function rotation(x, y) {
	const [cx, sx, cy, sy] = [Math.cos(x), Math.sin(x), Math.cos(y), Math.sin(y)];
	return multiply([1, 0, 0, 0, cy, -sy, 0, sy, cy], [cx, 0, sx, 0, 1, 0, -sx, 0, cx]);
}

const STRAIGHT = [1, 0, 0, 0, 1, 0, 0, 0, 1];

/* The bounds of the points. The frame has only the low corner and the longest side of the box of all nodes. */
function bounds(frame) {
	const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
	const { points, dims, n } = frame;
	for (let i = 0; i < n; i++)
		for (let k = 0; k < dims; k++) {
			const v = points[i * dims + k];
			low[k] = v < low[k] ? v : low[k];
			high[k] = v > high[k] ? v : high[k];
		}
	const units = (v, k) => (k >= dims ? 0 : frame.type === 0 ? frame.low[k] + frame.extent * v / 65535 : v);
	return { low: low.map(units), high: high.map(units) };
}

/* True if the page behind the element is dark. */
function isDark(element) {
	for (let e = element; e; e = e.parentElement) {
		const [r, g, b, a = 1] = (getComputedStyle(e).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
		if (b !== undefined && a > 0)
			return 0.2126 * r + 0.7152 * g + 0.0722 * b < 128;
	}
	return matchMedia("(prefers-color-scheme: dark)").matches;
}

export function createView(element, options = {}) {
	const canvas = document.createElement("canvas"), text = document.createElement("div");
	const legend = document.createElement("ul");
	canvas.style.cssText = "display:block;width:100%;height:100%;touch-action:none;cursor:grab";
	canvas.setAttribute("role", "img");
	canvas.setAttribute("aria-label", "layout");
	text.style.cssText = "position:absolute;left:8px;bottom:6px;font:12px system-ui,sans-serif;opacity:.7;pointer-events:none";
	text.setAttribute("aria-live", "off");
	legend.style.cssText = "position:absolute;right:8px;top:6px;margin:0;padding:0;list-style:none;max-height:95%;" +
		"overflow:hidden;font:12px/1.4 system-ui,sans-serif;pointer-events:none";
	element.style.position = "relative";
	element.replaceChildren(canvas, text, legend);
	const painter = (options.plain ? null : webglPainter(canvas)) ?? plainPainter(canvas);
	const view = { zoom: 1, shift: [0, 0], turn: STRAIGHT };
	let frame = null, colours = null, both = [null, null], entries = [], came = 0, box = null, oldBox = null, pending = 0, gone = false;

	function strided() {
		if (!colours || !frame)
			return colours;
		if (colours.length < 3 * ((frame.n - 1) * frame.stride + 1))
			return null;  // of a different graph
		if (frame.stride === 1)
			return colours;
		const picked = new Uint8Array(3 * frame.n);
		for (let i = 0; i < frame.n; i++)
			picked.set(colours.subarray(3 * i * frame.stride, 3 * i * frame.stride + 3), 3 * i);
		return picked;
	}

	function look(t) {
		const mid = (k) => {
			const now = (box.low[k] + box.high[k]) / 2, old = (oldBox.low[k] + oldBox.high[k]) / 2;
			return old + (now - old) * t;
		};
		const side = (b) => Math.max(b.high[0] - b.low[0], b.high[1] - b.low[1], b.high[2] - b.low[2], 1e-30) *
			(frame.dims === 3 ? 1.5 : 1.05);
		const extent = side(oldBox) + (side(box) - side(oldBox)) * t, least = Math.min(canvas.width, canvas.height);
		const scale = 2 * view.zoom / extent, ratio = window.devicePixelRatio || 1;
		const size = Math.max(1.5, Math.min(8, 0.6 * least / Math.sqrt(frame.n))) * Math.sqrt(view.zoom);
		return {
			size: Math.min(24, Math.max(1.5 * ratio, size)), opacity: frame.n > 20000 ? 0.5 : 0.8,
			jitter: frame.dims === 1 ? 0.2 * extent : 0, turn: frame.dims === 3 ? view.turn : STRAIGHT,
			centre: [mid(0), mid(1), mid(2)], shift: view.shift,
			scale: [scale * least / canvas.width, scale * least / canvas.height],
		};
	}

	function draw() {
		pending = 0;
		if (gone || !frame)
			return;
		const ratio = window.devicePixelRatio || 1;
		const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
		const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
		if (canvas.width !== width || canvas.height !== height)
			[canvas.width, canvas.height] = [width, height];
		const t = Math.min(1, (performance.now() - came) / MOVE_MS);
		painter.draw(look(t), t);
		if (t < 1)
			ask();
	}
	function ask() {
		pending = pending || requestAnimationFrame(draw);
	}

	let last = null;
	canvas.addEventListener("pointerdown", (e) => {
		last = [e.clientX, e.clientY];
		canvas.setPointerCapture(e.pointerId);
	});
	canvas.addEventListener("pointerup", () => { last = null; });
	canvas.addEventListener("pointermove", (e) => {
		if (!last || !frame)
			return;
		const [dx, dy] = [e.clientX - last[0], e.clientY - last[1]];
		last = [e.clientX, e.clientY];
		if (frame.dims === 3 && !e.shiftKey)
			view.turn = multiply(rotation(dx * 0.01, dy * 0.01), view.turn);
		else
			view.shift = [view.shift[0] + 2 * dx / canvas.clientWidth, view.shift[1] - 2 * dy / canvas.clientHeight];
		ask();
	});
	canvas.addEventListener("wheel", (e) => {
		e.preventDefault();
		const at = [2 * e.offsetX / canvas.clientWidth - 1, 1 - 2 * e.offsetY / canvas.clientHeight];
		const factor = Math.min(1000, Math.max(0.2, view.zoom * Math.exp(-e.deltaY * 0.002))) / view.zoom;
		view.zoom *= factor;
		view.shift = view.shift.map((s, k) => at[k] + (s - at[k]) * factor);
		ask();
	}, { passive: false });
	canvas.addEventListener("dblclick", () => {
		Object.assign(view, { zoom: 1, shift: [0, 0], turn: STRAIGHT });
		ask();
	});
	const observer = new ResizeObserver(ask);
	observer.observe(canvas);

	function paint() {
		const dark = isDark(element), bytes = both[+dark] ?? both[0];
		colours = bytes && bytes.length ? bytes : null;
		painter.setColours(strided());
		legend.replaceChildren(...entries.map(([name, ...colour]) => {
			const item = document.createElement("li"), dot = document.createElement("span");
			dot.style.cssText = `display:inline-block;width:.7em;height:.7em;margin-right:.4em;border-radius:50%;background:${colour[+dark] ?? colour[0]}`;
			item.append(dot, name.length > 40 ? `${name.slice(0, 25)}…${name.slice(-14)}` : name);
			return item;
		}));
		if (frame)
			ask();
	}
	const scheme = matchMedia("(prefers-color-scheme: dark)");
	scheme.addEventListener("change", paint);

	return {
		setFrame(buffer) {
			const next = decodeFrame(buffer), strideChanged = !frame || frame.stride !== next.stride || frame.n !== next.n;
			const first = !frame;
			frame = next;
			oldBox = box;
			box = bounds(frame);
			oldBox = oldBox ?? box;
			painter.setFrame(frame);
			if (strideChanged)
				painter.setColours(strided());
			came = first ? -Infinity : performance.now();
			text.textContent = `iteration ${frame.iteration}` + (frame.kl === frame.kl ? ` · KL ${frame.kl.toFixed(3)}` : "") +
				(frame.final ? " · done" : "");
			ask();
		},
		setColours(light, dark = light) {
			both = [light, dark];
			paint();
		},
		setLegend(named) {
			entries = named;
			paint();
		},
		destroy() {
			gone = true;
			scheme.removeEventListener("change", paint);
			observer.disconnect();
			painter.destroy();
			element.replaceChildren();
		},
	};
}

/* ---- the widget (anywidget) ---------------------------------------------------------------------------- */

const bytesOf = (view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength);

export function render({ model, el }) {
	const box = document.createElement("div");
	box.style.height = `${model.get("height")}px`;
	el.appendChild(box);
	const view = createView(box);
	const valueOf = (name) => {
		const value = model.get(name);
		return value && value.byteLength ? bytesOf(value) : undefined;
	};
	const frame = () => {
		const value = valueOf("frame");
		if (value)
			view.setFrame(value);
	};
	const colours = () => {
		const light = valueOf("colours");
		if (light)
			view.setColours(light, valueOf("dark"));
	};
	model.on("change:frame", frame);
	model.on("change:colours", colours);
	view.setLegend(model.get("legend") ?? []);
	colours();
	frame();
	return () => {
		model.off("change:frame", frame);
		model.off("change:colours", colours);
		view.destroy();
	};
}

export default { render };
