/* dialog.tsx -- a window in front of the page that asks for something. The browser keeps the focus in it, and Escape closes it. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "../core/api.ts";
import { Icon } from "./parts.tsx";

/** A title, contents, and two buttons. act: what the button `verb` does; the window closes when it is done, and shows the error
 * otherwise. Without act there is only the button that closes it. */
export function Dialog({ title, verb, danger, disabled, act, close, children }: { title: string; verb?: string; danger?: boolean; disabled?: boolean;
	act?: () => Promise<unknown>; close: () => void; children?: ComponentChildren }) {
	const box = useRef<HTMLDialogElement>(null), [busy, setBusy] = useState(false), [problem, setProblem] = useState("");
	useEffect(() => {
		box.current?.showModal();
		box.current?.querySelector<HTMLElement>("input, select")?.focus();
	}, []);
	const submit = async (): Promise<void> => {
		if (!act)
			return close();
		setBusy(true);
		setProblem("");
		try {
			await act();
			close();
		} catch (error) {
			setProblem(error instanceof ApiError ? error.text : error instanceof Error ? error.message : String(error));
		}
		setBusy(false);
	};
	return <dialog class="dialog card" ref={box} aria-labelledby="dialog-title" onClose={close} onCancel={close}>
		<form onSubmit={e => { e.preventDefault(); void submit(); }}>
			<div class="row"><h2 id="dialog-title">{title}</h2><span class="grow" /><button type="button" class="button quiet square" aria-label="Close" onClick={close}><Icon name="close" /></button></div>
			{children}
			<p class="problem" role="alert">{problem}</p>
			<div class="row"><span class="grow" />{act && <button type="button" class="button" onClick={close}>Leave it</button>}
				<button type="submit" class={`button ${danger ? "danger" : "primary"}`} disabled={busy || disabled}>{verb ?? "Close"}</button></div>
		</form>
	</dialog>;
}
