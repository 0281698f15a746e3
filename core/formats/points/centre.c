/* The first rows of a table are kept in double until the centre is decided; then they are written as floats less the
 * centre, as all later rows are at once. Memory is booked in proportion to the values that were read. */
#include "core/formats/points/centre.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/account.h"
#include "core/grow.h"
#include "core/points/center.h"

/* ---- the rule --------------------------------------------------------------------------- */

/* The centre of a column, by the values x[n]; disorders them. */
static double centre_of(double *x, uint64_t n)
{
	uint64_t finite = 0;
	double m;
	for (uint64_t i = 0; i < n; i++)
		if (isfinite(x[i]))
			x[finite++] = x[i];
	double spread = sl__spread(x, finite, &m);
	return fabs(m) > SL__CENTRE_FAR * (spread > 0 ? spread : 1) && fabs(m) <= SL__CENTRE_MOST ? m : 0;
}

static uint64_t deciding_rows(uint64_t d)
{
	uint64_t rows = SL__CENTRE_VALUES / d;
	return rows > SL__CENTRE_ROWS ? rows : SL__CENTRE_ROWS;
}

static uint64_t step_of(uint64_t rows)
{
	return (rows + SL__SPREAD_SAMPLE - 1) / SL__SPREAD_SAMPLE;
}

/* Sets the centres of all columns by `rows` rows of wide or, if it is NULL, of narrow. */
static void decide(struct sl__centre *c, uint64_t rows, const double *wide, const float *narrow)
{
	uint64_t step = rows ? step_of(rows) : 1;
	c->decided = true;
#pragma omp parallel for schedule(static) if (c->d > 1)
	for (uint64_t k = 0; k < c->d; k++) {
		double x[SL__SPREAD_SAMPLE];
		uint64_t n = 0;
		for (uint64_t i = 0; i < rows; i += step, n++)
			x[n] = wide ? wide[i * c->d + k] : (double)narrow[i * c->d + k];
		c->center[k] = centre_of(x, n);
	}
	for (uint64_t k = 0; k < c->d; k++)
		c->any |= c->center[k] != 0;
}

int sl__centre_decide(struct sl__centre *c, uint64_t n, const float *value)
{
	uint64_t rows = deciding_rows(c->d);
	if (!c->decided)
		decide(c, n < rows ? n : rows, NULL, value);
	for (uint64_t i = 0; c->any && i < n; i++)
		for (uint64_t k = 0; k < c->d; k++) {
			double x = (double)value[i * c->d + k];
			c->low[k] = x < c->low[k] ? x : c->low[k];
			c->high[k] = x > c->high[k] ? x : c->high[k];
		}
	return 0;
}

void sl__centre_subtract(const struct sl__centre *c, uint64_t n, float *value)
{
	if (!c->any)
		return;
#pragma omp parallel for schedule(static)
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t k = 0; k < c->d; k++)
			value[i * c->d + k] = (float)((double)value[i * c->d + k] - c->center[k]);
}

/* ---- memory ----------------------------------------------------------------------------- */

static int book(struct sl__centre *c, uint64_t bytes)
{
	int rc = sl_account_take(c->account, SL_MEMORY, bytes, NULL);
	c->booked += rc ? 0 : bytes;
	return rc;
}

int sl__centre_init(struct sl__centre *c, uint64_t d, const double *given, struct sl_account *account)
{
	*c = (struct sl__centre){.d = d, .account = account, .seed = {0x243f6a8885a308d3, 0x9e3779b97f4a7c15}};
	if (getrandom(c->seed, sizeof c->seed, GRND_NONBLOCK) != sizeof c->seed)
		c->seed[1] = 0x9e3779b97f4a7c15;
	c->seed[1] |= 1;
	int rc = book(c, 3 * d * sizeof *c->center);
	if (rc)
		return rc;
	c->center = calloc(d, sizeof *c->center);
	c->low = malloc(d * sizeof *c->low);
	c->high = malloc(d * sizeof *c->high);
	if (!c->center || !c->low || !c->high)
		return SL_NOMEM;
	for (uint64_t k = 0; k < d; k++) {
		c->low[k] = INFINITY;
		c->high[k] = -INFINITY;
		c->center[k] = given ? given[k] : 0;
		c->any |= given && given[k] != 0;
	}
	c->decided = given != NULL;
	return 0;
}

static void drop_first(struct sl__centre *c)
{
	free(c->first);
	sl_account_give(c->account, SL_MEMORY, c->first_room * sizeof *c->first);
	c->booked -= c->first_room * sizeof *c->first;
	c->first = NULL;
	c->first_room = 0;
}

