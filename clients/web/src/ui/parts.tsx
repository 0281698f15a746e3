/* parts.tsx -- small components that all pages use. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Signal, use } from "../core/signal.ts";
import type { State } from "../core/types.ts";
import { ApiError, link } from "../core/api.ts";
import { OF_OTHERS } from "../core/rights.ts";
import { address } from "../core/route.ts";

// ---- icons: strokes on a grid of 24 ---------------------------------------------------------

const PATHS: Record<string, string> = {
	runs: "M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z",
	data: "M4 6c0-1.7 3.6-3 8-3s8 1.3 8 3-3.6 3-8 3-8-1.3-8-3zm0 0v12c0 1.7 3.6 3 8 3s8-1.3 8-3V6M4 12c0 1.7 3.6 3 8 3s8-1.3 8-3",
	compare: "M4 4h7v16H4zM13 4h7v16h-7zM6 9h3M15 14h3",
	server: "M4 5h16v6H4zM4 13h16v6H4zM7 8h.01M7 16h.01M11 8h6M11 16h6",
	table: "M4 5h16v14H4zM4 10h16M4 14.500h16M10 5v14",
	sun: "M12 8a4 4 0 100 8 4 4 0 000-8zM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6L19 19M5 19l1.4-1.4M17.6 6.4L19 5",
	moon: "M20 14.5A8.5 8.5 0 019.5 4a8.5 8.5 0 1010.5 10.5z",
	upload: "M12 16V4M7 9l5-5 5 5M4 16v3a1 1 0 001 1h14a1 1 0 001-1v-3",
	download: "M12 4v12M7 11l5 5 5-5M4 16v3a1 1 0 001 1h14a1 1 0 001-1v-3",
	play: "M7 4l13 8-13 8z", pause: "M7 4h3v16H7zM14 4h3v16h-3z", stop: "M5 5h14v14H5z",
	lasso: "M12 4c5 0 9 2.5 9 6s-4 6-9 6c-1.500 0-3-.2-4-.6M8 15.400C5 14.400 3 12.400 3 10c0-3.500 4-6 9-6M8 14a2 2 0 11-3 2c0 2 1 3.500 2.500 4.500",
	fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
	search: "M10.500 4a6.500 6.500 0 100 13 6.500 6.500 0 000-13zM15.500 15.500L21 21",
	close: "M6 6l12 12M18 6L6 18", pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v6", trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
	link: "M10 14a4 4 0 005.700 0l3-3a4 4 0 00-5.700-5.700L12 6.300M14 10a4 4 0 00-5.700 0l-3 3A4 4 0 0011 18.700l1-1",
	leave: "M14 4H5v16h9M11 12h10M17 8l4 4-4 4", pen: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3", plus: "M12 5v14M5 12h14", minus: "M5 12h14", palette: "M12 3a9 9 0 100 18c1.500 0 2-1 1.500-2s0-2.500 1.500-2.500h2a4 4 0 004-4C21 7 17 3 12 3zM7.500 12h.01M9 7.500h.01M14 7h.01M17 10.500h.01", up: "M6 15l6-6 6 6", down: "M6 9l6 6 6-6", undo: "M9 7L4 12l5 5M4 12h10a6 6 0 016 6v1", gauge: "M4 18a9 9 0 1116 0M12 15l4-5", give: "M4 12h13M12 7l5 5-5 5M20 4v16", people: "M9 5a3.500 3.500 0 100 7 3.500 3.500 0 000-7zM3 20c0-3.500 2.500-5.500 6-5.500s6 2 6 5.500M16 5.500a3.500 3.500 0 010 6.500M17.500 14.800c2.200.6 3.500 2.400 3.500 5.200", key: "M15 4a5 5 0 11-4 8l-7 7v-3h3v-3h2",
};

export function Icon({ name, size = 18 }: { name: string; size?: number }) {
	return <svg class="icon" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true"><path d={PATHS[name]} /></svg>;
}

export interface ButtonProps {
	icon?: string;
	label?: string;      // for icons without text
	kind?: "primary" | "quiet" | "danger";
	pressed?: boolean;
	disabled?: boolean;
	of?: { may_change: boolean };   // the run or data that it changes
	title?: string;
	onClick: () => void | Promise<unknown>;
	children?: ComponentChildren;
}

/** A button. It is disabled while its action runs, and if it changes what belongs to others; errors become notices. */
export function Button({ icon, label, kind, pressed, disabled, of, title, onClick, children }: ButtonProps) {
	const [busy, setBusy] = useState(false), barred = of?.may_change === false;
	const press = async (): Promise<void> => {
		const work = onClick();
		if (!(work instanceof Promise))
			return;
		setBusy(true);
		await work.catch(tell);
		setBusy(false);
	};
	return <button type="button" class={`button ${kind ?? ""} ${children ? "" : "square"}`} aria-label={label} aria-pressed={pressed}
		title={barred ? OF_OTHERS : title ?? label} disabled={disabled || busy || barred} onClick={() => void press()}>
		{icon && <Icon name={icon} />}{children}
	</button>;
}

const SURE_MS = 5000, DOUBLE_MS = 300;

/** What cannot be taken back: the first press asks, a second one does it, unless it comes late or belongs to a double click. */
export function DeleteButton({ what, of, title, onClick }: { what: string; of: { may_change: boolean }; title?: string; onClick: () => void | Promise<unknown> }) {
	const [asked, setAsked] = useState(0);
	useEffect(() => {
		const timer = asked ? setTimeout(() => setAsked(0), SURE_MS) : 0;
		return () => clearTimeout(timer);
	}, [asked]);
	const press = (): void | Promise<unknown> => {
		const now = performance.now();
		if (!asked)
			setAsked(now);
		else if (now - asked > DOUBLE_MS)
			return onClick();
	};
	return <Button icon="trash" kind={asked ? "danger" : "quiet"} label={`${asked ? "Really delete" : "Delete"} ${what}`} of={of}
		{...(title ? { title } : {})} onClick={press}>{asked ? "Delete?" : undefined}</Button>;
}

