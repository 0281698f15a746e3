/* procrustes.ts -- the similarity (turn, mirror, scale, shift) that brings one layout as near to another as it can.
 * Schoenemann and Carroll, Psychometrika 35, 1970. Singular vectors of the 3 x 3 covariance by one-sided Jacobi. */

export interface Alignment {
	matrix: Float32Array;  // 4 x 4, column-major, from the second layout to the first
	residual: number;      // share of the first one's variance that is left, 0 to 1
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

/** x and y: [n][dims] of the same nodes. */
export function procrustes(x: Float32Array, y: Float32Array, dims: number): Alignment {
	const n = x.length / dims, mx = [0, 0, 0], my = [0, 0, 0];
	for (let i = 0; i < n; i++)
		for (let k = 0; k < dims; k++) {
			mx[k]! += x[i * dims + k]! / n;
			my[k]! += y[i * dims + k]! / n;
		}
	const cov = [0, 0, 0, 0, 0, 0, 0, 0, 0];
	let sx = 0, sy = 0;
	for (let i = 0; i < n; i++)
		for (let k = 0; k < dims; k++) {
			const a = x[i * dims + k]! - mx[k]!;
			sx += a * a;
			sy += (y[i * dims + k]! - my[k]!) ** 2;
			for (let l = 0; l < dims; l++)
				cov[3 * k + l]! += a * (y[i * dims + l]! - my[l]!);
		}
	const { u, s, v } = svd3(cov), trace = s[0]! + s[1]! + s[2]!;
	const scale = sy > 0 ? trace / sy : 1;
	const matrix = new Float32Array(16);
	matrix[15] = 1;
	for (let k = 0; k < 3; k++) {
		let shift = mx[k]!;
		for (let l = 0; l < 3; l++) {
			const r = u[3 * k]! * v[3 * l]! + u[3 * k + 1]! * v[3 * l + 1]! + u[3 * k + 2]! * v[3 * l + 2]!;
			matrix[4 * l + k] = scale * r;
			shift -= scale * r * my[l]!;
		}
		matrix[12 + k] = shift;
	}
	return { matrix, residual: sx > 0 && sy > 0 ? Math.max(0, 1 - trace * trace / (sx * sy)) : 0 };
}
