/* stage.tsx -- the canvas of a session with its overlay and controls. */
import { useEffect, useRef, useState } from "preact/hooks";
import { css, scaleAt } from "../gl/palettes.ts";
import type { RGB } from "../gl/renderer.ts";
import { tonesOf } from "../gl/tones.ts";
import { legendOrder, MISSING, numberText, scaleNumbers, unlabelled, type Values } from "../core/nodes.ts";
import { count, shorten } from "../core/format.ts";
import { drawContours, drawEllipses, drawNames, inks, type Peak, peaks } from "../core/marks.ts";
import type { Session } from "../core/session.ts";
import { use } from "../core/signal.ts";
import { theme } from "../core/theme.ts";
import { link } from "../core/api.ts";
import { Button, tell } from "./parts.tsx";
import { TablePanel, TipFacts } from "./table.tsx";

const TIP = 14;            // pixels from the pointer to its tooltip

function paintOver(g: CanvasRenderingContext2D, s: Session, names: Peak[], ratio: number): void {
	const view = s.view;
	if (!view)
		return;
	const dark = theme.value === "dark", { ink, halo } = inks(dark);
	g.setTransform(ratio, 0, 0, ratio, 0, 0);
	g.clearRect(0, 0, view.width, view.height);
	g.lineJoin = "round";
	const marked = s.marked;
	drawContours(g, marked, dark);
	drawEllipses(g, marked);
	drawEdges(g, s, dark);
	const focus = s.focus.value;
	if (focus) {
		const from = view.place(s.pointOf(focus.node));
		if (from) {
			g.strokeStyle = dark ? "rgb(255 255 255 / .35)" : "rgb(0 0 0 / .3)";
			g.lineWidth = 1;
			g.beginPath();
			for (const n of focus.near.slice(0, 100)) {
				const to = view.place(s.pointOf(n.node));
				if (to) {
					g.moveTo(...from);
					g.lineTo(...to);
				}
			}
			g.stroke();
			ring(g, from, 7, ink, halo);
		}
	}
	drawNames(g, marked, names, dark);
	const hover = s.hover.value, place = hover && view.place(s.pointOf(hover.node));
	if (place)
		ring(g, place, 6, ink, halo);
	if (view.lassoPath.length > 1) {
		g.beginPath();
		view.lassoPath.forEach(([x, y], i) => (i ? g.lineTo(x, y) : g.moveTo(x, y)));
		g.closePath();
		g.fillStyle = dark ? "rgb(86 180 233 / .14)" : "rgb(0 114 178 / .12)";
		g.fill();
		g.strokeStyle = dark ? "#56b4e9" : "#0072b2";
		g.lineWidth = 1.5;
		g.stroke();
	}
}

/** The edges that are shown, and those of the node under the pointer. */
function drawEdges(g: CanvasRenderingContext2D, s: Session, dark: boolean): void {
	const view = s.view!, pairs = s.edges.value, near = s.hoverNear;
	if (!pairs)
		return;
	const line = (a: number, b: number): void => {
		const from = view.place(s.pointOf(a)), to = from && view.place(s.pointOf(b));
		if (from && to) {
			g.moveTo(...from);
			g.lineTo(...to);
		}
	};
	g.lineWidth = 1;
	g.strokeStyle = dark ? "rgb(255 255 255 / .14)" : "rgb(0 0 0 / .12)";
	g.beginPath();
	for (let k = 0; k + 1 < pairs.length; k += 2)
		line(pairs[k]!, pairs[k + 1]!);
	g.stroke();
	if (!near || near.node !== s.hover.value?.node)
		return;
	g.lineWidth = 1.5;
	g.strokeStyle = dark ? "#56b4e9" : "#0072b2";
	g.beginPath();
	near.to.forEach(b => line(near.node, b));
	g.stroke();
}

function ring(g: CanvasRenderingContext2D, [x, y]: [number, number], r: number, ink: string, halo: string): void {
	for (const [colour, width] of [[halo, 4.5], [ink, 2]] as const) {
		g.beginPath();
		g.arc(x, y, r, 0, 7);
		g.strokeStyle = colour;
		g.lineWidth = width;
		g.stroke();
	}
}

/** Below the pointer, to its right; at the edges of the picture on its other side. */
function placeTip(tip: HTMLElement, x: number, y: number): void {
	const { clientWidth, clientHeight } = tip.parentElement!;
	tip.style.left = `${x + TIP + tip.offsetWidth <= clientWidth ? x + TIP : Math.max(0, x - TIP - tip.offsetWidth)}px`;
	tip.style.top = `${y + TIP + tip.offsetHeight <= clientHeight ? y + TIP : Math.max(0, y - TIP - tip.offsetHeight)}px`;
}

