/* The scanning kernels of gpu/neighbours/ by themselves, for every width and kind, with plain columns and codes of
 * every length, and the kernels that make these codes, against sums in double precision. Each run has other numbers;
 * SPACELAND_TEST_SEED repeats those of a printed seed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "core/random.h"
#include "gpu/neighbours/codes/codes.h"
#include "gpu/neighbours/scan/scan.h"
#include "tests/gpu/device_memory.h"
#include "tests/unit/graphs.h"

static uint64_t seed;

static double normal(uint64_t of, size_t i) { return sl_random_normal(seed + of, i); }
static uint32_t below(uint32_t end, uint64_t of, size_t i) { return (uint32_t)(sl_random_bits(seed + of, i) % end); }

static void *fetch(const void *from, size_t bytes)
{
	void *to = malloc(bytes);
	CUDA(cudaDeviceSynchronize());
	CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
	return to;
}

static _Float16 *random_halves(size_t count, uint64_t of)
{
	_Float16 *x = malloc(count * sizeof *x);
	for (size_t i = 0; i < count; i++)
		x[i] = (_Float16)normal(of, i);
	return x;
}

/* ---- scans ------------------------------------------------------------------------------- */

enum { ROWS = 2 * SL_ROWS, TILES = 6, COLUMNS = TILES * SL_TILE, CELLS = 3 };
enum mode { FILTER, DENSE, BEST };

struct rig {
	struct device_memory memory;
	struct sl_scan scan;
	double *score;         /* [ROWS][COLUMNS] */
	double *row, *column;  /* [ROWS][width], [COLUMNS][width] as the scan has them */
	float bias[COLUMNS], bound[ROWS];
	uint32_t index[COLUMNS], order[ROWS / SL_ROWS][TILES];
};

/* Numbers of points; some columns have no point, some the row's own. */
static void number(struct rig *r)
{
	uint32_t own[ROWS];
	for (uint32_t i = 0; i < ROWS; i++)
		own[i] = COLUMNS + i;
	for (uint32_t j = 0; j < COLUMNS; j++) {
		r->index[j] = j % 31 == 7 ? SL_NOBODY : COLUMNS - 1 - j;
		r->bias[j] = r->index[j] == SL_NOBODY ? -INFINITY : (float)normal(2, j);
		if (j % 5 == 0 && r->index[j] != SL_NOBODY)
			own[below(ROWS, 3, j)] = r->index[j];
	}
	for (uint32_t b = 0; b < ROWS / SL_ROWS; b++)  /* each row block has its own order of tiles */
		for (uint32_t t = 0; t < TILES; t++) {
			uint32_t other = below(t + 1, 4 + b, t);
			r->order[b][t] = r->order[b][other];
			r->order[b][other] = t;
		}
	r->scan.rows.index = take(&r->memory, sizeof own, own);
	r->scan.columns.index = take(&r->memory, sizeof r->index, r->index);
	r->scan.columns.bias = take(&r->memory, sizeof r->bias, r->bias);
	r->scan.order = take(&r->memory, sizeof r->order, r->order);
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint32_t j = 0; j < COLUMNS; j++)
			r->score[(size_t)i * COLUMNS + j] = r->index[j] == own[i] ? NAN : 0;
}

static void plain_columns(struct rig *r, int width)
{
	_Float16 *value = random_halves((size_t)COLUMNS * (size_t)width, 5);
	r->scan.columns.value = take(&r->memory, sizeof *value * (size_t)COLUMNS * (size_t)width, value);
	for (size_t i = 0; i < (size_t)COLUMNS * (size_t)width; i++)
		r->column[i] = (double)value[i];
	free(value);
}

