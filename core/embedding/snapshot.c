/* Copies layouts from the device while the embedding advances. */
#include <stdlib.h>
#include <string.h>

#include "core/embedding/embedding_internal.h"
#include "core/graph/affinities.h"

#define SMALL (256 << 10)  /* up to so many bytes are copied, which frees the engine's memory for the next snapshot */

struct sl_embedding_snapshot {
	struct sl_device_snapshot *device;  /* NULL: picked is complete */
	struct sl_picked picked;
};

static size_t numbers(const struct sl_picked *p)
{
	return (size_t)p->n * (size_t)p->dims;
}

static int make_own(struct sl_picked *p, size_t bytes, struct sl_error *err)
{
	p->data = p->own = malloc(bytes + 1);
	return p->own ? 0 : sl_error_memory(err, "a layout of %u nodes", p->n);
}

/* Takes a snapshot at once, if the engine cannot copy in the background or the device has no embedding yet. */
static int snapshot_now(struct sl_embedding *e, struct sl_picked *p, struct sl_error *err)
{
	int code = make_own(p, numbers(p) * sizeof(float), err);
	if (code)
		return code;
	if (e->device)
		return e->engine->snapshot(e->device, p->own, err);
	if (p->n)
		memcpy(p->own, e->layout, numbers(p) * sizeof(float));
	return 0;
}

int sl_embedding_snapshot_start(struct sl_embedding *e, bool quantise, struct sl_embedding_snapshot **out,
				struct sl_error *err)
{
	const struct sl_affinities *a = e->affinities;
	bool background = e->device && e->engine->snapshot_start;
	struct sl_embedding_snapshot *s = calloc(1, sizeof *s);
	int code = 0;
	if (!s)
		return sl_error_memory(err, "a snapshot");
	s->picked = (struct sl_picked){.n = a->n, .dims = e->params.dims, .engine = e->engine,
				       .quantised = quantise && background && a->n == a->n_user};
	if (background)
		code = e->engine->snapshot_start(e->device, s->picked.quantised, &s->device, err);
	if (!background || code == SL_DEVMEM || code == SL_CONFLICT) {  /* no memory for a copy in the background */
		s->picked.quantised = false;
		code = snapshot_now(e, &s->picked, err);
	}
	if (code) {
		free(s->picked.own);
		free(s);
	} else {
		*out = s;
	}
	return code;
}

bool sl_embedding_snapshot_ready(struct sl_embedding_snapshot *s)
{
	return !s->device || s->picked.engine->snapshot_ready(s->device);
}

/* Keeps the engine's memory or, if it is small, copies and releases it. */
static int take(struct sl_picked *p, struct sl_device_snapshot *held, struct sl_error *err)
{
	const void *data;
	size_t bytes = numbers(p) * (p->quantised ? sizeof(uint16_t) : sizeof(float));
	int code = p->engine->snapshot_finish(held, &data, p->low, &p->extent, err);
	if (code)
		return code;
	p->data = data;
	p->held = held;
	if (bytes > SMALL)
		return 0;
	code = make_own(p, bytes, err);
	if (!code)
		memcpy(p->own, data, bytes);
	p->engine->snapshot_release(held);
	p->held = NULL;
	return code;
}

int sl_embedding_snapshot_finish(struct sl_embedding_snapshot *s, struct sl_picked *out, struct sl_error *err)
{
	struct sl_picked *p = &s->picked;
	int code = s->device ? take(p, s->device, err) : 0;
	if (out && !code)
		*out = *p;
	else if (!code)
		sl_picked_release(p);
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
		memcpy((char *)out + a->user[i] * point, (const char *)p->data + i * point, point);
}

void sl_picked_release(struct sl_picked *p)
{
	if (p->held)
		p->engine->snapshot_release(p->held);
	free(p->own);
	p->data = p->own = NULL;
	p->held = NULL;
}
