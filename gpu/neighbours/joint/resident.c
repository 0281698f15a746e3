/* Neighbours that stay on the device, and P made from them. A neighbour takes 8 bytes and is renumbered so that
 * neighbours are near in memory. The edges sorted by target and the lengths of P's rows are computed again for each P,
 * since this is fast and storing them would take much memory. */
#include "gpu/neighbours/joint/resident.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/order.h"
#include "core/graph/perplexity.h"
#include "core/neighbours/neighbours.h"
#include "gpu/neighbours/joint/joint.h"

#define ENTRIES_MAX 0xffffff00u  /* a 32-bit counter may exceed it by the width of a warp */
#define ORDER_WIDTH 32u  /* neighbours of a node that the order uses */

/* ---- arrival ------------------------------------------------------------------------- */

static int check(struct sl_device *d, const struct sl_neighbours *nb, const uint32_t *index, const float *distance,
		 struct sl_error *err)
{
	struct sl_joint_report *report = NULL, host_report;
	int code = sl__device_alloc(d, sizeof *report, "A report", &report, err);
	if (code)
		return code;
	SL_CUDA(cudaMemsetAsync(report, 0xff, sizeof *report, d->stream));
	SL_CUDA(sl__joint_check(nb->n, nb->k, index, distance, report, d->stream));
	SL_CUDA(sl__fetch(&host_report, report, sizeof host_report, d->stream));
	if (host_report.bad != UINT32_MAX)
		code = sl_error_set(err, SL_BADDATA, "The neighbours of point %u are not other points by ascending, finite "
				    "distances.", nb->user ? nb->user[host_report.bad] : host_report.bad);
out:
	sl__device_free(d, report, sizeof *report);
	return code;
}

static void set_users(struct sl_device_neighbours *r, const struct sl_neighbours *nb, const uint32_t *old_of)
{
	for (uint32_t i = 0; i < r->n; i++) {
		uint32_t old = old_of ? old_of[i] : i;
		r->user[i] = nb->user ? nb->user[old] : old;
	}
}

/* Renumbers nodes for locality. index, distance: as uploaded. */
static int reorder(struct sl_device_neighbours *r, const struct sl_neighbours *nb, const uint32_t *index,
		   const float *distance, struct sl_error *err)
{
	struct sl_device *d = r->device;
	uint64_t bytes = sl__aligned(r->n * 4ull);
	uint32_t *old_of = NULL, *host = malloc(r->n * 4ull + 4);
	char *memory = NULL;
	int code = host ? sl__device_alloc(d, 2 * bytes, "An order of the nodes", &memory, err) :
			  sl_error_memory(err, "an order of %u nodes", r->n);
	if (code)
		goto out;
	old_of = (uint32_t *)memory;
	SL_TRY(sl__joint_order(d, r->n, r->k, r->k < ORDER_WIDTH ? r->k : ORDER_WIDTH, index, old_of,
			       (uint32_t *)(memory + bytes), err));
	SL_CUDA(sl__joint_renumber(r->n, r->k, index, distance, (uint32_t *)(memory + bytes), old_of, r->index, r->distance,
				   d->stream));
	SL_CUDA(sl__fetch(host, old_of, r->n * 4ull, d->stream));
	set_users(r, nb, host);
out:
	sl__device_free(d, memory, 2 * bytes);
	free(host);
	return code;
}

static int bring(struct sl_device_neighbours *r, const struct sl_neighbours *nb, struct sl_error *err)
{
	struct sl_device *d = r->device;
	uint64_t entries = (uint64_t)r->n * r->k, bytes = sl__aligned(entries * 4);
	bool ordered = sl__order_choose(r->n) != SL_ORDER_NONE;
	char *arrived = NULL;
	int code = ordered ? sl__device_alloc(d, 2 * bytes, "Neighbours", &arrived, err) : 0;
	if (code)
		return code;
	uint32_t *index = ordered ? (uint32_t *)arrived : r->index;
	float *distance = ordered ? (float *)(arrived + bytes) : r->distance;
	SL_CUDA(cudaMemcpyAsync(index, nb->index, entries * 4, cudaMemcpyHostToDevice, d->stream));
	SL_CUDA(cudaMemcpyAsync(distance, nb->distance, entries * 4, cudaMemcpyHostToDevice, d->stream));
	SL_TRY(check(d, nb, index, distance, err));
	if (ordered)
		code = reorder(r, nb, index, distance, err);
	else
		set_users(r, nb, NULL);
out:
	sl__device_free(d, arrived, 2 * bytes);
	return code;
}

