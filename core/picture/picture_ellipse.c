/* Ellipses of Gaussians over a scatter in 2-D, at one and two standard deviations from the mean, where the density is
 * e^-1/2 and e^-2 times its maximum. */
#include "core/picture/picture_ellipse.h"

#include <math.h>

#define CORNERS 96  /* of an outline */

/* Corner i in pixels: the Cholesky factor of the covariance, applied to a point of the circle of `radius`. */
static void corner(const struct sl__plot *p, const struct sl_picture_ellipse *e, double radius, int i, float at[2])
{
	double turn = 6.283185307179586 * i / CORNERS, x = radius * cos(turn), y = radius * sin(turn);
	double a = sqrt(fmax(e->spread[0], 0)), b = a > 0 ? e->spread[1] / a : 0, c = sqrt(fmax(e->spread[2] - b * b, 0));
	at[0] = (float)(p->to[0] + p->scale * (e->mean[0] + a * x - p->from[0]));
	at[1] = (float)(p->to[1] - p->scale * (e->mean[1] + b * x + c * y - p->from[1]));
}

/* Ellipse i; NULL if its label has no nodes. */
static const struct sl_picture_ellipse *shown(const struct sl__drawing *w, uint32_t i)
{
	const struct sl_picture_ellipse *e = &w->options->ellipse[i];
	return e->label < w->plot.labels && w->count[e->label] ? e : NULL;
}

static bool near_canvas(const struct sl__canvas *c, const float at[2])
{
	return at[0] > -100 && at[1] > -100 && at[0] < (float)c->width + 100 && at[1] < (float)c->height + 100;
}

void sl__ellipses_draw(struct sl__drawing *w)
{
	struct sl__canvas *c = &w->canvas;
	for (uint32_t i = 0; i < w->options->ellipses; i++)
		for (int radius = 1; shown(w, i) && radius <= 2; radius++)
			for (int k = 0; k < CORNERS; k++) {
				const struct sl_picture_ellipse *e = shown(w, i);
				struct sl__rgb ink = sl__rgb_mix(w->ink[e->label], c->theme.text, 0.35f);
				float a[2], b[2];
				corner(&w->plot, e, radius, k, a);
				corner(&w->plot, e, radius, k + 1, b);
				if (near_canvas(c, a) && near_canvas(c, b))
					sl__canvas_line(c, a[0], a[1], b[0], b[1], 1.6f * w->text, ink, radius == 1 ? 0.95f : 0.7f);
			}
}

void sl__ellipses_svg(const struct sl__drawing *w, FILE *out)
{
	for (uint32_t i = 0; i < w->options->ellipses; i++)
		for (int radius = 1; shown(w, i) && radius <= 2; radius++) {
			const struct sl_picture_ellipse *e = shown(w, i);
			struct sl__rgb ink = sl__rgb_mix(w->ink[e->label], w->canvas.theme.text, 0.35f);
			fprintf(out, "<path fill=\"none\" stroke=\"#%06x\" stroke-width=\"%.1f\" stroke-opacity=\"%s\" d=\"",
				sl__rgb_to_hex(ink), (double)(1.6f * w->text), radius == 1 ? ".95" : ".7");
			for (int k = 0; k < CORNERS; k++) {
				float at[2];
				corner(&w->plot, e, radius, k, at);
				fprintf(out, "%c%.1f %.1f", k ? 'L' : 'M', (double)at[0], (double)at[1]);
			}
			fputs("Z\"/>\n", out);
		}
}
