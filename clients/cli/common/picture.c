/* picture.c -- reads the options that describe a picture. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/picture.h"

#define SIDE_LEAST 16
#define SIDE_MOST 4096

static bool side(const char *text, const char *end, int *out)
{
	char *last;
	long value = strtol(text, &last, 10);
	*out = (int)value;
	return *text >= '0' && *text <= '9' && last == end && value >= SIDE_LEAST && value <= SIDE_MOST;
}

/* Reads a size: "800" or "1200x800". */
static int read_size(const char *text, struct cli_picture *picture)
{
	const char *end = text + strlen(text), *by = strchr(text, 'x');
	if (side(text, by ? by : end, &picture->width) && side(by ? by + 1 : text, end, &picture->height))
		return CLI_OK;
	return cli_fail(CLI_USAGE, "--picture-size must be a whole number from %d to %d, or two as in 1200x800, not '%s'",
			SIDE_LEAST, SIDE_MOST, text);
}

/* Chooses PNG or SVG by the file's name; other formats are refused. */
static int read_name(const char *path, struct cli_picture *picture)
{
	static const char *const others[] = {
		"npy", "csv", "json", "jpg", "jpeg", "pdf", "gif", "webp", "eps", "tif", "tiff",
	};
	const char *dot = path ? strrchr(path, '.') : NULL;
	picture->svg = dot && !strcasecmp(dot, ".svg");
	for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++)
		if (!strcasecmp(dot + 1, others[i]))
			return cli_fail(CLI_USAGE, "%s: the name of a picture must end in .png or .svg%s", path,
					i < 3 ? "; -o writes coordinates" : "");
	return CLI_OK;
}

int cli_picture(const struct cli *cli, struct cli_picture *picture)
{
	const char *size = cli_option(cli, "picture-size"), *colour = cli_option(cli, "picture-color");
	*picture = (struct cli_picture){.width = 1024, .height = 1024, .colour = "auto"};
	picture->light = cli_option(cli, "picture-light") != NULL;
	picture->legend = cli_option(cli, "picture-no-legend") == NULL;
	picture->names = cli_option(cli, "picture-names") != NULL;
	long dpi = 0;
	int status = cli_option_int(cli, "picture-dpi", 36, 1200, &dpi);
	picture->dpi = (int)dpi;
	if (!status && size)
		status = read_size(size, picture);
	if (!status)
		status = read_name(cli_option(cli, "picture"), picture);
	if (colour)
		picture->colour = colour;
	if (!status && !*picture->colour)
		status = cli_fail(CLI_USAGE, "--picture-color must be auto, density, degree, job:ID or the name of a column of "
				  "labels, not empty");
	return status;
}