int sl__neighbours_put(struct sl_device *d, const struct sl_neighbours *nb, struct sl_device_neighbours **out,
		       struct sl_error *err)
{
	char what[96];
	struct sl_device_neighbours *r = calloc(1, sizeof *r);
	uint64_t bytes = sl__aligned((uint64_t)nb->n * nb->k * 4);
	int code = 0;
	SL_TRY(sl__graph_fits(nb->n, err));
	SL_TRY(sl__device_enter(d, err));
	if (!r || !(r->user = malloc(nb->n * 4ull + 4))) {
		code = sl_error_memory(err, "the neighbours of %u points", nb->n);
		goto out;
	}
	if (!nb->n || !nb->k || (uint64_t)nb->n * nb->k > ENTRIES_MAX) {
		code = sl_error_set(err, SL_TOOBIG, "%u neighbours of %u points; the GPU takes 1 to %u in all.", nb->k, nb->n,
				    ENTRIES_MAX);
		goto out;
	}
	r->device = d;
	r->n = nb->n;
	r->k = nb->k;
	r->n_user = nb->n_user;
	r->bytes = 2 * bytes;
	snprintf(what, sizeof what, "%u neighbours of %u points", nb->k, nb->n);
	SL_TRY(sl__device_alloc(d, r->bytes, what, &r->memory, err));
	d->graph_bytes += r->bytes;
	r->index = (uint32_t *)r->memory;
	r->distance = (float *)(r->memory + bytes);
	SL_CUDA(sl__joint_init());
	bool failed;
	r->axes = sl_neighbours_axes_of_users(nb, &failed);
	code = failed ? sl_error_memory(err, "the principal axes of %u points", nb->n) : bring(r, nb, err);
out:
	if (code)
		sl__neighbours_drop(r);
	else
		*out = r;
	return code;
}

void sl__neighbours_drop(struct sl_device_neighbours *r)
{
	if (!r)
		return;
	if (r->memory) {
		sl__device_enter(r->device, NULL);
		r->device->graph_bytes -= r->bytes;
		sl__device_free(r->device, r->memory, r->bytes);
	}
	free(r->user);
	free(r->axes);
	free(r);
}

/* ---- P ---------------------------------------------------------------------------------- */

/* Device memory that is used while P is made. */
struct making {
	struct sl_device_neighbours *nb;
	struct sl_calibration calibration;
	struct sl_joint joint;
	uint32_t *node, *edge, *target, *from, *from_start, *length, *flag;
	float *p;
	uint64_t *start, *new_of;
	double *part, *entropy;
	struct sl_joint_report *report, host_report;
	void *room;
	uint64_t room_bytes;
	char *memory;
	uint64_t bytes;
	uint32_t n;        /* rows of P */
	uint64_t m;
	double sum_p_log_p;
};

static uint64_t lay_out(struct making *k, char *memory)
{
	char *at = memory;
	uint64_t n = k->nb->n, edges = n * k->joint.width;
	k->node = sl__carve(&at, edges * 4);
	k->p = sl__carve(&at, edges * 4);
	k->edge = sl__carve(&at, edges * 4);
	k->target = sl__carve(&at, edges * 4);
	k->from = sl__carve(&at, edges * 4);
	k->from_start = sl__carve(&at, (n + 1) * 4);
	k->length = sl__carve(&at, n * 4);
	k->flag = sl__carve(&at, n * 4);
	k->start = sl__carve(&at, (n + 1) * 8);
	k->new_of = sl__carve(&at, (n + 1) * 8);
	k->part = sl__carve(&at, SL_JOINT_PARTS * 8);
	k->entropy = sl__carve(&at, 8);
	k->report = sl__carve(&at, sizeof *k->report);
	k->room = sl__carve(&at, k->room_bytes);
	return (uint64_t)(at - memory);
}

