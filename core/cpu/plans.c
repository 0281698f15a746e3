/* Cached grids. FFTW does not measure plans here: a measured plan may differ from run to run, and with it the last bits
 * of every layout. FFTW uses the plans that were measured once (wisdom.txt, make_wisdom.c) and estimates all others.
 * Grids of the same length share their transforms. */
#include "core/cpu/cpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "wisdom.h"  /* made from wisdom.txt by scripts/embed.py */

/* Up to this length out-of-place transforms take less time than those in place, by measurement. */
#define APART 160

/* FFTW's planner keeps state shared by all threads; guards planning, never execution. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static int pitch_of(int length)
{
	return (length / 2 + 1 + SL_LINES - 1) / SL_LINES * SL_LINES;
}

/* ---- transforms ------------------------------------------------------------------------ */

void sl__transforms_destroy(struct sl_transforms *t)
{
	pthread_mutex_lock(&planner);
	fftwf_plan all[] = {t->rows_forward, t->rows_inverse, t->lines_forward, t->lines_inverse};
	for (int i = 0; i < 4; i++)
		if (all[i])
			fftwf_destroy_plan(all[i]);
	pthread_mutex_unlock(&planner);
	free(t);
}

struct sl_transforms *sl__transforms_create(int length, int lines, unsigned flags)
{
	int pitch = pitch_of(length);
	struct sl_transforms *t = calloc(1, sizeof *t);
	size_t numbers = (size_t)(pitch > length ? pitch : length) * (size_t)lines;
	float *a = fftwf_alloc_real(2 * numbers);
	fftwf_complex *b = fftwf_alloc_complex(numbers);
	if (!t || !a || !b)
		goto out;
	t->length = length;
	t->lines = lines;
	t->out_of_place = length <= APART;
	fftwf_complex *c = t->out_of_place ? (fftwf_complex *)a : b;
	pthread_mutex_lock(&planner);
	t->rows_forward = fftwf_plan_many_dft_r2c(1, &length, lines, a, NULL, 1, length, b, NULL, 1, pitch,
						  flags);
	t->rows_inverse = fftwf_plan_many_dft_c2r(1, &length, lines, b, NULL, 1, pitch, a, NULL, 1, length,
						  flags);
	t->lines_forward = fftwf_plan_many_dft(1, &length, lines, b, NULL, lines, 1, c, NULL, lines, 1,
					       FFTW_FORWARD, flags);
	t->lines_inverse = fftwf_plan_many_dft(1, &length, lines, c, NULL, lines, 1, b, NULL, lines, 1,
					       FFTW_BACKWARD, flags);
	pthread_mutex_unlock(&planner);
	if (!t->rows_forward || !t->rows_inverse || !t->lines_forward || !t->lines_inverse) {
		sl__transforms_destroy(t);
		t = NULL;
	}
	fftwf_free(a);
	fftwf_free(b);
	return t;
out:
	fftwf_free(a);
	fftwf_free(b);
	free(t);
	return NULL;
}

/* The wisdom is of one version of FFTW; other versions ignore it. */
static void import_wisdom(void)
{
	fftwf_import_wisdom_from_string((const char *)wisdom_text);
}

static struct sl_transforms *transforms_plan(int length, int lines)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, import_wisdom);
	struct sl_transforms *t = sl__transforms_create(length, lines, FFTW_MEASURE | FFTW_WISDOM_ONLY);
	return t ? t : sl__transforms_create(length, lines, FFTW_ESTIMATE);
}

static struct sl_transforms *transforms_take(struct sl_plans *plans, int length, int lines)
{
	struct sl_transforms *t = plans->transforms;
	while (t && (t->length != length || t->lines != lines))
		t = t->next;
	if (!t) {
		t = transforms_plan(length, lines);
		if (!t)
			return NULL;
		t->next = plans->transforms;
		plans->transforms = t;
	}
	t->references++;
	return t;
}

static void transforms_give(struct sl_plans *plans, struct sl_transforms *t)
{
	if (!t || --t->references > 0)
		return;
	struct sl_transforms **at = &plans->transforms;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	sl__transforms_destroy(t);
}

/* ---- plans ------------------------------------------------------------------------------- */

/* The spectrum's cosine transform runs in double precision: in single precision the rounding errors are as large as the
 * high frequencies. */
struct cosine {
	fftw_plan plan;
	double *values;
	size_t count;
};

static void dct(void *context, float *data)
{
	struct cosine *c = context;
	for (size_t i = 0; i < c->count; i++)
		c->values[i] = (double)data[i];
	fftw_execute(c->plan);
	for (size_t i = 0; i < c->count; i++)
		data[i] = (float)c->values[i];
}

