/* The first bytes of a file tell its type; its ending is not looked at. */
#include <string.h>

#include "core/formats/images/images.h"

static const struct { const char *name, *media; } types[] = {
#define X(type, name, media) {name, media},
	SL_IMAGE_TYPES(X)
#undef X
};

const char *sl_image_type_name(enum sl_image_type type)
{
	return types[type].name;
}

const char *sl_image_media_type(enum sl_image_type type)
{
	return types[type].media;
}

static uint32_t big(const unsigned char *at, int bytes)
{
	uint32_t value = 0;
	for (int i = 0; i < bytes; i++)
		value = value << 8 | at[i];
	return value;
}

/* The size is in the frame header (SOF0 to SOF15 without DHT, JPG, DAC), behind other segments. */
static void look_jpeg(const unsigned char *bytes, size_t size, struct sl_image_head *out)
{
	size_t at = 2;
	while (at + 9 < size && bytes[at] == 0xff) {
		unsigned char mark = bytes[at + 1];
		if (mark >= 0xc0 && mark <= 0xcf && mark != 0xc4 && mark != 0xc8 && mark != 0xcc) {
			out->height = big(bytes + at + 5, 2);
			out->width = big(bytes + at + 7, 2);
			return;
		}
		at += mark == 0xff ? 1 : 2 + (size_t)big(bytes + at + 2, 2);
	}
}

bool sl_image_look(const unsigned char *bytes, size_t size, struct sl_image_head *out)
{
	*out = (struct sl_image_head){.width = 0};
	if (size >= 24 && !memcmp(bytes, "\x89PNG\r\n\x1a\n", 8)) {
		*out = (struct sl_image_head){SL_IMAGE_PNG, big(bytes + 16, 4), big(bytes + 20, 4)};
	} else if (size >= 4 && !memcmp(bytes, "\xff\xd8\xff", 3)) {
		out->type = SL_IMAGE_JPEG;
		look_jpeg(bytes, size, out);
	} else if (size >= 10 && (!memcmp(bytes, "GIF87a", 6) || !memcmp(bytes, "GIF89a", 6))) {
		*out = (struct sl_image_head){SL_IMAGE_GIF, bytes[6] | (uint32_t)bytes[7] << 8, bytes[8] | (uint32_t)bytes[9] <<
				8};
	} else if (size >= 16 && !memcmp(bytes, "RIFF", 4) && !memcmp(bytes + 8, "WEBP", 4)) {
		out->type = SL_IMAGE_WEBP;
	} else {
		return false;
	}
	return true;
}
