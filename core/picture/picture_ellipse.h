/* picture_ellipse.h -- ellipses over a scatter in 2-D. Internal to core/picture/. */
#ifndef SL_PICTURE_ELLIPSE_H
#define SL_PICTURE_ELLIPSE_H

#include <stdio.h>

#include "core/picture/picture_internal.h"

/* Of a drawing in 2-D whose scatter has been plotted; each in the colour of its label. */
void sl__ellipses_draw(struct sl__drawing *w);
void sl__ellipses_svg(const struct sl__drawing *w, FILE *out);

#endif
