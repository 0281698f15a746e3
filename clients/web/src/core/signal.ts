/* signal.ts -- a value with listeners, and a hook that renders a component again when the value changes. */
import { useEffect, useState } from "preact/hooks";

export class Signal<T> {
	private listeners = new Set<() => void>();
	version = 0;   // counts changes
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
	/** Call this after changing the value in place. */
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

/** Returns the value; the component is rendered again when it changes. */
export function use<T>(signal: Signal<T>): T {
	const [, draw] = useState(0), drawn = signal.version;
	useEffect(() => {
		if (signal.version !== drawn)
			draw(n => n + 1);   // it changed before the listener was added
		return signal.subscribe(() => draw(n => n + 1));
	}, [signal]);
	return signal.value;
}
