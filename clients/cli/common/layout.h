/* layout.h -- files with results: layouts and other arrays. */
#ifndef CLI_LAYOUT_H
#define CLI_LAYOUT_H

#include "clients/cli/common/command.h"
#include "core/graph/graph.h"

/* *format: "npy", "csv" or "json", by the file's name; "-" is npy. */
int cli_layout_format(const char *path, const char **format);
/* Checks, before anything is computed, that a result can be written to `path`, and would not replace an
 * argument or the file of another option. NULL and "-" are accepted. */
int cli_output_check(const struct cli *cli, const char *path);
/* Opens a file for a result; "-" is standard output. NULL: it cannot be opened, and the error is printed. */
FILE *cli_output_open(const char *path);
/* Closes it. bad: writing failed. err: the reason, or NULL for that of the system. Returns the exit status. */
int cli_output_close(FILE *file, const char *path, bool bad, const struct sl_error *err);
/* Writes an array as .npy; type and shape as in sl_npy_header_of(). */
int cli_array_write(const char *path, const char *type, const uint32_t shape[3], const void *data);
/* *y [n * dims]: the caller must free() it. */
int cli_layout_read(const char *path, float **y, uint64_t *n, uint64_t *dims);
/* The same for the file that --init names, if it is neither a word nor, on a server, a job. */
int cli_init_read(const char *path, float **y, uint64_t *n, uint64_t *dims);
/* Writes y [g->n * dims], with the names and labels of g if the format has them. */
int cli_layout_write(const char *path, const struct sl_graph *g, int dims, const float *y);

#endif