/** Shown if a page does not exist. */
export function Missing({ title, text }: { title: string; text: string }) {
	return <div class="page missing"><h1>{title}</h1><p class="problem" role="alert">{text}</p>
		{!link && <p><a class="button" href={address("")}>To the runs</a></p>}</div>;
}

export function StateBadge({ state }: { state: State }) {
	return <span class={`badge ${state}`}><span class="dot" aria-hidden="true" />{state}</span>;
}

export function Bar({ share, label, state }: { share: number; label: string; state?: string }) {
	return <div class={`bar ${state ?? ""}`} role="progressbar" aria-label={label} aria-valuenow={Math.round(share * 100)} aria-valuemin={0} aria-valuemax={100}>
		<div ref={e => { if (e) e.style.width = `${Math.min(1, Math.max(0, share)) * 100}%`; }} /></div>;
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ComponentChildren }) {
	return <label class="field"><span class="field-label" title={hint}>{label}</span>{children}</label>;
}

/** A field of a filter, which counts when it is left or Enter is pressed. put: gets undefined if it is empty. */
export function Filter({ label, kind, value, put }: { label: string; kind?: "date" | "datetime-local"; value: string | undefined; put: (value: string | undefined) => void }) {
	const change = (e: { currentTarget: HTMLInputElement }): void => put(e.currentTarget.value.trim() || undefined);
	return <Field label={label}>{kind ? <input type={kind} value={value ?? ""} onChange={change} /> : <input type="text" value={value ?? ""} onChange={change} />}</Field>;
}

export function Select({ label, value, options, onChange, hint }: { label: string; value: string; hint?: string;
	options: (readonly [string, string])[]; onChange: (value: string) => void }) {
	const select = useRef<HTMLSelectElement>(null);
	useLayoutEffect(() => { if (select.current) select.current.value = value; });   // options may arrive after the value
	return <Field label={label} {...(hint ? { hint } : {})}>
		<select ref={select} onChange={e => onChange(e.currentTarget.value)}>
			{options.map(([v, text]) => <option key={v} value={v}>{text}</option>)}
		</select>
	</Field>;
}

export function Swatch({ colour }: { colour: string }) {
	return <span class="swatch" aria-hidden="true" ref={e => { if (e) e.style.background = colour; }} />;
}

/** Tabs as in the ARIA practices: arrow keys move between them, and Tab stops once. */
export function Tabs({ label, tabs, value, onChange }: { label: string; tabs: readonly (readonly [string, string])[]; value: string; onChange: (id: string) => void }) {
	const list = useRef<HTMLDivElement>(null);
	const key = (e: KeyboardEvent): void => {
		const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0, at = tabs.findIndex(t => t[0] === value);
		if (!step)
			return;
		const next = (at + step + tabs.length) % tabs.length;
		onChange(tabs[next]![0]);
		(list.current?.children[next] as HTMLElement | undefined)?.focus();
	};
	return <div class="tabs" role="tablist" aria-label={label} ref={list} onKeyDown={key}>
		{tabs.map(([id, text]) => <button key={id} type="button" role="tab" id={`tab-${id}`} aria-selected={id === value}
			aria-controls={`panel-${id}`} tabIndex={id === value ? 0 : -1} onClick={() => onChange(id)}>{text}</button>)}
	</div>;
}

// ---- notices -----------------------------------------------------------------------------------

interface Notice {
	id: number;
	text: string;
	bad: boolean;
}
const notices = new Signal<Notice[]>([]);
let lastNotice = 0;

export function say(text: string, bad = false): void {
	const notice = { id: ++lastNotice, text, bad };
	notices.value = [...notices.value.slice(-3), notice];
	setTimeout(() => { notices.value = notices.value.filter(n => n !== notice); }, bad ? 12000 : 5000);
}

/** Shows an error as a notice. */
export function tell(error: unknown): void {
	if (error instanceof DOMException && error.name === "AbortError")
		return;
	if (error instanceof ApiError && error.status === 401)
		return;   // the login page reports it
	say(error instanceof ApiError ? error.text : error instanceof Error ? error.message : String(error), true);
}

export function Notices() {
	const list = use(notices);
	return <div class="notices" aria-live="polite">{list.map(n => <div key={n.id} class={n.bad ? "notice bad" : "notice"} role={n.bad ? "alert" : "status"}>
		<span>{n.text}</span>
		<Button icon="close" label="Dismiss" kind="quiet" onClick={() => { notices.value = notices.value.filter(x => x !== n); }} />
	</div>)}</div>;
}

/** Calls `work` repeatedly while the component is mounted, and at once when `again` changes. */
export function useInterval(work: () => void | Promise<void>, ms: number, on = true, again = ""): void {
	const latest = useRef(work);
	latest.current = work;
	useEffect(() => {
		if (!on)
			return;
		let timer = 0, gone = false;
		const next = async (): Promise<void> => {
			if (document.visibilityState === "visible")
				await Promise.resolve(latest.current()).catch(() => undefined);
			if (!gone)
				timer = window.setTimeout(() => void next(), ms);
		};
		void next();
		return () => { gone = true; clearTimeout(timer); };
	}, [ms, on, again]);
}
