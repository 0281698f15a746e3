/* local.h -- layouts without a server: reading the file (input.c); spaceland embed --local from there to an embedding
 * on a device and on to its results (run.c); pictures (picture.c). */
#ifndef CLI_LOCAL_H
#define CLI_LOCAL_H

#include "clients/cli/common/command.h"
#include "core/embedding/embedding.h"
#include "core/formats/input_params.h"
#include "core/graph/affinities.h"

/* One run and everything it owns. */
struct local {
	struct cli *cli;
	const char *path;
	struct sl_params params;
	struct sl_input_params given;        /* of the input, by options */
	struct sl_neighbours_params search;  /* that follows from them */
	struct sl_input input;
	struct sl_graph nodes;     /* how many, names and labels; borrowed from input */
	uint64_t entries;          /* of the graph, or neighbours in all */
	struct sl_affinities *affinities;
	const struct sl_engine *engine;
	struct sl_device *device;
	struct sl_device_graph *device_graph;
	struct sl_embedding *embedding;
	struct sl_status status;
	float *init, *y;  /* [n_user * dims] or NULL */
	double read_s, search_s, prepare_s, put_s;  /* search (only for points) and put (P to the device): of prepare */
	enum sl_order order;       /* of graphs */
	struct sl_error err;
};

/* `spaceland embed --local` (local/run.c) */
int cli_embed_local(struct cli *cli, const char *path);

/* Tells the user of l->err, or of an interruption; returns an exit status. */
int local_failed(const struct local *l, const char *path);

/* Reads the file, its labels and the initial layout; says what is odd about them. Needs cli, path and params. */
int local_read(struct local *l);
/* Of y, params.dims and the nodes to this file. Without affinities of a graph or points. */
int local_write_picture(struct local *l, const char *path);
/* From there to an embedding: local_open(), local_put(), and the embedding itself. */
int local_prepare(struct local *l);
/* --engine and --threads to a device. */
int local_open(struct local *l);
/* Neighbours, where they are to be searched, and P, on the device. */
int local_put(struct local *l);
void local_finish(struct local *l);

#endif
