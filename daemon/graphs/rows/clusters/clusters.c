/* Clusters are found and named at the first request, off the loop, and kept in memory for the next ones: names of the
 * columns' present version only, since the key of the cache has that of their file. Names given by hand are not in the
 * cache; they belong to the job's record, and replace the automatic ones in the reply. */
#include "daemon/graphs/rows/clusters/clusters.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/formats/numpy/npy.h"
#include "daemon/files/job_files.h"
#include "daemon/graphs/rows/clusters/clusters_internal.h"
#include "daemon/json/json.h"
#include "daemon/users/bookings.h"
#include "daemon/users/users.h"

#define KEPT 32               /* results in the cache */
#define KEY_BYTES 1024

struct asked {
	struct sl_clusters_query query;
	char *text[6];                /* the query's, owned */
	json_t *given;
	struct sl_account account;
};

/* ---- the cache ------------------------------------------------------------------------------------------ */

struct kept {
	char *key;
	json_t *result;
	uint64_t used;
};

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;   /* guards the next two; held for a short time */
static struct kept cache[KEPT];
static uint64_t uses;
/* One result is made at a time: who waits for the same one finds it in the cache then. */
static pthread_mutex_t making_one = PTHREAD_MUTEX_INITIALIZER;

/* A copy, or NULL. */
static json_t *cache_find(const char *key)
{
	json_t *found = NULL;
	pthread_mutex_lock(&cache_lock);
	for (int k = 0; k < KEPT && !found; k++)
		if (cache[k].key && !strcmp(cache[k].key, key)) {
			cache[k].used = ++uses;
			found = json_deep_copy(cache[k].result);
		}
	pthread_mutex_unlock(&cache_lock);
	return found;
}

static void cache_add(const char *key, const json_t *result)
{
	struct kept added = {strdup(key), json_deep_copy(result), 0};
	if (!added.key || !added.result) {   /* it is made again */
		free(added.key);
		json_decref(added.result);
		return;
	}
	pthread_mutex_lock(&cache_lock);
	struct kept *oldest = &cache[0];
	for (int k = 1; k < KEPT; k++)
		if (cache[k].used < oldest->used)
			oldest = &cache[k];
	struct kept old = *oldest;
	added.used = ++uses;
	*oldest = added;
	pthread_mutex_unlock(&cache_lock);
	free(old.key);
	json_decref(old.result);
}

/* Job, request, and the version of the columns. */
static bool key_of(const struct sl_clusters_query *q, const char *columns_path, char key[KEY_BYTES])
{
	struct stat st;
	if (stat(columns_path, &st))
		memset(&st, 0, sizeof st);
	return snprintf(key, KEY_BYTES, "%s %s %llu %lld.%09ld %lld %s%s%s", q->job, q->from ? q->from : "-",
			(unsigned long long)st.st_ino, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec, (long long)st.st_size,
			q->blind ? "blind " : "", q->columns ? "of " : "", q->columns ? q->columns : "") < KEY_BYTES;
}

/* ---- finding them -------------------------------------------------------------------------------------------- */

/* The labels of another job, i32 [n]. */
static int read_labels(const struct sl_clusters_query *q, uint32_t n, uint32_t **out, uint32_t *labels,
		       struct sl_error *err)
{
	char type[4];
	uint32_t shape[3];
	void *file = NULL;
	size_t bytes;
	*labels = 0;
	*out = NULL;
	int rc = sl_job_file_read(q->folder, q->from, q->array, &file, &bytes, err);
	bool fine = !rc && bytes == SL_NPY_HEADER_BYTES + 4ull * n && sl_npy_header_read(file, type, shape) &&
		    !strcmp(type, "<i4") && shape[0] == n;
	if (!rc && !fine)
		rc = sl_error_set(err, SL_CONFLICT, "The labels of job %s are not those of %u nodes.", q->from, n);
	if (!rc && !(*out = malloc((n + 1ull) * sizeof **out)))
		rc = sl_error_memory(err, "labels");
	for (uint32_t i = 0; i < n && !rc; i++) {
		memcpy(&(*out)[i], (const char *)file + SL_NPY_HEADER_BYTES + 4 * (size_t)i, 4);
		if ((*out)[i] >= n)
			(*out)[i] = SL_MAP_NONE;   /* -1: none */
		else if ((*out)[i] >= *labels)
			*labels = (*out)[i] + 1;
	}
	free(file);
	return rc;
}

