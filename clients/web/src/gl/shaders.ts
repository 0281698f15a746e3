/* shaders.ts -- two programs. `points` interpolates each point between two frames, whose uint16 coordinates come
 * unchanged from the network, and adds its colour and weight to a float buffer. `resolve` turns the sums into a
 * picture: the mean colour of the points on a pixel, more opaque with more points. */

const HASH = `
float jitter(uint id) {
	uint h = id * 2654435761u;
	h ^= h >> 15; h *= 739982445u; h ^= h >> 12;
	return float(h) / 4294967296.0;
}`;

export const POINTS_VERTEX = `#version 300 es
precision highp float;
precision highp int;
layout(location = 0) in vec3 a;       // position in the first frame, 0 to 1 within its box
layout(location = 1) in vec3 b;       // position in the second frame
layout(location = 2) in uint value;   // the value that colours; 65535: missing
layout(location = 3) in uint flags;   // 1: selected, 2: marked
uniform vec4 boxA, boxB;              // low corner, extent
uniform mat4 alignB;
uniform float t;
uniform vec4 centre;                  // centre of the picture, and the factor that scales its half side to 1
uniform mat4 matrix;
uniform float size;                   // pixels at distance 1
uniform float perspective;            // 0: all points have the same size
uniform int dims;
uniform uint lod;                     // vertex i is point i * lod
uniform sampler2D profile;            // 1-D: density along the line, rows of A and B
uniform sampler2D palette;
uniform int mode;                     // 0: one colour, 1: category, 2: number
uniform int categories;
uniform vec3 plain, muted;
uniform bool dimmed;                  // there is a selection
uniform bool solid;                   // few points in 3-D: opaque discs
uniform vec3 background;
out vec4 colour;
out float radius;
${HASH}
void main() {
	vec3 pa = boxA.xyz + boxA.w * a, pb = (alignB * vec4(boxB.xyz + boxB.w * b, 1.0)).xyz;
	vec3 p = (mix(pa, pb, t) - centre.xyz) * centre.w;
	if (dims == 1) {
		float height = mix(texture(profile, vec2(a.x, 0.25)).r, texture(profile, vec2(b.x, 0.75)).r, t);
		p.y = (jitter(uint(gl_VertexID) * lod) - 0.5) * height;
		p.z = 0.0;
	}
	gl_Position = matrix * vec4(p, 1.0);
	vec3 c = plain;
	if (mode == 1)
		c = value == 65535u ? muted : texelFetch(palette, ivec2(int(value) % categories, 0), 0).rgb;
	else if (mode == 2)
		c = value == 65535u ? muted : texture(palette, vec2((float(value) / 65534.0) * (255.0 / 256.0) + 0.5 / 256.0, 0.5)).rgb;
	float weight = 1.0, s = size;
	if (perspective > 0.0) {
		float depth = clamp(gl_Position.w, 0.2, 8.0);
		s = size / depth;
		weight = clamp(1.7 - 0.7 * depth, 0.15, 1.0);   // distant points fade
		if (solid)
			c = mix(c, background, clamp((depth - 0.72) * 1.25, 0.0, 0.78));
	}
	if (dimmed) {
		if ((flags & 1u) == 0u) { c = mix(c, muted, 0.7); weight *= 0.3; }
		else { s *= 1.15; }
	}
	if ((flags & 2u) != 0u) { s = s * 1.4 + 2.0; weight = 3.0; }
	if (s < 1.0) { weight *= s * s; s = 1.0; }
	radius = 0.5 * s;
	gl_PointSize = s < 1.6 ? s : s + 1.0;
	colour = vec4(c, weight);
}`;

export const POINTS_FRAGMENT = `#version 300 es
precision highp float;
in vec4 colour;
in float radius;
out vec4 sum;
uniform bool solid;
void main() {
	float w = colour.a;
	vec3 c = colour.rgb;
	if (radius >= 0.8) {
		float away = length(gl_PointCoord - 0.5) * (2.0 * radius + 1.0);
		float cover = clamp(radius + 0.5 - away, 0.0, 1.0);
		if (solid ? cover < 0.5 : cover <= 0.0)
			discard;
		if (!solid) {
			w *= cover;
		} else {
			float edge = away / (radius + 0.5);
			c *= 1.08 - 0.42 * edge * edge;   // shaded as a sphere, lit from the front
			w = 8.0;
		}
	}
	sum = vec4(c * w, w);
}`;

export const RESOLVE_VERTEX = `#version 300 es
void main() {
	vec2 p = vec2(float((gl_VertexID << 1) & 2), float(gl_VertexID & 2));
	gl_Position = vec4(p * 2.0 - 1.0, 0.0, 1.0);
}`;

export const RESOLVE_FRAGMENT = `#version 300 es
precision highp float;
uniform sampler2D sums;
uniform sampler2D palette;
uniform float opacity;                // a single point has opacity 1 - exp(-opacity)
uniform vec3 background;
uniform float glow;                   // dense regions get lighter (dark theme) or darker (light theme)
uniform bool density;
uniform float top;                    // density: number of points on a pixel for the palette's last colour
out vec4 colour;
void main() {
	vec4 s = texelFetch(sums, ivec2(gl_FragCoord.xy), 0);
	if (s.a <= 0.0) {
		colour = vec4(background, 1.0);
		return;
	}
	float alpha = 1.0 - exp(-s.a * opacity);
	vec3 c = s.rgb / s.a;
	if (density) {
		float x = clamp(log(1.0 + s.a) / log(1.0 + top), 0.0, 1.0);
		c = texture(palette, vec2(x * (255.0 / 256.0) + 0.5 / 256.0, 0.5)).rgb;
		alpha = clamp(s.a * 2.0, 0.0, 1.0);
	} else {
		float dense = clamp(log(1.0 + s.a * opacity * 0.25) * 0.22, 0.0, 0.45);
		c = glow > 0.0 ? mix(c, vec3(1.0), dense * glow) : c * (1.0 + dense * glow);
	}
	colour = vec4(mix(background, c, alpha), 1.0);
}`;

/** The shader's jitter(), for picking on the CPU. */
export function jitter(id: number): number {
	let h = Math.imul(id, 2654435761) >>> 0;
	h = (h ^ (h >>> 15)) >>> 0;
	h = Math.imul(h, 739982445) >>> 0;
	h = (h ^ (h >>> 12)) >>> 0;
	return h / 4294967296;
}
