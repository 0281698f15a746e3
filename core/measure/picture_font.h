/* picture_font.h -- a 5 x 7 bitmap font for printable ASCII. Internal to core/measure/. */
#ifndef SL_PICTURE_FONT_H
#define SL_PICTURE_FONT_H

#include <stdbool.h>

#define SL__FONT_WIDTH 5
#define SL__FONT_HEIGHT 8   /* 7 above the line, one below */
#define SL__FONT_ADVANCE 6

/* Is the dot at column x, row y (from the top) of character c set? Outside of the cell: no.
 * Characters that the font lacks look like '?'. */
bool sl__font_dot(char c, int x, int y);

#endif
