/* differences.ts -- which columns separate two groups of nodes, by effect size.
 *
 *   numbers, dates  Cliff's delta, of the Mann-Whitney test: P(a > b) - P(a < b) for a of the first group and b of the second;
 *                   ties count half. Its p-value is that of the normal approximation, corrected for ties.
 *   categories      Cramer's V, of the chi-squared test of the table of two groups by categories.
 *
 * With many nodes the smallest differences are significant, so columns are in the order of their effect, not of p. */

export interface Difference {
	column: string;
	test: "Mann-Whitney" | "chi-squared";
	effect: number;              // Cliff's delta, -1 to 1, or Cramer's V, 0 to 1
	p: number;
	first: string;               // medians, or the category that the first group has more of, with its shares
	second: string;
	n: [number, number];         // nodes with a value
}

/** The upper tail of the normal distribution, two-sided: W. J. Cody's rational approximation of erfc by Abramowitz and Stegun
 * 7.1.26 would lose small tails, so this is the continued fraction beyond 3. */
export function twoSided(z: number): number {
	const x = Math.abs(z) / Math.SQRT2;
	if (x < 3) {
		let term = x, sum = x;
		for (let k = 1; k < 200 && Math.abs(term) > 1e-17 * Math.abs(sum); k++) {
			term *= -x * x / k;
			sum += term / (2 * k + 1);
		}
		return Math.max(0, 1 - 2 / Math.sqrt(Math.PI) * sum);
	}
	let f = 0;
	for (let k = 60; k > 0; k--)
		f = k / 2 / (x + f);
	return Math.exp(-x * x) / Math.sqrt(Math.PI) / (x + f);
}

/** ln Gamma, by Lanczos. */
function lnGamma(x: number): number {
	const c = [76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.1208650973866179e-2, -0.5395239384953e-5];
	let sum = 1.000000000190015;
	c.forEach((a, k) => { sum += a / (x + k + 1); });
	return (x + 0.5) * Math.log(x + 5.5) - x - 5.5 + Math.log(2.5066282746310005 * sum / x);
}

/** The upper tail of chi-squared with `df` degrees of freedom. */
export function chiSquaredTail(x: number, df: number): number {
	const a = df / 2, y = x / 2;
	if (y <= 0)
		return 1;
	if (y < a + 1) {
		let term = 1 / a, sum = term;
		for (let k = 1; k < 1000 && term > 1e-16 * sum; k++) {
			term *= y / (a + k);
			sum += term;
		}
		return Math.max(0, 1 - sum * Math.exp(-y + a * Math.log(y) - lnGamma(a)));
	}
	let b = y + 1 - a, c = 1e300, d = 1 / b, h = d;
	for (let k = 1; k < 1000; k++) {
		const an = -k * (k - a);
		b += 2;
		d = 1 / (an * d + b);
		c = b + an / c;
		h *= c * d;
		if (Math.abs(c * d - 1) < 1e-15)
			break;
	}
	return Math.exp(-y + a * Math.log(y) - lnGamma(a)) * h;
}

const median = (sorted: Float64Array): number => (sorted.length % 2 ? sorted[(sorted.length - 1) / 2]! : (sorted[sorted.length / 2 - 1]! + sorted[sorted.length / 2]!) / 2);

/** group: per node 1 or 2 for the two groups, else 0. */
export function compareNumbers(column: string, data: Float32Array | Float64Array, group: Uint8Array, text: (x: number) => string): Difference | null {
	const of = (which: number): Float64Array => Float64Array.from(data.filter((x, i) => group[i] === which && !Number.isNaN(x))).sort();
	const a = of(1), b = of(2), n = a.length, m = b.length;
	if (!n || !m)
		return null;
	let i = 0, j = 0, below = 0, ties = 0, correction = 0;   // pairs with a > b, and equal ones
	while (i < n || j < m) {
		const x = j >= m || (i < n && a[i]! <= b[j]!) ? a[i]! : b[j]!, i0 = i, j0 = j;
		while (i < n && a[i] === x)
			i++;
		while (j < m && b[j] === x)
			j++;
		below += (i - i0) * j0;
		ties += (i - i0) * (j - j0);
		const t = i - i0 + j - j0;
		correction += t * t * t - t;
	}
	const u = below + ties / 2, all = n + m, variance = n * m / 12 * (all + 1 - correction / (all * (all - 1) || 1));
	return { column, test: "Mann-Whitney", effect: 2 * u / (n * m) - 1, p: variance > 0 ? twoSided((u - n * m / 2) / Math.sqrt(variance)) : 1,
		first: text(median(a)), second: text(median(b)), n: [n, m] };
}

export function compareCategories(column: string, codes: Uint32Array, categories: string[], group: Uint8Array): Difference | null {
	const k = categories.length, table = [new Float64Array(k), new Float64Array(k)];
	for (let i = 0; i < codes.length; i++)
		if (group[i] && codes[i]! < k)
			table[group[i]! - 1]![codes[i]!]!++;
	const n = table.map(row => row.reduce((sum, x) => sum + x, 0)) as [number, number], all = n[0] + n[1];
	let chi = 0, used = 0, best = 0, most = -1;
	if (!n[0] || !n[1])
		return null;
	for (let c = 0; c < k; c++) {
		const sum = table[0]![c]! + table[1]![c]!, lead = table[0]![c]! / n[0] - table[1]![c]! / n[1];
		if (!sum)
			continue;
		used++;
		for (const g of [0, 1] as const)
			chi += (table[g]![c]! - sum * n[g] / all) ** 2 / (sum * n[g] / all);
		if (lead > most) {
			most = lead;
			best = c;
		}
	}
	const share = (g: 0 | 1): string => `${Math.round(100 * table[g]![best]! / n[g])} % ${categories[best]!}`;
	return { column, test: "chi-squared", effect: Math.sqrt(chi / all), p: used > 1 ? chiSquaredTail(chi, used - 1) : 1, first: share(0), second: share(1), n };
}
