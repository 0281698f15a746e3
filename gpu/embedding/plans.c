/* Work memory, transforms and spectra.
 *
 * Making a cuFFT plan takes tens of milliseconds, a spectrum a few. So all spectra of a side share a transform, and the
 * TRANSFORMS_KEPT most recent transforms are kept when no spectrum needs them. The cosine transform for
 * sl_grid_spectrum() is the forward transform of the even extension. */
#include "gpu/embedding/plans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/fft/fft.h"
#include "gpu/layout/layout.h"

#define PLAN_BUDGET (256ull << 20)
#define TRANSFORMS_KEPT 24

static const struct sl_window *window_of(const struct sl_device *d, const struct sl_grid *g)
{
	return &d->plans->window[g->window != SL_WINDOW_NARROW];
}

/* ---- errors ------------------------------------------------------------------------------ */

int sl__cufft_failed(struct sl_error *err, cufftResult status, const char *what)
{
	if (status == CUFFT_ALLOC_FAILED)
		return sl_error_set(err, SL_DEVMEM, "The GPU has no memory left for a transform (%.100s).", what);
	cudaError_t pending = cudaGetLastError();
	if (pending != cudaSuccess)
		return sl__cuda_failed(err, pending, what);
	return sl_error_set(err, SL_INTERNAL, "cuFFT failed with code %d (%.100s).", (int)status, what);
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

static int transform_create(struct sl_device *d, int dims, int length, bool native, struct sl_transform **out,
			    struct sl_error *err)
{
	int code = 0, sizes[3] = {length, length, length};
	size_t forward = 0, inverse = 0;
	struct sl_transform *t = calloc(1, sizeof *t);
	if (!t)
		return sl_error_memory(err, "a transform");
	t->dims = dims;
	t->length = length;
	t->native = native;
	if (native) {
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
	t->work_bytes = forward > inverse ? forward : inverse;
out:
	if (code)
		transform_destroy(t);
	else
		*out = t;
	return code;
}

/* Drops unreferenced transforms, least recently used first, until at most `keep` are left. CUDA graphs that were
 * captured with a dropped transform must not run again, since cuFFT frees the transform's tables. */
static void transforms_trim(struct sl_device *d, int keep)
{
	struct sl_plans *plans = d->plans;
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
		if (!t->native)
			d->work->generation++;
		transform_destroy(t);
	}
}

static int transform_find(struct sl_device *d, const struct sl_grid *g, struct sl_transform **out, struct sl_error *err)
{
	struct sl_transform *t = d->plans->transforms;
	int length = sl_grid_length(g);
	bool native = g->fed_side ? sl__fft_has_far(g->dims, length) : sl__fft_has(g->dims, length, length != g->side);
	while (t && (t->dims != g->dims || t->length != length || t->native != native))
		t = t->next;
	if (!t) {
		transforms_trim(d, TRANSFORMS_KEPT - 1);
		int code = transform_create(d, g->dims, length, native, &t, err);
		if (code)
			return code;
		t->next = d->plans->transforms;
		d->plans->transforms = t;
	}
	t->last_use = ++d->plans->cache.clock;
	*out = t;
	return 0;
}

/* ---- work -------------------------------------------------------------------------------- */

/* The number of cells along y and z beside a smooth grid: as wide as the cut-off, over the whole grid. Captured graphs
 * contain it, so rounding of the spacing must not change it. */
int sl__cutoff_side(const struct sl_grid *g)
{
	return g->part == SL_GRID_SMOOTH ? (int)(sl_grid_reach(g) / g->cutoff * (1 + 1e-9)) + 1 : 0;
}

/* Takes an array of a level, or returns NULL if it has no elements. */
static void *take(char **at, uint64_t bytes) { return bytes ? sl__carve(at, bytes) : NULL; }

/* Lays out a level from `memory` on and returns its bytes. NULL: only counts them. The caller must clear the first
 * *cleared bytes; the last *scratch bytes are for cuFFT. coarse: side of the grid that g feeds, or 0. */
static uint64_t lay_out(struct sl_grid_memory *m, const struct sl_grid *g, const struct sl_transform *t, int coarse,
			char *memory, uint64_t *cleared, char **scratch)
{
	uint64_t side = (uint64_t)g->side, length = (uint64_t)t->length, rows = sl__power(side, g->dims - 1);
	uint64_t lines = t->native ? side * sl__power(length, g->dims - 2) : sl__power(length, g->dims - 1);
	uint64_t half = (uint64_t)coarse;
	uint64_t inputs = !t->native ? sl__power(length, g->dims) : g->dims == 3 && g->fed_side ? sl__power(side, 3) : 0;
	char *at = memory;
	*m = (struct sl_grid_memory){
		.level = g->fed_side ? 1 : 0, .dims = g->dims, .side = g->side, .window = g->window, .length = t->length,
		.pairs = g->side / 2 + 1, .coarse = coarse, .pitch = t->native ? g->side : t->length,
		.cells = sl__cutoff_side(g),
	};
	m->plane = (size_t)m->pitch * (size_t)m->pitch;
	uint64_t cells = m->cells ? sl__cutoff_room(g->dims, m->cells) : 0;
	m->charges = take(&at, g->fed_side ? 0 : rows * (uint64_t)m->pairs * sizeof *m->charges + SL_BOX_BYTES);
	m->input = take(&at, inputs * sizeof *m->input);
	m->cell_count = take(&at, cells * sizeof *m->cell_count);
	*cleared = (uint64_t)(at - memory);
	m->half = take(&at, rows * half * sizeof *m->half);
	m->half2 = take(&at, g->dims == 3 ? side * half * half * sizeof *m->half2 : 0);
	m->cell_start = take(&at, cells * sizeof *m->cell_start);
	m->cell_offset = take(&at, cells / 4096 * sizeof *m->cell_offset);
	m->potential = take(&at, sl__power((uint64_t)m->pitch, g->dims) * sizeof *m->potential);
	m->spectrum = take(&at, lines * (length / 2 + 1) * sizeof *m->spectrum);
	*scratch = take(&at, t->work_bytes);
	return (uint64_t)(at - memory);
}

static bool laid_out(const struct sl_work *w, const struct sl_grid *grids, int levels)
{
	if (w->levels != levels)
		return false;
	for (int k = 0; k < levels; k++)
		if (w->grid[k].dims != grids[k].dims || w->grid[k].side != grids[k].side ||
		    w->grid[k].window != grids[k].window ||
		    w->grid[k].length != sl_grid_length(&grids[k]) || w->grid[k].level != (grids[k].fed_side ? 1 : 0) ||
		    w->grid[k].cells != sl__cutoff_side(&grids[k]))
			return false;
	return true;
}

static void work_finish(struct sl_device *d)
{
	sl__device_free(d, d->work->memory, d->work->bytes);
	d->work->memory = NULL;
	d->work->bytes = 0;
	d->work->generation++;
	d->work->levels = 0;
}

int sl__work_reserve(struct sl_device *d, const struct sl_grid *grids, int levels, struct sl_transform **transforms,
		     struct sl_error *err)
{
	struct sl_work *w = d->work;
	struct sl_grid_memory m;
	uint64_t need = 0, cleared;
	char *scratch;
	int code = 0, coarse[SL_LEVELS] = {levels > 1 ? grids[1].side : 0};
	for (int k = 0; k < levels; k++) {
		SL_TRY(transform_find(d, &grids[k], &transforms[k], err));
		need += lay_out(&m, &grids[k], transforms[k], coarse[k], NULL, &cleared, &scratch);
	}
	bool same = laid_out(w, grids, levels);
	if (need > w->bytes) {
		char what[80];
		snprintf(what, sizeof what, "A grid of %d nodes a side in %d-D", grids[0].side, grids[0].dims);
		work_finish(d);
		SL_TRY(sl__device_alloc(d, need, what, &w->memory, err));
		w->bytes = need;
		same = false;
	}
	char *at = w->memory;
	for (int k = 0; k < levels; k++) {
		struct sl_transform *t = transforms[k];
		uint64_t bytes = lay_out(&m, &grids[k], t, coarse[k], at, &cleared, &scratch);
		if (!same) {
			w->grid[k] = m;
			SL_CUDA(cudaMemsetAsync(at, 0, cleared, d->stream));
			w->owner = NULL;
		}
		cufftHandle handles[] = {t->forward, t->inverse};
		for (int i = 0; i < 2 && !t->native; i++) {
			SL_CUFFT(cufftSetWorkArea(handles[i], scratch));
			SL_CUFFT(cufftSetStream(handles[i], k ? d->far : d->stream));
		}
		at += bytes;
	}
	w->levels = levels;
out:
	if (code)
		w->levels = 0;
	return code;
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
	const struct sl_grid_memory *g = &d->work->grid[0];
	struct sl_error *err = c->err;
	int code = 0;
	SL_CUDA(cudaMemcpyAsync(c->octant, data, c->bytes, cudaMemcpyHostToDevice, d->stream));
	if (c->transform->native) {
		SL_CUDA(sl__fft_cosines(g->dims, c->transform->length, c->octant, d->stream));
	} else {
		SL_CUDA(sl__mirror(g, c->octant, d->stream));
		SL_CUFFT(cufftExecR2C(c->transform->forward, g->input, g->spectrum));
		SL_CUDA(sl__real_part(g, c->octant, d->stream));
		SL_CUDA(cudaMemsetAsync(g->input, 0, sl__power(2 * (uint64_t)g->side, g->dims) * sizeof(float), d->stream));
	}
	SL_CUDA(sl__fetch(data, c->octant, c->bytes, d->stream));
out:
	if (code)
		d->work->levels = 0;  /* its input may not be zero */
	c->code = code;
}

static void plan_destroy(struct sl_device *d, struct sl_plan *p)
{
	if (p->transform)
		p->transform->references--;
	if (p->spectrum)
		sl__device_free(d, p->spectrum, p->cached.bytes);
	free(p);
}

/* Copies tilt and gather behind the spectrum; *bytes: of all three. The caller must keep *host until the copy is
 * done. */
static int feed_create(struct sl_device *d, struct sl_plan *p, const struct sl_grid_gather *gather, float **host,
		       uint64_t *bytes, struct sl_error *err)
{
	uint64_t count = (uint64_t)sl_grid_length(&p->grid) / 2 + 1, side = (uint64_t)p->grid.side;
	uint64_t weights = (uint64_t)gather->taps * side, spectrum = *bytes / sizeof(float);
	float *grown = realloc(*host, *bytes + (count + weights + side) * sizeof(float));
	if (!grown)
		return sl_error_memory(err, "the plan of a grid");
	*host = grown;
	sl_grid_tilt(&p->grid, window_of(d, &p->grid), grown + spectrum);
	memcpy(grown + spectrum + count, gather->weight, weights * sizeof(float));
	memcpy(grown + spectrum + count + weights, gather->first, side * sizeof(int));
	*bytes += (count + weights + side) * sizeof(float);
	p->tilt = p->spectrum + spectrum;
	p->gather_weight = p->tilt + count;
	p->gather_first = (int *)(p->gather_weight + weights);
	p->gather_taps = gather->taps;
	return 0;
}

static uint64_t feed_bytes(const struct sl_grid *g, const struct sl_grid_gather *gather)
{
	uint64_t count = (uint64_t)sl_grid_length(g) / 2 + 1, side = (uint64_t)g->side;
	return g->fed_side ? (count + ((uint64_t)gather->taps + 1) * side) * sizeof(float) : 0;
}

static int plan_create(struct sl_device *d, const struct sl_grid *g, struct sl_plan **out, struct sl_error *err)
{
	uint64_t bytes = sl__power((uint64_t)sl_grid_length(g) / 2 + 1, g->dims) * sizeof(float);
	float *host = malloc(bytes);
	struct sl_plan *p = calloc(1, sizeof *p);
	struct cosine c = {.device = d, .bytes = bytes, .err = err};
	struct sl_grid_gather gather = {0};
	int code = SL_NOMEM;
	if (!host || !p || (g->fed_side && sl_grid_gather_init(&gather, g, window_of(d, g)))) {
		sl_error_memory(err, "the plan of a grid of %d nodes a side in %d-D", g->side, g->dims);
		goto out;
	}
	SL_TRY(sl__work_reserve(d, g, 1, &c.transform, err));
	p->cached.bytes = bytes + feed_bytes(g, &gather);
	SL_TRY(sl__device_alloc(d, p->cached.bytes, "The plan of a grid", &p->spectrum, err));
	p->grid = p->cached.grid = *g;
	p->transform = c.transform;
	p->transform->references++;
	c.octant = p->spectrum;
	code = sl_grid_spectrum(g, window_of(d, g), cosine_transform, &c, host, &p->zero, &p->self);
	if (code)
		sl_error_set(err, code, SL_NO_MEMORY "the plan of a grid of %d nodes a side in %d-D.", g->side, g->dims);
	else
		code = c.code;
	if (!code && g->fed_side)
		code = feed_create(d, p, &gather, &host, &bytes, err);
	if (code)
		goto out;
	SL_CUDA(cudaMemcpyAsync(p->spectrum, host, bytes, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaStreamSynchronize(d->stream));
out:
	sl_grid_gather_finish(&gather);
	free(host);
	if (code && p)
		plan_destroy(d, p);
	else if (!code)
		*out = p;
	return code;
}

static void destroy_cached(struct sl_plan_cache *cache, struct sl_cached *plan)
{
	plan_destroy(((struct sl_plans *)cache)->device, (struct sl_plan *)plan);  /* both begin with these */
}

int sl__plans_open(struct sl_device *d, uint64_t plan_bytes, struct sl_error *err)
{
	int code = 0;
	d->plans = calloc(1, sizeof *d->plans);
	d->work = calloc(1, sizeof *d->work);
	if (!d->plans || !d->work)
		return sl_error_memory(err, "a device");
	d->plans->cache = (struct sl_plan_cache){.budget = plan_bytes ? plan_bytes : PLAN_BUDGET,
						 .destroy = destroy_cached};
	d->plans->device = d;
	sl_window_init(&d->plans->window[0], SL_WINDOW_NARROW);
	sl_window_init(&d->plans->window[1], SL_WINDOW_MAX);
	SL_CUDA(sl__upload_windows(d->plans->window));
	SL_CUDA(sl__fft_init());
out:
	return code;
}

void sl__plans_close(struct sl_device *d)
{
	if (d->plans && d->work)
		sl__plans_clear(d);
	free(d->plans);
	free(d->work);
	d->plans = NULL;
	d->work = NULL;
}

int sl__plans_take(struct sl_device *d, const struct sl_grid *g, struct sl_plan **out, struct sl_error *err)
{
	struct sl_plan *p = (struct sl_plan *)sl_plan_cache_find(&d->plans->cache, g);
	if (!p) {
		int code = plan_create(d, g, &p, err);
		if (code)
			return code;
		sl_plan_cache_add(&d->plans->cache, &p->cached);
	}
	*out = p;
	return 0;
}

void sl__plans_give(struct sl_device *d, struct sl_plan *plan)
{
	if (plan)
		sl_plan_cache_give(&d->plans->cache, &plan->cached);
}

void sl__plans_clear(struct sl_device *d)
{
	sl_plan_cache_clear(&d->plans->cache);
	transforms_trim(d, 0);
	if (!d->plans->cache.first)
		work_finish(d);
}
