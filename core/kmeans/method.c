/* k-means as an entry of the table of methods: a run in slices, with a trace of its inertia.
 *
 * Iterations are counted over all restarts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/kmeans/kmeans.h"
#include "core/kmeans/passes.h"
#include "core/method/method.h"
#include "core/method/sliced.h"
#include "core/points/points.h"

struct run {
	struct sl_sliced slices;         /* iterations of all restarts */
	struct sl_kmeans *of;
	const struct sl_points *points;  /* borrowed */
	struct sl_kmeans_params params;
	struct sl_kmeans_status status;
	uint32_t n, d;
};

static int iterations(const void *params)
{
	const struct sl_kmeans_params *p = params;
	return p->iterations * p->restarts;
}

#define FETCHED (1u << 20)  /* distances fetched from a device at a time */

/* The values of the points, a few numbers for each point, a bound for each point and 32 centroids; tables of centroids;
 * candidates for seeds. */
static uint64_t host_bytes(const void *params, uint32_t n, uint32_t d)
{
	const struct sl_kmeans_params *p = params;
	uint64_t k = (uint64_t)p->clusters, panels = (k + 31) / 32, tables = panels * 32 * d * 4 + k * d * 24 + k * 24;
	uint64_t point = 4ull * d + 28 + 4 * panels, rows = sl_kmeans_sample(p, n);
	uint64_t seeds = 24ull * sl_kmeans_candidates(p, rows ? (uint32_t)rows : n) + FETCHED;
	uint64_t shorter = sl_kmeans_columns_bytes(p, n, d);
	return n * point + tables + seeds + shorter + (rows ? rows * (point + 4ull * d) + tables + k * (4ull * d + 8) : 0);
}

static uint64_t disk_bytes(const void *params, uint32_t n, uint32_t d, bool centered)
{
	const struct sl_kmeans_params *p = params;
	uint64_t value = centered && p->metric != SL_KMEANS_COSINE ? sizeof(double) : sizeof(float);
	return 4 * (uint64_t)n + value * (uint64_t)p->clusters * d;
}

/* Times of one core. Points without structure (100,000 x 50, 200 clusters), where bounds save little, took 217
 * iterations of 42 ms each on two busy cores. Points in clusters need fewer and cheaper iterations. The forecast lies
 * between the two. */
#define SCORE_S 8e-11     /* for each point, centroid and column */
#define EXACT_S 2.5e-10   /* for each point and column: seeds, exact distances, sums */
#define SEED_PASSES 8     /* of k-means||, which has up to 11 groups of k candidates */
#define FULL_PASSES 40    /* the work of all iterations, in passes that score all centroids */
#define PASSES 100

static double seconds(const void *params, uint32_t n, uint32_t d, int threads)
{
	const struct sl_kmeans_params *p = params;
	uint32_t columns = sl_kmeans_columns(p, n, d);
	double width = d < 4 ? 4 : d, values = n * width, k = p->clusters, passes = fmin(p->iterations, PASSES);
	double score = SCORE_S * (columns ? columns : width), scores = n * k * score;
	if (p->batch) {
		double rows = sl_kmeans_sample(p, n) + passes * fmin(p->batch, n);
		return p->restarts * (rows + 2.0 * n) * (k * score + 4 * width * EXACT_S) / (threads > 1 ? threads : 1);
	}
	bool parallel = p->seeding == SL_KMEANS_PARALLEL;
	double seeds = parallel ? scores * SEED_PASSES : n * k * EXACT_S * (columns ? columns : width);
	double each = seeds + scores * fmin(passes, FULL_PASSES) + values * EXACT_S * 2 * passes;
	return p->restarts * each / (threads > 1 ? threads : 1);
}

/* ---- the start -------------------------------------------------------------------------- */

static int start(void *params, uint32_t parts, struct sl_error *err)
{
	struct sl_kmeans_params *p = params, usual;
	sl_param_defaults(&sl_kmeans_table, &usual);
	if (p->restarts > 1)
		return sl_error_field(err, SL_BADPARAM, "/restarts", "restarts is %d; from a given start all restarts would be "
				      "the same, so it must be 1.", p->restarts);
	if (p->clusters == usual.clusters)
		p->clusters = (int)parts;
	if (p->clusters != (int)parts)
		return sl_error_field(err, SL_BADPARAM, "/clusters", "The start has %u clusters; clusters must be %u, or be "
				      "left out.", parts, parts);
	return 0;
}

/* Makes initial centroids [k][d] of given labels: the means of the rows with each label; for cosine, of the rows
 * scaled to length 1. */
