/* The first colours come from a list that people with any kind of colour vision can tell apart (palette.json, made by
 * scripts/palette.py); the dashboard has the same list. Later ones follow the OKLab hue circle (Ottosson 2020) by the
 * golden angle, on three rings of lightness and chroma. The density maps are interpolated
 * in OKLab between control points whose lightness rises (dark background) or falls (light background). */
#include "core/picture/picture_colour.h"

#include <math.h>

#include "core/picture/picture.h"

#include "core/picture/palette.h"  /* on_dark, on_light: made from palette.json */

#define NAMED ((uint32_t)(sizeof on_dark / sizeof *on_dark))
_Static_assert(sizeof on_dark == sizeof on_light, "as many colours for both backgrounds");

static const uint32_t density_dark[] = {
	0x1b1436, 0x35195f, 0x5a1f7c, 0x85278a, 0xb03380, 0xd5476a, 0xf06a50, 0xfb9640, 0xfdc657, 0xfff3b8,
};
static const uint32_t density_light[] = {
	0xd6ead0, 0xb2dcc4, 0x86c9bf, 0x5bb2be, 0x3997ba, 0x2b7ab0, 0x335a9f, 0x3a3c86, 0x362263, 0x220f3c,
};
#define STOPS ((int)(sizeof density_dark / sizeof *density_dark))

/* matplotlib's viridis without the end that resembles the background */
static const uint32_t scale_dark[] = {
	0x46508f, 0x3b5f94, 0x2f7396, 0x268a8d, 0x1fa187, 0x36b877, 0x6ccd5a, 0xb0dd2f, 0xfde725,
};
static const uint32_t scale_light[] = {
	0x440154, 0x482878, 0x3e4a89, 0x31688e, 0x26828e, 0x1f9e89, 0x35b779, 0x6ece58, 0x9bcb2c,
};
#define SCALE_STOPS ((int)(sizeof scale_dark / sizeof *scale_dark))

float sl__linear_from_srgb(float c)
{
	return c <= 0.04045f ? c / 12.92f : powf((c + 0.055f) / 1.055f, 2.4f);
}

float sl__srgb_from_linear(float c)
{
	return c <= 0.0031308f ? 12.92f * c : 1.055f * powf(c, 1 / 2.4f) - 0.055f;
}

struct sl__rgb sl__rgb_from_hex(uint32_t hex)
{
	return (struct sl__rgb){sl__linear_from_srgb((float)(hex >> 16 & 255) / 255),
				sl__linear_from_srgb((float)(hex >> 8 & 255) / 255),
				sl__linear_from_srgb((float)(hex & 255) / 255)};
}

static uint32_t to_byte(float c)
{
	c = c > 0 ? c < 1 ? c : 1 : 0;  /* NaN becomes 0 */
	return (uint32_t)(sl__srgb_from_linear(c) * 255 + 0.5f);
}

uint32_t sl__rgb_to_hex(struct sl__rgb c)
{
	return to_byte(c.r) << 16 | to_byte(c.g) << 8 | to_byte(c.b);
}

static void to_oklab(struct sl__rgb c, float lab[3])
{
	float l = cbrtf(0.4122214708f * c.r + 0.5363325363f * c.g + 0.0514459929f * c.b);
	float m = cbrtf(0.2119034982f * c.r + 0.6806995451f * c.g + 0.1073969566f * c.b);
	float s = cbrtf(0.0883024619f * c.r + 0.2817188376f * c.g + 0.6299787005f * c.b);
	lab[0] = 0.2104542553f * l + 0.7936177850f * m - 0.0040720468f * s;
	lab[1] = 1.9779984951f * l - 2.4285922050f * m + 0.4505937099f * s;
	lab[2] = 0.0259040371f * l + 0.7827717662f * m - 0.8086757660f * s;
}

static struct sl__rgb from_oklab(const float lab[3])
{
	float l = lab[0] + 0.3963377774f * lab[1] + 0.2158037573f * lab[2];
	float m = lab[0] - 0.1055613458f * lab[1] - 0.0638541728f * lab[2];
	float s = lab[0] - 0.0894841775f * lab[1] - 1.2914855480f * lab[2];
	l = l * l * l;
	m = m * m * m;
	s = s * s * s;
	return (struct sl__rgb){4.0767416621f * l - 3.3077115913f * m + 0.2309699292f * s,
				-1.2684380046f * l + 2.6097574011f * m - 0.3413193965f * s,
				-0.0041960863f * l - 0.7034186147f * m + 1.7076147010f * s};
}

static struct sl__rgb between(const uint32_t *stops, int count, float t)
{
	t = t > 0 ? t < 1 ? t : 1 : 0;
	int k = (int)(t * (float)(count - 1));
	k = k < count - 2 ? k : count - 2;
	float u = t * (float)(count - 1) - (float)k, a[3], b[3];
	to_oklab(sl__rgb_from_hex(stops[k]), a);
	to_oklab(sl__rgb_from_hex(stops[k + 1]), b);
	for (int i = 0; i < 3; i++)
		a[i] += u * (b[i] - a[i]);
	return from_oklab(a);
}

struct sl__rgb sl__density_colour(float t, bool light)
{
	return between(light ? density_light : density_dark, STOPS, t);
}

struct sl__rgb sl__scale_colour(float t, bool light)
{
	return between(light ? scale_light : scale_dark, SCALE_STOPS, t);
}

uint32_t sl_picture_colour(uint32_t rank, bool light)
{
	if (rank < NAMED)
		return light ? on_light[rank] : on_dark[rank];
	uint32_t k = rank - NAMED, ring = k % 3;
	float hue = (float)fmod(k * 2.399963229728653 + 0.4, 2 * M_PI);
	float lightness = (light ? 0.50f : 0.68f) + 0.09f * ((float)ring - 1), chroma = ring == 1 ? 0.09f : 0.14f;
	float lab[3] = {lightness, chroma * cosf(hue), chroma * sinf(hue)};
	return sl__rgb_to_hex(from_oklab(lab));
}

struct sl__theme sl__theme(bool light)
{
	return light ? (struct sl__theme){sl__rgb_from_hex(0xfcfcfb), sl__rgb_from_hex(0x30343b),
					  sl__rgb_from_hex(0xb9bec7)}
		     : (struct sl__theme){sl__rgb_from_hex(0x0c0e14), sl__rgb_from_hex(0xd5dae3),
					  sl__rgb_from_hex(0x596173)};
}
