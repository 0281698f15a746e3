/* picture_ellipse.h -- ellipses over a scatter in 2-D. Internal to core/picture/. */
#ifndef SL_PICTURE_ELLIPSE_H
#define SL_PICTURE_ELLIPSE_H

#include <stdio.h>

#include "core/picture/picture_internal.h"

/* Draws ellipses, in the colours of their labels, over a scatter in 2-D that has been plotted. */
void sl__ellipses_draw(struct sl__drawing *w);
void sl__ellipses_svg(const struct sl__drawing *w, FILE *out);

#endif
