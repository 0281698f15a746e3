/* view.ts -- what a view shows, in the query of its address: camera, palette, size of points, selection (and the colour,
 * which ui/ keeps there). So it survives a reload, Back and Forward, and a link shows the same.
 *
 * A selection is a list of lengths: so many nodes that are not selected, so many that are, and so on; each a multiple of 26
 * in base 36, if it is not 0, and a capital letter for the rest. One too long for an address stays in the browser's memory of this tab. */
import { cameraOf, cameraText, HOME } from "../gl/camera.ts";
import { keep, route } from "./route.ts";
import type { Session } from "./session.ts";

const LONGEST = 6000;      // characters of a selection in the address
const KEPT = 12;           // long selections that the tab remembers
const PREFIX = "spaceland-selection-";
const WAIT_MS = 400;

function writeLength(n: number): string {
	return (n < 26 ? "" : Math.floor(n / 26).toString(36)) + String.fromCharCode(65 + n % 26);
}

export function selectionText(flags: Uint8Array): string {
	const out: string[] = [];
	let run = 0, value = 0;
	for (const flag of flags) {
		if ((flag & 1) !== value) {
			out.push(writeLength(run));
			run = 0;
			value ^= 1;
		}
		run++;
	}
	if (value)
		out.push(writeLength(run));
	return out.join("");
}

/** null: not the selection of a layout of n nodes. */
export function selectionOf(text: string, n: number): Uint8Array | null {
	const flags = new Uint8Array(n);
	let at = 0, value = 0, head = 0;
	for (let i = 0; i < text.length; i++) {
		const code = text.charCodeAt(i);
		if (code < 65 || code > 90)
			continue;
		const run = (i > head ? parseInt(text.slice(head, i), 36) : 0) * 26 + code - 65;
		if (!Number.isFinite(run) || at + run > n)
			return null;
		if (value)
			flags.fill(1, at, at + run);
		at += run;
		value ^= 1;
		head = i + 1;
	}
	return head === text.length ? flags : null;
}

/** FNV-1a of a text. */
function hash(text: string): string {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619) >>> 0;
	return h.toString(36) + text.length.toString(36);
}

/** Stores a long text for this tab; returns its key, "" if there is no room. */
function remember(text: string): string {
	const key = hash(text);
	for (let left = KEPT; ; left--) {
		const old = Object.keys(sessionStorage).filter(k => k.startsWith(PREFIX) && k !== PREFIX + key);
		for (const k of old.slice(0, Math.max(0, old.length - left + 1)))
			sessionStorage.removeItem(k);
		try {
			sessionStorage.setItem(PREFIX + key, text);
			return key;
		} catch {
			if (left <= 1)
				return "";
		}
	}
}

/** The query that shows the present view again; undefined: as without it. long: false: leave out what only this tab knows. */
export function viewQuery(s: Session, long = true): Record<string, string | undefined> {
	const flags = s.selected.value, focus = s.focus.value, camera = cameraText(s.camera.value);
	let selected: string | undefined, kept: string | undefined;
	if (flags && !focus) {
		const text = selectionText(flags);
		if (text.length <= LONGEST)
			selected = text;
		else if (long)
			kept = remember(text) || undefined;
	}
	return { view: camera === cameraText(HOME) ? undefined : camera, all: s.whole ? "1" : undefined, palette: s.palette.value === "auto" ? undefined : s.palette.value,
		size: s.size.value === 1 ? undefined : s.size.value.toFixed(2), node: focus ? String(focus.node) : undefined, selected, kept };
}

/** True if the selection does not fit into an address. */
export const isLong = (s: Session): boolean => !!s.selected.value && !s.focus.value && selectionText(s.selected.value).length > LONGEST;

/** Shows the view of the address; returns what cannot be shown, "" if all is. Colours come with the columns. */
export function restore(s: Session): string {
	const { palette, view, node, size, all, selected, kept } = route.value.query, camera = cameraOf(view) ?? { ...HOME };
	s.setPalette(palette ?? "auto");
	s.setSize(size && Number(size) > 0 ? Number(size) : 1);
	s.whole = !!all;
	s.view?.setWhole(s.whole);
	if (cameraText(s.camera.value) !== cameraText(camera)) {
		s.camera.value = camera;
		s.view?.setCamera(camera);
	}
	if (node) {
		if (s.focus.value?.node !== Number(node) && Number(node) < s.job.nodes)
			void s.click(Number(node));
		return "";
	}
	const text = selected ?? (kept ? sessionStorage.getItem(PREFIX + kept) : null), flags = text ? selectionOf(text, s.job.nodes) : null;
	s.focus.value = null;
	s.setFlags(flags);
	return (selected || kept) && !flags ? "The selection of this address cannot be shown here: it has too many parts for an address, so only the tab in which it was made knows it." : "";
}

/** Writes the view into the address whenever it has changed. Returns a function that ends this. */
export function follow(s: Session): () => void {
	let timer = 0;
	const write = (): void => {
		timer = 0;
		keep(viewQuery(s));
	};
	const later = (): void => { timer ||= window.setTimeout(write, WAIT_MS); };
	const stops = [s.camera, s.palette, s.size, s.focus, s.selected].map(signal => signal.subscribe(later));
	return () => {
		stops.forEach(stop => stop());
		if (timer) {
			clearTimeout(timer);
			if (route.value.id === s.job.id)
				write();
		}
	};
}
