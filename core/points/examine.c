/* Counts equal rows by an open-addressing hash table of row numbers. All threads compute the 64-bit hashes beforehand.
 * The seed comes from the operating system, so that nobody can prepare rows that collide; the counts do not depend on
 * it. Only a row that differs from all earlier ones enters the table, so a million equal rows take a million
 * comparisons. */
#include "core/points/examine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "core/account.h"

static size_t row_bytes(const struct sl_points *p)
{
	return (size_t)p->d * (p->type == SL_POINTS_U8 ? 1 : sizeof(float));
}

static uint64_t mix(uint64_t h, uint64_t word, uint64_t factor)
{
	h = (h ^ word) * factor;
	return h ^ h >> 32;
}

/* Adding zero gives -0 and 0 the same bits. */
static uint64_t hash_floats(const float *row, uint32_t d, const uint64_t seed[2], bool *zero)
{
	uint64_t h = seed[0];
	uint32_t any = 0;
	for (uint32_t k = 0; k < d; k++) {
		float x = row[k] + 0.0f;
		uint32_t bits;
		memcpy(&bits, &x, sizeof bits);
		any |= bits;
		h = mix(h, bits, seed[1]);
	}
	*zero = !any;
	return h;
}

static uint64_t hash_bytes(const uint8_t *row, uint32_t d, const uint64_t seed[2], bool *zero)
{
	uint64_t h = seed[0], word, any = 0;
	uint32_t k = 0;
	for (; k + sizeof word <= d; k += sizeof word) {
		memcpy(&word, row + k, sizeof word);
		any |= word;
		h = mix(h, word, seed[1]);
	}
	for (; k < d; k++) {
		any |= row[k];
		h = mix(h, row[k], seed[1]);
	}
	*zero = !any;
	return h;
}

static bool same_row(const struct sl_points *p, uint32_t i, uint32_t j)
{
	if (p->type == SL_POINTS_U8)
		return !memcmp((const uint8_t *)p->value + (size_t)i * p->d, (const uint8_t *)p->value + (size_t)j * p->d,
			       row_bytes(p));
	const float *a = (const float *)p->value + (size_t)i * p->d, *b = (const float *)p->value + (size_t)j * p->d;
	for (uint32_t k = 0; k < p->d; k++)
		if (a[k] != b[k])
			return false;
	return true;
}

static uint32_t count_duplicates(const struct sl_points *p, const uint64_t *hash, uint32_t *slot, uint64_t slots)
{
	uint32_t duplicates = 0;
	for (uint32_t i = 0; i < p->n; i++) {
		uint64_t at = hash[i] & (slots - 1);
		while (slot[at] && !(hash[slot[at] - 1] == hash[i] && same_row(p, slot[at] - 1, i)))
			at = (at + 1) & (slots - 1);
		if (slot[at])
			duplicates++;
		else
			slot[at] = i + 1;
	}
	return duplicates;
}

/* Marks the columns in which some row of [from, to) differs from the first row. */
static void find_varying(const struct sl_points *p, uint32_t from, uint32_t to, uint8_t *varies)
{
	for (uint32_t i = from; i < to; i++) {
		size_t at = (size_t)i * p->d;
		if (p->type == SL_POINTS_U8) {
			const uint8_t *first = p->value, *row = first + at;
			for (uint32_t k = 0; k < p->d; k++)
				varies[k] |= row[k] != first[k];
		} else {
			const float *first = p->value, *row = first + at;
			for (uint32_t k = 0; k < p->d; k++)
				varies[k] |= row[k] != first[k];
		}
	}
}

static int count_constant_columns(struct sl_points *p)
{
	uint8_t *varies = calloc(p->d, 1);
	int failed = !varies;
#pragma omp parallel reduction(| : failed) if ((uint64_t)p->n * p->d > 100000)
	{
		uint8_t *own = calloc(p->d, 1);
		failed |= !own;
#pragma omp for schedule(static)
		for (uint32_t block = 0; block < (p->n + 1023) / 1024; block++) {
			uint32_t from = block * 1024;
			if (own)
				find_varying(p, from, p->n - from < 1024 ? p->n : from + 1024, own);
		}
#pragma omp critical
		for (uint32_t k = 0; own && varies && k < p->d; k++)
			varies[k] |= own[k];
		free(own);
	}
	p->report.constant_columns = 0;
	for (uint32_t k = 0; !failed && k < p->d; k++)
		p->report.constant_columns += !varies[k];
	free(varies);
	return failed ? SL_NOMEM : 0;
}

/* The number of rows whose hash an earlier row has. */
static uint32_t count_equal_hashes(const uint64_t *hash, uint32_t n, uint32_t *slot, uint64_t slots)
{
	uint32_t equal = 0;
	memset(slot, 0, slots * sizeof *slot);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = hash[i] & (slots - 1);
		while (slot[at] && hash[slot[at] - 1] != hash[i])
			at = (at + 1) & (slots - 1);
		if (slot[at])
			equal++;
		else
			slot[at] = i + 1;
	}
	return equal;
}

/* Corrects what rounding to single precision made equal. */
static void correct(struct sl_points *p, const struct sl__exact *exact, uint32_t *slot, uint64_t slots)
{
	uint32_t rounded = p->report.duplicates;
	if (rounded)
		p->report.duplicates = count_equal_hashes(exact->hash, p->n, slot, slots);
	p->merged = rounded > p->report.duplicates ? rounded - p->report.duplicates : 0;
	p->report.zero_rows = p->report.constant_columns = 0;
	for (uint32_t i = 0; i < p->n; i++)
		p->report.zero_rows += exact->hash[i] == exact->zero;
	for (uint32_t k = 0; k < p->d; k++)
		p->report.constant_columns += !(exact->low[k] < exact->high[k]);
}

int sl__points_examine(struct sl_points *p, const struct sl__exact *exact, struct sl_account *account)
{
	uint64_t seed[2] = {0x243f6a8885a308d3, 0x9e3779b97f4a7c15}, slots = 16;
	uint32_t zero_rows = 0;
	while (slots < 2 * (uint64_t)p->n)
		slots *= 2;
	uint64_t bytes = (p->n + 1ull) * sizeof(uint64_t) + slots * sizeof(uint32_t);
	int rc = sl_account_take(account, SL_MEMORY, bytes, NULL);
	if (rc)
		return rc;
	uint64_t *hash = malloc(((size_t)p->n + 1) * sizeof *hash);
	uint32_t *slot = calloc(slots, sizeof *slot);
	rc = hash && slot ? count_constant_columns(p) : SL_NOMEM;
	if (rc)
		goto out;
	if (getrandom(seed, sizeof seed, GRND_NONBLOCK) != sizeof seed)
		seed[1] = 0x9e3779b97f4a7c15;
	seed[1] |= 1;
#pragma omp parallel for schedule(static, 1024) reduction(+ : zero_rows) if ((uint64_t)p->n * p->d > 100000)
	for (uint32_t i = 0; i < p->n; i++) {
		bool zero;
		size_t at = (size_t)i * p->d;
		hash[i] = p->type == SL_POINTS_U8 ? hash_bytes((const uint8_t *)p->value + at, p->d, seed, &zero)
						  : hash_floats((const float *)p->value + at, p->d, seed, &zero);
		zero_rows += zero;
	}
	p->report.zero_rows = zero_rows;
	p->report.duplicates = count_duplicates(p, hash, slot, slots);
	if (exact)
		correct(p, exact, slot, slots);
out:
	free(hash);
	free(slot);
	sl_account_give(account, SL_MEMORY, bytes);
	return rc;
}