void sl__centre_finish(struct sl__centre *c)
{
	free(c->center);
	free(c->low);
	free(c->high);
	free(c->first);
	free(c->hash);
	sl_account_give(c->account, SL_MEMORY, c->booked);
	memset(c, 0, sizeof *c);
}

/* Makes room for `wanted` of the first values and `rows` hashes; at most `most` of each are ever needed. */
static int reserve(struct sl__centre *c, uint64_t wanted, uint64_t most, uint64_t rows)
{
	int rc = 0;
	if (wanted > c->first_room) {
		uint64_t room = c->first_room * 2 > wanted ? c->first_room * 2 : wanted + 1024;
		room = room > most ? most : room;
		rc = book(c, (room - c->first_room) * sizeof *c->first);
		if (!rc)
			rc = sl_grow_array(&c->first, room, sizeof *c->first);
		c->first_room = rc ? c->first_room : room;
	}
	if (!rc && rows > c->hash_room) {
		uint64_t room = c->hash_room * 2 > rows ? c->hash_room * 2 : rows + 64;
		rc = book(c, (room - c->hash_room) * sizeof *c->hash);
		if (!rc)
			rc = sl_grow_array(&c->hash, room, sizeof *c->hash);
		c->hash_room = rc ? c->hash_room : room;
	}
	return rc;
}

/* ---- values ----------------------------------------------------------------------------- */

/* Notes a value of column k. */
static inline void note(struct sl__centre *c, uint64_t row, uint64_t k, double x)
{
	c->hash[row] = sl__row_hash(k ? c->hash[row] : c->seed[0], x, c->seed[1]);
	c->low[k] = x < c->low[k] ? x : c->low[k];
	c->high[k] = x > c->high[k] ? x : c->high[k];
}

static void write_first(struct sl__centre *c, float *out)
{
	for (uint64_t i = 0; i < c->rows; i++)
		for (uint64_t k = 0; k < c->d; k++)
			out[i * c->d + k] = (float)(c->first[i * c->d + k] - c->center[k]);
	drop_first(c);
}

int sl__centre_take(struct sl__centre *c, uint64_t at, uint64_t count, const double *value, float *out)
{
	uint64_t most = deciding_rows(c->d) * c->d, end = at + count;
	int rc = reserve(c, c->decided ? 0 : end < most ? end : most, most, (end + c->d - 1) / c->d);
	if (rc)
		return rc;
	for (uint64_t e = at, row = at / c->d, k = at % c->d; e < end; e++) {
		double x = value[e - at];
		note(c, row, k, x);
		if (c->decided)
			out[e] = (float)(x - c->center[k]);
		else
			c->first[e] = x;
		if (++k == c->d) {
			k = 0;
			row++;
		}
		if (!c->decided) {
			c->rows = row;
			if (e + 1 == most) {
				decide(c, row, c->first, NULL);
				write_first(c, out);
			}
		}
	}
	return 0;
}

int sl__centre_end(struct sl__centre *c, float *out)
{
	if (c->decided)
		return 0;
	decide(c, c->rows, c->first, NULL);
	write_first(c, out);
	return 0;
}

/* first: the first values of the present column. */
int sl__centre_take_columns(struct sl__centre *c, uint64_t n, uint64_t at, uint64_t count, const double *value,
			    float *out)
{
	uint64_t rows = deciding_rows(c->d) < n ? deciding_rows(c->d) : n, step = step_of(rows);
	int rc = reserve(c, c->decided ? 0 : rows, rows, n);
	if (rc)
		return rc;
	for (uint64_t e = at, row = at % n, k = at / n; e < at + count; e++) {
		double x = value[e - at];
		note(c, row, k, x);
		if (c->decided || row >= rows)
			out[e] = (float)(x - c->center[k]);
		else
			c->first[row] = x;
		if (++row == rows && !c->decided) {
			double sample[SL__SPREAD_SAMPLE];
			uint64_t m = 0;
			for (uint64_t i = 0; i < rows; i += step)
				sample[m++] = c->first[i];
			c->center[k] = centre_of(sample, m);
			c->any |= c->center[k] != 0;
			for (uint64_t i = 0; i < rows; i++)
				out[k * n + i] = (float)(c->first[i] - c->center[k]);
		}
		if (row == n) {
			row = 0;
			k++;
		}
	}
	if (at + count == n * c->d) {
		c->decided = true;
		drop_first(c);
	}
	return 0;
}