static int centroids_of_labels(const struct sl_method_input *in, uint32_t k, bool scaled, float **out,
			       struct sl_error *err)
{
	const struct sl_points *p = NULL;
	int code = scaled ? sl_points_uncentred(&p, in->points, SL_OFFSETS_VALUES, "cosine", err) : 0;
	if (code)
		return code;
	p = p ? p : in->points;
	uint32_t d = p->d, c = 0;
	double *sum = calloc((size_t)k * d, sizeof *sum), *count = calloc(k, sizeof *count);
	float *row = malloc(d * sizeof *row), *mean = malloc((size_t)k * d * sizeof *mean);
	code = sum && count && row && mean ? 0 : sl_error_memory(err, "k-means");
	for (uint32_t i = 0; !code && i < p->n; i++) {
		double label = in->start[p->user ? p->user[i] : i];
		double length = 0;
		if (label < 0 || label >= k)
			continue;
		sl_points_rows(p, i, 1, row);
		for (uint32_t a = 0; scaled && a < d; a++)
			length += (double)row[a] * (double)row[a];
		double weight = scaled && length > 0 ? 1 / sqrt(length) : 1;
		for (uint32_t a = 0; a < d; a++)
			sum[(size_t)label * d + a] += weight * (double)row[a];
		count[(size_t)label]++;
	}
	while (!code && c < k && count[c] > 0)
		c++;
	if (!code && c < k)
		code = sl_error_field(err, SL_BADPARAM, "/initial", "No point begins in cluster %u, counted from 0; each of "
				      "the %u must have one.", c, k);
	for (size_t at = 0; !code && at < (size_t)k * d; at++)
		mean[at] = (float)(sum[at] / count[at / d]);
	sl_points_uncentred_end(p, in->points);
	free(sum);
	free(count);
	free(row);
	if (code)
		free(mean);
	else
		*out = mean;
	return code;
}

/* Makes initial centroids [k][d] of `start`, which is in the user's units: points may have a center. The caller frees
 * *out. SL_NOMEM. */
static int centroids_of(const struct sl_points *points, int metric, const double *start, uint32_t k,
			float **out, struct sl_error *err)
{
	const double *center = metric == SL_KMEANS_COSINE ? NULL : sl_points_own_center(points);
	size_t values = (size_t)k * points->d;
	float *to = *out = malloc((values + 1) * sizeof *to);
	if (!to)
		return sl_error_memory(err, "%u initial centroids", k);
	for (size_t at = 0; at < values; at++)
		to[at] = (float)(start[at] - (center ? center[at % points->d] : 0));
	return 0;
}

/* ---- a device --------------------------------------------------------------------------- */

static uint64_t device_bytes(const void *params, uint32_t n, uint32_t d)
{
	return sl_kmeans_device_bytes((uint32_t)((const struct sl_kmeans_params *)params)->clusters, n, d);
}

/* ---- slices ----------------------------------------------------------------------------- */

static int compute(void *run, double ms, bool *ended, struct sl_error *err)
{
	struct run *r = run;
	int restart = r->status.restart, iteration = r->status.iteration;
	bool step_ended;
	int code = sl_kmeans_advance(r->of, ms, &step_ended, &r->status, err);
	*ended = !code && r->status.restart == restart && r->status.iteration > iteration;
	r->slices.progress.iteration += *ended && ms > 0;
	r->slices.done = r->status.done;
	return code;
}

static int note(void *run, bool due, struct sl_error *err)
{
	struct run *r = run;
	return !due || sl_progress_note(&r->slices.progress, r->status.current, err) ? 0 : SL_NOMEM;
}

/* Reports the least inertia so far. */
static void tell(const void *run, struct sl_status *status)
{
	const struct run *r = run;
	const struct sl_kmeans_status *s = &r->status;
	status->iterations = iterations(&r->params);
	status->measure = s->done ? s->inertia : fmin(s->inertia, s->current);
	if (s->done)
		status->stop = s->converged ? SL_STOP_CONVERGED : SL_STOP_ITERATIONS;
}

SL_SLICED_OF(kmeans);

static const struct sl_sliced_ops ops = {
	.magic = "slmk 1\n", .dense = 1000, .compute = compute, .note = note, .tell = tell, SL_SLICED_OPS,
};

static int create(void **out, const struct sl_method_input *in, const void *params, struct sl_error *err)
{
	float *centroid = NULL;
	struct run *r = sl_sliced_create(&ops, sizeof *r, "k-means", err);
	if (!r)
		return SL_NOMEM;
	r->params = *(const struct sl_kmeans_params *)params;
	r->points = in->points;
	r->n = in->points->n;
	r->d = in->points->d;
	r->status.inertia = r->status.current = NAN;
	int code = 0;
	if (in->start_kind == SL_START_LABELS)
		code = centroids_of_labels(in, (uint32_t)r->params.clusters, r->params.metric == SL_KMEANS_COSINE, &centroid,
					   err);
	else if (in->start_kind == SL_START_MEANS)
		code = centroids_of(in->points, r->params.metric, in->start, (uint32_t)r->params.clusters, &centroid, err);
	if (!code)
		code = sl_kmeans_create(&r->of, in->points, &r->params, centroid, err);
	free(centroid);
	return sl_sliced_made(r, code, out);
}

