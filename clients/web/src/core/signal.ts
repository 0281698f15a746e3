/* signal.ts -- a value that tells who listens when it changes, and the hook that draws a component again. */
import { useEffect, useState } from "preact/hooks";

export class Signal<T> {
	private listeners = new Set<() => void>();
	version = 0;   // of the value
	constructor(private current: T) {}

	get value(): T {
		return this.current;
	}
	set value(next: T) {
		if (next === this.current)
			return;
		this.current = next;
		this.notify();
	}
	/** For values that were changed in place. */
	notify(): void {
		this.version++;
		for (const listener of [...this.listeners])
			listener();
	}
	subscribe(listener: () => void): () => void {
		this.listeners.add(listener);
		return () => { this.listeners.delete(listener); };
	}
}

/** The value now; the component is drawn again when it changes. */
export function use<T>(signal: Signal<T>): T {
	const [, draw] = useState(0), drawn = signal.version;
	useEffect(() => {
		if (signal.version !== drawn)
			draw(n => n + 1);   // it changed before we listened
		return signal.subscribe(() => draw(n => n + 1));
	}, [signal]);
	return signal.value;
}