/* Pieces do not fill the width, and their number is odd. */
static void coded_columns(struct rig *r, int width, uint32_t length)
{
	uint32_t pieces = (uint32_t)width / 8 - 3, cell[TILES];
	struct sl_codes *c = &r->scan.columns.codes;
	*c = (struct sl_codes){.length = length, .pieces = pieces, .centre_width = (uint32_t)width};
	uint32_t groups = c->bytes = sl__codes_groups(c);
	size_t words = (size_t)groups * SL_WORDS * length;
	_Float16 *book = random_halves(words, 6), *centre = random_halves((size_t)CELLS * (size_t)width, 7);
	uint8_t *code = malloc((size_t)COLUMNS * groups);
	for (size_t i = 0; i < (size_t)COLUMNS * groups; i++)
		code[i] = (uint8_t)below(SL_WORDS, 8, i);
	for (uint32_t t = 0; t < TILES; t++)
		cell[t] = below(CELLS, 9, t);
	for (uint32_t j = 0; j < COLUMNS; j++)
		for (uint32_t k = 0; k < (uint32_t)width; k++) {
			uint32_t group = k / length;
			double x = 0;
			if (k < 8 * pieces) {
				uint32_t word = code[(size_t)j * groups + group];
				float left = (float)book[((size_t)group * SL_WORDS + word) * length + k % length];
				x = (double)(_Float16)(left + (float)centre[(size_t)cell[j / SL_TILE] * (size_t)width + k]);
			}
			r->column[(size_t)j * (size_t)width + k] = x;
		}
	c->code = take(&r->memory, (size_t)COLUMNS * groups, code);
	c->book = take(&r->memory, words * sizeof *book, book);
	c->centre = take(&r->memory, (size_t)CELLS * (size_t)width * sizeof *centre, centre);
	c->tile_cell = take(&r->memory, sizeof cell, cell);
	free(book);
	free(centre);
	free(code);
}

/* length: of codes; 0: no codes. */
static void rig_init(struct rig *r, int width, uint32_t length)
{
	size_t values = (size_t)ROWS * (size_t)width;
	memset(r, 0, sizeof *r);
	r->score = malloc(sizeof *r->score * ROWS * COLUMNS);
	r->row = malloc(sizeof *r->row * values);
	r->column = malloc(sizeof *r->column * (size_t)COLUMNS * (size_t)width);
	_Float16 *value = random_halves(values, 1);
	for (size_t i = 0; i < values; i++)
		r->row[i] = (double)value[i];
	r->scan = (struct sl_scan){.rows = {.width = width, .count = ROWS}, .columns = {.width = width, .count = COLUMNS},
				   .order_stride = TILES, .to = TILES};
	r->scan.rows.value = take(&r->memory, values * sizeof *value, value);
	free(value);
	if (length)
		coded_columns(r, width, length);
	else
		plain_columns(r, width);
	number(r);
#pragma omp parallel for
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint32_t j = 0; j < COLUMNS; j++) {
			double sum = (double)r->bias[j];
			for (uint32_t k = 0; k < (uint32_t)width; k++)
				sum += r->row[(size_t)i * (size_t)width + k] * r->column[(size_t)j * (size_t)width + k];
			r->score[(size_t)i * COLUMNS + j] += sum;  /* -infinity without a point, NaN for the row's own */
		}
}

static void rig_finish(struct rig *r)
{
	give_back(&r->memory);
	free(r->score);
	free(r->row);
	free(r->column);
}

/* Permitted error of float32 sums. */
static double room(const struct rig *r) { return 2e-5 * (4 + sqrt(r->scan.rows.width)); }

static void check_best(struct rig *r)
{
	r->scan.best = take(&r->memory, ROWS * 4, NULL);
	CUDA(sl__scan(&r->scan, 0));
	uint32_t *best = fetch(r->scan.best, ROWS * 4);
	for (uint32_t i = 0; i < ROWS; i++) {
		double most = -INFINITY, sum = 0;
		for (uint32_t j = 0; j < COLUMNS; j++) {  /* a row's own column counts like any other */
			double score = r->score[(size_t)i * COLUMNS + j];
			for (int k = 0; isnan(score) && k < r->scan.rows.width; k++)
				sum += r->row[i * (uint32_t)r->scan.rows.width + (uint32_t)k] *
				       r->column[j * (uint32_t)r->scan.rows.width + (uint32_t)k];
			if (isnan(score))
				r->score[(size_t)i * COLUMNS + j] = score = sum + (double)r->bias[j];
			most = fmax(most, score);
		}
		assert_true(best[i] < COLUMNS);
		assert_true(r->score[(size_t)i * COLUMNS + best[i]] > most - room(r));
	}
	free(best);
	r->scan.best = NULL;
}

