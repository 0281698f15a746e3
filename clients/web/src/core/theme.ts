/* theme.ts -- dark or light, as chosen, or the system's. */
import { tonesOf } from "../gl/tones.ts";
import { Signal } from "./signal.ts";

export type Theme = "dark" | "light";
const KEY = "spaceland-theme";
const system = matchMedia("(prefers-color-scheme: light)");

const stored = (): Theme | null => {
	try {
		const value = localStorage.getItem(KEY);
		return value === "dark" || value === "light" ? value : null;
	} catch {   // in a frame of another page, a browser may refuse it
		return null;
	}
};

export const theme = new Signal<Theme>(stored() ?? (system.matches ? "light" : "dark"));

function apply(): void {
	document.documentElement.dataset["theme"] = theme.value;
	document.querySelector('meta[name="theme-color"]')?.setAttribute("content", theme.value === "dark" ? "#101318" : "#f7f8fa");
}
theme.subscribe(apply);
apply();
system.addEventListener("change", () => { if (!stored()) theme.value = system.matches ? "light" : "dark"; });

export function toggleTheme(): void {
	theme.value = theme.value === "dark" ? "light" : "dark";
	localStorage.setItem(KEY, theme.value);
}

export const tones = tonesOf;
