/* generate.c -- spaceland generate: graphs of regular shapes, as MatrixMarket files. */
#include <stdio.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"

#define NODES_MOST 100000000u

struct shape {
	unsigned width, height;
	bool closed;            /* opposite ends are connected */
};

static int read_shape(const char *text, struct shape *s)
{
	char word[8] = "";
	unsigned a = 0, b = 1;
	int ends[2] = {0, 0}, count = sscanf(text, "%7[a-z]:%9u%nx%9u%n", word, &a, &ends[0], &b, &ends[1]);
	bool line = !strcmp(word, "line") || !strcmp(word, "ring"), grid = !strcmp(word, "grid") || !strcmp(word, "torus");
	if (!(line && count == 2 && !text[ends[0]]) && !(grid && count == 3 && !text[ends[1]]))
		return cli_fail(CLI_USAGE, "generate: %s is not a shape; use line:N, ring:N, grid:WxH or torus:WxH", text);
	*s = (struct shape){a, b, !strcmp(word, "ring") || !strcmp(word, "torus")};
	unsigned least = s->closed ? 3 : line ? 2 : 1;
	if (a < least || (grid && b < least) || (uint64_t)a * b < 2 || (uint64_t)a * b > NODES_MOST)
		return cli_fail(CLI_USAGE, "generate: %s must have at least %u nodes a side and at most %u in all", text, least,
				NODES_MOST);
	return CLI_OK;
}

/* Writes the entry below the diagonal, with 1-based indices. */
static void write_edge(FILE *f, uint64_t a, uint64_t b)
{
	fprintf(f, "%llu %llu\n", (unsigned long long)(a > b ? a : b) + 1, (unsigned long long)(a > b ? b : a) + 1);
}

static uint64_t write_graph(FILE *f, const struct shape *s, const char *name)
{
	uint64_t w = s->width, h = s->height, across = s->closed ? w : w - 1, down = h > 1 ? (s->closed ? h : h - 1) : 0;
	uint64_t edges = across * h + down * w;
	fprintf(f, "%%%%MatrixMarket matrix coordinate pattern symmetric\n%% %s\n%llu %llu %llu\n", name,
		(unsigned long long)(w * h), (unsigned long long)(w * h), (unsigned long long)edges);
	for (uint64_t y = 0; y < h; y++)
		for (uint64_t x = 0; x < w; x++) {
			if (x < across)
				write_edge(f, y * w + x, y * w + (x + 1) % w);
			if (y < down)
				write_edge(f, y * w + x, (y + 1) % h * w + x);
		}
	return edges;
}

int cmd_generate(struct cli *cli)
{
	const char *path = cli_option(cli, "output"), *file = path ? path : "-";
	struct shape shape = {0};
	int status = read_shape(cli->arguments[0], &shape);
	if (status)
		return status;
	FILE *f = cli_output_open(file);
	if (!f)
		return CLI_FAILED;
	uint64_t edges = write_graph(f, &shape, cli->arguments[0]);
	status = cli_output_close(f, file, ferror(f), NULL);
	if (status || !strcmp(file, "-"))
		return status;
	if (cli->json)
		return cli_print_new_json(json_pack("{s:s, s:I, s:I}", "file", file, "nodes",
						    (json_int_t)shape.width * shape.height, "edges", (json_int_t)edges));
	cli_note(cli, "wrote %s", file);
	return status;
}
