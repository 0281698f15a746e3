#include <math.h>

#include "core/formats/read_points.h"
#include "tests/fuzz/fuzz.h"

/* projected: a sparse table may have been projected while it was read; its report has the original columns. */
static void check_points(const struct sl_points *p, bool projected)
{
	PROMISE(p->n >= 2 && p->n <= p->n_user && p->n_user <= fuzz_limits.max_nodes && p->d > 0);
	PROMISE((uint64_t)p->n_user * p->d <= fuzz_limits.max_entries && p->n + p->report.not_finite == p->n_user);
	PROMISE(p->report.duplicates < p->n && p->report.zero_rows <= p->n);
	PROMISE(projected || p->report.constant_columns <= p->d);
	PROMISE((p->user != NULL) == (p->n < p->n_user));
	float *row = malloc(p->d * sizeof *row);
	for (uint32_t i = 0; row && i < p->n; i++) {
		PROMISE(!p->user || (p->user[i] < p->n_user && (!i || p->user[i - 1] < p->user[i])));
		sl_points_rows(p, i, 1, row);
		for (uint32_t k = 0; k < p->d; k++)
			PROMISE(isfinite(row[k]));
	}
	free(row);
	for (uint32_t i = 0; p->name_bytes && i < p->n_user; i++)
		PROMISE(strlen(p->name_bytes + p->name_at[i]) + 1 == p->name_at[i + 1] - p->name_at[i]);
	for (uint32_t i = 0; p->label && i < p->n_user; i++)
		PROMISE(p->label[i] == SL_UNLABELLED || (p->label[i] < p->labels && *p->label_name[p->label[i]]));
	for (uint32_t k = 0; k < p->more_count; k++)
		for (uint32_t i = 0; i < p->n_user; i++) {
			const struct sl_more_labels *more = &p->more[k];
			PROMISE(more->label[i] == SL_UNLABELLED ||
				(more->label[i] < more->labels && *more->label_name[more->label[i]]));
		}
}

static void check_neighbours(const struct sl_neighbours *nb)
{
	uint32_t rows = 0;
	PROMISE(nb->n >= 1 && nb->n <= fuzz_limits.max_nodes && nb->k >= 1 && nb->n == nb->n_user);
	for (uint32_t i = 0; i < nb->n; i++) {
		const uint32_t *index = nb->index + (size_t)i * nb->k;
		const float *distance = nb->distance + (size_t)i * nb->k;
		for (uint32_t e = 0; e < nb->k; e++) {
			if (index[e] == SL_NO_NEIGHBOUR) {
				PROMISE(distance[e] == INFINITY && (e + 1 == nb->k || index[e + 1] == SL_NO_NEIGHBOUR));
				continue;
			}
			PROMISE(index[e] < nb->n && index[e] != i && isfinite(distance[e]) && distance[e] >= 0);
			PROMISE(!e || distance[e - 1] < distance[e] || (distance[e - 1] == distance[e] && index[e - 1] < index[e]));
		}
		rows += index[nb->k - 1] == SL_NO_NEIGHBOUR;
	}
	PROMISE(rows == nb->short_rows);
}

/* Reads with the detected kind, and with each requested kind. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	for (int k = 0; k < 4; k++) {
		static const enum sl_input_kind kinds[] = {SL_INPUT_AUTO, SL_INPUT_POINTS, SL_INPUT_POINTS,
				SL_INPUT_NEIGHBOURS};
		struct sl_input_options options = {.kind = kinds[k], .read = fuzz_limits, .drop_not_finite = k == 1,
						   .pca = k == 2 ? 2 : 0};
		struct sl_source *s;
		struct sl_input input;
		struct sl_error err = {0};
		if (sl_source_open_memory(&s, bytes, size, "input", &err))
			return 0;
		struct sl_account account;
		fuzz_account(&account, s);
		int rc = sl_input_read(&input, &options, s, &err);
		sl_source_close(s);
		/* a table of one column has no two axes */
		if (rc == SL_BADPARAM)
			PROMISE(options.pca && !strcmp(err.pointer, "/pca") && err.detail[0]);
		else if (rc)
			check_error(rc, &err);
		PROMISE((rc == 0) == (input.graph || input.points || input.neighbours));
		if (input.graph)
			check_graph(input.graph);
		if (input.points)
			check_points(input.points, options.pca > 0);
		if (input.neighbours)
			check_neighbours(input.neighbours);
		sl_input_finish(&input);
	}
	return 0;
}
