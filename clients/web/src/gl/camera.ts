/* camera.ts -- maps normalised coordinates, in which the layout fills -1 to 1, to the canvas. So a view stays on the
 * same part of a layout while the layout grows a thousandfold. */

export interface Camera {
	x: number;       // centre of the view
	y: number;
	zoom: number;    // 1: the whole layout
	yaw: number;     // 3-D
	pitch: number;
}

export const HOME: Readonly<Camera> = { x: 0, y: 0, zoom: 1, yaw: 0.6, pitch: 0.35 };
const MARGIN = 0.92, DISTANCE = 3, NEAR = 0.1, FAR = 10;
export const ZOOM_LEAST = 0.3, ZOOM_MOST = 5000;

/** The matrix, column-major, for uniformMatrix4fv(). In 3-D w is the distance divided by DISTANCE: 1 for points in the
 * middle. */
export function cameraMatrix(c: Camera, dims: number, width: number, height: number): Float32Array {
	const unit = Math.min(width, height), sx = MARGIN * c.zoom * unit / width, sy = MARGIN * c.zoom * unit / height;
	if (dims !== 3)
		return new Float32Array([sx * (dims === 1 ? Math.max(1, width / unit) : 1), 0, 0, 0, 0, sy, 0, 0, 0, 0, 1, 0,
			-c.x * sx * (dims === 1 ? Math.max(1, width / unit) : 1), -c.y * sy, 0, 1]);
	const cy = Math.cos(c.yaw), sn = Math.sin(c.yaw), cp = Math.cos(c.pitch), sp = Math.sin(c.pitch);
	// rows of the rotation: right, up, towards the viewer
	const right = [cy, 0, -sn], up = [sn * sp, cp, cy * sp], to = [sn * cp, -sp, cy * cp];
	const s = 0.8, m = new Float32Array(16), za = (FAR + NEAR) / (FAR - NEAR), zb = 2 * FAR * NEAR / (FAR - NEAR);
	for (let k = 0; k < 3; k++) {
		m[4 * k] = s * sx * right[k]!;
		m[4 * k + 1] = s * sy * up[k]!;
		m[4 * k + 2] = -za * to[k]! / DISTANCE;
		m[4 * k + 3] = -to[k]! / DISTANCE;
	}
	m[12] = -s * sx * c.x;
	m[13] = -s * sy * c.y;
	m[14] = (za * DISTANCE - zb) / DISTANCE;
	m[15] = 1;
	return m;
}

/** Zooms by a factor around (px, py), in canvas coordinates -1 to 1. */
export function zoomAt(c: Camera, factor: number, px: number, py: number, dims: number, width: number, height: number): Camera {
	const zoom = Math.min(ZOOM_MOST, Math.max(ZOOM_LEAST, c.zoom * factor));
	const m = cameraMatrix(c, dims === 3 ? 2 : dims, width, height), s = dims === 3 ? 0.8 : 1;
	const x = px / (m[0]! * s), y = py / (m[5]! * s), f = 1 - c.zoom / zoom;
	return { ...c, zoom, x: c.x + x * f, y: c.y + y * f };
}

export function panBy(c: Camera, dx: number, dy: number, dims: number, width: number, height: number): Camera {
	const m = cameraMatrix(c, dims === 3 ? 2 : dims, width, height), s = dims === 3 ? 0.8 : 1;
	return { ...c, x: c.x - dx / (m[0]! * s), y: c.y - dy / (m[5]! * s) };
}

export const cameraText = (c: Camera): string =>
	[c.x, c.y, c.zoom, c.yaw, c.pitch].map(v => String(Number(v.toPrecision(5)))).join(",");

export function cameraOf(text: string | undefined): Camera | null {
	const v = (text ?? "").split(",").map(Number);
	return v.length === 5 && v.every(Number.isFinite) && v[2]! > 0
		? { x: v[0]!, y: v[1]!, zoom: v[2]!, yaw: v[3]!, pitch: v[4]! } : null;
}
