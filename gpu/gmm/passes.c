/* Passes of a mixture on the device: one block of its memory for all arrays of a run, and the calls of struct
 * sl_gmm_passes, which queue kernels on the device's stream and wait for them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/gmm/passes.h"
#include "core/points/points.h"
#include "gpu/device/device.h"
#include "gpu/device/fault.h"
#include "gpu/gmm/gmm.h"

#define STAGE (16u << 20)  /* bytes of rows that are converted to float32 at a time */
#define WARPS 2112u        /* approximate number of warps that sum tiles: as many as 132 multiprocessors run at once */
#define ADDERS 132u        /* approximate number of blocks that sum products (forms.cu) */
#define LOST 0x1p13        /* forms.cu may multiply rounding errors by this; see condition() */
#define BLOCKS 512u        /* approximate number of blocks that sum columns */

struct passes {
	struct sl_device *device;
	struct sl_cuda_gmm m;          /* arrays and sizes of the current pass */
	uint32_t k_max, units;   /* the most components of any pass; number of units of points */
	int covariance;
	uint64_t sums_most, acc_most;  /* numbers */
	enum sl_gmm_sums sums;
	bool known;
	uint32_t unit_points;    /* points of the unit that was processed last */
	double *stage;           /* host: means, sums */
	double *part;            /* host [part_most()] */
	char *memory;
	uint64_t bytes;
};

/* ---- shapes ------------------------------------------------------------------------------ */

/* Returns the length of one part's sums for k components: tiles of scatter matrices, or moments of columns. */
static uint64_t sums_of(const struct sl_cuda_gmm *m, uint32_t k, bool tiles)
{
	return (uint64_t)k * (tiles ? (uint64_t)m->tiles * SL_GM_TILE : 2ull * m->pitch + 8);
}

static uint32_t groups_of(uint32_t k) { return (k + SL_GM_GROUP - 1) / SL_GM_GROUP; }

/* Chooses the number of parts: enough to keep the device busy. It depends only on the shape and the kind of device. */
static void cut(struct sl_cuda_gmm *m, bool tiles)
{
	if (tiles && m->forms) {
		uint32_t parts = ADDERS / groups_of(m->k), most = (m->unit + 63) / 64;
		m->parts = m->steps ? m->blocks : parts < 1 ? 1 : parts < most ? parts : most;
		m->sums = (uint64_t)groups_of(m->k) * SL_GM_GROUP * SL_GM_PRODUCTS;
		return;
	}
	uint32_t wide = m->d <= 8 ? 8 : m->d <= 16 ? 16 : 32;
	uint64_t blocks = (uint64_t)((m->k + 1024 / wide - 1) / (1024 / wide)) * ((m->d + wide - 1) / wide);
	uint64_t warps = (uint64_t)((m->k + SL_GM_WARP - 1) / SL_GM_WARP) * m->tiles, parts_max = m->unit / 64;
	uint64_t parts = tiles ? (WARPS + warps - 1) / warps : (BLOCKS + blocks - 1) / blocks;
	parts = parts < parts_max ? parts : parts_max;
	m->length = (uint32_t)((m->unit / parts + 31) / 32 * 32);
	m->parts = (m->unit - 1) / m->length + 1;
	m->sums = sums_of(m, m->k, tiles);
}

/* Returns how many numbers the pass writes to `part` for a unit of `count` points. */
static uint32_t part_of(const struct sl_cuda_gmm *m, uint32_t count)
{
	uint32_t points = m->steps ? SL_GM_WARP_POINTS : SL_GM_POINTS, all = (count - 1) / points + 1;
	uint32_t most = m->steps ? SL_GM_STEPS_WARPS * m->blocks : m->forms ? SL_GM_FORMS : all;
	return all < most ? all : most;
}

/* Returns the length of `part`: enough for any pass. */
static uint64_t part_most(const struct passes *p)
{
	struct sl_cuda_gmm m = p->m;
	uint64_t plain = m.n / SL_GM_POINTS + p->units, steps;
	m.steps = m.blocks > 0;
	steps = m.steps ? (uint64_t)p->units * part_of(&m, m.unit) : 0;
	return plain > steps ? plain : steps;
}