static int cosine_init(struct cosine *c, int dims, int count, size_t numbers)
{
	int sizes[3] = {count, count, count};
	fftw_r2r_kind kinds[3] = {FFTW_REDFT00, FFTW_REDFT00, FFTW_REDFT00};
	c->count = numbers;
	c->values = fftw_alloc_real(numbers);
	if (!c->values)
		return SL_NOMEM;
	pthread_mutex_lock(&planner);
	c->plan = fftw_plan_r2r(dims, sizes, c->values, c->values, kinds, FFTW_ESTIMATE);
	pthread_mutex_unlock(&planner);
	return c->plan ? 0 : SL_NOMEM;
}

static void cosine_finish(struct cosine *c)
{
	pthread_mutex_lock(&planner);
	if (c->plan)
		fftw_destroy_plan(c->plan);
	pthread_mutex_unlock(&planner);
	fftw_free(c->values);
}

static void plan_destroy(struct sl_plans *plans, struct sl_plan *p)
{
	transforms_give(plans, p->transforms);
	sl__transfer_finish(&p->transfer);
	fftwf_free(p->spectrum);
	free(p);
}

static int fill_spectrum(struct sl_plan *p, int count, size_t numbers)
{
	struct cosine cosine = {0};
	if (p->grid.part == SL_GRID_NEAR)
		return sl_grid_spectrum(&p->grid, &p->window, NULL, NULL, p->spectrum, &p->zero, &p->self);
	int code = cosine_init(&cosine, p->grid.dims, count, numbers);
	if (!code)
		code = sl_grid_spectrum(&p->grid, &p->window, dct, &cosine, p->spectrum, &p->zero, &p->self);
	cosine_finish(&cosine);
	return code;
}

static int plan_create(struct sl_plans *plans, const struct sl_grid *grid, struct sl_plan **out)
{
	struct sl_plan *p = calloc(1, sizeof *p);
	if (!p)
		return SL_NOMEM;
	int length = sl_grid_length(grid), count = length / 2 + 1, code = SL_NOMEM;
	size_t numbers = (size_t)count;
	for (int k = 1; k < grid->dims; k++)
		numbers *= (size_t)count;
	p->grid = p->cached.grid = *grid;
	p->length = length;
	p->pitch = pitch_of(length);
	sl_window_init(&p->window, grid->window);
	p->transforms = transforms_take(plans, length, grid->dims == 1 ? 1 : SL_LINES);
	p->spectrum = fftwf_alloc_real(numbers + SL_LINES);
	if (!p->transforms || !p->spectrum)
		goto out;
	memset(p->spectrum + numbers, 0, sizeof(float) * SL_LINES);  /* the last row's vectors read it, times 0 */
	p->cached.bytes = (numbers + SL_LINES) * sizeof(float) + sizeof *p;
	code = fill_spectrum(p, count, numbers);
	if (!code && grid->through > 0) {
		code = sl__transfer_init(&p->transfer, grid, &p->window);
		p->cached.bytes += sl__transfer_bytes(&p->transfer, grid);
	}
out:
	if (code)
		plan_destroy(plans, p);
	else
		*out = p;
	return code;
}

static void destroy_cached(struct sl_plan_cache *cache, struct sl_cached *plan)
{
	plan_destroy((struct sl_plans *)cache, (struct sl_plan *)plan);  /* both structures begin with the cast one */
}

void sl__cpu_plans_init(struct sl_plans *plans, uint64_t budget)
{
	*plans = (struct sl_plans){.cache = {.budget = budget, .destroy = destroy_cached}};
}

int sl__cpu_plans_take(struct sl_plans *plans, const struct sl_grid *grid, struct sl_plan **out, struct sl_error *err)
{
	struct sl_plan *p = (struct sl_plan *)sl_plan_cache_find(&plans->cache, grid);
	if (!p) {
		int code = plan_create(plans, grid, &p);
		if (code)
			return sl_error_set(err, code, SL_NO_MEMORY "the plan of a grid of %d nodes a side in %d-D.",
					    grid->side, grid->dims);
		sl_plan_cache_add(&plans->cache, &p->cached);
	}
	*out = p;
	return 0;
}

void sl__cpu_plans_give(struct sl_plans *plans, struct sl_plan *plan)
{
	if (plan)
		sl_plan_cache_give(&plans->cache, &plan->cached);
}

void sl__cpu_plans_clear(struct sl_plans *plans) { sl_plan_cache_clear(&plans->cache); }
