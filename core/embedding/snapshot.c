/* Copies layouts from the device while the embedding goes on. */
#include <stdlib.h>
#include <string.h>

#include "core/embedding/embedding_internal.h"
#include "core/graph/affinities.h"

struct sl_embedding_snapshot {
	const struct sl_engine *engine;
	struct sl_device_snapshot *device;  /* NULL: picked is all there is */
	struct sl_picked picked;
};

/* Right away, where the engine has nothing better, or nothing is on the device. */
static int snapshot_now(struct sl_embedding *e, struct sl_picked *p, struct sl_error *err)
{
	if (e->device)
		return e->engine->snapshot(e->device, p->data, err);
	if (p->n)
		memcpy(p->data, e->layout, (size_t)p->n * (size_t)p->dims * sizeof(float));
	return 0;
}

int sl_embedding_snapshot_start(struct sl_embedding *e, bool quantise, struct sl_embedding_snapshot **out,
				struct sl_error *err)
{
	const struct sl_affinities *a = e->affinities;
	bool background = e->device && e->engine->snapshot_start;
	size_t count = (size_t)a->n * (size_t)e->params.dims;
	struct sl_embedding_snapshot *s = calloc(1, sizeof *s);
	int code = 0;
	if (!s)
		return sl_error_set(err, SL_NOMEM, "No memory for a snapshot.");
	s->engine = e->engine;
	s->picked = (struct sl_picked){.n = a->n, .dims = e->params.dims, .quantised = quantise && background &&
				       a->n == a->n_user};
	s->picked.data = malloc(count * (s->picked.quantised ? sizeof(uint16_t) : sizeof(float)) + 1);
	if (!s->picked.data) {
		code = sl_error_set(err, SL_NOMEM, "No memory for a layout of %u nodes.", a->n);
		goto out;
	}
	if (background)
		code = e->engine->snapshot_start(e->device, s->picked.quantised, &s->device, err);
	if (!background || code == SL_DEVMEM || code == SL_CONFLICT) {  /* no room for one in the background */
		s->picked.quantised = false;
		free(s->picked.data);
		s->picked.data = malloc(count * sizeof(float) + 1);
		code = s->picked.data ? snapshot_now(e, &s->picked, err)
				      : sl_error_set(err, SL_NOMEM, "No memory for a layout of %u nodes.", a->n);
	}
out:
	if (code) {
		free(s->picked.data);
		free(s);
	} else {
		*out = s;
	}
	return code;
}

bool sl_embedding_snapshot_ready(struct sl_embedding_snapshot *s)
{
	return !s->device || s->engine->snapshot_ready(s->device);
}

int sl_embedding_snapshot_finish(struct sl_embedding_snapshot *s, struct sl_picked *out, struct sl_error *err)
{
	struct sl_picked *p = &s->picked;
	int code = 0;
	if (s->device)
		code = s->engine->snapshot_finish(s->device, out ? p->data : NULL, p->low, &p->extent, err);
	if (code || !out)
		free(p->data);
	else
		*out = *p;
	free(s);
	return code;
}

void sl_picked_expand(const struct sl_affinities *a, const struct sl_picked *p, void *out)
{
	size_t point = (size_t)p->dims * sizeof(uint16_t);
	if (!p->quantised) {
		sl_affinities_expand(a, p->dims, p->data, out);
		return;
	}
	for (uint32_t i = 0; i < p->n; i++)
		memcpy((char *)out + a->user[i] * point, (char *)p->data + i * point, point);
}
