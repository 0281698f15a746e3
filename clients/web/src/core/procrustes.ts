/* procrustes.ts -- the similarity transformation (rotation, reflection, scale, translation) that aligns one layout with
 * another. Schoenemann and Carroll, Psychometrika 35, 1970. Singular vectors of the 3 x 3 covariance by one-sided
 * Jacobi.
 *
 * With squared distances, a few outliers would determine the scale. So nodes far from the middle of either layout are
 * ignored, and badly fitting nodes get less weight: the fit is repeated with Huber's weights, min(1, median distance /
 * distance). The scale of least error shrinks if layouts fit badly. So the scale is the ratio of the median distances
 * from the middle, which makes both layouts the same size. */

export interface Alignment {
	matrix: Float32Array;  // 4 x 4, column-major, from the second layout to the first
	residual: number;      // unexplained fraction of the first layout's variance, 0 to 1, without outliers
	far: number;           // number of ignored outliers
}

type M3 = number[];  // row-major 3 x 3

/** a = u diag(s) v^T, by rotations of a's columns. */
function svd3(a: M3): { u: M3; s: number[]; v: M3 } {
	const u = [...a], v = [1, 0, 0, 0, 1, 0, 0, 0, 1];
	for (let sweep = 0; sweep < 30; sweep++) {
		let off = 0;
		for (const [p, q] of [[0, 1], [0, 2], [1, 2]] as const) {
			let alpha = 0, beta = 0, gamma = 0;
			for (let i = 0; i < 3; i++) {
				alpha += u[3 * i + p]! ** 2;
				beta += u[3 * i + q]! ** 2;
				gamma += u[3 * i + p]! * u[3 * i + q]!;
			}
			off = Math.max(off, Math.abs(gamma) / Math.sqrt(alpha * beta || 1));
			if (Math.abs(gamma) < 1e-300)
				continue;
			const zeta = (beta - alpha) / (2 * gamma);
			const t = Math.sign(zeta || 1) / (Math.abs(zeta) + Math.hypot(1, zeta)), c = 1 / Math.hypot(1, t), s = c * t;
			for (const m of [u, v])
				for (let i = 0; i < 3; i++) {
					const x = m[3 * i + p]!, y = m[3 * i + q]!;
					m[3 * i + p] = c * x - s * y;
					m[3 * i + q] = s * x + c * y;
				}
		}
		if (off < 1e-14)
			break;
	}
	const s = [0, 1, 2].map(k => Math.hypot(u[k]!, u[3 + k]!, u[6 + k]!));
	for (let k = 0; k < 3; k++)
		for (let i = 0; i < 3; i++)
			u[3 * i + k] = s[k]! > 1e-12 * Math.max(...s) ? u[3 * i + k]! / s[k]! : 0;
	return { u, s, v };
}

const FAR = 2, WITHIN = 0.9;   // nodes beyond FAR times the WITHIN-quantile of the distances are ignored
const TURNS = 12;