/* ---- results ---------------------------------------------------------------------------- */

/* A sentence on what is not as the parameters ask: clusters that stayed empty, by the labels of the result, or a batch
 * of more rows than there are. "": nothing. Returns out. */
static const char *note_of(const struct sl_kmeans_params *params, uint32_t n, const uint32_t *label, char *out,
			   size_t size)
{
	uint32_t k = (uint32_t)params->clusters, empty = k;
	bool *used = calloc(k, sizeof *used);
	for (uint32_t i = 0; used && i < n; i++) {
		empty -= !used[label[i]];
		used[label[i]] = true;
	}
	out[0] = '\0';
	if (used && empty)
		snprintf(out, size, "%u of %u clusters %s empty, since fewer than %u %s differ, or since the last assignment "
			 "took all their points. Use fewer clusters.", empty, k, empty == 1 ? "is" : "are", k,
			 params->metric == SL_KMEANS_COSINE ? "directions of points" : "points");
	free(used);
	if (!out[0] && params->batch > 0 && (uint32_t)params->batch > n)
		snprintf(out, size, "batch is %d, but there are only %u points; each iteration used %u of them.",
			 params->batch, n, n);
	return out;
}

/* Puts the centroids into the user's units. */
static int to_users_units(const struct run *r, struct sl_method_array *a, struct sl_error *err)
{
	const double *center = r->params.metric == SL_KMEANS_COSINE ? NULL : sl_points_own_center(r->points);
	if (!center)
		return 0;
	double *wide = malloc(((size_t)a->shape[0] * r->d + 1) * sizeof *wide);
	if (!wide)
		return sl_error_memory(err, "%u centroids", a->shape[0]);
	sl_points_add_center(center, a->shape[0], r->d, a->data, wide);
	free(a->data);
	a->data = wide;
	a->type = SL_ARRAY_FLOAT64;
	return 0;
}

static int result(void *run, struct sl_method_result *out, struct sl_error *err)
{
	const struct run *r = run;
	uint32_t k = (uint32_t)r->params.clusters, rows = r->points->n_user;
	uint32_t *label = malloc(rows * sizeof *label);
	float *centroid = malloc((size_t)k * r->d * sizeof *centroid);
	int code = label && centroid ? sl_kmeans_result(r->of, label, centroid, NULL, err) :
				       sl_error_memory(err, "%u labels", rows);
	*out = (struct sl_method_result){.count = 2, .parts = k, .array = {{"labels", SL_ARRAY_INT32, {rows}, label},
							       {"centroids", SL_ARRAY_FLOAT32, {k, r->d}, centroid}}};
	code = code ? code : to_users_units(r, &out->array[1], err);
	if (!code)
		note_of(&r->params, r->n, label, out->note, sizeof out->note);
	if (code)
		sl_method_result_finish(out);
	else
		sl_points_spread(r->points, label, sizeof *label, 0xff);  /* -1 */
	return code;
}

static const struct sl_method_output results[] = {
	{"labels", "the cluster of each node", "in"}, {"centroids", "the centroids, one row per cluster", "rkd"},
	{NULL, NULL, NULL},
};

static bool absolute(const void *params)
{
	return ((const struct sl_kmeans_params *)params)->metric == SL_KMEANS_COSINE;
}

static int check_data(const void *params, const struct sl_method_data *data, struct sl_error *err)
{
	return absolute(params) && data->coarse ?
	       sl_error_field(err, SL_BADDATA, "/metric", "%s", data->coarse) : 0;
}

extern const struct sl_method sl_method_kmeans;
const struct sl_method sl_method_kmeans = {
	.name = "kmeans", .title = "k-means",
	.doc = "Clusters of points or of a layout, such that points lie near the means of theirs (k-means).",
	.summary = "put points into clusters",
	.about = "Points are put into clusters such that the sum of squared distances from points to the centroid of their "
		 "cluster, the inertia, is small (Lloyd's iterations from k-means++ seeds).",
	.measure = "inertia", .measure_title = "inertia", .converges = true,
	.takes = SL_TAKES_POINTS | SL_TAKES_LAYOUT, .results = results,
	.relief = "Use fewer clusters.", .doing = {"cluster", "clustering"}, .devices = "The clusters are the same.",
	.params = &sl_kmeans_table, .params_bytes = sizeof(struct sl_kmeans_params),
	.check = sl_kmeans_check, .check_data = check_data, .iterations = iterations, .host_bytes = host_bytes,
	.seconds = seconds, .disk_bytes = disk_bytes, .start = start, .parts = "clusters", .start_file = SL_START_MEANS,
	.start_doc = "these centroids, one row per cluster, instead of k-means++ seeds", .absolute = absolute,
	.operation = SL_KMEANS_PASSES, .operates_on = SL_TAKES_POINTS, .device_bytes = device_bytes,
	.attach = attach, .result = result, .create = create, SL_SLICED,
};
