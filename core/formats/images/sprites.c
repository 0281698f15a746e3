/* The mean is of premultiplied colours, so that transparent pixels do not show through. */
#include "core/formats/images/sprites.h"

#include <png.h>
#include <stdlib.h>

int sl_png_decode(const void *png, size_t bytes, uint8_t **rgba, uint32_t *width, uint32_t *height, struct sl_error
		*err)
{
	png_image image = {.version = PNG_IMAGE_VERSION};
	*rgba = NULL;
	if (!png_image_begin_read_from_memory(&image, png, bytes))
		return sl_error_set(err, SL_BADDATA, "The image is no PNG that can be read: %s.", image.message);
	if ((uint64_t)image.width * image.height > SL_SPRITE_PIXELS_MOST) {
		png_image_free(&image);
		return sl_error_set(err, SL_TOOBIG, "The image has %u x %u pixels, too many for a thumbnail.", image.width,
				    image.height);
	}
	image.format = PNG_FORMAT_RGBA;
	*width = image.width;
	*height = image.height;
	*rgba = malloc(PNG_IMAGE_SIZE(image));
	if (!*rgba) {
		png_image_free(&image);
		return sl_error_memory(err, "an image of %u x %u pixels", *width, *height);
	}
	if (png_image_finish_read(&image, NULL, *rgba, 0, NULL))
		return 0;
	free(*rgba);
	*rgba = NULL;
	return sl_error_set(err, SL_BADDATA, "The image is no PNG that can be read: %s.", image.message);
}

int sl_png_encode(const uint8_t *rgba, uint32_t width, uint32_t height, void **png, size_t *bytes, struct sl_error *err)
{
	png_image image = {.version = PNG_IMAGE_VERSION, .width = width, .height = height, .format = PNG_FORMAT_RGBA};
	png_alloc_size_t room = PNG_IMAGE_PNG_SIZE_MAX(image);
	*png = malloc(room);
	if (*png && png_image_write_to_memory(&image, *png, &room, 0, rgba, 0, NULL)) {
		*bytes = room;
		return 0;
	}
	free(*png);
	*png = NULL;
	return sl_error_memory(err, "a picture of %u x %u pixels", width, height);
}

void sl_sprite_expand(const uint8_t *from, uint64_t pixels, int channels, uint8_t *rgba)
{
	for (uint64_t i = 0; i < pixels; i++, from += channels, rgba += 4) {
		rgba[0] = from[0];
		rgba[1] = from[channels == 1 ? 0 : 1];
		rgba[2] = from[channels == 1 ? 0 : 2];
		rgba[3] = channels == 4 ? from[3] : 255;
	}
}

/* The mean of the pixels from (x0, y0) up to (x1, y1). */
static void mean(const uint8_t *rgba, uint32_t width, uint32_t x0, uint32_t y0, uint32_t x1, uint32_t y1, uint8_t
		out[4])
{
	uint64_t sum[3] = {0}, alpha = 0, count = (uint64_t)(x1 - x0) * (y1 - y0);
	for (uint32_t y = y0; y < y1; y++)
		for (uint32_t x = x0; x < x1; x++) {
			const uint8_t *p = rgba + 4 * ((uint64_t)y * width + x);
			for (int k = 0; k < 3; k++)
				sum[k] += (uint64_t)p[k] * p[3];
			alpha += p[3];
		}
	for (int k = 0; k < 3; k++)
		out[k] = alpha ? (uint8_t)((sum[k] + alpha / 2) / alpha) : 0;
	out[3] = (uint8_t)((alpha + count / 2) / count);
}

/* The length of a side in the square: the longer one fills it; larger by whole multiples only. */
static uint32_t scaled(uint32_t length, uint32_t longest, uint32_t side)
{
	if (longest <= side)
		return length * (side / longest);
	uint32_t out = (uint32_t)(((uint64_t)length * side + longest / 2) / longest);
	return out ? out : 1;
}

void sl_sprite_place(const uint8_t *rgba, uint32_t width, uint32_t height, uint8_t *sheet, uint32_t pitch, uint32_t x,
		     uint32_t y, uint32_t side)
{
	uint32_t longest = width > height ? width : height;
	uint32_t w = scaled(width, longest, side), h = scaled(height, longest, side);
	x += (side - w) / 2;
	y += (side - h) / 2;
	for (uint32_t v = 0; v < h; v++)
		for (uint32_t u = 0; u < w; u++) {
			uint32_t x0 = (uint32_t)((uint64_t)u * width / w), x1 = (uint32_t)((uint64_t)(u + 1) * width / w);
			uint32_t y0 = (uint32_t)((uint64_t)v * height / h), y1 = (uint32_t)((uint64_t)(v + 1) * height / h);
			mean(rgba, width, x0, y0, x1 > x0 ? x1 : x0 + 1, y1 > y0 ? y1 : y0 + 1,
			     sheet + 4 * ((uint64_t)(y + v) * pitch + x + u));
		}
}
