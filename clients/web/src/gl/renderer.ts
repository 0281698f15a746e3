/* renderer.ts -- WebGL2 state: two frames, colours, and the picture. view.ts handles time, mouse and server. The
 * received bytes of frames go to the GPU unchanged. */
import type { Frame } from "../core/frame.ts";
import { splat } from "./splat.ts";
import { POINTS_FRAGMENT, POINTS_VERTEX, RESOLVE_FRAGMENT, RESOLVE_VERTEX } from "./shaders.ts";

export const PROFILE_BINS = 512;
const IDENTITY = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
const MAX_VERTEX_STRIDE = 255;   // bytes; WebGL's limit

export type RGB = [number, number, number];  // 0 to 1

export interface Picture {
	t: number;                       // 0: first frame, 1: second
	centre: [number, number, number, number];
	matrix: Float32Array;
	perspective: boolean;
	size: number;                    // of a point, in pixels of the canvas
	opacity: number;
	lod: number;                     // draw every lod-th point
	background: RGB;
	plain: RGB;
	muted: RGB;
	dimmed: boolean;
	dark: boolean;
	density: boolean;
	densityTop: number;
}

interface Slot {
	frame: Frame | null;
	buffer: WebGLBuffer;
}

function program(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
	const p = gl.createProgram()!;
	for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
		const shader = gl.createShader(kind)!;
		gl.shaderSource(shader, source);
		gl.compileShader(shader);
		if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost())
			throw new Error(`shader: ${gl.getShaderInfoLog(shader)}`);
		gl.attachShader(p, shader);
	}
	gl.linkProgram(p);
	if (!gl.getProgramParameter(p, gl.LINK_STATUS) && !gl.isContextLost())
		throw new Error(`program: ${gl.getProgramInfoLog(p)}`);
	return p;
}

/** The smoothed density of points along a line (1-D layouts); the maximum is 1.4. */
export function profileOf(frame: Frame): Float32Array {
	const bins = new Float32Array(PROFILE_BINS), data = frame.data, step = Math.max(1, Math.floor(data.length / 2e5));
	for (let i = 0; i < data.length; i += step)
		bins[Math.min(PROFILE_BINS - 1, (data[i]! * PROFILE_BINS) >> 16)]!++;
	const kernel = [1, 4, 8, 10, 8, 4, 1], smooth = new Float32Array(PROFILE_BINS);
	let most = 0;
	for (let i = 0; i < PROFILE_BINS; i++) {
		for (let k = -3; k <= 3; k++)
			smooth[i]! += (bins[Math.min(PROFILE_BINS - 1, Math.max(0, i + k))]!) * kernel[k + 3]!;
		most = Math.max(most, smooth[i]!);
	}
	return smooth.map(x => 0.03 + 1.37 * x / (most || 1));
}

export class Renderer {
	readonly gl: WebGL2RenderingContext;
	private points!: WebGLProgram;
	private resolve!: WebGLProgram;
	private at: Record<string, WebGLUniformLocation | null> = {};
	private slots!: [Slot, Slot];
	private values!: WebGLBuffer;
	private flags!: WebGLBuffer;
	private palette!: WebGLTexture;
	private profile!: WebGLTexture;
	private sums!: WebGLTexture;
	private depth!: WebGLRenderbuffer;
	private target!: WebGLFramebuffer;
	private size: [number, number] = [0, 0];
	private mode = 0;
	private categories = 1;
	private hasValues = false;
	private hasFlags = false;
	private half = false;
	private software = false;            // no GPU: the CPU sums the points
	private splatted!: WebGLTexture;
	private pixels = new Float32Array(0);
	private painted: { values: Uint16Array | null; palette: Uint8Array; flags: Uint8Array | null } = { values: null, palette: new Uint8Array(4), flags: null };
	align: Float32Array | null = null;   // of the second frame

	constructor(readonly canvas: HTMLCanvasElement | OffscreenCanvas) {
		const gl = canvas.getContext("webgl2", { alpha: false, antialias: false, depth: false, powerPreference: "high-performance" });
		if (!gl)
			throw new Error("This browser has no WebGL 2, which the pictures need. Current Firefox, Chrome and Safari have it.");
		this.gl = gl as WebGL2RenderingContext;
		this.create();
	}

