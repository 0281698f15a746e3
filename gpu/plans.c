/* Work memory, transforms and spectra.
 *
 * A cuFFT plan takes tens of milliseconds to make, a spectrum a few; so transforms are shared by all spectra of
 * a side and kept when no spectrum needs them, the most recent TRANSFORMS_KEPT of them. The cosine transform that
 * sl_grid_spectrum() asks for is the forward transform of the even extension. */
#include "gpu/cuda.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRANSFORMS_KEPT 24

static uint64_t power(uint64_t x, int k)
{
	uint64_t result = 1;
	while (k-- > 0)
		result *= x;
	return result;
}

/* ---- transforms ------------------------------------------------------------------------ */

static void transform_destroy(struct sl_transform *t)
{
	if (t->has_forward)
		cufftDestroy(t->forward);
	if (t->has_inverse)
		cufftDestroy(t->inverse);
	free(t);
}

static int transform_create(struct sl_device *d, int dims, int side, struct sl_transform **out, struct sl_error *err)
{
	int code = 0, sizes[3] = {2 * side, 2 * side, 2 * side};
	size_t forward = 0, inverse = 0;
	struct sl_transform *t = calloc(1, sizeof *t);
	if (!t)
		return sl_error_set(err, SL_NOMEM, "No memory for a transform.");
	t->dims = dims;
	t->side = side;
	t->own = dims == 2 && sl__fft_has(side);
	if (t->own) {
		*out = t;
		return 0;
	}
	SL_CUFFT(cufftCreate(&t->forward));
	t->has_forward = true;
	SL_CUFFT(cufftCreate(&t->inverse));
	t->has_inverse = true;
	SL_CUFFT(cufftSetAutoAllocation(t->forward, 0));
	SL_CUFFT(cufftSetAutoAllocation(t->inverse, 0));
	SL_CUFFT(cufftMakePlanMany(t->forward, dims, sizes, NULL, 1, 0, NULL, 1, 0, CUFFT_R2C, 1, &forward));
	SL_CUFFT(cufftMakePlanMany(t->inverse, dims, sizes, NULL, 1, 0, NULL, 1, 0, CUFFT_C2R, 1, &inverse));
	SL_CUFFT(cufftSetStream(t->forward, d->stream));
	SL_CUFFT(cufftSetStream(t->inverse, d->stream));
	t->work_bytes = forward > inverse ? forward : inverse;
out:
	if (code)
		transform_destroy(t);
	else
		*out = t;
	return code;
}

/* Drops unreferenced transforms, least recently used first, until at most `keep` are left. */
static void transforms_trim(struct sl_plans *plans, int keep)
{
	for (;;) {
		struct sl_transform **oldest = NULL;
		int count = 0;
		for (struct sl_transform **at = &plans->transforms; *at; at = &(*at)->next, count++)
			if (!(*at)->references && (!oldest || (*at)->last_use < (*oldest)->last_use))
				oldest = at;
		if (count <= keep || !oldest)
			return;
		struct sl_transform *t = *oldest;
		*oldest = t->next;
		transform_destroy(t);
	}
}

static int transform_find(struct sl_device *d, int dims, int side, struct sl_transform **out, struct sl_error *err)
{
	struct sl_transform *t = d->plans.transforms;
	while (t && (t->dims != dims || t->side != side))
		t = t->next;
	if (!t) {
		transforms_trim(&d->plans, TRANSFORMS_KEPT - 1);
		int code = transform_create(d, dims, side, &t, err);
		if (code)
			return code;
		t->next = d->plans.transforms;
		d->plans.transforms = t;
	}
	t->last_use = ++d->plans.clock;
	*out = t;
	return 0;
}

/* ---- work -------------------------------------------------------------------------------- */

