/* Checkpoints that a worker of another machine may send: runs of all methods load states that were changed, and go on.
 *
 * An input is a script: the first byte chooses a run, then come changes of its saved state, of 5 bytes each: where (3),
 * how (1: set, add, a double, cut), and a value (1). So every input comes far, whatever the version of the states. */
#include <math.h>

#include "core/engine/engine.h"
#include "core/graph/affinities.h"
#include "core/graph/synthetic.h"
#include "core/method/method.h"
#include "core/points/points.h"
#include "tests/fuzz/fuzz.h"

#define NODES 60
#define COLUMNS 4
#define ITERATIONS 12
#define SLICES 40
#define RUNS 5

static const char *const names[RUNS] = {"tsne", "kmeans", "gmm", "sammon", "signal"};

static struct {
	const struct sl_engine *engine;
	struct sl_graph *graph;
	struct sl_affinities *affinities;
	struct sl_device *device;
	struct sl_device_graph *put;
	struct sl_points points;
	float value[NODES * COLUMNS];
	void *state[RUNS];
	uint64_t bytes[RUNS];
} world;

static void params_of(const struct sl_method *m, struct sl_method_params *p)
{
	struct sl_error err;
	sl_param_defaults(m->params, p);
	if (sl_param_find(m->params, "iterations"))
		PROMISE(!sl_param_set(m->params, p, "iterations", "12", &err));
}

static void *run_of(int which)
{
	const struct sl_method *m = sl_method_find(names[which]);
	struct sl_method_params params;
	struct sl_error err;
	struct sl_method_input in = {.engine = world.engine, .graph = which ? NULL : world.put,
				     .affinities = which ? NULL : world.affinities};
	void *run = NULL;
	params_of(m, &params);
	if (which == 4)
		in.edges = world.graph;
	else if (which)
		in.points = &world.points;
	PROMISE(!m->create(&run, &in, &params, &err));
	return run;
}

static void build(void)
{
	static const struct sl_device_options options = {.threads = 1};
	static const struct sl_affinities_params usual = {.lambda = 5};
	struct sl_status status;
	struct sl_error err;
	world.engine = sl_engine_cpu();
	for (int i = 0; i < NODES * COLUMNS; i++)
		world.value[i] = (float)(sin(i * 1.7) + (i / COLUMNS % 3) * 4);
	world.points = (struct sl_points){.n = NODES, .d = COLUMNS, .n_user = NODES, .value = world.value};
	PROMISE(!sl_synthetic_graph(&world.graph, NODES, 6, 3, &err));
	PROMISE(!sl_affinities_create(&world.affinities, world.graph, &usual, &err));
	PROMISE(!world.engine->open(&world.device, &options, &err));
	PROMISE(!world.engine->graph_put(world.device, world.affinities, &world.put, &err));
	for (int i = 0; i < RUNS; i++) {
		const struct sl_method *m = sl_method_find(names[i]);
		void *run = run_of(i);
		for (int k = 0; k < 3; k++)
			PROMISE(!m->advance(run, k ? 0.001 : 0, &status, &err));
		PROMISE(!m->save(run, &world.state[i], &world.bytes[i], &err));
		m->destroy(run);
	}
}

static void change(uint8_t *state, uint64_t *bytes, const uint8_t *how)
{
	static const double odd[] = {NAN, INFINITY, -INFINITY, 1e308, -1e308, 0, -1, 1e-308};
	uint64_t at = ((uint64_t)how[0] | (uint64_t)how[1] << 8 | (uint64_t)how[2] << 16) % (*bytes ? *bytes : 1);
	switch (how[3] % 4) {
	case 0: state[at] = how[4]; break;
	case 1: state[at] = (uint8_t)(state[at] + how[4]); break;
	case 2:
		if (at / 8 * 8 + 8 <= *bytes)
			memcpy(state + at / 8 * 8, &odd[how[4] % 8], 8);
		break;
	default:
		if (how[4] == 77)
			*bytes = at;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
	struct sl_status status = {.iteration = 0};
	struct sl_error err = {.code = 0};
	int which = size ? input[0] % RUNS : 0;
	if (!world.engine)
		build();
	const struct sl_method *m = sl_method_find(names[which]);
	uint64_t bytes = world.bytes[which], again_bytes;
	uint8_t *state = malloc(bytes);
	void *again = NULL, *run = run_of(which);
	memcpy(state, world.state[which], bytes);
	for (size_t at = 1; at + 5 <= size && at < 100; at += 5)
		change(state, &bytes, input + at);
	uint8_t *exact = malloc(bytes ? bytes : 1);  /* the sanitizer detects every access beyond it */
	memcpy(exact, state, bytes);
	int code = m->load(run, exact, bytes, &err);
	PROMISE(!code || (err.code == code && err.detail[0]));
	for (int k = 0; k < SLICES && !code && !status.done; k++)
		code = m->advance(run, 0.2, &status, &err);
	if (!code && !m->save(run, &again, &again_bytes, &err))
		free(again);
	if (!code && m->result && status.done) {
		struct sl_method_result result = {.count = 0};
		if (!m->result(run, &result, &err))
			sl_method_result_finish(&result);
	}
	m->destroy(run);
	free(exact);
	free(state);
	return 0;
}
