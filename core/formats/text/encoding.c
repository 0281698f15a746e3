/* encoding.c -- recognises UTF-16 and UTF-32 by ASCII characters: one of their 2 or 4 bytes is not zero. */
#include "core/formats/text/encoding.h"

#include <stdbool.h>
#include <string.h>

#define LOOK 4  /* characters that are tested */

size_t sl_text_mark(const void *bytes, size_t size)
{
	return size >= 3 && !memcmp(bytes, "\xef\xbb\xbf", 3) ? 3 : 0;
}

static bool is_text(unsigned char c)
{
	return (c >= ' ' && c < 0x7f) || (c >= '\t' && c <= '\r');
}

/* True if the first characters are ASCII, each stored in byte `place` of `width` bytes. */
static bool is_wide(const unsigned char *bytes, size_t size, size_t width, size_t place)
{
	if (size < width || (size < LOOK * width && size % width))
		return false;
	for (size_t i = 0; i < size && i < LOOK * width; i++)
		if (i % width == place ? !is_text(bytes[i]) : bytes[i] != 0)
			return false;
	return true;
}

const char *sl_text_encoding(const void *text, size_t size)
{
	const unsigned char *bytes = text;
	if (size >= 4 && (!memcmp(bytes, "\xff\xfe\0\0", 4) || !memcmp(bytes, "\0\0\xfe\xff", 4)))
		return "UTF-32";
	if (size >= 2 && (!memcmp(bytes, "\xff\xfe", 2) || !memcmp(bytes, "\xfe\xff", 2)))
		return "UTF-16";
	return is_wide(bytes, size, 4, 0) ? "UTF-32LE" : is_wide(bytes, size, 4, 3) ? "UTF-32BE" :
	       is_wide(bytes, size, 2, 0) ? "UTF-16LE" : is_wide(bytes, size, 2, 1) ? "UTF-16BE" : NULL;
}
