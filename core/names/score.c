/* Words are kept with the clusters that have them only: most words are in a few. */
#include "core/names/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct pair {
	uint32_t cluster, count;
};

struct word {
	char *text;
	uint64_t from;             /* of its pairs */
	uint32_t pairs;
	uint64_t all;              /* nodes that have it */
};

struct sl_terms {
	uint32_t clusters;
	struct word *word;
	struct pair *pair;
	uint64_t words, words_room, pairs, pairs_room;
};

int sl_terms_create(struct sl_terms **out, uint32_t clusters, struct sl_error *err)
{
	*out = calloc(1, sizeof **out);
	if (!*out)
		return sl_error_memory(err, "words");
	(*out)->clusters = clusters;
	return 0;
}

void sl_terms_destroy(struct sl_terms *t)
{
	if (!t)
		return;
	for (uint64_t w = 0; w < t->words; w++)
		free(t->word[w].text);
	free(t->word);
	free(t->pair);
	free(t);
}

static int make_room(struct sl_terms *t)
{
	if (t->words == t->words_room) {
		uint64_t room = t->words_room ? 2 * t->words_room : 1024;
		struct word *grown = realloc(t->word, room * sizeof *grown);
		if (!grown)
			return SL_NOMEM;
		t->word = grown;
		t->words_room = room;
	}
	if (t->pairs + t->clusters + 1 > t->pairs_room) {
		uint64_t room = 2 * t->pairs_room + t->clusters + 1024;
		struct pair *grown = realloc(t->pair, room * sizeof *grown);
		if (!grown)
			return SL_NOMEM;
		t->pair = grown;
		t->pairs_room = room;
	}
	return 0;
}

int sl_terms_add(struct sl_terms *t, const char *text, size_t length, const uint32_t *count, struct sl_error *err)
{
	char *copy = strndup(text, length);
	if (!copy || make_room(t)) {
		free(copy);
		return sl_error_memory(err, "words");
	}
	struct word *w = &t->word[t->words++];
	*w = (struct word){.text = copy, .from = t->pairs};
	for (uint32_t c = 0; c <= t->clusters; c++) {
		if (!count[c])
			continue;
		t->pair[t->pairs++] = (struct pair){c, count[c]};
		w->pairs++;
		w->all += count[c];
	}
	return 0;
}

static double log_odds(double y, double n, double prior)
{
	return log((y + prior) / (n + SL_TERMS_PRIOR - y - prior));
}

/* A word that is all of a group, or of all, has no odds; it is worth a bit less than all. */
static double score(double in, double n_in, double out, double n_out, double prior)
{
	double weight = SL_TERMS_PRIOR > prior ? prior : SL_TERMS_PRIOR * 0.999;
	double difference = log_odds(in, n_in, weight) - log_odds(out, n_out, weight);
	return difference / sqrt(1 / (in + weight) + 1 / (out + weight));
}

/* Puts a word into its place among the best ones of a group, behind equal ones. */
static void offer(struct sl_term *best, uint32_t most, struct sl_term word)
{
	uint32_t k = most;
	while (k && (!best[k - 1].text || best[k - 1].score < word.score))
		k--;
	if (k == most)
		return;
	memmove(&best[k + 1], &best[k], (most - 1 - k) * sizeof *best);
	best[k] = word;
}

static uint32_t group_of(const struct sl_terms *t, const uint32_t *to, uint32_t cluster)
{
	return cluster < t->clusters ? to[cluster] : UINT32_MAX;
}

int sl_terms_best(const struct sl_terms *t, const uint32_t *to, uint32_t groups, const uint32_t *fewest, uint32_t most,
		  struct sl_term *out, struct sl_error *err)
{
	uint64_t *size = calloc(groups + 1ull, sizeof *size), all = 0;
	uint32_t *in = calloc(groups + 1ull, sizeof *in);
	memset(out, 0, (size_t)groups * most * sizeof *out);
	if (!size || !in) {
		free(size);
		free(in);
		return sl_error_memory(err, "the scores of words");
	}
	for (uint64_t p = 0; p < t->pairs; p++) {
		uint32_t group = group_of(t, to, t->pair[p].cluster);
		size[group < groups ? group : groups] += t->pair[p].count;
		all += t->pair[p].count;
	}
	for (uint64_t k = 0; k < t->words; k++) {
		const struct word *w = &t->word[k];
		const struct pair *pair = &t->pair[w->from];
		for (uint32_t p = 0; p < w->pairs; p++) {
			uint32_t group = group_of(t, to, pair[p].cluster);
			if (group < groups)
				in[group] += pair[p].count;
		}
		for (uint32_t p = 0; p < w->pairs; p++) {
			uint32_t group = group_of(t, to, pair[p].cluster);
			if (group >= groups || !in[group])
				continue;
			double inside = in[group], outside = (double)w->all - inside;
			struct sl_term word = {.text = w->text, .inside = in[group], .outside = (uint32_t)(w->all - in[group])};
			word.score = score(inside, (double)size[group], outside, (double)(all - size[group]),
					   SL_TERMS_PRIOR * (double)w->all / (double)all);
			if (word.score > 0 && in[group] >= fewest[group])
				offer(&out[(size_t)group * most], most, word);
			in[group] = 0;   /* so that each group is offered once */
		}
	}
	free(size);
	free(in);
	return 0;
}

/* ---- numbers --------------------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b, void *arg)
{
	const double *value = arg;
	double x = value[*(const uint32_t *)a], y = value[*(const uint32_t *)b];
	return (x > y) - (x < y);
}

int sl_cliffs_delta(const double *value, const uint32_t *group, uint32_t n, uint32_t groups, double *delta,
		    struct sl_error *err)
{
	uint32_t *order = malloc((n + 1ull) * sizeof *order), count = 0;
	double *ranks = calloc(groups + 1ull, sizeof *ranks), *size = calloc(groups + 1ull, sizeof *size);
	int rc = order && ranks && size ? 0 : sl_error_memory(err, "the ranks of numbers");
	for (uint32_t i = 0; i < n && !rc; i++)
		if (!isnan(value[i]))
			order[count++] = i;
	if (!rc)
		qsort_r(order, count, sizeof *order, by_value, (void *)value);
	for (uint32_t k = 0, end; k < count && !rc; k = end) {
		for (end = k + 1; end < count && value[order[end]] == value[order[k]];)
			end++;
		for (uint32_t m = k; m < end; m++) {
			uint32_t own = group[order[m]] < groups ? group[order[m]] : groups;
			ranks[own] += 0.5 * ((double)k + 1 + (double)end);   /* equal values share the mean of their ranks */
			size[own]++;
		}
	}
	for (uint32_t g = 0; g < groups && !rc; g++) {
		double others = (double)count - size[g], u = ranks[g] - size[g] * (size[g] + 1) / 2;
		delta[g] = size[g] > 0 && others > 0 ? 2 * u / (size[g] * others) - 1 : (double)NAN;
	}
	free(order);
	free(ranks);
	free(size);
	return rc;
}