function Tip({ s }: { s: Session }) {
	const hover = use(s.hover), [name, setName] = useState(""), v = use(s.values);
	useEffect(() => {
		let current = true;
		setName("");
		if (hover)
			void s.nodes.name(hover.node).then(text => current && setName(text));
		return () => { current = false; };
	}, [hover?.node]);
	if (!hover)
		return null;
	const code = v?.codes[hover.node];
	const label = !v || code === undefined || code === 65535 ? "" : v.column.kind === "category" ? v.categories[code]
		: `≈ ${numberText(v.column, v.value(code))}`;
	return <div class="tip" ref={e => { if (e) placeTip(e, hover.x, hover.y); }}>
		<b>{name === String(hover.node) || !name ? `Node ${hover.node}` : shorten(name, 48)}</b>
		{v && label && <span>{v.column.name}: {shorten(label, 40)}</span>}
		<TipFacts s={s} node={hover.node} without={label ? v!.column.name : ""} />
	</div>;
}

/** How many nodes are selected; a press shows which, where the page has a place for it. */
function SelectedChip({ s, show }: { s: Session; show: (() => void) | undefined }) {
	const n = use(s.selectedCount), focus = use(s.focus), text = `${count(Math.max(n, focus ? 1 : 0))} selected`;
	if (!n && !focus)
		return null;
	return <div class="chip selected">
		{show ? <button type="button" title="Show which" onClick={show}>{text}</button> : <span>{text}</span>}
		<Button icon="close" kind="quiet" label="Select nothing" onClick={() => s.deselect()} /></div>;
}

export function Stage({ s, label, foot, children, showSelection }: { s: Session; label: string; foot?: preact.ComponentChildren; children?: preact.ComponentChildren;
	showSelection?: () => void }) {
	const canvas = useRef<HTMLCanvasElement>(null), over = useRef<HTMLCanvasElement>(null);
	const [problem, setProblem] = useState(""), [lasso, setLasso] = useState(false), shade = use(theme);
	use(s.values);
	useEffect(() => {
		let names: Peak[] = [], namedAt = 0, late = 0;
		const draw = (): void => {
			const view = s.view, top = over.current;
			if (!view || !top)
				return;
			const ratio = view.canvas.width / view.width;
			if (top.width !== view.canvas.width || top.height !== view.canvas.height) {
				top.width = view.canvas.width;
				top.height = view.canvas.height;
			}
			const now = performance.now();
			if (now - namedAt > 250) {
				names = peaks(s.marked);
				namedAt = now;
				Object.assign(top, { spacelandNames: names });   // for the tests
			} else if (!late) {
				late = window.setTimeout(() => { late = 0; draw(); }, 260);
			}
			paintOver(top.getContext("2d")!, s, names, ratio);
		};
		try {
			s.attach(canvas.current!, draw);
		} catch (error) {
			setProblem(error instanceof Error ? error.message : String(error));
		}
		let asks = 0;
		const ask = (): void => {   // the edges of the node under the pointer
			clearTimeout(asks);
			const node = s.hover.value?.node;
			if (s.edges.value && node !== undefined && node !== s.hoverNear?.node)
				asks = window.setTimeout(() => void s.loadNear(node).then(draw, () => undefined), 80);
		};
		const again = [s.hover.subscribe(ask), s.edges.subscribe(draw), s.clusters.subscribe(() => { namedAt = 0; draw(); }), s.contours.subscribe(draw), s.hover.subscribe(draw), s.focus.subscribe(draw), s.values.subscribe(() => { namedAt = 0; draw(); })];
		return () => { again.forEach(stop => stop()); clearTimeout(late); clearTimeout(asks); s.detach(); };
	}, [s]);
	useEffect(() => s.restyle(), [shade, s]);
	useEffect(() => { if (s.view) s.view.lassoMode = lasso; }, [lasso, s]);
	const outside = use(s.outside);
	const [table, setTable] = useState(false);
	return <div class={`stage ${lasso ? "lasso" : ""} ${table ? "with-table" : ""}`}><div class="viewport">
		<canvas class="gl" ref={canvas} tabIndex={0} role="application" aria-label={label}
			aria-description="Arrow keys move, plus and minus zoom, 0 shows all." />
		<canvas class="over" ref={over} aria-hidden="true" />
		<Tip s={s} />
		<div class="tools" role="toolbar" aria-label="View">
			<Button icon="plus" label="Zoom in" onClick={() => s.view?.zoom(1.5)} />
			<Button icon="minus" label="Zoom out" onClick={() => s.view?.zoom(1 / 1.5)} />
			<Button icon="fit" label={outside || s.view?.whole ? "Show most" : "Show all"} onClick={() => s.view?.home()} />
			<Button icon="lasso" label="Select with a lasso (or drag with Shift)" pressed={lasso} onClick={() => setLasso(!lasso)} />
			{showSelection && !link && <Button icon="table" label="Table of the selection, or of all nodes" pressed={table} onClick={() => setTable(!table)} />}
		</div>
		<div class="chips"><SelectedChip s={s} show={showSelection} />
			{outside > 0 && <button type="button" class="chip outside" title="Show all" onClick={() => { s.view?.home(); s.view?.setWhole(true); }}>
				{outside === 1 ? "1 node lies outside" : `${count(outside)} nodes lie outside`}</button>}</div>
		{problem && <p class="stage-problem" role="alert">{problem}</p>}
		{children}
	</div>{table && <TablePanel s={s} close={() => setTable(false)} />}{foot}</div>;
}