/* Computes the room for the parts of any number of components up to k_max. */
static void measure(struct passes *p)
{
	struct sl_cuda_gmm m = p->m;
	for (int way = 0; way <= (!m.full ? 0 : m.d > SL_GM_SIDE ? 1 : m.blocks ? 3 : 2); way++)
		for (m.k = 1; m.k <= p->k_max; m.k++) {
			m.forms = way >= 2;
			m.steps = way == 3 && m.k <= SL_GM_GROUP;
			cut(&m, way > 0);
			p->sums_most = m.sums > p->sums_most ? m.sums : p->sums_most;
			p->acc_most = m.sums * m.parts > p->acc_most ? m.sums * m.parts : p->acc_most;
		}
	uint64_t scales = (uint64_t)p->k_max * m.d;  /* `total` also holds scales; see sl__cuda_gmm_line() */
	p->sums_most = scales > p->sums_most ? scales : p->sums_most;
}

/* Places all arrays in one block of memory that begins at `at`; returns its size in bytes. */
static uint64_t carve(struct passes *p, char *at)
{
	struct sl_cuda_gmm *m = &p->m;
	const char *begin = at;
	uint64_t n = m->n, k = p->k_max, kp = (k + 3) / 4 * 4, unit = m->unit, factors = m->full ? k : m->tied ? 1 : 0;
	m->x = sl__carve(&at, n * m->d * sizeof *m->x);
	m->centre = sl__carve(&at, m->d * sizeof *m->centre);
	m->z = sl__carve(&at, unit * m->pitch * sizeof *m->z);
	m->zt = sl__carve(&at, m->full ? 0 : unit * m->pitch * sizeof *m->zt);
	m->y = sl__carve(&at, m->tied ? unit * m->pitch * sizeof *m->y : 0);
	m->logit = sl__carve(&at, kp * unit * sizeof *m->logit);
	m->log_sum = sl__carve(&at, unit * sizeof *m->log_sum);
	m->part = sl__carve(&at, part_most(p) * sizeof *m->part);
	m->mean = sl__carve(&at, k * m->pitch * sizeof *m->mean);
	m->lower = sl__carve(&at, factors * m->stride * sizeof *m->lower);
	m->inverse = sl__carve(&at, (m->full ? kp : factors) * m->cells * 64 * sizeof *m->inverse);
	m->shift = sl__carve(&at, m->full ? kp * 8 * m->eights * sizeof *m->shift : 0);
	bool forms = m->full && m->d <= SL_GM_SIDE;
	uint64_t padded = forms ? groups_of(p->k_max) * SL_GM_GROUP : 0;
	m->form = sl__carve(&at, padded * SL_GM_PRODUCTS * sizeof *m->form);
	m->level = sl__carve(&at, padded * sizeof *m->level);
	m->line = sl__carve(&at, m->full ? 0 : k * m->d * 2 * sizeof *m->line);
	m->constant = sl__carve(&at, k * sizeof *m->constant);
	m->acc = sl__carve(&at, p->acc_most * sizeof *m->acc);
	m->total = sl__carve(&at, p->sums_most * sizeof *m->total);
	m->known = sl__carve(&at, unit * sizeof *m->known);
	m->label = sl__carve(&at, unit * sizeof *m->label);
	m->share = sl__carve(&at, unit * k * sizeof *m->share);
	return (uint64_t)(at - begin);
}

/* ---- opening ----------------------------------------------------------------------------- */

static int upload(struct passes *p, const struct sl_gmm_table *t, struct sl_error *err)
{
	cudaStream_t stream = p->device->stream;
	uint32_t part = t->points->type == SL_POINTS_F32 ? t->n : STAGE / (t->d * 4) + 1;
	float *rows = t->points->type == SL_POINTS_F32 ? NULL : malloc((uint64_t)part * t->d * sizeof *rows);
	int code = rows || part == t->n ? 0 : sl_error_memory(err, "a mixture");
	for (uint32_t first = 0, count; !code && first < t->n; first += count) {
		count = t->n - first < part ? t->n - first : part;
		if (rows)
			sl_points_rows(t->points, first, count, rows);
		SL_CUDA(cudaMemcpyAsync(p->m.x + (uint64_t)first * t->d, rows ? rows : t->points->value,
					(uint64_t)count * t->d * sizeof *rows, cudaMemcpyHostToDevice, stream));
		SL_CUDA(cudaStreamSynchronize(stream));
	}
	SL_TRY(code);
	SL_CUDA(cudaMemcpyAsync(p->m.centre, t->centre, t->d * sizeof *t->centre, cudaMemcpyHostToDevice, stream));
	SL_CUDA(cudaStreamSynchronize(stream));
out:
	free(rows);
	return code;
}

