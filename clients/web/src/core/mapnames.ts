/* mapnames.ts -- the named clusters of a layout: which of them are named at a zoom. Coarse ones first; a cluster that is large in
 * the picture gives way to its parts. */
import type { View } from "../gl/view.ts";

const OPEN = 0.22;         // part of the picture's smaller side that a cluster's radius has when its parts are named instead

export interface MapCluster {
	id: string;
	level: number;
	name: string | null;
	x: number;             // in units of the layout
	y: number;
	radius: number;
	nodes: number;
	parent: string | null;
}

/** The clusters that are named in this view, in CSS pixels, coarse and large ones first. */
export function shownClusters(view: View, all: MapCluster[]): { text: string; x: number; y: number }[] {
	const unit = view.placeOf(0, 0)[2], side = Math.min(view.width, view.height), parts = new Set(all.map(c => c.parent));
	const open = new Set(all.filter(c => parts.has(c.id) && c.radius * unit > OPEN * side).map(c => c.id));
	return all.filter(c => c.name && !open.has(c.id) && (c.level === 0 || (c.parent !== null && open.has(c.parent)))).flatMap(c => {
		const [x, y] = view.placeOf(c.x, c.y);
		return x < 0 || y < 0 || x > view.width || y > view.height ? [] : [{ text: c.name!, x, y }];
	});
}