static uint64_t up(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

int sl__work_reserve(struct sl_device *d, const struct sl_grid *g, struct sl_transform **out, struct sl_error *err)
{
	struct sl_work *w = &d->work;
	struct sl_transform *t;
	int code = transform_find(d, g->dims, g->side, &t, err);
	if (code)
		return code;
	*out = t;
	uint64_t side = (uint64_t)g->side, pairs = side / 2 + 1;
	uint64_t charge_bytes = up(power(side, g->dims - 1) * pairs * sizeof(uint64_t));
	uint64_t pitch = t->own ? side : 2 * side, row = t->own ? (uint64_t)sl__fft_pitch(g->side) : side + 1;
	uint64_t input_bytes = t->own ? 0 : up(power(pitch, g->dims) * sizeof(float));
	uint64_t output_bytes = up(power(pitch, g->dims) * sizeof(float));
	uint64_t spectrum_bytes = up(power(pitch, g->dims - 1) * row * sizeof(float2));
	uint64_t need = 2 * charge_bytes + input_bytes + output_bytes + spectrum_bytes + up(t->work_bytes);
	bool same = w->grid.dims == g->dims && w->grid.side == g->side;
	if (need > w->bytes) {
		char what[80];
		snprintf(what, sizeof what, "A grid of %d nodes a side in %d-D", g->side, g->dims);
		sl__device_free(d, w->memory, w->bytes);
		memset(&w->grid, 0, sizeof w->grid);
		w->memory = NULL;
		w->bytes = 0;
		w->generation++;
		code = sl__device_alloc(d, need, what, &w->memory, err);
		if (code)
			return code;
		w->bytes = need;
		same = false;
	}
	if (!same) {
		char *at = w->memory;
		struct sl_grid_memory *m = &w->grid;
		m->dims = g->dims;
		m->side = g->side;
		m->pairs = (int)pairs;
		m->even = (uint64_t *)at;
		m->odd = (uint64_t *)(at + charge_bytes);
		m->charges = (float *)(at + 2 * charge_bytes);
		m->potential = (float *)(at + 2 * charge_bytes + input_bytes);
		m->pitch = (int)pitch;
		m->plane = pitch * pitch;
		m->spectrum = (float2 *)(at + 2 * charge_bytes + input_bytes + output_bytes);
		w->fft = at + 2 * charge_bytes + input_bytes + output_bytes + spectrum_bytes;
		SL_CUDA(cudaMemsetAsync(m->even, 0, 2 * charge_bytes + input_bytes, d->stream));
	}
	if (t->own)
		return 0;
	SL_CUFFT(cufftSetWorkArea(t->forward, w->fft));
	SL_CUFFT(cufftSetWorkArea(t->inverse, w->fft));
out:
	if (code)
		memset(&w->grid, 0, sizeof w->grid);
	return code;
}

static void work_finish(struct sl_device *d)
{
	sl__device_free(d, d->work.memory, d->work.bytes);
	d->work.memory = NULL;
	d->work.bytes = 0;
	d->work.generation++;
	memset(&d->work.grid, 0, sizeof d->work.grid);
}

/* ---- spectra ------------------------------------------------------------------------------- */

struct cosine {
	struct sl_device *device;
	struct sl_transform *transform;
	float *octant;  /* device, room for the spectrum */
	uint64_t bytes;
	int code;
	struct sl_error *err;
};

static void cosine_transform(void *context, float *data)
{
	struct cosine *c = context;
	struct sl_device *d = c->device;
	const struct sl_grid_memory *g = &d->work.grid;
	struct sl_error *err = c->err;
	int code = 0;
	SL_CUDA(cudaMemcpyAsync(c->octant, data, c->bytes, cudaMemcpyHostToDevice, d->stream));
	if (c->transform->own) {
		SL_CUDA(sl__fft_cosines(g->side, c->octant, d->stream));
	} else {
		SL_CUDA(sl__mirror(g, c->octant, d->stream));
		SL_CUFFT(cufftExecR2C(c->transform->forward, g->charges, g->spectrum));
		SL_CUDA(sl__real_part(g, c->octant, d->stream));
		SL_CUDA(cudaMemsetAsync(g->charges, 0, power(2 * (uint64_t)g->side, g->dims) * sizeof(float), d->stream));
	}
	SL_CUDA(cudaMemcpyAsync(data, c->octant, c->bytes, cudaMemcpyDeviceToHost, d->stream));
	SL_CUDA(cudaStreamSynchronize(d->stream));
out:
	c->code = code;
}

static void plan_destroy(struct sl_device *d, struct sl_plan *p)
{
	if (p->transform)
		p->transform->references--;
	if (p->spectrum)
		sl__device_free(d, p->spectrum, p->bytes);
	free(p);
}

static int plan_create(struct sl_device *d, const struct sl_grid *g, struct sl_plan **out, struct sl_error *err)
{
	uint64_t bytes = power((uint64_t)g->side + 1, g->dims) * sizeof(float);
	float *host = malloc(bytes);
	struct sl_plan *p = calloc(1, sizeof *p);
	struct cosine c = {.device = d, .bytes = bytes, .err = err};
	int code = SL_NOMEM;
	if (!host || !p) {
		sl_error_set(err, SL_NOMEM, "No memory for the plan of a grid of %d nodes a side in %d-D.", g->side, g->dims);
		goto out;
	}
	code = sl__work_reserve(d, g, &c.transform, err);
	if (code)
		goto out;
	code = sl__device_alloc(d, bytes, "The plan of a grid", &p->spectrum, err);
	if (code)
		goto out;
	p->grid = *g;
	p->bytes = bytes;
	p->transform = c.transform;
	p->transform->references++;
	c.octant = p->spectrum;
	code = sl_grid_spectrum(g, &d->window, cosine_transform, &c, host, &p->zero, &p->self);
	if (code)
		sl_error_set(err, code, "No memory for the plan of a grid of %d nodes a side in %d-D.", g->side, g->dims);
	else
		code = c.code;
	if (code)
		goto out;
	SL_CUDA(cudaMemcpyAsync(p->spectrum, host, bytes, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaStreamSynchronize(d->stream));
out:
	free(host);
	if (code && p)
		plan_destroy(d, p);
	else if (!code)
		*out = p;
	return code;
}

/* Drops the least recently used plans without users until `more` bytes fit the budget. */
static void make_room(struct sl_device *d, uint64_t more)
{
	struct sl_plans *plans = &d->plans;
	while (plans->bytes + more > plans->budget) {
		struct sl_plan **oldest = NULL;
		for (struct sl_plan **at = &plans->first; *at; at = &(*at)->next)
			if (!(*at)->users && (!oldest || (*at)->last_use < (*oldest)->last_use))
				oldest = at;
		if (!oldest)
			return;
		struct sl_plan *p = *oldest;
		*oldest = p->next;
		plans->bytes -= p->bytes;
		plans->evictions++;
		plan_destroy(d, p);
	}
}

static bool same_grid(const struct sl_grid *a, const struct sl_grid *b)
{
	return a->dims == b->dims && a->side == b->side && a->window == b->window && a->h == b->h;
}

int sl__plans_take(struct sl_device *d, const struct sl_grid *g, struct sl_plan **out, struct sl_error *err)
{
	struct sl_plans *plans = &d->plans;
	struct sl_plan *p = plans->first;
	while (p && !same_grid(&p->grid, g))
		p = p->next;
	if (p) {
		plans->hits++;
	} else {
		plans->misses++;
		int code = plan_create(d, g, &p, err);
		if (code)
			return code;
		make_room(d, p->bytes);
		plans->bytes += p->bytes;
		p->next = plans->first;
		plans->first = p;
	}
	p->users++;
	p->uses++;
	p->last_use = ++plans->clock;
	*out = p;
	return 0;
}

void sl__plans_give(struct sl_device *d, struct sl_plan *plan)
{
	if (!plan)
		return;
	plan->users--;
	make_room(d, 0);
}

void sl__plans_clear(struct sl_device *d)
{
	uint64_t budget = d->plans.budget;
	d->plans.budget = 0;
	make_room(d, 0);
	d->plans.budget = budget;
	transforms_trim(&d->plans, 0);
	if (!d->plans.first)
		work_finish(d);
}