static int find(const struct sl_clusters_query *q, const float *y, uint32_t nodes, struct sl_map_clusters **out,
		struct sl_error *err)
{
	uint32_t *label = NULL, labels;
	if (!q->from)
		return sl_map_clusters_make(y, nodes, q->dims, out, err);
	int rc = read_labels(q, nodes, &label, &labels, err);
	if (!rc)
		rc = sl_map_clusters_of_labels(y, nodes, q->dims, label, labels, out, err);
	free(label);
	return rc;
}

static int find_and_name(const struct sl_clusters_query *q, struct sl__rows *rows, const float *y, json_t **out,
			 struct sl_error *err)
{
	struct sl_map_clusters *clusters = NULL;
	struct sl__naming n = {.rows = rows, .blind = q->blind};
	struct timespec began, ended;
	clock_gettime(CLOCK_MONOTONIC, &began);
	int rc = find(q, y, rows->q->nodes, &clusters, err);
	n.clusters = clusters;
	if (!rc) {
		rc = sl__counting(&n, q->columns, &rows->q->s->cancel, err);
		if (!rc)
			rc = sl__naming_json(&n, out, err);
		sl__counting_finish(&n);
	}
	sl_map_clusters_free(clusters);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	if (!rc) {
		json_object_set_new(*out, "job", json_string(q->job));
		json_object_set_new(*out, "graph", json_string(q->graph));
		json_object_set_new(*out, "clusters_of", q->from ? json_string(q->from) : json_null());
		json_object_set_new(*out, "seconds", json_real((double)(ended.tv_sec - began.tv_sec) +
				    1e-9 * (double)(ended.tv_nsec - began.tv_nsec)));
	}
	return rc;
}

static int read_layout(const struct sl_clusters_query *q, uint32_t nodes, float **y, struct sl_error *err)
{
	return sl_job_file_read_layout(q->folder, q->job, "npy", nodes, q->dims, y, err);
}

/* y NULL: it is read if it is needed. */
static int get(const struct sl_clusters_query *q, struct sl__rows *rows, const float *y, json_t **out,
	       struct sl_error *err)
{
	char key[KEY_BYTES];
	float *own = NULL;
	int rc = 0;
	if (!key_of(q, rows->path, key))
		return sl_error_field(err, SL_BADPARAM, "?columns", "columns is too long");
	if ((*out = cache_find(key)))
		return 0;
	pthread_mutex_lock(&making_one);
	*out = cache_find(key);
	if (!*out && !y)
		rc = read_layout(q, rows->q->nodes, &own, err);
	if (!*out && !rc)
		rc = find_and_name(q, rows, y ? y : own, out, err);
	pthread_mutex_unlock(&making_one);
	free(own);
	if (!rc)
		cache_add(key, *out);
	return rc;
}

/* ---- names given by hand ---------------------------------------------------------------------------------- */

bool sl_cluster_id(const char *id, uint32_t nodes)
{
	char *end;
	if (id[0] < '0' || id[0] >= '0' + SL_MAP_LEVELS || id[1] != '-' || id[2] < '0' || id[2] > '9' || strlen(id) > 12)
		return false;
	unsigned long node = strtoul(id + 2, &end, 10);
	return !*end && node < nodes;
}

static json_t *cluster_of(json_t *result, const char *id)
{
	size_t i, j;
	json_t *level, *cluster;
	json_array_foreach(json_object_get(result, "levels"), i, level)
		json_array_foreach(json_object_get(level, "clusters"), j, cluster)
			if (!strcmp(json_string_value(json_object_get(cluster, "id")), id))
				return cluster;
	return NULL;
}

/* Names of clusters that are not there, as those of another clustering, are listed apart. */
static void give_names(json_t *result, const json_t *given)
{
	json_t *unplaced = json_array(), *one;
	size_t i;
	json_array_foreach((json_t *)given, i, one) {
		json_t *cluster = cluster_of(result, json_string_value(json_object_get(one, "cluster")));
		if (!cluster) {
			json_array_append(unplaced, one);
			continue;
		}
		json_object_set(cluster, "name", json_object_get(one, "name"));
		json_object_set(cluster, "by", json_object_get(one, "by"));
		json_object_set(cluster, "at", json_object_get(one, "at"));
		json_object_set_new(cluster, "given", json_true());
	}
	json_object_set_new(result, "unplaced", unplaced);
}

