/* layout.h -- layouts in files. */
#ifndef CLI_LAYOUT_H
#define CLI_LAYOUT_H

#include "clients/cli/common/command.h"
#include "core/graph/graph.h"

/* "npy", "csv" or "json" by the file's name; "-" is npy. */
int cli_layout_format(const char *path, const char **format);
/* Can a result be written there? Asked before anything is computed; NULL and "-" are fine. */
int cli_output_check(const char *path);
/* *y [n * dims] is the caller's to free(). */
int cli_layout_read(const char *path, float **y, uint64_t *n, uint64_t *dims);
/* The same of what --init names: neither a word nor, on a server, a job. */
int cli_init_read(const char *path, float **y, uint64_t *n, uint64_t *dims);
/* y [g->n * dims], with the names and labels of g where the format has them. */
int cli_layout_write(const char *path, const struct sl_graph *g, int dims, const float *y);

#endif