static void check_dense(struct rig *r)
{
	r->scan.dense = true;
	CUDA(sl__scan(&r->scan, 0));
	uint2 *entry = fetch(r->scan.lists.entry, sizeof *entry * ROWS * COLUMNS);
	for (uint32_t i = 0; i < ROWS; i++)
		for (uint32_t slot = 0; slot < COLUMNS; slot++) {
			uint32_t j = r->order[i / SL_ROWS][slot / SL_TILE] * SL_TILE + slot % SL_TILE;
			double should = r->score[(size_t)i * COLUMNS + j];
			uint2 is = entry[(size_t)i * COLUMNS + slot];
			float score;
			memcpy(&score, &is.x, 4);
			if (isnan(should) || r->index[j] == SL_NOBODY) {
				assert_true(is.y == SL_NOBODY && score < 0 && isinf(score));
			} else {
				assert_int_equal(is.y, r->index[j]);
				assert_true(fabs((double)score - should) < room(r));
			}
		}
	free(entry);
	r->scan.dense = false;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return x < y ? -1 : x > y;
}

/* Lists the pairs above the bounds, which are this fraction of all. */
static void check_filter(struct rig *r, double share)
{
	struct sl_bound bound[ROWS];
	for (uint32_t i = 0; i < ROWS; i++) {
		double score[COLUMNS];
		for (uint32_t j = 0; j < COLUMNS; j++)
			score[j] = fmax(r->score[(size_t)i * COLUMNS + j], -INFINITY);  /* instead of NaN */
		qsort(score, COLUMNS, sizeof *score, ascending);
		bound[i] = (struct sl_bound){i % 37 == 5 ? INFINITY : (float)score[(int)(COLUMNS * (1 - share))], 0};
	}
	CUDA(cudaMemset(r->scan.lists.count, 0, ROWS * 4));
	CUDA(cudaMemcpy(r->scan.lists.bound, bound, sizeof bound, cudaMemcpyHostToDevice));
	CUDA(sl__scan(&r->scan, 0));
	uint2 *entry = fetch(r->scan.lists.entry, sizeof *entry * ROWS * COLUMNS);
	uint32_t *count = fetch(r->scan.lists.count, ROWS * 4), all = 0;
	for (uint32_t i = 0; i < ROWS; i++) {
		bool there[COLUMNS] = {false};
		assert_true(count[i] <= COLUMNS);
		all += count[i];
		for (uint32_t e = 0; e < count[i]; e++) {
			uint2 is = entry[(size_t)i * COLUMNS + e];
			uint32_t j = COLUMNS - 1 - is.y;
			float score;
			memcpy(&score, &is.x, 4);
			assert_true(is.y < COLUMNS && r->index[j] == is.y && !there[j]);
			assert_true(fabs((double)score - r->score[(size_t)i * COLUMNS + j]) < room(r));
			assert_true(score >= bound[i].score);
			there[j] = true;
		}
		for (uint32_t j = 0; j < COLUMNS; j++)
			if (!there[j] && r->score[(size_t)i * COLUMNS + j] > (double)bound[i].score + room(r))
				fail_msg("row %u: column %u is not listed", i, j);
	}
	assert_true(all > 0.8 * share * ROWS * COLUMNS && all < 1.2 * share * ROWS * COLUMNS);
	free(entry);
	free(count);
}

static void check_scans(int width, uint32_t length)
{
	struct rig r;
	rig_init(&r, width, length);
	r.scan.lists = (struct sl_lists){.capacity = COLUMNS, .keep = COLUMNS};
	r.scan.lists.entry = take(&r.memory, sizeof(uint2) * ROWS * COLUMNS, NULL);
	r.scan.lists.count = take(&r.memory, ROWS * 4, NULL);
	r.scan.lists.bound = take(&r.memory, ROWS * sizeof(struct sl_bound), NULL);
	check_dense(&r);
	check_filter(&r, 0.1);  /* more than fit into shared memory */
	check_filter(&r, 0.003);
	if (!length)
		check_best(&r);
	rig_finish(&r);
}

