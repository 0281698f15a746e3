/* inputs.h -- what a worker computes from: stored graphs, points and neighbours, and the affinities that it makes.
 *
 * An input is read or made once, on the thread pool, and shared by the jobs that need it at the same time. What nobody
 * uses stays until the inputs exceed their budget of bytes, the least recently used first; affinities go at once, since
 * the daemon decides how long they stay. Loop thread. */
#ifndef SL_WORKER_INPUTS_H
#define SL_WORKER_INPUTS_H

#include <uv.h>

#include "core/graph/affinities.h"

enum sl_input_kind { SL_INPUT_GRAPH, SL_INPUT_POINTS, SL_INPUT_NEIGHBOURS, SL_INPUT_AFFINITIES };

struct sl_inputs;

/* An input, and the one member that its kind has when it is ready. */
struct sl_worker_input {
	enum sl_input_kind kind;
	struct sl_graph *graph;
	struct sl_points *points;
	struct sl_neighbours *neighbours;
	struct sl_affinities *affinities;
};

/* Which input. */
struct sl_input_name {
	enum sl_input_kind kind;
	const char *path;     /* of the file; AFFINITIES: of the graph or neighbours that they are made from */
	uint64_t key;         /* AFFINITIES: the daemon's key; NEIGHBOURS: of the content, whatever its path; else 0 */
	/* AFFINITIES: */
	bool of_graph;        /* the file is a graph; else neighbours */
	uint64_t source_key;  /* of these neighbours */
	struct sl_affinities_params params;
	const char *job;      /* the job to blame if making them crashes */
};

struct sl_fetch;

/* fetch: gets files of the daemon (fetch.h); NULL: they are on this machine. */
int sl_inputs_create(struct sl_inputs **out, uv_loop_t *loop, uint64_t budget_bytes, struct sl_fetch *fetch,
		     struct sl_error *err);

/* fn runs with the input, which belongs to the caller until sl_inputs_release(), or with an error: at once if the input
 * is ready, else later. */
typedef void (*sl_input_fn)(void *arg, struct sl_worker_input *input, const struct sl_error *err);
void sl_inputs_get(struct sl_inputs *in, const struct sl_input_name *name, sl_input_fn fn, void *arg);
/* Neighbours that came with a job, or that the worker has found; it takes them. NULL: no memory. The caller's until
 * they are released. */
struct sl_worker_input *sl_inputs_give(struct sl_inputs *in, struct sl_neighbours *neighbours, uint64_t key);
/* The same as sl_inputs_get() for affinities of these neighbours. */
void sl_inputs_get_of(struct sl_inputs *in, const struct sl_input_name *name, struct sl_worker_input *source,
		      sl_input_fn fn, void *arg);
/* A further reference to an input; returns it. */
struct sl_worker_input *sl_inputs_share(struct sl_inputs *in, struct sl_worker_input *input);
void sl_inputs_release(struct sl_inputs *in, struct sl_worker_input *input);  /* NULL is fine */
/* Of affinities that are on the device `count` times: releases them so often. */
void sl_inputs_dropped(struct sl_inputs *in, uint64_t key, uint64_t count);

#endif
