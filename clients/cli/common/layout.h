/* layout.h -- layouts in files. */
#ifndef CLI_LAYOUT_H
#define CLI_LAYOUT_H

#include "clients/cli/common/command.h"
#include "core/graph/graph.h"

/* *format: "npy", "csv" or "json", by the file's name; "-" is npy. */
int cli_layout_format(const char *path, const char **format);
/* Checks, before anything is computed, that a result can be written to `path`. NULL and "-" are accepted. */
int cli_output_check(const char *path);
/* *y [n * dims]: the caller must free() it. */
int cli_layout_read(const char *path, float **y, uint64_t *n, uint64_t *dims);
/* The same for the file that --init names, if it is neither a word nor, on a server, a job. */
int cli_init_read(const char *path, float **y, uint64_t *n, uint64_t *dims);
/* Writes y [g->n * dims], with the names and labels of g if the format has them. */
int cli_layout_write(const char *path, const struct sl_graph *g, int dims, const float *y);

#endif
