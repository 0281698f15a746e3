/* picture_font.h -- a bitmap font: printable ASCII in 5 x 7 dots; other Latin, Greek and Cyrillic letters, marks and
 * signs, up to 6 dots wide, with another row above and below. Internal to core/picture/. */
#ifndef SL_PICTURE_FONT_H
#define SL_PICTURE_FONT_H

#include <stdint.h>

#define SL__FONT_WIDTH 5
#define SL__FONT_HEIGHT 8   /* rows of a cell: 7 above the base line, one below */
#define SL__FONT_ADVANCE 6
#define SL__FONT_ABOVE 1    /* rows that some letters have above the cell, and as many below it */
#define SL__FONT_ROWS (SL__FONT_HEIGHT + 2 * SL__FONT_ABOVE)

struct sl__glyph {
	uint16_t code;
	uint8_t row[SL__FONT_ROWS];  /* bit 5: the leftmost dot; the first row is above the cell */
};

/* Characters other than ASCII, ascending. */
extern const struct sl__glyph sl__glyphs[];
extern const int sl__glyphs_count;

/* The character's rows of dots, as in struct sl__glyph. Characters that the font lacks look like '?'. */
void sl__font_glyph(uint32_t code, uint8_t row[SL__FONT_ROWS]);

#endif