export function Legend({ s }: { s: Session }) {
	const v = use(s.values), chosen = use(s.palette), shade = use(theme);
	const [all, setAll] = useState(false);
	if (!v || !chosen)
		return null;
	if (v.column.kind === "number")
		return <><Scale s={s} v={v} /><ScaleEnds s={s} v={v} /></>;
	const colours = s.colours(), order = legendOrder(v), none = unlabelled(v), more = order.length - 14;
	const line = (code: number, name: string, colour: RGB, n: number) => <li key={code}>
		<button type="button" onClick={() => s.selectCategory(code)} title="Select these">
			<svg width="12" height="12" aria-hidden="true"><circle cx="6" cy="6" r="5" fill={css(colour)} /></svg>
			<span class="legend-name" title={name}>{name}</span><span class="quiet">{count(n)}</span></button></li>;
	return <><ul class="legend" aria-label={`Categories of ${v.column.name}`}>
		{(all ? order : order.slice(0, 14)).map(code => line(code, v.categories[code]!, colours[code]!, v.counts[code]!))}
		{none > 0 && line(MISSING, "none", tonesOf(shade).muted, none)}</ul>
		{!all && more > 0 && <Button kind="quiet" onClick={() => setAll(true)}>{`${count(more)} more`}</Button>}</>;
}

/** Where the colour scale begins and ends. */
function ScaleEnds({ s, v }: { s: Session; v: Values }) {
	const [open, setOpen] = useState(false), date = v.column.date === true;
	const shown = (x: number): string => (date ? numberText(v.column, x) : String(Number(x.toPrecision(6))));
	const set = (end: 0 | 1) => (e: { currentTarget: HTMLInputElement }): void => {
		const x = date ? Date.parse(e.currentTarget.value) : Number(e.currentTarget.value), within: [number, number] = [v.low, v.high];
		within[end] = x;
		if (e.currentTarget.value.trim() && Number.isFinite(x) && within[0] < within[1])
			s.colourWithin(within).catch(tell);
		else
			e.currentTarget.value = shown(end ? v.high : v.low);
	};
	if (!open)
		return <Button kind="quiet" onClick={() => setOpen(true)}>Range of the colours</Button>;
	return <div class="scale-ends">{([0, 1] as const).map(end => <label class="field" key={end}><span class="field-label">{end ? "To" : "From"}</span>
		<input type="text" value={shown(end ? v.high : v.low)} onChange={set(end)} /></label>)}
		<Button kind="quiet" onClick={() => s.colourWithin(null)}>Auto</Button></div>;
}

/** The colour scale, with numbers below it. */
export function Scale({ s, v }: { s: Session; v: Values }) {
	const canvas = useRef<HTMLCanvasElement>(null), palette = use(s.palette), shade = use(theme);
	useEffect(() => {
		const g = canvas.current?.getContext("2d");
		for (let x = 0; g && x < 256; x++) {
			g.fillStyle = css(scaleAt(s.paletteName, x / 255));
			g.fillRect(x, 0, 1, 12);
		}
	}, [palette, shade, s]);
	return <div class="scale"><canvas ref={canvas} width={256} height={12} aria-hidden="true" />
		<div class="scale-numbers quiet">{scaleNumbers(v).map((x, i) => <span key={i}>{x}</span>)}</div></div>;
}
