/* picture.h -- the options of pictures. */
#ifndef CLI_PICTURE_H
#define CLI_PICTURE_H

#include "clients/cli/common/command.h"

/* --picture and the options that begin so (picture.c) */
struct cli_picture {
	int width, height;
	int dpi;                     /* 0: not given */
	bool light, svg, legend, names;
	const char *colour;  /* "auto", "density", "degree", "label", "job:ID", or the name of a column of labels */
};
int cli_picture(const struct cli *cli, struct cli_picture *picture);

#endif