static void close_passes(void *arg)
{
	struct passes *p = arg;
	sl__device_enter(p->device, NULL);
	if (p->memory) {
		sl__device_free(p->device, p->memory, p->bytes);
		p->device->embedding_bytes -= p->bytes;
	}
	free(p->stage);
	free(p->part);
	free(p);
}

/* ---- a pass ------------------------------------------------------------------------------ */

static cudaError_t send(void *to, const void *from, uint64_t bytes, cudaStream_t stream)
{
	return cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream);
}

/* Uploads factors or scales, and computes from them what densities need. */
static int send_factors(struct passes *p, const struct sl_gmm_step *s, struct sl_error *err)
{
	const struct sl_cuda_gmm *m = &p->m;
	cudaStream_t stream = p->device->stream;
	uint64_t factors = m->full ? m->k : 1;
	int code = 0;
	SL_CUDA(send(m->constant, s->constant, m->k * sizeof *s->constant, stream));
	if (m->full || m->tied) {
		SL_CUDA(send(m->lower, s->factor, factors * m->stride * sizeof *s->factor, stream));
		SL_CUDA(cudaMemsetAsync(m->inverse, 0, (m->full ? m->kp : 1) * (uint64_t)m->cells * 64 * sizeof *m->inverse,
					stream));
		SL_CUDA(sl__cuda_gmm_invert(m, stream));
	} else {
		SL_CUDA(send(m->total, s->scale, (uint64_t)m->k * m->d * sizeof *s->scale, stream));
	}
	SL_CUDA(m->full ? sl__cuda_gmm_shift(m, stream) : sl__cuda_gmm_line(m, stream));
	if (m->forms)
		SL_CUDA(sl__cuda_gmm_form(m, stream));
out:
	return code;
}

/* L_jl of a packed factor (core/gmm/tile.h), 1 / L_jj if j = l. */
static double lower_at(const double *packed, uint32_t j, uint32_t l)
{
	uint32_t before = j / 4 * 4;
	const double *at = packed + (uint64_t)before * (before + 4) / 2;
	return l < before ? at[(uint64_t)l * 4 + j % 4] : at[(uint64_t)before * 4 + j % 4 * 4 + l - before];
}

/* A bound of the factor by which rounding errors of quadratic forms, and of sums about the centre, exceed those about
 * the mean: |L^-1|^2 (|mean|^2 + |L|^2) in Frobenius' norm, where L is the component's factor. mean: relative to the
 * centre. */
static double condition(uint32_t d, const double *packed, const double *mean)
{
	double inverse[SL_GM_SIDE][SL_GM_SIDE], size = 0, all = 0;
	for (uint32_t j = 0; j < d; j++) {
		double by = lower_at(packed, j, j);
		size += mean[j] * mean[j] + 1 / (by * by);
		for (uint32_t l = 0; l < j; l++)
			size += lower_at(packed, j, l) * lower_at(packed, j, l);
		for (uint32_t i = 0; i <= j; i++) {
			double sum = i == j;
			for (uint32_t l = i; l < j; l++)
				sum -= lower_at(packed, j, l) * inverse[l][i];
			inverse[j][i] = sum * by;
			all += inverse[j][i] * inverse[j][i];
		}
	}
	return size * all;
}

/* Whether forms.cu does the pass. means: [k][pitch] from the centre. */
static bool use_forms(const struct sl_cuda_gmm *m, const struct sl_gmm_step *s, const double *means)
{
	bool use = m->full && m->d <= SL_GM_SIDE && !s->known && s->sums == SL_GMM_SUM_ALL;
	for (uint32_t c = 0; use && c < s->k; c++)
		use = condition(m->d, s->factor + c * m->stride, means + (uint64_t)c * m->pitch) <= LOST;
	return use;
}

static int begin(void *arg, const struct sl_gmm_step *s, struct sl_error *err)
{
	struct passes *p = arg;
	struct sl_cuda_gmm *m = &p->m;
	cudaStream_t stream = p->device->stream;
	const double *centre = p->stage;  /* the first numbers of the stage */
	double *mean = p->stage + m->d;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	m->k = s->k;
	m->kp = (s->k + 3) / 4 * 4;
	m->raw = p->known = s->known;
	p->sums = s->sums;
	memset(mean, 0, (uint64_t)m->k * m->pitch * sizeof *mean);
	for (uint32_t c = 0; c < m->k; c++)
		for (uint32_t a = 0; a < m->d; a++)
			mean[(uint64_t)c * m->pitch + a] = s->mean[(uint64_t)c * m->d + a] - centre[a];
	m->forms = use_forms(m, s, mean);
	m->steps = m->forms && m->k <= SL_GM_GROUP && m->blocks > 0;
	cut(m, m->full && s->sums == SL_GMM_SUM_ALL);
	SL_CUDA(send(m->mean, mean, (uint64_t)m->k * m->pitch * sizeof *mean, stream));
	if (!s->known)
		SL_TRY(send_factors(p, s, err));
	SL_CUDA(cudaMemsetAsync(m->acc, 0, m->parts * m->sums * sizeof *m->acc, stream));
	SL_CUDA(cudaStreamSynchronize(stream));
out:
	return code;
}

