/* numbering.c -- maps the numbers of an edge list to nodes. */
#include "core/formats/text/numbering.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"

bool sl__whole_number(const char *text, size_t length, uint64_t *out)
{
	if (length == 0 || length > 18 || (text[0] == '0' && length > 1))
		return false;
	*out = 0;
	for (size_t k = 0; k < length; k++) {
		if (!isdigit((unsigned char)text[k]))
			return false;
		*out = *out * 10 + (uint64_t)(text[k] - '0');
	}
	return true;
}

/* A bitmap of the numbers in use, with counts of those before each block of 512. */
struct ranks {
	uint64_t *bits;
	uint32_t *before;
	uint64_t words;
	uint32_t n;  /* numbers in use */
};

static inline uint32_t rank_of(const struct ranks *r, uint32_t number)
{
	uint64_t word = number >> 6;
	uint32_t rank = r->before[word >> 3];

	for (uint64_t k = word & ~7ull; k < word; k++)
		rank += (uint32_t)__builtin_popcountll(r->bits[k]);
	return rank + (uint32_t)__builtin_popcountll(r->bits[word] & ((1ull << (number & 63)) - 1));
}

static int make_ranks(struct ranks *r, const struct sl_graph_builder *b)
{
	r->words = ((uint64_t)b->n + 511) / 512 * 8;
	int rc = sl_account_take(b->account, SL_MEMORY, r->words * sizeof *r->bits, NULL);
	if (rc)
		return rc;
	r->bits = calloc(r->words, sizeof *r->bits);
	r->before = malloc(r->words / 8 * sizeof *r->before);
	if (!r->bits || !r->before)
		return SL_NOMEM;
	for (uint64_t k = 0; k < b->count; k++) {
		r->bits[b->row[k] >> 6] |= 1ull << (b->row[k] & 63);
		r->bits[b->column[k] >> 6] |= 1ull << (b->column[k] & 63);
	}
	for (uint64_t k = 0; k < r->words; k++) {
		if ((k & 7) == 0)
			r->before[k >> 3] = r->n;
		r->n += (uint32_t)__builtin_popcountll(r->bits[k]);
	}
	return 0;
}

/* Makes names of the numbers, in ascending order. */
static int names_from_ranks(struct sl__names *names, const struct ranks *r)
{
	for (uint64_t k = 0; k < r->words; k++)
		for (uint64_t bits = r->bits[k]; bits; bits &= bits - 1) {
			char text[16];
			int length = snprintf(text, sizeof text, "%u", (uint32_t)(k * 64) + (uint32_t)__builtin_ctzll(bits));
			int rc = sl__names_append(names, text, (size_t)length);
			if (rc)
				return rc;
		}
	return 0;
}

int sl__numbering_close_gaps(struct sl_graph_builder *b, struct sl__names *names)
{
	struct ranks r = {0};
	int rc = make_ranks(&r, b);

	if (!rc && r.n < b->n) {
		rc = names_from_ranks(names, &r);
		for (uint64_t k = 0; !rc && k < b->count; k++) {
			b->row[k] = rank_of(&r, b->row[k]);
			b->column[k] = rank_of(&r, b->column[k]);
		}
		if (!rc)
			b->n = r.n;
	}
	free(r.bits);
	free(r.before);
	return rc;
}

struct numbered {
	uint64_t number;
	uint32_t index;
};

static int by_number(const void *a, const void *b)
{
	uint64_t x = ((const struct numbered *)a)->number, y = ((const struct numbered *)b)->number;

	return x < y ? -1 : x > y;
}

int sl__numbering_sort(struct sl_graph_builder *b, struct sl__names *names)
{
	struct numbered *list = sl_account_alloc(names->account, names->n, sizeof *list);
	uint32_t *to = sl_account_alloc(names->account, names->n, sizeof *to);
	struct sl__names sorted;
	int rc = list && to ? 0 : SL_NOMEM;

	sl__names_init(&sorted, names->account);
	for (uint32_t i = 0; !rc && i < names->n; i++) {
		const char *text = names->bytes + names->at[i];
		sl__whole_number(text, strlen(text), &list[i].number);
		list[i].index = i;
	}
	if (!rc)
		qsort(list, names->n, sizeof *list, by_number);
	for (uint32_t i = 0; !rc && i < names->n; i++) {
		const char *text = names->bytes + names->at[list[i].index];
		to[list[i].index] = i;
		rc = sl__names_append(&sorted, text, strlen(text));
	}
	for (uint64_t k = 0; !rc && k < b->count; k++) {
		b->row[k] = to[b->row[k]];
		b->column[k] = to[b->column[k]];
	}
	free(list);
	free(to);
	if (rc) {
		sl__names_finish(&sorted);
		return rc;
	}
	sl__names_finish(names);
	*names = sorted;
	return 0;
}
