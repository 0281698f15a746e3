/* colour.h -- prepares the colours of a picture for core/picture/picture.h. */
#ifndef SL_COLOUR_H
#define SL_COLOUR_H

#include "core/picture/picture.h"
#include "daemon/jobs/jobs_internal.h"

struct sl__colours {
	uint32_t labels;       /* number of labels; 0: the default colours */
	uint32_t *value;       /* [nodes] */
	char **name;           /* [labels]; NULL: not in the legend */
	const char *title;     /* of the legend, or NULL; for a column it points to owned_title */
	char *owned_title;
	struct sl_picture_ellipse *ellipse;  /* [ellipses] of a mixture of the layout, or NULL */
	uint32_t ellipses;
	uint32_t *colour;      /* [labels] 0xRRGGBB, or NULL */
	bool scale, none, ordered;   /* as in struct sl_picture_options */
};

/* Makes the colours for the column or the clusters that the picture form of r names. Pool thread. */
int sl__colours_make(struct sl__colours *c, const struct sl_result *r, struct sl_error *err);
void sl__colours_finish(struct sl__colours *c);

#endif