static int go_unit(struct passes *p, uint32_t unit, const uint32_t *label, const float *share, struct sl_error *err)
{
	struct sl_cuda_gmm *m = &p->m;
	cudaStream_t stream = p->device->stream;
	uint32_t first = unit * m->unit, count = m->n - first < m->unit ? m->n - first : m->unit;
	int code = 0;
	double *part = m->part + (uint64_t)unit * part_of(m, m->unit);
	p->unit_points = count;
	if (m->forms) {
		SL_CUDA(sl__cuda_gmm_forms(m, first, count, part, stream));
		SL_CUDA(sl__cuda_gmm_add_products(m, first, count, stream));
		return 0;
	}
	SL_CUDA(sl__cuda_gmm_spread(m, first, count, stream));
	if (label)
		SL_CUDA(send(m->known, label + first, count * sizeof *label, stream));
	else if (share)
		SL_CUDA(send(m->share, share + (uint64_t)first * m->k, (uint64_t)count * m->k * sizeof *share, stream));
	SL_CUDA(p->known ? sl__cuda_gmm_known(m, count, label != NULL, stream) :
			   sl__cuda_gmm_densities(m, count, part, stream));
	if (p->sums != SL_GMM_NO_SUMS)
		SL_CUDA(m->full && p->sums == SL_GMM_SUM_ALL ? sl__cuda_gmm_scatter(m, count, stream) :
							       sl__cuda_gmm_moments(m, count, stream));
out:
	return code;
}

static int go(void *arg, uint32_t from, uint32_t to, const uint32_t *label, const float *share, double *part,
	      struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_gmm *m = &p->m;
	cudaStream_t stream = p->device->stream;
	uint64_t each = part_of(m, m->unit), first = from * each;
	uint32_t rest = m->n - (to - 1) * m->unit, points = rest < m->unit ? rest : m->unit;  /* of the last unit */
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(sl__fault_if_due(stream));
	if (m->steps)
		SL_CUDA(sl__cuda_gmm_steps(m, from, to, m->part + first, stream));
	for (uint32_t unit = from; unit < to && !m->steps; unit++)
		SL_TRY(go_unit(p, unit, label, share, err));
	if (p->known) {
		SL_CUDA(cudaStreamSynchronize(stream));
		return 0;
	}
	SL_CUDA(sl__fetch(p->part + first, m->part + first, ((to - 1 - from) * each + part_of(m, points)) * sizeof *p->part,
			  stream));
	for (uint32_t unit = from; unit < to; unit++) {
		const double *numbers = p->part + unit * each;
		part[unit] = 0;
		for (uint32_t i = 0; i < part_of(m, unit + 1 < to ? m->unit : points); i++)
			part[unit] += numbers[i];
	}
out:
	return code;
}

static int shares(void *arg, int32_t *label, float *share, struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_gmm *m = &p->m;
	cudaStream_t stream = p->device->stream;
	uint64_t count = p->unit_points;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(sl__cuda_gmm_shares(m, p->unit_points, stream));
	SL_CUDA(sl__fetch(label, m->label, count * sizeof *label, stream));
	SL_CUDA(sl__fetch(share, m->share, count * m->k * sizeof *share, stream));
out:
	return code;
}

/* Copies the tiles of component c to the host's layout. */
static void place_tiles(const struct sl_cuda_gmm *m, uint32_t c, const double *from, uint32_t pitch, double *mass,
			double *first, double *scatter)
{
	mass[c] = from[SL_GM_SIDE * (SL_GM_SIDE + 1)];
	for (uint32_t column = 0, tile = 0; tile < m->tiles; column++)
		for (uint32_t row = 0; row <= column; row++, tile++, from += SL_GM_TILE)
			for (uint32_t a = row * SL_GM_SIDE, i = 0; i < SL_GM_SIDE && a < m->d; a++, i++) {
				if (row == column)
					first[(uint64_t)c * pitch + a] = from[SL_GM_SIDE * SL_GM_SIDE + i];
				for (uint32_t b = column * SL_GM_SIDE, j = 0; j < SL_GM_SIDE && b < m->d; b++, j++)
					scatter[((uint64_t)c * pitch + a) * pitch + b] = from[i * SL_GM_SIDE + j];
			}
}

