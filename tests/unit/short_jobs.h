/* short_jobs.h -- runs an embedding on a graph of engines.h to its end. After cmocka.h. */
#ifndef SL_TEST_SHORT_JOBS_H
#define SL_TEST_SHORT_JOBS_H

#include <stdlib.h>

#include "core/params.h"
#include "tests/unit/engines.h"

static inline struct sl_params short_job(int iterations)
{
	struct sl_params p;
	sl_params_preset(&p, SL_PRESET_DEFAULT);
	p.iterations = iterations;
	p.exaggeration_iterations = iterations / 4;
	p.repulsion = SL_REPULSION_GRID;
	p.accuracy = SL_DRAFT;
	return p;
}

static inline struct sl_embedding *begin(struct bench *b, const struct sl_params *p, const float *init)
{
	struct sl_embedding *e;
	struct sl_error err;
	if (sl_embedding_create(&e, b->engine, b->resident, b->a, p, init, &err))
		fail_msg("%s", err.detail);
	return e;
}

static inline struct sl_status finish(struct sl_embedding *e, double slice_ms)
{
	struct sl_status s = {0};
	while (!s.done)
		assert_int_equal(sl_embedding_advance(e, slice_ms, &s, NULL), 0);
	return s;
}

static inline float *layout(struct bench *b, struct sl_embedding *e)
{
	float *y = malloc(sizeof *y * b->a->n_user * 3);
	assert_int_equal(sl_embedding_layout(e, y, NULL), 0);
	return y;
}

#endif