	/** Makes all objects of the context; called again after the context was lost. */
	create(): void {
		const gl = this.gl;
		this.half = !!(gl.getExtension("EXT_color_buffer_float") || gl.getExtension("EXT_color_buffer_half_float"));
		const info = gl.getExtension("WEBGL_debug_renderer_info");
		this.software = this.half && /swiftshader|llvmpipe|softpipe|software|basic render/i.test(info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "");
		this.points = program(gl, POINTS_VERTEX, POINTS_FRAGMENT);
		this.resolve = program(gl, RESOLVE_VERTEX, RESOLVE_FRAGMENT);
		this.at = {};
		for (const name of ["boxA", "boxB", "alignB", "t", "centre", "matrix", "size", "perspective", "dims", "lod",
			"profile", "palette", "mode", "categories", "plain", "muted", "dimmed", "solid", "background"])
			this.at[name] = gl.getUniformLocation(this.points, name);
		for (const name of ["sums", "palette", "opacity", "background", "glow", "density", "top"])
			this.at[`resolve.${name}`] = gl.getUniformLocation(this.resolve, name);
		this.slots = [{ frame: null, buffer: gl.createBuffer()! }, { frame: null, buffer: gl.createBuffer()! }];
		this.values = gl.createBuffer()!;
		this.flags = gl.createBuffer()!;
		this.palette = this.texture(gl.LINEAR);
		this.profile = this.texture(gl.LINEAR);
		gl.texImage2D(gl.TEXTURE_2D, 0, gl.R16F, PROFILE_BINS, 2, 0, gl.RED, gl.FLOAT, new Float32Array(PROFILE_BINS * 2));
		this.sums = this.texture(gl.NEAREST);
		this.splatted = this.texture(gl.NEAREST);
		this.depth = gl.createRenderbuffer()!;
		this.target = gl.createFramebuffer()!;
		this.size = [0, 0];
		this.hasValues = this.hasFlags = false;
	}

	private texture(filter: number): WebGLTexture {
		const gl = this.gl, texture = gl.createTexture()!;
		gl.bindTexture(gl.TEXTURE_2D, texture);
		for (const [key, value] of [[gl.TEXTURE_MIN_FILTER, filter], [gl.TEXTURE_MAG_FILTER, filter],
			[gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE], [gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE]] as const)
			gl.texParameteri(gl.TEXTURE_2D, key, value);
		return texture;
	}

	get before(): Frame | null { return this.slots[0].frame; }
	get after(): Frame | null { return this.slots[1].frame; }

	/** Uploads a frame as the second; the previous second frame becomes the first. */
	push(frame: Frame): void {
		this.slots = [this.slots[1], this.slots[0]];
		this.put(1, frame);
	}