static void place_columns(const struct sl_cuda_gmm *m, uint32_t c, const double *from, uint32_t pitch, double *mass,
			  double *first, double *second)
{
	mass[c] = from[2 * m->pitch];
	for (uint32_t a = 0; a < m->d; a++) {
		first[(uint64_t)c * pitch + a] = from[2 * a];
		if (second)
			second[(uint64_t)c * pitch + a] = from[2 * a + 1];
	}
}

static int end(void *arg, uint32_t pitch, double *mass, double *first, double *second, double *scatter,
	       struct sl_error *err)
{
	struct passes *p = arg;
	const struct sl_cuda_gmm *m = &p->m;
	double *sums = p->stage + m->d;
	uint64_t each = m->forms ? SL_GM_TILE : m->sums / m->k;
	int code = 0;
	SL_TRY(sl__device_enter(p->device, err));
	SL_CUDA(m->forms ? sl__cuda_gmm_total_products(m, p->device->stream) : sl__cuda_gmm_total(m, p->device->stream));
	SL_CUDA(sl__fetch(sums, m->total, m->k * each * sizeof *sums, p->device->stream));
	for (uint32_t c = 0; c < m->k; c++)
		if (m->full && p->sums == SL_GMM_SUM_ALL)
			place_tiles(m, c, sums + c * each, pitch, mass, first, scatter);
		else
			place_columns(m, c, sums + c * each, pitch, mass, first, p->sums == SL_GMM_SUM_ALL ? second : NULL);
out:
	return code;
}

/* ---- the operation ----------------------------------------------------------------------- */

static void shape(struct passes *p, const struct sl_gmm_table *t)
{
	struct sl_cuda_gmm *m = &p->m;
	uint32_t sixteens = (t->d + SL_GM_SIDE - 1) / SL_GM_SIDE, groups = (t->d + 3) / 4;
	m->n = t->n;
	m->d = t->d;
	m->full = t->covariance == SL_GMM_FULL;
	m->tied = t->covariance == SL_GMM_TIED;
	m->pitch = sixteens * SL_GM_SIDE;
	m->eights = (t->d + 7) / 8;
	m->cells = m->full || m->tied ? m->eights * (m->eights + 1) / 2 : 0;
	m->tiles = m->full ? sixteens * (sixteens + 1) / 2 : 0;
	m->unit = t->unit;
	m->stride = (uint64_t)groups * (groups + 1) / 2 * 16;
	p->k_max = t->k;
	p->units = t->units;
	measure(p);
}

int sl__gmm_passes(struct sl_device *device, const struct sl_gmm_table *t, struct sl_gmm_passes *out,
		   struct sl_error *err)
{
	char what[96];
	struct passes *p = calloc(1, sizeof *p);
	int code = 0;
	SL_TRY(p ? 0 : sl_error_memory(err, "a mixture"));
	p->device = device;
	SL_TRY(sl__device_enter(device, err));
	p->m.blocks = t->covariance == SL_GMM_FULL && t->d <= SL_GM_SIDE ? sl__cuda_gmm_steps_blocks() : 0;
	shape(p, t);
	uint64_t numbers = (uint64_t)p->k_max * p->m.pitch > p->sums_most ? (uint64_t)p->k_max * p->m.pitch : p->sums_most;
	p->stage = malloc((t->d + numbers) * sizeof *p->stage);
	p->part = malloc(part_most(p) * sizeof *p->part);
	SL_TRY(p->stage && p->part ? 0 : sl_error_memory(err, "a mixture"));
	memcpy(p->stage, t->centre, t->d * sizeof *t->centre);
	SL_CUDA(sl__cuda_gmm_init());
	p->bytes = carve(p, NULL);
	snprintf(what, sizeof what, "a mixture of %u components of %u points of %u columns", t->k, t->n, t->d);
	SL_TRY(sl__device_alloc(device, p->bytes, what, &p->memory, err));
	device->embedding_bytes += p->bytes;
	carve(p, p->memory);
	SL_TRY(upload(p, t, err));
	*out = (struct sl_gmm_passes){.arg = p, .close = close_passes, .begin = begin, .go = go, .shares = shares,
				      .end = end};
out:
	if (code && p)
		close_passes(p);
	return code;
}
