/* How a name is chosen, for each cluster of each level:
 *
 *   1. a category that half of the nodes have, or two that have a quarter each, of the column that tells clusters apart
 *      best; if other clusters of the level have the same, with two words behind it, if there are texts;
 *   2. else up to three words of the texts;
 *   3. else the quartiles of the column of numbers of which the fewest other nodes lie between them, if that is at
 *      most a quarter of them; so a group in the middle has a name, too, whose delta is 0;
 *   4. else, in graphs with names, the name of the node with the most edges.
 *
 * Words are in the order of their score. One that begins as another one of the name (lib, libs) is left out. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/text/date.h"
#include "daemon/graphs/rows/clusters/clusters_internal.h"

#define TERMS SL_CLUSTER_TERMS
#define HALF 0.5
#define QUARTER 0.25
#define OTHERS_MOST 0.25     /* of the other nodes that have numbers within a cluster's quartiles */
#define SHARE_LEAST 0.03      /* of a cluster's nodes that have a word of its name */
#define SCORE_LEAST 2.58      /* z: one in a hundred by chance */
#define COMMON 4              /* letters that two words share if one is a form of the other */

struct choosing {
	const struct sl__naming *n;
	int at;                       /* the level */
	const struct sl_map_level *level;
	uint32_t *to;                 /* [clusters of the last level] cluster of this level */
	uint32_t *group;              /* [n] cluster of this level */
	struct sl_term **best;        /* [count][clusters * TERMS] of columns with terms */
	double **delta;               /* [count][clusters] of numbers */
	double *sorted;               /* [n] values of one cluster */
};

/* ---- parts of a name ------------------------------------------------------------------------------- */

static double share(const struct choosing *c, uint32_t k, const struct sl_term *t)
{
	return (double)t->inside / (double)c->level->cluster[k].nodes;
}

static const struct sl_term *terms_of(const struct choosing *c, int column, uint32_t k)
{
	return &c->best[column][(size_t)k * TERMS];
}

/* The category that most nodes of the cluster have among the best ones. NULL: none has enough. */
static const struct sl_term *category_of(const struct choosing *c, uint32_t k, double least,
					 const struct sl_term *other_than)
{
	const struct sl_term *best = NULL, *t = c->n->best_category < 0 ? NULL : terms_of(c, c->n->best_category, k);
	for (int i = 0; t && i < TERMS && t[i].text; i++)
		if (&t[i] != other_than && share(c, k, &t[i]) >= least && (!best || t[i].inside > best->inside))
			best = &t[i];
	return best;
}

static bool similar(const char *a, const char *b)
{
	size_t x = strlen(a), y = strlen(b), less = x < y ? x : y;
	return less >= COMMON && !strncmp(a, b, less);
}

/* Up to `most` words, as "cells, human", not `beside` again (or NULL). Returns their number. */
static int words_of(const struct choosing *c, uint32_t k, int most, const char *beside, char *out, size_t room)
{
	const struct sl_term *t = c->n->words < 0 ? NULL : terms_of(c, c->n->words, k), *used[TERMS];
	int count = 0;
	size_t at = 0;
	for (int i = 0; t && i < TERMS && t[i].text && count < most; i++) {
		bool known = t[i].score < SCORE_LEAST || share(c, k, &t[i]) < SHARE_LEAST ||
			     (beside && (!strcmp(beside, t[i].text) || similar(beside, t[i].text)));
		for (int j = 0; j < count; j++)
			known |= similar(used[j]->text, t[i].text);
		int wrote = known ? 0 : snprintf(out + at, room - at, "%s%s", count ? ", " : "", t[i].text);
		if (known || at + (size_t)wrote >= room) {
			out[at] = '\0';
			continue;
		}
		at += (size_t)wrote;
		used[count++] = &t[i];
	}
	return count;
}

/* How many clusters of the level have this category as their name. */
static int namesakes(const struct choosing *c, const char *category)
{
	int count = 0;
	for (uint32_t k = 0; k < c->level->count; k++) {
		const struct sl_term *t = category_of(c, k, HALF, NULL);
		count += t && !strcmp(t->text, category);
	}
	return count;
}