static int settle(struct making *k, const struct sl_affinities_params *params, struct sl_error *err)
{
	struct sl_neighbours known = {.n = k->nb->n, .k = k->nb->k};
	double perplexity[SL_PARAM_LIST_MAX];
	uint32_t width = 1;
	int code = sl__perplexities_settle(&known, params, perplexity, &k->calibration.count, err);
	if (code)
		return code;
	for (int s = 0; s < k->calibration.count; s++) {
		uint32_t needs = sl__perplexity_needs(perplexity[s]);
		k->calibration.needs[s] = needs < known.k ? needs : known.k;
		k->calibration.perplexity[s] = (float)perplexity[s];
		k->calibration.target[s] = (float)log(perplexity[s]);
		width = k->calibration.needs[s] > width ? k->calibration.needs[s] : width;
	}
	if (width > SL_JOINT_WIDTH_MAX)
		return sl_error_field(err, SL_BADPARAM, "/perplexity", "perplexity is %g; on the GPU it can be at most %u.",
				      width / 3.0, SL_JOINT_WIDTH_MAX / 3);
	k->joint.n = known.n;
	k->joint.width = width;
	return 0;
}

/* Calibrates the rows, sorts the edges by target, computes the lengths of P's rows. */
static int prepare(struct making *k, struct sl_error *err)
{
	struct sl_device *d = k->nb->device;
	struct sl_joint *j = &k->joint;
	uint64_t edges = (uint64_t)j->n * j->width;
	int code = 0;
	SL_CUDA(cudaMemsetAsync(k->report, 0, sizeof *k->report, d->stream));
	SL_CUDA(sl__joint_calibrate(k->nb, &k->calibration, j->width, k->node, k->p, k->edge, k->report, d->stream));
	SL_CUDA(sl__sort_pairs(k->room, k->room_bytes, k->node, k->target, k->edge, k->from, edges,
			       sl__bits_for(j->n), d->stream));
	SL_CUDA(sl__run_starts(j->n, k->target, (uint32_t)edges, k->from_start, d->stream));
	j->node = k->node;
	j->p = k->p;
	j->from = k->from;
	j->from_start = k->from_start;
	SL_CUDA(sl__joint_lengths(j, k->length, k->report, d->stream));
	SL_CUDA(sl__sum_before(k->room, k->room_bytes, k->length, k->start, j->n, d->stream));
	SL_CUDA(cudaMemcpyAsync(&k->host_report, k->report, sizeof k->host_report, cudaMemcpyDeviceToHost, d->stream));
	SL_CUDA(sl__fetch(&k->m, k->start + j->n, sizeof k->m, d->stream));
	k->n = j->n - k->host_report.empty;
	if (!k->n || !k->host_report.rows)
		code = sl_error_set(err, SL_BADDATA, "No point has a neighbour.");
out:
	return code;
}

/* The starts of P's rows, without empty ones. start [n + 1], on the device. */
static int number_rows(struct making *k, uint64_t *start, struct sl_error *err)
{
	struct sl_device *d = k->nb->device;
	uint32_t n = k->joint.n;
	int code = 0;
	if (k->host_report.empty) {
		SL_CUDA(sl__joint_flags(k->length, n, k->flag, d->stream));
		SL_CUDA(sl__sum_before(k->room, k->room_bytes, k->flag, k->new_of, n, d->stream));
		SL_CUDA(sl__joint_close_up(k->start, k->length, k->new_of, n, start, d->stream));
	} else {
		SL_CUDA(cudaMemcpyAsync(start, k->start, (n + 1) * 8ull, cudaMemcpyDeviceToDevice, d->stream));
	}
out:
	return code;
}

/* This rank's share of P. Every rank makes all of P, and keeps its rows. */
static int choose_share(struct making *k, struct sl_share *share, uint32_t *parts, struct sl_error *err)
{
	struct sl_device *d = k->nb->device;
	uint64_t bytes = (k->joint.n + 1ull) * 8, *start = NULL, *host = malloc(bytes);
	int code = host ? sl__device_alloc(d, bytes, "Rows of P", &start, err) : sl_error_memory(err, "%u rows of P", k->n);
	SL_TRY(code);
	SL_TRY(number_rows(k, start, err));
	SL_CUDA(sl__fetch(host, start, (k->n + 1ull) * 8, d->stream));
	sl__graph_divide(k->n, host, d->ranks, parts);
	share->first = parts[d->rank];
	share->rows = parts[d->rank + 1] - share->first;
	share->begin = host[share->first];
	share->end = host[share->first + share->rows];
out:
	sl__device_free(d, start, bytes);
	free(host);
	return code;
}

static int pack_share(struct sl_device_graph *g, struct sl_error *err)
{
	const struct sl_rows *all = &g->rows;
	const struct sl_share *s = &g->share;
	struct sl_rows own = {.n = s->rows, .base = s->begin, .start = all->start + s->first, .node = all->node + s->begin,
			      .p = all->p + s->begin};
	int code = 0;
	SL_CUDA(sl__pack_rows(&own, &g->matrix, g->report, g->device->stream));
out:
	return code;
}