static void scans(void **state)
{
	static const int widths[] = {16, 32, 64, 128, 192, 320};
	if (!have_gpu)
		skip();
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i += test_light() ? 2 : 1)
		check_scans(widths[i], 0);
}

static void scans_of_codes(void **state)
{
	if (!have_gpu)
		skip();
	for (uint32_t length = 2; length <= 16; length *= 2)
		for (int width = 64; width <= 192; width += 128)
			if (!test_light() || (width == 64) == (length < 8))
				check_scans(width, length);
}

/* ---- making codes -------------------------------------------------------------------------- */

enum { POINTS = 700, D = 37, PIECES = (D + 7) / 8, LONGEST = 64 };

struct coder {
	struct device_memory memory;
	struct sl_coding coding;
	uint32_t count, which[POINTS];
	double rest[POINTS][LONGEST];  /* the numbers of row which[i] to be coded, followed by zeros */
};

/* Half of the rows, in another order. With cosine the points are bytes, and some rows are zeros. */
static void coder_init(struct coder *c, uint32_t length, bool cosine)
{
	float mean[D], scale = 0.5f, inverse[POINTS], value[POINTS][D];
	uint8_t byte[POINTS][D];
	uint32_t cell[POINTS];
	struct sl_coding *o = &c->coding;
	_Float16 *centre = random_halves((size_t)CELLS * LONGEST, 10);
	memset(c, 0, sizeof *c);
	c->count = POINTS / 2 + 3;
	for (int k = 0; k < D; k++)
		mean[k] = (float)(0.1 * normal(11, (size_t)k));
	for (uint32_t i = 0; i < POINTS; i++) {
		double square = 0;
		for (uint32_t k = 0; k < D; k++) {
			value[i][k] = (float)normal(12, i * D + k);
			byte[i][k] = i % 50 ? (uint8_t)below(256, 13, i * D + k) : 0;
			square += byte[i][k] * byte[i][k];
		}
		inverse[i] = square > 0 ? (float)(1 / sqrt(square)) : 0;
	}
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t row = c->which[i] = (i * 331 + 50) % POINTS;
		cell[i] = below(CELLS, 14, i);
		for (uint32_t k = 0; k < D; k++) {
			double x = cosine ? (double)((float)byte[row][k] * inverse[row]) : (double)value[row][k];
			c->rest[i][k] = (x - (double)mean[k]) * (double)scale - (double)centre[cell[i] * LONGEST + k];
		}
	}
	o->frame.mean = take(&c->memory, sizeof mean, mean);
	o->frame.scale = take(&c->memory, sizeof scale, &scale);
	o->table = (struct sl_table){.n = POINTS, .d = D, .type = cosine ? SL_POINTS_U8 : SL_POINTS_F32};
	o->table.value = take(&c->memory, cosine ? sizeof byte : sizeof value, cosine ? (void *)byte : (void *)value);
	o->table.inverse = cosine ? take(&c->memory, sizeof inverse, inverse) : NULL;
	o->which = take(&c->memory, c->count * 4ull, c->which);
	o->cell = take(&c->memory, c->count * 4ull, cell);
	o->count = c->count;
	o->codes = (struct sl_codes){.length = length, .pieces = PIECES, .centre_width = LONGEST};
	o->codes.bytes = sl__codes_groups(&o->codes);
	o->codes.centre = take(&c->memory, (size_t)CELLS * LONGEST * sizeof *centre, centre);
	o->book = take(&c->memory, sizeof(float) * o->codes.bytes * SL_WORDS * length, NULL);
	o->code = take(&c->memory, (size_t)POINTS * o->codes.bytes, NULL);
	free(centre);
}