/** The quantile `share` of values, which it sorts. */
const least = (values: Float64Array, share: number): number => values.sort()[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0;

/** Marks in `far` the nodes far from the median position. */
function markFar(x: Float32Array, dims: number, far: Uint8Array): void {
	const n = far.length, middle = Array.from({ length: dims }, (_, k) => least(Float64Array.from(far, (_f, i) => x[i * dims + k]!), 0.5));
	const away = Float64Array.from(far, (_, i) => Math.hypot(...middle.map((m, k) => x[i * dims + k]! - m)));
	const most = FAR * least(away.slice(), WITHIN);
	for (let i = 0; i < n; i++)
		far[i]! |= Number(!(away[i]! <= most));
}

interface Fit {
	turn: M3;
	scale: number;
	from: number[];   // this point of the second layout ...
	to: number[];     // ... is mapped to this point of the first
}

/** The best fit if node i has weight[i]. */
function fit(x: Float32Array, y: Float32Array, dims: number, weight: Float64Array): Fit {
	const n = weight.length, to = [0, 0, 0], from = [0, 0, 0], cov = [0, 0, 0, 0, 0, 0, 0, 0, 0];
	const all = weight.reduce((sum, w) => sum + w, 0) || 1;
	let spread = 0;
	for (let i = 0; i < n; i++)
		for (let k = 0; k < dims; k++) {
			to[k]! += weight[i]! * x[i * dims + k]! / all;
			from[k]! += weight[i]! * y[i * dims + k]! / all;
		}
	for (let i = 0; i < n; i++)
		for (let k = 0; k < dims; k++) {
			spread += weight[i]! * (y[i * dims + k]! - from[k]!) ** 2;
			for (let l = 0; l < dims; l++)
				cov[3 * k + l]! += weight[i]! * (x[i * dims + k]! - to[k]!) * (y[i * dims + l]! - from[l]!);
		}
	const { u, s, v } = svd3(cov), turn = [0, 0, 0, 0, 0, 0, 0, 0, 0];
	for (let k = 0; k < 3; k++)
		for (let l = 0; l < 3; l++)
			turn[3 * k + l] = u[3 * k]! * v[3 * l]! + u[3 * k + 1]! * v[3 * l + 1]! + u[3 * k + 2]! * v[3 * l + 2]!;
	return { turn, scale: spread > 0 ? (s[0]! + s[1]! + s[2]!) / spread : 1, from, to };
}

/** The distance of each mapped node from its position in the first layout. */
function errors(x: Float32Array, y: Float32Array, dims: number, f: Fit): Float64Array {
	return Float64Array.from({ length: x.length / dims }, (_, i) => {
		let sum = 0;
		for (let k = 0; k < dims; k++) {
			let at = f.to[k]!;
			for (let l = 0; l < dims; l++)
				at += f.scale * f.turn[3 * k + l]! * (y[i * dims + l]! - f.from[l]!);
			sum += (x[i * dims + k]! - at) ** 2;
		}
		return Math.sqrt(sum);
	});
}

const FITS = 3;   // times the median error

/** The fraction of the first layout's variance that the second explains, and the ratio of their sizes, both from nodes
 * that fit. */
function agreement(x: Float32Array, y: Float32Array, dims: number, f: Fit, off: Float64Array, near: Float64Array): { explained: number; scale: number } {
	const half = least(off.filter((_, i) => near[i]), 0.5), { to, from } = fit(x, y, dims, near), sizes: [number[], number[]] = [[], []];
	let both = 0, xx = 0, yy = 0;
	for (let i = 0; i < off.length; i++) {
		if (!near[i])
			continue;
		let a2 = 0, b2 = 0;
		for (let k = 0; k < dims; k++) {
			xx += (x[i * dims + k]! - to[k]!) ** 2;
			yy += (y[i * dims + k]! - from[k]!) ** 2;
			a2 += (x[i * dims + k]! - f.to[k]!) ** 2;
			b2 += (y[i * dims + k]! - f.from[k]!) ** 2;
			for (let l = 0; l < dims; l++)
				both += (x[i * dims + k]! - to[k]!) * f.turn[3 * k + l]! * (y[i * dims + l]! - from[l]!);
		}
		if (off[i]! <= FITS * half) {
			sizes[0].push(Math.sqrt(a2));
			sizes[1].push(Math.sqrt(b2));
		}
	}
	const [of, by] = sizes.map(s => least(Float64Array.from(s), 0.5)) as [number, number];
	return { explained: xx > 0 && yy > 0 ? Math.min(1, Math.max(0, both) ** 2 / (xx * yy)) : 1, scale: of > 0 && by > 0 ? of / by : f.scale };
}

/** x and y: [n][dims] of the same nodes. */
export function procrustes(x: Float32Array, y: Float32Array, dims: number): Alignment {
	const n = x.length / dims, far = new Uint8Array(n);
	markFar(x, dims, far);
	markFar(y, dims, far);
	const near = Float64Array.from(far, f => 1 - f);
	let f = fit(x, y, dims, near), off = errors(x, y, dims, f);
	for (let turn = 0; turn < TURNS; turn++) {
		const half = least(off.filter((_, i) => near[i]), 0.5);
		if (!(half > 0))
			break;
		f = fit(x, y, dims, near.map((w, i) => w * Math.min(1, half / off[i]!)));
		off = errors(x, y, dims, f);
	}
	const { explained, scale } = agreement(x, y, dims, f, off, near), matrix = new Float32Array(16);
	f.scale = scale;
	matrix[15] = 1;
	for (let k = 0; k < 3; k++) {
		let shift = f.to[k]!;
		for (let l = 0; l < 3; l++) {
			matrix[4 * l + k] = f.scale * f.turn[3 * k + l]!;
			shift -= f.scale * f.turn[3 * k + l]! * f.from[l]!;
		}
		matrix[12 + k] = shift;
	}
	return { matrix, residual: 1 - explained, far: far.reduce((sum, flag) => sum + flag, 0) };
}
