/* splat.ts -- sums 2-D points on the CPU, for browsers without a GPU. Software renderers take more than a microsecond
 * to set up a point; adding it to an array takes a hundredth of that. The sums equal the shader's: colour times weight,
 * and weight, for each pixel, rows from the bottom. */
import { rows, type Scene } from "./pick.ts";

export interface Paint {
	size: number;                    // of a point, pixels
	plain: readonly number[];
	muted: readonly number[];
	mode: number;                    // as in the shader: 0 one colour, 1 category, 2 number
	values: Uint16Array | null;
	palette: Uint8Array;             // RGBA
	flags: Uint8Array | null;
	dimmed: boolean;
}

const MISSING = 65535;

/** The pixels that a disc of this size covers: offsets in the array, and weights. */
function disc(size: number, width: number): { at: Int32Array; weight: Float32Array; reach: number } {
	const at: number[] = [], weight: number[] = [], radius = size / 2, reach = size < 1.6 ? 0 : Math.ceil(radius);
	for (let y = -reach; y <= reach; y++)
		for (let x = -reach; x <= reach; x++) {
			const cover = size < 1.6 ? Math.min(1, size * size) : Math.min(1, Math.max(0, radius + 0.5 - Math.hypot(x, y)));
			if (cover > 0) {
				at.push(4 * (y * width + x));
				weight.push(cover);
			}
		}
	return { at: Int32Array.from(at), weight: Float32Array.from(weight), reach };
}

/** The colour of each value; the last one is for missing values. */
function colours(p: Paint): Float32Array {
	const n = p.palette.length / 4, out = new Float32Array(3 * (n + 1));
	for (let i = 0; i < n; i++)
		for (let k = 0; k < 3; k++)
			out[3 * i + k] = p.palette[4 * i + k]! / 255;
	out.set(p.muted, 3 * n);
	return out;
}

/** Zeroes sums [height][width][4] and adds every lod-th point. */
export function splat(sums: Float32Array, width: number, height: number, s: Scene, p: Paint, lod: number): void {
	const [rx, ry] = rows(s), { data: pb, n } = s.b, pa = s.a.n === n && s.a.dims === 2 ? s.a.data : pb, { at, weight, reach } = disc(p.size, width);
	const table = colours(p), kinds = table.length / 3 - 1, { values, flags } = p, [ax, ay, bx, by] = [rx[0]!, rx[1]!, rx[3]!, rx[4]!];
	const [cx, cy, dx, dy] = [ry[0]!, ry[1]!, ry[3]!, ry[4]!], w2 = width / 2, h2 = height / 2, x0 = rx[6]!, y0 = ry[6]!;
	let [r, g, b] = p.plain as [number, number, number];
	sums.fill(0);
	for (let i = 0; i < n; i += lod) {
		const a0 = pa[2 * i]!, a1 = pa[2 * i + 1]!, b0 = pb[2 * i]!, b1 = pb[2 * i + 1]!;
		const x = Math.floor(w2 + w2 * (x0 + ax * a0 + ay * a1 + bx * b0 + by * b1));
		const y = Math.floor(h2 + h2 * (y0 + cx * a0 + cy * a1 + dx * b0 + dy * b1));
		if (x < reach || y < reach || x >= width - reach || y >= height - reach)
			continue;
		if (p.mode && values) {
			const v = values[i]!, c = 3 * (v === MISSING ? kinds : p.mode === 1 ? v % kinds : (v * (kinds - 1) / 65534) | 0);
			r = table[c]!;
			g = table[c + 1]!;
			b = table[c + 2]!;
		}
		let w = 1, red = r, green = g, blue = b;
		const flag = flags ? flags[i]! : 0;
		if (flag & 2) {
			w = 3;
		} else if (p.dimmed && !(flag & 1)) {
			w = 0.3;
			red += 0.7 * (p.muted[0]! - r);
			green += 0.7 * (p.muted[1]! - g);
			blue += 0.7 * (p.muted[2]! - b);
		}
		const pixel = 4 * (y * width + x);
		for (let k = 0; k < at.length; k++) {
			const o = pixel + at[k]!, f = w * weight[k]!;
			sums[o]! += red * f;
			sums[o + 1]! += green * f;
			sums[o + 2]! += blue * f;
			sums[o + 3]! += f;
		}
	}
}