	/** Uploads a frame as the first (0) or second (1). */
	put(slot: 0 | 1, frame: Frame): void {
		const gl = this.gl, s = this.slots[slot];
		gl.bindBuffer(gl.ARRAY_BUFFER, s.buffer);
		gl.bufferData(gl.ARRAY_BUFFER, frame.data, gl.DYNAMIC_DRAW);
		s.frame = frame;
		if (frame.dims !== 1)
			return;
		gl.bindTexture(gl.TEXTURE_2D, this.profile);
		for (const row of [0, 1] as const) {
			const f = this.slots[row].frame;
			if (f && f.dims === 1)
				gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, row, PROFILE_BINS, 1, gl.RED, gl.FLOAT, profileOf(f));
		}
	}

	/** Sets the values that colour points, one per point of the frames; null: one colour. palette: RGBA, per category
	 * or 256 entries. */
	setValues(values: Uint16Array | null, palette: Uint8Array, kind: "plain" | "category" | "number"): void {
		const gl = this.gl;
		this.mode = kind === "category" ? 1 : kind === "number" ? 2 : 0;
		this.categories = Math.max(1, palette.length / 4);
		gl.bindTexture(gl.TEXTURE_2D, this.palette);
		gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, palette.length / 4, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, palette);
		this.painted = { ...this.painted, values, palette };
		this.hasValues = !!values && this.mode > 0;
		if (values && this.hasValues) {
			gl.bindBuffer(gl.ARRAY_BUFFER, this.values);
			gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
		}
	}

	setFlags(flags: Uint8Array | null): void {
		const gl = this.gl;
		this.painted.flags = flags;
		this.hasFlags = !!flags;
		if (!flags)
			return;
		gl.bindBuffer(gl.ARRAY_BUFFER, this.flags);
		gl.bufferData(gl.ARRAY_BUFFER, flags, gl.DYNAMIC_DRAW);
	}

	private resize(): void {
		const gl = this.gl, { width, height } = this.canvas;
		if (this.size[0] === width && this.size[1] === height)
			return;
		this.size = [width, height];
		gl.bindTexture(gl.TEXTURE_2D, this.sums);
		if (this.half)
			gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA16F, width, height, 0, gl.RGBA, gl.HALF_FLOAT, null);
		else
			gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, width, height, 0, gl.RGBA, gl.UNSIGNED_BYTE, null);
		gl.bindRenderbuffer(gl.RENDERBUFFER, this.depth);
		gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT16, width, height);
		gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
		gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, this.sums, 0);
		gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, this.depth);
	}

	/** Attribute of every lod-th point. */
	private attribute(index: number, buffer: WebGLBuffer, components: number, kind: "u16" | "uint16" | "uint8", lod: number): void {
		const gl = this.gl, bytes = kind === "uint8" ? 1 : 2 * components;
		gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
		gl.enableVertexAttribArray(index);
		if (kind === "u16")
			gl.vertexAttribPointer(index, components, gl.UNSIGNED_SHORT, true, bytes * lod, 0);
		else
			gl.vertexAttribIPointer(index, 1, kind === "uint8" ? gl.UNSIGNED_BYTE : gl.UNSIGNED_SHORT, bytes * lod, 0);
	}

	/** The largest lod for frames with this number of dimensions. */
	static largestLod(dims: number): number {
		return Math.floor(MAX_VERTEX_STRIDE / (2 * dims));
	}

	draw(p: Picture): void {
		const gl = this.gl, b = this.slots[1].frame;
		const a = this.slots[0].frame && b && this.slots[0].frame.n === b.n && this.slots[0].frame.dims === b.dims ? this.slots[0] : this.slots[1];
		this.resize();
		const [width, height] = this.size;
		gl.viewport(0, 0, width, height);
		if (this.software && b?.dims === 2) {
			this.splat(p, a.frame!, b);
			this.resolvePass(p, false, this.splatted);
			return;
		}
		gl.bindFramebuffer(gl.FRAMEBUFFER, this.target);
		gl.clearColor(0, 0, 0, 0);
		gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
		const solid = b?.dims === 3 && p.size >= 2.5 && !p.density;
		if (b && b.n) {
			const lod = Math.max(1, Math.min(p.lod, Renderer.largestLod(b.dims)));
			gl.useProgram(this.points);
			this.attribute(0, a.buffer, b.dims, "u16", lod);
			this.attribute(1, this.slots[1].buffer, b.dims, "u16", lod);
			if (this.hasValues) {
				this.attribute(2, this.values, 1, "uint16", lod);
			} else {
				gl.disableVertexAttribArray(2);
				gl.vertexAttribI4ui(2, 0, 0, 0, 0);
			}
			if (this.hasFlags) {
				this.attribute(3, this.flags, 1, "uint8", lod);
			} else {
				gl.disableVertexAttribArray(3);
				gl.vertexAttribI4ui(3, 0, 0, 0, 0);
			}
			this.uniforms(p, a.frame!, b, lod, solid);
			if (solid) {
				gl.enable(gl.DEPTH_TEST);
				gl.disable(gl.BLEND);
			} else {
				gl.disable(gl.DEPTH_TEST);
				gl.enable(gl.BLEND);
				gl.blendFunc(gl.ONE, gl.ONE);
			}
			gl.drawArrays(gl.POINTS, 0, Math.ceil(b.n / lod));
			gl.disable(gl.DEPTH_TEST);
			gl.disable(gl.BLEND);
		}
		this.resolvePass(p, solid);
	}

	private splat(p: Picture, a: Frame, b: Frame): void {
		const gl = this.gl, [width, height] = this.size;
		if (this.pixels.length !== 4 * width * height)
			this.pixels = new Float32Array(4 * width * height);
		splat(this.pixels, width, height, { a, b, t: p.t, centre: p.centre, matrix: p.matrix, align: this.align, width, height },
			{ ...this.painted, size: p.size, plain: p.plain, muted: p.muted, mode: this.mode, dimmed: p.dimmed }, p.lod);
		gl.bindTexture(gl.TEXTURE_2D, this.splatted);
		gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, width, height, 0, gl.RGBA, gl.FLOAT, this.pixels);
	}

	private uniforms(p: Picture, a: Frame, b: Frame, lod: number, solid: boolean): void {
		const gl = this.gl, at = this.at;
		gl.uniform4f(at["boxA"]!, ...a.low, a.extent);
		gl.uniform4f(at["boxB"]!, ...b.low, b.extent);
		gl.uniformMatrix4fv(at["alignB"]!, false, this.align ?? IDENTITY);
		gl.uniform1f(at["t"]!, p.t);
		gl.uniform4f(at["centre"]!, ...p.centre);
		gl.uniformMatrix4fv(at["matrix"]!, false, p.matrix);
		gl.uniform1f(at["size"]!, p.size);
		gl.uniform1f(at["perspective"]!, p.perspective ? 1 : 0);
		gl.uniform1i(at["dims"]!, b.dims);
		gl.uniform1ui(at["lod"]!, lod);
		gl.uniform1i(at["mode"]!, this.mode);
		gl.uniform1i(at["categories"]!, this.categories);
		gl.uniform3f(at["plain"]!, ...p.plain);
		gl.uniform3f(at["muted"]!, ...p.muted);
		gl.uniform3f(at["background"]!, ...p.background);
		gl.uniform1i(at["dimmed"]!, p.dimmed ? 1 : 0);
		gl.uniform1i(at["solid"]!, solid ? 1 : 0);
		gl.activeTexture(gl.TEXTURE1);
		gl.bindTexture(gl.TEXTURE_2D, this.profile);
		gl.uniform1i(at["profile"]!, 1);
		gl.activeTexture(gl.TEXTURE0);
		gl.bindTexture(gl.TEXTURE_2D, this.palette);
		gl.uniform1i(at["palette"]!, 0);
	}

	private resolvePass(p: Picture, solid: boolean, sums = this.sums): void {
		const gl = this.gl, at = this.at;
		gl.bindFramebuffer(gl.FRAMEBUFFER, null);
		gl.useProgram(this.resolve);
		gl.activeTexture(gl.TEXTURE1);
		gl.bindTexture(gl.TEXTURE_2D, sums);
		gl.uniform1i(at["resolve.sums"]!, 1);
		gl.activeTexture(gl.TEXTURE0);
		gl.bindTexture(gl.TEXTURE_2D, this.palette);
		gl.uniform1i(at["resolve.palette"]!, 0);
		gl.uniform1f(at["resolve.opacity"]!, solid ? 1 : p.opacity);
		gl.uniform3f(at["resolve.background"]!, ...p.background);
		gl.uniform1f(at["resolve.glow"]!, solid ? 0 : p.dark ? 0.8 : -0.5);
		gl.uniform1i(at["resolve.density"]!, p.density ? 1 : 0);
		gl.uniform1f(at["resolve.top"]!, Math.max(1.5, p.densityTop));
		for (const index of [0, 1, 2, 3])
			gl.disableVertexAttribArray(index);
		gl.drawArrays(gl.TRIANGLES, 0, 3);
		gl.bindTexture(gl.TEXTURE_2D, null);
	}

	destroy(): void {
		this.gl.getExtension("WEBGL_lose_context")?.loseContext();
	}
}

/** Starts the browser's graphics and compiles the shaders in advance, so that the first run is drawn at once. */
export function warmUp(): void {
	const begin = (): void => {
		try {
			new Renderer(new OffscreenCanvas(1, 1)).destroy();
		} catch {   // the run's page reports what is missing
		}
	};
	setTimeout(begin, 300);
}
