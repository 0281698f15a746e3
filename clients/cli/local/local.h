/* local.h -- layouts and clusters without a server: input (input.c), spaceland embed --local (run.c), what the other
 * methods share (method.c), pictures (picture.c). */
#ifndef CLI_LOCAL_H
#define CLI_LOCAL_H

#include "clients/cli/common/command.h"
#include "core/embedding/embedding.h"
#include "core/formats/input_params.h"
#include "core/graph/affinities.h"
#include "core/method/method.h"

/* One run and everything that it owns. */
struct local {
	struct cli *cli;
	const char *path;
	char **more;               /* further files that are read as one with it, borrowed; or NULL */
	int more_count;
	struct sl_params params;
	struct sl_input_params given;        /* parameters of the input, from options */
	struct sl_neighbours_params search;  /* search parameters derived from them */
	struct sl_input input;
	struct sl_graph nodes;     /* number, names and labels; borrowed from input */
	uint64_t entries;          /* of the graph; or the total number of neighbours */
	struct sl_affinities *affinities;
	const struct sl_engine *engine;
	struct sl_device *device;
	int gpus;                  /* of the device; 0: one */
	struct sl_device_graph *device_graph;
	struct sl_embedding *embedding;
	struct sl_status status;
	float *init, *y;  /* [n_user * dims] or NULL */
	double read_s, search_s, prepare_s, put_s;  /* prepare_s includes search_s and put_s (P to the device) */
	enum sl_order order;       /* of graphs */
	struct sl_error err;
};

/* `spaceland embed --local` (local/run.c), of the command's files */
int cli_embed_local(struct cli *cli);

/* Prints l->err or the interruption; returns an exit status. */
int local_failed(const struct local *l, const char *path);

/* The options for reading that the command was given; kind: what it reads, or AUTO. Fills l->given and l->search. */
int local_options(struct local *l, enum sl_input_kind kind, struct sl_input_options *options);
/* Reads the file as `kind`, its labels and the initial layout; prints warnings about them. Needs cli, path and
 * params. */
int local_read(struct local *l, enum sl_input_kind kind);
/* Fills l->nodes from the input, which it borrows. */
void local_view_nodes(struct local *l);
/* Draws y [nodes.n * params.dims] to this file. If there are no affinities, from the graph or points alone. */
int local_write_picture(struct local *l, const char *path);
/* Everything from the input to an embedding: local_open(), local_put(), and creating the embedding. */
int local_prepare(struct local *l);
/* Opens the device of --engine, with --threads. */
int local_open(struct local *l);
/* Searches neighbours if needed, and puts P on the device. */
int local_put(struct local *l);
void local_finish(struct local *l);

/* ---- method.c: for the commands of the methods other than t-SNE ---- */

/* Limits the threads of this process to --threads. */
int local_threads(const struct cli *cli);
struct sl_taken;
/* Notes what was taken of a file; NULL: nothing is known. */
void local_tell(const struct cli *cli, const char *path, enum sl_input_kind kind, const struct sl_taken *taken);
/* Tells what was unusual in the input. */
void local_warn(const struct local *l);
/* Reads a table of points, and projects it if --pca says so. old: NULL, or the points with which these new ones are
 * compared: they get its center, and their columns the roles that those of its file have. */
int local_read_points(struct local *l, const char *path, const struct sl_points *old, struct sl_points **out);
/* Projects points on their principal axes if --pca says so and the reader has not done it. */
int local_project(struct local *l, const char *path, struct sl_points **points);
void local_tell_axes(const struct cli *cli, const char *path, uint32_t axes, uint32_t columns, double kept);
/* Opens the device of --engine and lends it to the method's run. The processor computes without --engine and, with
 * --engine auto, if no GPU is usable, or if that GPU's engine does not compute the method, which is told. Otherwise an
 * engine that does not compute it is an error. Returns a code. */
int local_lend(struct local *l, const struct sl_method *method, void *run);

#endif
