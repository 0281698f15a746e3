/* Wraps the functions of an engine: each counts its calls and fails when the environment says so, otherwise it calls
 * the real engine. The state is the process's, because only one engine is wrapped. */
#include "core/engine/fault.h"
#include "core/graph/affinities.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The state of one device; tests have no more. Only its thread changes it. */
static struct {
	const struct sl_engine *engine;  /* the real engine, the first one that was opened in this process */
	long lost_at, lost_again, hang_at, opens_failing, graphs_max;
	bool stuck;
	char file[256];
	long graphs;
	bool lost;
} fault;

static long number(const char *text, const char *word)
{
	const char *at = strstr(text, word);
	return at ? strtol(at + strlen(word), NULL, 10) : 0;
}

static int lost(struct sl_error *err)
{
	return fault.lost ? sl_error_set(err, SL_DEVLOST, "The device failed: SPACELAND_FAULT asked for it.") : 0;
}

/* Called before iterations. */
static int due(struct sl_error *err)
{
	if (fault.file[0] && unlink(fault.file) == 0)
		fault.lost = true;
	if (fault.hang_at > 0 && --fault.hang_at == 0)
		for (;;)
			pause();
	if (fault.lost_at > 0 && --fault.lost_at == 0) {
		fault.lost = true;
		fault.lost_at = fault.lost_again;
	}
	return lost(err);
}

static int fault_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
{
	if (fault.lost && fault.stuck)
		return sl_error_set(err, SL_DEVLOST, "The device does not open in this process: SPACELAND_FAULT asked for it.");
	if (fault.lost && fault.opens_failing-- > 0)
		return sl_error_set(err, SL_NODEVICE, "The device is away: SPACELAND_FAULT asked for it.");
	int code = fault.engine->open(out, options, err);
	if (!code)
		fault.lost = false;
	return code;
}

static int fault_graph_put(struct sl_device *device, const struct sl_affinities *a, struct sl_device_graph **out,
			   struct sl_error *err)
{
	int code = lost(err);
	if (!code && fault.graphs_max && fault.graphs >= fault.graphs_max)
		code = sl_error_set(err, SL_DEVMEM, "A graph of %u nodes needs %llu bytes of device memory; 0 are free.", a->n,
				    (unsigned long long)sl_affinities_bytes(a));
	if (!code)
		code = fault.engine->graph_put(device, a, out, err);
	fault.graphs += !code;
	return code;
}

static void fault_graph_drop(struct sl_device_graph *graph)
{
	fault.graphs -= graph != NULL;
	fault.engine->graph_drop(graph);
}

static int fault_embedding_create(struct sl_device_graph *graph, const struct sl_settings *settings, const float *y0,
				  struct sl_device_embedding **out, struct sl_error *err)
{
	int code = lost(err);
	return code ? code : fault.engine->embedding_create(graph, settings, y0, out, err);
}

static int fault_run(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err)
{
	int code = due(err);
	return code ? code : fault.engine->run(e, step, iterations, err);
}

static int fault_run_many(struct sl_run *run, int count, struct sl_error *err)
{
	int code = due(err);
	return code ? code : fault.engine->run_many(run, count, err);
}

static int fault_measure(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err)
{
	int code = lost(err);
	return code ? code : fault.engine->measure(e, out, err);
}

static int fault_snapshot(struct sl_device_embedding *e, float *y, struct sl_error *err)
{
	int code = lost(err);
	return code ? code : fault.engine->snapshot(e, y, err);
}

static int fault_rescale(struct sl_device_embedding *e, float factor, struct sl_error *err)
{
	int code = lost(err);
	return code ? code : fault.engine->rescale(e, factor, err);
}

static int fault_state_save(struct sl_device_embedding *e, void *out, struct sl_error *err)
{
	int code = lost(err);
	return code ? code : fault.engine->state_save(e, out, err);
}

static int fault_state_load(struct sl_device_embedding *e, const void *state, uint64_t bytes, struct sl_error *err)
{
	int code = lost(err);
	return code ? code : fault.engine->state_load(e, state, bytes, err);
}

const struct sl_engine *sl__engine_with_faults(const struct sl_engine *engine, bool again)
{
	static struct sl_engine failing;
	const char *text = getenv("SPACELAND_FAULT");
	again = again || getenv(SL_RESTARTED);
	if (!text || !*text || (again && !strstr(text, "file=")) || (fault.engine && fault.engine != engine))
		return engine;
	if (fault.engine)
		return &failing;
	fault.engine = engine;
	fault.lost_at = number(text, "lost=");
	fault.lost_again = number(text, "again=");
	fault.hang_at = number(text, "hang=");
	fault.opens_failing = number(text, "open=");
	fault.graphs_max = number(text, "graphs=");
	fault.stuck = strstr(text, "stuck") != NULL;
	const char *file = strstr(text, "file=");
	snprintf(fault.file, sizeof fault.file, "%.*s", file ? (int)strcspn(file + 5, ",") : 0, file ? file + 5 : "");
	fault.lost = false;
	fault.graphs = 0;
	failing = *engine;
	failing.open = fault_open;
	failing.graph_put = fault_graph_put;
	failing.graph_drop = fault_graph_drop;
	failing.embedding_create = fault_embedding_create;
	failing.run = fault_run;
	failing.run_many = engine->run_many ? fault_run_many : NULL;
	failing.measure = fault_measure;
	failing.snapshot = fault_snapshot;
	failing.rescale = fault_rescale;
	failing.state_save = fault_state_save;
	failing.state_load = fault_state_load;
	return &failing;
}
