/* palettes.ts -- the palettes of colours.ts in the dashboard's theme, and the colours that owners gave to categories. */
import type { Values } from "../core/nodes.ts";
import { theme } from "../core/theme.ts";
import * as colours from "./colours.ts";
import type { RGB } from "./renderer.ts";

export { css, PALETTES, SCALES, texture, toHex } from "./colours.ts";

/** Colours of n categories. counts: their numbers of nodes, by which palette "labels" goes; default: as if in descending
 * order. */
export const categoryColours = (n: number, palette: string, counts: readonly number[] = []): RGB[] => colours.categoryColours(theme.value, n, palette, counts);

/** Colours of a column's categories: their owner's, if there are some and no other palette was chosen. */
export function columnColours(v: Values | null, palette: string): RGB[] {
	const n = v?.categories.length ?? 0, own = v?.column.colors;
	if (palette === "labels" && own && own.length === n && n)
		return own.map(colours.hex);
	return categoryColours(Math.max(1, n), palette, v?.column.ordered ? [] : v?.counts);
}

export const scaleAt = (palette: string, x: number): RGB => colours.scaleAt(theme.value, palette, x);
export const scaleTexture = (palette: string): Uint8Array => colours.scaleTexture(theme.value, palette);