/* ---- requests ---------------------------------------------------------------------------------------------- */

static void asked_free(void *more)
{
	struct asked *a = more;
	for (size_t k = 0; k < sizeof a->text / sizeof *a->text; k++)
		free(a->text[k]);
	json_decref(a->given);
	if (a->account.give)
		sl_account_close(&a->account);
	free(a);
}

/* The clusters of the nodes at a level. */
static int answer_codes(struct sl__question *q, const struct sl_clusters_query *query)
{
	struct sl_map_clusters *c = NULL;
	float *y = NULL;
	int rc = read_layout(query, q->nodes, &y, &q->err);
	if (!rc)
		rc = find(query, y, q->nodes, &c, &q->err);
	free(y);
	if (!rc && query->level >= c->levels)
		rc = sl_error_field(&q->err, SL_BADPARAM, "?level", "the layout has %d levels of clusters, counted from 0",
				    c->levels);
	if (!rc)
		rc = sl_buffer_book(&q->bytes, (size_t)q->nodes * 4, &q->err);
	for (uint32_t i = 0; i < q->nodes && !rc; i++) {
		uint32_t code = sl_map_cluster_at(c, query->level, c->code[i]);
		memcpy(q->bytes->data + 4 * (size_t)i, &code, 4);
	}
	q->media_type = "application/octet-stream";
	sl_map_clusters_free(c);
	return rc;
}

static int make(struct sl__question *q)
{
	struct asked *a = q->more;
	struct sl__rows rows = {0};
	if (a->query.level >= 0)
		return answer_codes(q, &a->query);
	int rc = sl__rows_open(&rows, q, &a->account, &q->err);
	if (!rc)
		rc = get(&a->query, &rows, NULL, &q->answer, &q->err);
	if (!rc)
		give_names(q->answer, a->given);
	sl__rows_close(&rows);
	return rc;
}

void sl_clusters_reply(struct sl_graphs *s, const struct sl_clusters_query *q, struct sl_request *r)
{
	struct asked *a = calloc(1, sizeof *a);
	const char *text[] = {q->folder, q->job, q->graph, q->columns, q->from, q->array};
	bool fine = a != NULL;
	for (size_t k = 0; k < sizeof text / sizeof *text && fine; k++)
		fine = !text[k] || (a->text[k] = strdup(text[k]));
	if (fine && q->given)
		fine = (a->given = json_deep_copy(q->given)) != NULL;
	if (!fine) {
		if (a)
			asked_free(a);
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the request.");
		return;
	}
	a->query = (struct sl_clusters_query){.folder = a->text[0], .job = a->text[1], .graph = a->text[2],
					      .dims = q->dims, .columns = a->text[3], .from = a->text[4], .array = a->text[5],
					      .level = q->level, .blind = q->blind};
	a->account = sl_bookings_account(s->d->bookings, SL_BOOK_READING, sl_request_who(r)->account);
	sl__question_ask_more(s, q->graph, &(struct sl_nodes_query){0}, 1u << SL_PART_DATA, make, a, asked_free, r);
}

int sl_clusters_named(struct sl_graphs *s, const struct sl_clusters_query *q, const float *y, uint32_t nodes,
		      const char *own, struct sl_content *content, struct sl_account *account, json_t **out,
		      struct sl_error *err)
{
	struct sl__question *question = calloc(1, sizeof *question);
	struct sl__rows rows = {0};
	if (!question)
		return sl_error_memory(err, "the clusters of a layout");
	question->s = s;
	question->nodes = nodes;
	question->part[SL_PART_DATA] = content;
	snprintf(question->id, sizeof question->id, "%s", q->graph);
	snprintf(question->own, sizeof question->own, "%s", own);
	int rc = sl__rows_open(&rows, question, account, err);
	if (!rc)
		rc = get(q, &rows, y, out, err);
	if (!rc)
		give_names(*out, q->given);
	sl__rows_close(&rows);
	free(question);
	return rc;
}
