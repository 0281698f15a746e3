/* format.ts -- numbers for people. */

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export const count = (n: number): string => whole.format(n);
export const several = (n: number, thing: string): string => `${count(n)} ${thing}${n === 1 ? "" : "s"}`;

/** The time until a moment: "in 3 days"; the empty string: it is further away than `most` days. */
export function until(moment: string, most = Infinity): string {
	const hours = (Date.parse(moment) - Date.now()) / 3_600_000;
	return hours > 24 * most ? "" : hours < 1 ? "within an hour" : hours < 48 ? `in ${Math.round(hours)} hours` : `in ${count(hours / 24)} days`;
}

export function number(x: number | null | undefined, digits = 4): string {
	if (x === null || x === undefined || Number.isNaN(x))
		return "–";
	const size = Math.abs(x);
	if (size !== 0 && (size < 1e-3 || size >= 1e6))
		return x.toExponential(2).replace("e+", "e");
	return size >= 1e4 ? whole.format(x) : String(Number(x.toPrecision(digits)));
}

export function bytes(n: number): string {
	const units = ["B", "kB", "MB", "GB", "TB"];
	let unit = 0;
	while (n >= 1000 && unit < units.length - 1) {
		n /= 1000;
		unit++;
	}
	return `${n < 10 && unit ? n.toFixed(1) : Math.round(n)} ${units[unit]}`;
}

export function duration(s: number | null | undefined): string {
	if (s === null || s === undefined)
		return "–";
	if (s < 1)
		return `${Math.round(s * 1000)} ms`;
	if (s < 100)
		return `${s.toFixed(s < 10 ? 1 : 0)} s`;
	if (s < 6000)
		return `${Math.round(s / 60)} min`;
	return s < 172800 ? `${(s / 3600).toFixed(1)} h` : `${Math.round(s / 86400)} d`;
}

export function ago(time: string, now = Date.now()): string {
	const s = Math.max(0, (now - Date.parse(time)) / 1000);
	return s < 5 ? "just now" : `${duration(s < 100 ? Math.round(s) : s).replace(".0 s", " s")} ago`;
}

/** The day of a moment, as nobody can misread it: "5 Dec 2026". */
export const day = (seconds: number): string => new Date(seconds * 1000).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric" });

const COUNTED = "rows|columns|nodes|points|entries|edges|neighbours|values|lines|fields|iterations|bytes|labels|categories|dimensions|runs|jobs";
const COUNTS = new RegExp(`(?<![\\w./:"'$-])\\d{5,}(?= (?:[a-z]+ )?(?:${COUNTED})\\b)|(?<=\\b(?:at most|at least|up to|from \\d+ to) )\\d{5,}(?![\\w/:-]|\\.\\w)`, "g");

/** Adds a capital letter and a full stop, and commas to numbers that count things or bound them; not to values, dates, years,
 * names and the like, which are shown as they are. */
export const sentence = (text: string): string => {
	const plain = text.replace(COUNTS, digits => count(Number(digits)));
	return plain ? (/^[a-z]+[_=]/.test(plain) ? plain[0]! : plain[0]!.toUpperCase()) + plain.slice(1) + (/[.!?…]$/.test(plain) ? "" : ".") : "";
};

/** Replaces the middle of a long text. */
export function shorten(text: string, most: number): string {
	if (text.length <= most)
		return text;
	const tail = Math.floor((most - 1) / 2);
	return text.slice(0, most - 1 - tail) + "…" + text.slice(text.length - tail);
}

/** Why a run ended, by the `stop` of its record. */
export const STOPS: Record<string, string> = { iterations: "after all iterations", gradient_norm: "by a small gradient", kl: "as KL no longer fell",
	time: "after its time", asked: "on request", converged: "converged" };
