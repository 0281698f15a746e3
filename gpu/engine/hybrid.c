/* The hybrid engine: the CUDA engine's functions, except that P stays on the host. Functions that need P on the device
 * are left out. */
#include "gpu/engine/engine.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cpu/kernels.h"
#include "core/graph/affinities.h"
#include "gpu/graph/graph.h"

static int hybrid_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
{
	if (options && options->gpus > 1)
		return sl_error_set(err, SL_BADPARAM, "Engine hybrid computes on one GPU, not on %d; only engine cuda takes "
				    "several.", options->gpus);
	SL_RETURN(sl_engine_cuda()->open(out, options, err));
	(*out)->threads = options && options->threads > 0 ? options->threads : omp_get_max_threads();
	return 0;
}

static int hybrid_open_doubles(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
{
	SL_RETURN(hybrid_open(out, options, err));
	(*out)->doubles = true;
	return 0;
}

static void hybrid_info(struct sl_device *d, struct sl_device_info *out)
{
	char name[sizeof out->name];
	sl_engine_cuda()->info(d, out);
	snprintf(name, sizeof name, "%.60s and %d CPU thread%s, %s%s", out->name, d->threads, d->threads == 1 ? "" : "s",
		 sl_cpu_kernels()->name, d->doubles ? ", double precision" : "");
	memcpy(out->name, name, sizeof name);
	snprintf(out->kind, sizeof out->kind, "hybrid");
}

static int mass_up(struct sl_device_graph *g, float *mass, struct sl_error *err)
{
	const struct sl_affinities *a = g->host;
	int code = 0;
#pragma omp parallel for schedule(static) num_threads(g->device->threads)
	for (uint32_t i = 0; i < a->n; i++) {
		float sum = 0;
		for (uint64_t e = a->start[i]; e < a->start[i + 1]; e++)
			sum += a->p[e];
		mass[i] = sum;
	}
	SL_CUDA(cudaMemcpyAsync(g->matrix.mass, mass, a->n * sizeof *mass, cudaMemcpyHostToDevice, g->device->stream));
	SL_CUDA(cudaStreamSynchronize(g->device->stream));
out:
	return code;
}

/* Borrows `a` until graph_drop. Only the sums of the rows are copied to the device. */
static int hybrid_graph_put(struct sl_device *d, const struct sl_affinities *a, struct sl_device_graph **out,
			    struct sl_error *err)
{
	char what[80];
	int code = 0;
	SL_RETURN(sl__graph_fits(a->n, err));
	SL_RETURN(sl__device_enter(d, err));
	struct sl_device_graph *g = calloc(1, sizeof *g);
	float *mass = malloc(sizeof *mass * ((size_t)a->n + 1));
	SL_TRY(g && mass ? 0 : sl_error_memory(err, "a graph of %u nodes", a->n));
	snprintf(what, sizeof what, "A graph of %u nodes", a->n);
	g->device = d;
	g->host = a;
	g->entropy = a->entropy;
	g->matrix.n = a->n;
	g->share = (struct sl_share){a->n, a->m, 0, a->n, 0, a->m};
	g->matrix.m = a->m;
	g->bytes = sizeof *mass * ((uint64_t)a->n + 1);
	SL_TRY(sl__device_alloc(d, g->bytes, what, &g->memory, err));
	d->graph_bytes += g->bytes;
	g->matrix.mass = (float *)g->memory;
	SL_TRY(mass_up(g, mass, err));
out:
	free(mass);
	if (code)
		sl__graph_drop(g);
	else
		*out = g;
	return code;
}

static struct sl_engine engine[2];

/* The time of an iteration: the CPU computes the attraction while the GPU computes the rest. */
static double hybrid_iteration_seconds(const struct sl_settings *s, uint32_t n, uint64_t entries, int threads)
{
	double host = 2e-9 * (double)entries / (threads > 0 ? threads : omp_get_num_procs());
	double device = sl_engine_cuda()->iteration_seconds(s, n, 0, threads);
	return host > device ? host : device;
}

static void make_engine(struct sl_engine *e, const char *name,
			int (*open)(struct sl_device **, const struct sl_device_options *, struct sl_error *))
{
	*e = *sl_engine_cuda();
	e->name = name;
	e->open = open;
	e->info = hybrid_info;
	e->graph_put = hybrid_graph_put;
	e->iteration_seconds = hybrid_iteration_seconds;
	e->joins = NULL;
	e->run_many = NULL;
	/* functions that need P on the device, or put it there */
	e->graph_make = NULL;
	e->neighbours_put = NULL;
	e->neighbours_drop = NULL;
	e->neighbours_graph = NULL;
	e->walk_mass = NULL;
	e->walk_components = NULL;
	e->walk_filter = NULL;
}

/* Called once, when the plug-in is opened. */
__attribute__((constructor)) static void make_engines(void)
{
	make_engine(&engine[0], "hybrid", hybrid_open);
	make_engine(&engine[1], "hybrid-double", hybrid_open_doubles);
}

const struct sl_engine *sl_engine_hybrid(void) { return &engine[0]; }
const struct sl_engine *sl_engine_hybrid_double(void) { return &engine[1]; }
