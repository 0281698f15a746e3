/* sprites.h -- small images for sheets of thumbnails. Any thread. */
#ifndef SL_SPRITES_H
#define SL_SPRITES_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#define SL_SPRITE_PIXELS_MOST (64u << 20)  /* of an image that is decoded */

/* Decodes a PNG to RGBA, 4 bytes a pixel, malloc'd. SL_BADDATA: it is damaged; SL_TOOBIG. */
int sl_png_decode(const void *png, size_t bytes, uint8_t **rgba, uint32_t *width, uint32_t *height, struct sl_error
		*err);
/* Encodes RGBA as PNG, malloc'd. */
int sl_png_encode(const uint8_t *rgba, uint32_t width, uint32_t height, void **png, size_t *bytes, struct sl_error
		*err);
/* Expands pixels of 1 (grey), 3 (RGB) or 4 (RGBA) channels to RGBA. */
void sl_sprite_expand(const uint8_t *from, uint64_t pixels, int channels, uint8_t *rgba);
/* Scales an image into the middle of a square of side x side pixels at (x, y) of a sheet, whose rows have `pitch`
 * pixels: smaller by the mean of the pixels, larger by whole multiples, with its proportions. */
void sl_sprite_place(const uint8_t *rgba, uint32_t width, uint32_t height, uint8_t *sheet, uint32_t pitch, uint32_t x,
		     uint32_t y, uint32_t side);

#endif