static int complete(struct making *k, struct sl_device_graph *g, struct sl_error *err)
{
	struct sl_device *d = k->nb->device;
	float scale = (float)(0.5 / k->host_report.rows);
	int code = 0;
	SL_TRY(number_rows(k, g->rows.start, err));
	SL_CUDA(sl__joint_fill(&k->joint, k->start, k->host_report.empty ? k->new_of : NULL, scale, g->rows.node, g->rows.p,
			       k->part, k->entropy, d->stream));
	SL_CUDA(sl__fetch(&k->sum_p_log_p, k->entropy, 8, d->stream));
	g->entropy = k->sum_p_log_p;
	SL_TRY(sl__is_divided(g) ? pack_share(g, err) : sl__graph_pack(g, err));
	SL_TRY(sl__graph_finish(g, err));
out:
	return code;
}

/* Selects the nodes of P: all, or those whose rows are not empty. */
static int take_users(struct making *k, struct sl_affinities *a, struct sl_error *err)
{
	struct sl_device_neighbours *nb = k->nb;
	uint32_t *length = NULL, at = 0;
	int code = 0;
	if (k->host_report.empty) {
		length = malloc(nb->n * 4ull);
		if (!length)
			return sl_error_memory(err, "%u points", nb->n);
		SL_CUDA(sl__fetch(length, k->length, nb->n * 4ull, nb->device->stream));
	}
	for (uint32_t i = 0; i < nb->n; i++)
		if (!length || length[i])
			a->user[at++] = nb->user[i];
out:
	free(length);
	return code;
}

static int take_axes(const struct sl_device_neighbours *nb, struct sl_affinities *a, struct sl_error *err)
{
	size_t bytes = (size_t)nb->n_user * SL_AXES * sizeof *a->axes;
	if (!nb->axes)
		return 0;
	if (!(a->axes = malloc(bytes)))
		return sl_error_memory(err, "the principal axes of %u points", nb->n);
	memcpy(a->axes, nb->axes, bytes);
	return 0;
}

int sl__neighbours_graph(struct sl_device_neighbours *nb, const struct sl_affinities_params *params,
			 struct sl_affinities **summary, struct sl_device_graph **out, struct sl_error *err)
{
	struct making k = {.nb = nb};
	struct sl_device *d = nb->device;
	struct sl_device_graph *g = NULL;
	struct sl_affinities *a = NULL;
	char what[96];
	int code = 0;
	SL_TRY(sl__device_enter(d, err));
	SL_TRY(settle(&k, params, err));
	k.room_bytes = sl__sort_bytes((uint64_t)nb->n * k.joint.width);
	k.bytes = lay_out(&k, NULL);
	snprintf(what, sizeof what, "Making P of %u neighbours of %u points", k.joint.width, nb->n);
	code = sl__device_alloc(d, k.bytes, what, &k.memory, err);
	if (code)
		return code;
	lay_out(&k, k.memory);
	SL_TRY(prepare(&k, err));
	struct sl_share share = {k.n, k.m, 0, k.n, 0, k.m};
	uint32_t parts[SL_RANKS_MAX + 1] = {0};
	if (sl__graph_divides(d, k.n))
		SL_TRY(choose_share(&k, &share, parts, err));
	SL_TRY(sl__graph_alloc(d, &share, &g, err));
	memcpy(g->parts, parts, sizeof parts);
	SL_TRY(sl__graph_rows(g, k.n, k.m, err));
	SL_TRY(complete(&k, g, err));
	a = calloc(1, sizeof *a);
	if (!a || !(a->user = malloc(k.n * 4ull + 4))) {
		code = sl_error_memory(err, "%u points", k.n);
		goto out;
	}
	a->n = k.n;
	a->n_user = nb->n_user;
	a->m = k.m;
	a->entropy = k.sum_p_log_p;
	a->unreachable = k.host_report.unreachable;
	SL_TRY(take_axes(nb, a, err));
	code = take_users(&k, a, err);
out:
	sl__device_free(d, k.memory, k.bytes);
	if (code) {
		sl__graph_drop(g);
		sl_affinities_destroy(a);
	} else {
		*out = g;
		*summary = a;
	}
	return code;
}