static bool name_by_category(const struct choosing *c, uint32_t k, char *out, size_t room)
{
	const struct sl_term *half = category_of(c, k, HALF, NULL);
	const struct sl_term *one = half ? half : category_of(c, k, QUARTER, NULL);
	const struct sl_term *two = half || !one ? NULL : category_of(c, k, QUARTER, one);
	char words[SL_CLUSTER_NAME_BYTES] = "";
	if (!one || (!half && !two))
		return false;
	if (two)
		snprintf(out, room, "%.90s, %.90s", one->text, two->text);
	else if (namesakes(c, one->text) > 1 && words_of(c, k, 2, one->text, words, 100))
		snprintf(out, room, "%.90s: %.100s", one->text, words);
	else
		snprintf(out, room, "%.190s", one->text);
	return true;
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The quartiles of a column in a cluster, and the part of the others' values between them. False: no values. */
static bool quartiles(const struct choosing *c, int column, uint32_t k, double *low, double *high, double *others)
{
	const double *value = c->n->counted[column].value;
	uint32_t count = 0;
	for (uint32_t i = 0; i < c->n->clusters->n; i++)
		if (c->group[i] == k && !isnan(value[i]))
			c->sorted[count++] = value[i];
	if (!count)
		return false;
	qsort(c->sorted, count, sizeof *c->sorted, by_number);
	*low = c->sorted[count / 4];
	*high = c->sorted[count - 1 - count / 4];
	uint64_t within = 0, all = 0;
	for (uint32_t i = 0; i < c->n->clusters->n; i++) {
		if (c->group[i] == k || isnan(value[i]))
			continue;
		all++;
		within += value[i] >= *low && value[i] <= *high;
	}
	*others = all ? (double)within / (double)all : 1;
	return true;
}

static void write_range(const struct sl__row_column *column, double low, double high, char *out, size_t room)
{
	char from[SL_DATE_BYTES], to[SL_DATE_BYTES];
	if (column->kind != SL_COLUMN_DATE) {
		snprintf(out, room, low == high ? "%.100s %.4g" : "%.100s %.4g \u2013 %.4g", column->name, low, high);
		return;
	}
	bool years = high - low > 3 * 365.0 * 86400e3;
	sl_date_text((int64_t)low, from);
	sl_date_text((int64_t)high, to);
	snprintf(out, room, "%.100s %.*s \u2013 %.*s", column->name, years ? 4 : 10, from, years ? 4 : 10, to);
}

static bool name_by_number(const struct choosing *c, uint32_t k, char *out, size_t room)
{
	double least = OTHERS_MOST, low, high, others;
	bool found = false;
	for (int i = 0; i < c->n->count; i++) {
		if (!c->delta[i] || !quartiles(c, i, k, &low, &high, &others) || others > least || (found && others >= least))
			continue;
		least = others;
		found = true;
		write_range(c->n->counted[i].column, low, high, out, room);
	}
	return found;
}

static bool name_by_hub(const struct choosing *c, uint32_t k, char *out, size_t room)
{
	const struct sl_content *data = c->n->rows->q->part[SL_PART_DATA];
	const struct sl_graph *g = data ? data->graph : NULL;
	uint32_t best = UINT32_MAX;
	for (uint32_t i = 0; g && i < g->n; i++)
		if (c->group[i] == k && (best == UINT32_MAX || g->start[i + 1] - g->start[i] >
					 g->start[best + 1] - g->start[best]))
			best = i;
	const char *name = best == UINT32_MAX ? NULL : sl_graph_name(g, best);
	if (name)
		snprintf(out, room, "around %.180s", name);
	return name != NULL;
}

/* Cuts a character that did not fit whole. */
static void whole(char *text)
{
	size_t length = strlen(text), back = length;
	while (back && ((unsigned char)text[back - 1] & 0xc0) == 0x80)
		back--;
	unsigned char lead = back ? (unsigned char)text[back - 1] : 0;
	size_t wants = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
	if (back && length - (back - 1) < wants)
		text[back - 1] = '\0';
}

/* ---- the reply --------------------------------------------------------------------------------------- */

static const char *basis(const struct choosing *c, uint32_t k, char name[SL_CLUSTER_NAME_BYTES])
{
	const char *by = NULL;
	name[0] = '\0';
	if (name_by_category(c, k, name, SL_CLUSTER_NAME_BYTES))
		by = "category";
	else if (words_of(c, k, 3, NULL, name, SL_CLUSTER_NAME_BYTES))
		by = "words";
	else if (name_by_number(c, k, name, SL_CLUSTER_NAME_BYTES))
		by = "number";
	else if (!c->n->blind && name_by_hub(c, k, name, SL_CLUSTER_NAME_BYTES))
		by = "hub";
	whole(name);
	return by;
}

static json_t *term_json(const struct choosing *c, uint32_t k, int column, const struct sl_term *t)
{
	const struct sl_map_cluster *cluster = &c->level->cluster[k];
	uint32_t others = c->n->clusters->n - cluster->nodes;
	bool words = column == c->n->words;
	return json_pack("{s:s, s:o, s:s, s:f, s:f, s:f}", "kind", words ? "word" : "category", "column",
			 words ? json_null() : json_string(c->n->counted[column].column->name), "value", t->text, "score",
			 t->score, "share", (double)t->inside / cluster->nodes, "elsewhere",
			 others ? (double)t->outside / others : 0.0);
}

static json_t *number_json(const struct choosing *c, uint32_t k, int column)
{
	double low, high, others, delta = c->delta[column][k];
	char range[SL_CLUSTER_NAME_BYTES];
	if (isnan(delta) || !quartiles(c, column, k, &low, &high, &others))
		return NULL;
	write_range(c->n->counted[column].column, low, high, range, sizeof range);
	whole(range);
	return json_pack("{s:s, s:s, s:s, s:f, s:n, s:f}", "kind", "number", "column", c->n->counted[column].column->name,
			 "value", range, "score", delta, "share", "elsewhere", others);
}

static json_t *terms_json(const struct choosing *c, uint32_t k)
{
	json_t *list = json_array();
	for (int i = 0; i < c->n->count; i++) {
		const struct sl_term *t = c->best[i] ? terms_of(c, i, k) : NULL;
		for (int j = 0; t && j < TERMS && t[j].text; j++)
			json_array_append_new(list, term_json(c, k, i, &t[j]));
		json_t *number = c->delta[i] ? number_json(c, k, i) : NULL;
		if (number)
			json_array_append_new(list, number);
	}
	return list;
}

static json_t *id_json(const struct sl_map_clusters *m, int level, uint32_t k)
{
	if (level < 0 || k == SL_MAP_NONE)
		return json_null();
	return json_sprintf("%d-%" PRIu32, level, m->level[level].cluster[k].peak);
}

static json_t *cluster_json(const struct choosing *c, uint32_t k)
{
	const struct sl_map_clusters *m = c->n->clusters;
	const struct sl_map_cluster *one = &c->level->cluster[k];
	char name[SL_CLUSTER_NAME_BYTES];
	const char *by = basis(c, k, name);
	json_t *at = json_array();
	for (int d = 0; d < m->dims; d++)
		json_array_append_new(at, json_real((double)one->at[d]));
	return json_pack("{s:o, s:o, s:o, s:o, s:b, s:n, s:n, s:I, s:o, s:f, s:o, s:o}",
			 "id", id_json(m, c->at, k), "name", by ? json_string(name) : json_null(),
			 "automatic", by ? json_string(name) : json_null(), "basis", by ? json_string(by) : json_null(),
			 "given", 0, "by", "at", "nodes", (json_int_t)one->nodes, "center", at, "radius", (double)one->radius,
			 "parent", id_json(m, c->at - 1, one->parent), "terms", terms_json(c, k));
}

static int score_level(struct choosing *c, struct sl_error *err)
{
	const struct sl__naming *n = c->n;
	uint32_t groups = c->level->count;
	uint32_t *fewest = calloc(groups + 1ull, sizeof *fewest);
	int rc = fewest ? 0 : sl_error_memory(err, "the names of clusters");
	for (uint32_t k = 0; k < groups && !rc; k++)
		fewest[k] = c->level->cluster[k].nodes < 50 ? 2 : 3;
	for (int i = 0; i < n->count && !rc; i++) {
		if (n->counted[i].terms) {
			c->best[i] = calloc((size_t)groups * TERMS + 1, sizeof **c->best);
			rc = c->best[i] ? sl_terms_best(n->counted[i].terms, c->to, groups, fewest, TERMS, c->best[i], err)
					: sl_error_memory(err, "the names of clusters");
		} else {
			c->delta[i] = calloc(groups + 1ull, sizeof **c->delta);
			rc = c->delta[i] ? sl_cliffs_delta(n->counted[i].value, c->group, n->clusters->n, groups, c->delta[i], err)
					 : sl_error_memory(err, "the names of clusters");
		}
	}
	free(fewest);
	return rc;
}

/* The column of categories of which the clusters have most nodes of one kind, beyond the most frequent one. */
static int choose_category(const struct choosing *c)
{
	int best = -1;
	double best_gain = 0;
	for (int i = 0; i < c->n->count; i++) {
		double same = 0, nodes = 0;
		if (!c->best[i] || i == c->n->words)
			continue;
		for (uint32_t k = 0; k < c->level->count; k++) {
			const struct sl_term *t = terms_of(c, i, k);
			uint32_t most = 0;
			for (int j = 0; j < TERMS && t[j].text; j++)
				most = t[j].inside > most ? t[j].inside : most;
			same += most;
			nodes += c->level->cluster[k].nodes;
		}
		double gain = nodes > 0 ? same / nodes - 0.5 * (double)c->n->counted[i].overall / c->n->clusters->n : 0;
		if (gain > best_gain) {
			best_gain = gain;
			best = i;
		}
	}
	return best;
}

static void choosing_finish(struct choosing *c)
{
	for (int i = 0; i < c->n->count; i++) {
		if (c->best)
			free(c->best[i]);
		if (c->delta)
			free(c->delta[i]);
	}
	free(c->best);
	free(c->delta);
	free(c->to);
	free(c->group);
	free(c->sorted);
}

static int name_level(struct sl__naming *n, int level, json_t *levels, struct sl_error *err)
{
	const struct sl_map_clusters *m = n->clusters;
	uint32_t last = m->level[m->levels - 1].count;
	struct choosing c = {.n = n, .at = level, .level = &m->level[level]};
	c.to = malloc((last + 1ull) * sizeof *c.to);
	c.group = malloc((m->n + 1ull) * sizeof *c.group);
	c.sorted = malloc((m->n + 1ull) * sizeof *c.sorted);
	c.best = calloc((size_t)n->count + 1, sizeof *c.best);
	c.delta = calloc((size_t)n->count + 1, sizeof *c.delta);
	int rc = c.to && c.group && c.sorted && c.best && c.delta ? 0 : sl_error_memory(err, "the names of clusters");
	for (uint32_t k = 0; k < last && !rc; k++)
		c.to[k] = sl_map_cluster_at(m, level, k);
	for (uint32_t i = 0; i < m->n && !rc; i++)
		c.group[i] = m->code[i] < last ? c.to[m->code[i]] : SL_MAP_NONE;
	if (!rc)
		rc = score_level(&c, err);
	if (!rc && level == 0)
		n->best_category = choose_category(&c);
	json_t *list = rc ? NULL : json_array();
	for (uint32_t k = 0; k < c.level->count && !rc; k++)
		json_array_append_new(list, cluster_json(&c, k));
	if (!rc)
		json_array_append_new(levels, json_pack("{s:o}", "clusters", list));
	choosing_finish(&c);
	return rc;
}

int sl__naming_json(const struct sl__naming *naming, json_t **out, struct sl_error *err)
{
	struct sl__naming n = *naming;   /* best_category is chosen on the way */
	json_t *levels = json_array(), *columns = json_array();
	uint64_t none = 0;
	int rc = 0;
	for (int k = 0; k < n.clusters->levels && !rc; k++)
		rc = name_level(&n, k, levels, err);
	for (int k = 0; k < n.rows->count; k++)
		if (n.used[k])
			json_array_append_new(columns, json_string(n.rows->column[k].name));
	for (uint32_t i = 0; i < n.clusters->n; i++)
		none += n.clusters->code[i] == SL_MAP_NONE;
	*out = json_pack("{s:o, s:o, s:I, s:I}", "columns", columns, "levels", levels, "nodes",
			 (json_int_t)n.clusters->n, "unclustered", (json_int_t)none);
	if (!rc && !*out)
		rc = sl_error_memory(err, "the names of clusters");
	if (rc) {
		json_decref(*out);
		*out = NULL;
	}
	return rc;
}
