/* tones.ts -- colours of pictures in the dark and the light theme. */
import type { RGB } from "./renderer.ts";

export function tonesOf(theme: "dark" | "light"): { background: RGB; plain: RGB; muted: RGB; dark: boolean } {
	return theme === "dark"
		? { background: [0.047, 0.059, 0.078], plain: [0.45, 0.68, 0.98], muted: [0.36, 0.39, 0.44], dark: true }
		: { background: [1, 1, 1], plain: [0.12, 0.36, 0.72], muted: [0.66, 0.69, 0.74], dark: false };
}
