/* images.h -- files of images: their type and size by their first bytes, and archives of many. Any thread. */
#ifndef SL_IMAGES_H
#define SL_IMAGES_H

#include "core/formats/read.h"

#ifdef __cplusplus
extern "C" {
#endif

/* type, its name, its media type. No type that may hold a script (SVG). */
#define SL_IMAGE_TYPES(X) \
	X(PNG,  "PNG",  "image/png") \
	X(JPEG, "JPEG", "image/jpeg") \
	X(GIF,  "GIF",  "image/gif") \
	X(WEBP, "WebP", "image/webp")

enum sl_image_type {
#define X(type, name, media) SL_IMAGE_##type,
	SL_IMAGE_TYPES(X)
#undef X
	SL_IMAGE_TYPE_COUNT
};

struct sl_image_head {
	enum sl_image_type type;
	uint32_t width, height;    /* 0: the first bytes do not tell */
};

const char *sl_image_type_name(enum sl_image_type type);
const char *sl_image_media_type(enum sl_image_type type);

/* False: these bytes do not begin an image of a known type. */
bool sl_image_look(const unsigned char *bytes, size_t size, struct sl_image_head *out);

#define SL_IMAGE_BYTES_MOST (32u << 20)  /* of one file of an archive */

/* Reads a ZIP archive to its end. name() is called for each file first, in the order of the archive, then image() for
 * those for which name() gave true, with their bytes, which are borrowed. Folders and what systems add (__MACOSX/,
 * .DS_Store, Thumbs.db) are left out. An error of either ends the reading. SL_BADDATA: it is no archive; SL_TOOBIG: a
 * file is larger than SL_IMAGE_BYTES_MOST, or all are larger than max_bytes (0: no limit). Consumes the source. */
struct sl_images_reader {
	int (*name)(void *arg, const char *path, uint64_t index, bool *wanted, struct sl_error *err);
	int (*named)(void *arg, struct sl_error *err);   /* after all names */
	int (*image)(void *arg, const char *path, uint64_t index, const unsigned char *bytes, size_t size,
		     struct sl_error *err);
	void *arg;
};
int sl_images_read_zip(struct sl_source *source, uint64_t max_bytes, const struct sl_images_reader *reader,
		       struct sl_error *err);

#ifdef __cplusplus
}
#endif
#endif
