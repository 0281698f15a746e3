/* picture_font.h -- the letters of pictures: DejaVu Sans, which is part of the program, drawn by FreeType. It has
 * Latin, Greek, Cyrillic, Arabic and many other letters and signs, but no Chinese, Japanese or Korean ones. Characters
 * that it lacks look like '?'. Internal to core/picture/. */
#ifndef SL_PICTURE_FONT_H
#define SL_PICTURE_FONT_H

#include <stdbool.h>
#include <stdint.h>

struct sl__font;

/* One letter in a size. */
struct sl__glyph {
	int left, top;           /* pixels from the pen to the left edge; from the base line up to the upper edge */
	int width, height, pitch;
	const uint8_t *cover;    /* [height][pitch] 0 .. 255; borrowed until the next call with the font */
	float advance;           /* pixels to the next letter's pen */
};

/* One thread uses a font at a time. NULL: no memory. */
struct sl__font *sl__font_open(void);
void sl__font_close(struct sl__font *font);  /* NULL is fine */

/* em: the size, in pixels. shift: the part of a pixel, 0 .. 1, by which the letter moves to the right. False: no
 * memory. */
bool sl__font_glyph(struct sl__font *font, float em, float shift, uint32_t code, struct sl__glyph *out);
/* The advance of a letter alone, and the space between two letters in addition to the first one's advance. */
float sl__font_advance(struct sl__font *font, float em, uint32_t code);
float sl__font_kern(struct sl__font *font, float em, uint32_t before, uint32_t code);
/* False: the font lacks the character. */
bool sl__font_has(struct sl__font *font, uint32_t code);

#endif