static double distance(const struct coder *c, uint32_t i, uint32_t group, const float *word)
{
	double sum = 0;
	for (uint32_t e = 0; e < c->coding.codes.length; e++)
		sum += pow(c->rest[i][group * c->coding.codes.length + e] - (double)word[e], 2);
	return sum;
}

/* By position, in the order that scans need. */
static void check_places(struct coder *c, const uint8_t *code)
{
	uint32_t place[POINTS], groups = c->coding.codes.bytes;
	struct sl_coding o = c->coding;
	for (uint32_t i = 0; i < c->count; i++)
		place[i] = POINTS - 1 - i;
	o.place = take(&c->memory, sizeof place, place);
	o.step = groups;
	o.group_step = 1;
	o.bias = take(&c->memory, POINTS * sizeof(float), NULL);
	CUDA(sl__codes_assign(&o, 0));
	uint8_t *placed = fetch(o.code, (size_t)POINTS * groups);
	float *bias = fetch(o.bias, POINTS * sizeof *bias);
	for (uint32_t i = 0; i < c->count; i++) {
		bool zeros = o.table.inverse && c->which[i] % 50 == 0;
		for (uint32_t g = 0; g < groups; g++)
			assert_int_equal(placed[place[i] * groups + g], code[(size_t)g * c->count + i]);
		assert_true(bias[place[i]] == (zeros ? -0.125f : 0));
	}
	free(placed);
	free(bias);
}

static void check_coder(uint32_t length, bool cosine)
{
	struct coder c;
	coder_init(&c, length, cosine);
	struct sl_coding *o = &c.coding;
	uint32_t groups = o->codes.bytes;
	size_t book_bytes = sizeof(float) * groups * SL_WORDS * length;
	assert_int_equal(groups, (8 * PIECES + length - 1) / length);
	CUDA(sl__codes_begin(o, 0));
	float *book = fetch(o->book, book_bytes);
	for (uint32_t g = 0; g < groups; g++)
		for (uint32_t w = 0; w < SL_WORDS; w++)
			assert_true(distance(&c, w * c.count / SL_WORDS, g, book + (g * SL_WORDS + w) * length) < 1e-10);
	o->step = 1;
	o->group_step = c.count;
	CUDA(sl__codes_assign(o, 0));
	uint8_t *code = fetch(o->code, (size_t)groups * c.count);
	check_places(&c, code);
	CUDA(cudaMemcpy(o->code, code, (size_t)groups * c.count, cudaMemcpyHostToDevice));
	CUDA(sl__codes_move(o, 0));
	float *moved = fetch(o->book, book_bytes);
	for (uint32_t g = 0; g < groups; g++) {
		const float *words = book + (size_t)g * SL_WORDS * length;
		double sum[SL_WORDS][16] = {{0}};
		uint32_t members[SL_WORDS] = {0};
		for (uint32_t i = 0; i < c.count; i++) {
			uint32_t own = code[(size_t)g * c.count + i];
			double least = INFINITY;
			for (uint32_t w = 0; w < SL_WORDS; w++)
				least = fmin(least, distance(&c, i, g, words + w * length));
			assert_true(distance(&c, i, g, words + own * length) < least + 1e-5);
			members[own]++;
			for (uint32_t e = 0; e < length; e++)
				sum[own][e] += c.rest[i][g * length + e];
		}
		for (uint32_t w = 0; w < SL_WORDS; w++)
			for (uint32_t e = 0; e < length; e++) {
				double should = members[w] ? sum[w][e] / members[w] : (double)words[w * length + e];
				assert_true(fabs((double)moved[(g * SL_WORDS + w) * length + e] - should) < 1e-5);
			}
	}
	free(book);
	free(moved);
	free(code);
	give_back(&c.memory);
}

static void codes_of_any_length(void **state)
{
	if (!have_gpu)
		skip();
	for (uint32_t length = 2; length <= 16; length *= 2)
		for (int cosine = 0; cosine < 2; cosine++)
			check_coder(length, cosine);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scans),
		cmocka_unit_test(scans_of_codes),
		cmocka_unit_test(codes_of_any_length),
	};
	seed = fresh_seed();
	find_gpu(sl__scan_init);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
