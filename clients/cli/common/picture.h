/* picture.h -- the options of pictures. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include "clients/cli/common/command.h"

/* --picture, --picture-size, --picture-light, --picture-no-legend, --picture-color (picture.c) */
struct cli_picture {
	int width, height;
	bool light, svg, legend;
	const char *colour;  /* "auto", "density", "degree", "label", "job:ID", or the name of a column of labels */
};
int cli_picture(const struct cli *cli, struct cli_picture *picture);

#endif
