/* picture_colour.h -- colours of labels, density maps, and linear light. Internal to core/picture/.
 *
 * Colours are mixed in linear light, so that the mean of red and green is as bright as both. */
#ifndef SL_PICTURE_COLOUR_H
#define SL_PICTURE_COLOUR_H

#include <stdbool.h>
#include <stdint.h>

struct sl__rgb {
	float r, g, b;  /* linear light, 0 .. 1 */
};

struct sl__rgb sl__rgb_from_hex(uint32_t hex);           /* 0xRRGGBB, sRGB */
uint32_t sl__rgb_to_hex(struct sl__rgb c);
float sl__linear_from_srgb(float c);                     /* one channel, 0 .. 1 */
float sl__srgb_from_linear(float c);

static inline struct sl__rgb sl__rgb_mix(struct sl__rgb a, struct sl__rgb b, float share_of_b)
{
	float t = share_of_b;
	return (struct sl__rgb){a.r + t * (b.r - a.r), a.g + t * (b.g - a.g), a.b + t * (b.b - a.b)};
}

/* The colour of density 0 .. 1: from nearly the background to the most striking. */
struct sl__rgb sl__density_colour(float t, bool light);

/* The colour of a position 0 .. 1 on a scale of numbers; all stand out from the background. */
struct sl__rgb sl__scale_colour(float t, bool light);

struct sl__theme {
	struct sl__rgb background, text, faint;  /* faint: isolated nodes, frames */
};
struct sl__theme sl__theme(bool light);

#endif
