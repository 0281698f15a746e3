/* Converts the weights of a coupling to the layout of the kernels: slices of rows, and a list of long rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/signal/coupling.h"
#include "gpu/device/device.h"
#include "gpu/signal/signal.h"

/* The same arrays in host memory. */
struct packed {
	const struct sl_coupling *c;
	struct sl_signal_matrix a;
};

static uint64_t length_of(const struct sl_coupling *c, uint32_t i)
{
	return c->start[i + 1] - c->start[i];
}

static void packed_finish(struct packed *p)
{
	free(p->a.slice);
	free(p->a.elsewhere);
	free(p->a.node);
	free(p->a.weight);
	free(p->a.row);
	free(p->a.start);
	free(p->a.listed_node);
	free(p->a.listed_weight);
}

/* Computes the starts of slices and finds long rows; returns the number of entries of the long rows. */
static uint64_t lay_out(struct packed *p)
{
	struct sl_signal_matrix *a = &p->a;
	uint64_t listed = 0;
	a->slice[0] = 0;
	for (uint32_t s = 0; s < a->slices; s++) {
		uint64_t longest = 0;
		a->elsewhere[s] = 0;
		for (uint32_t l = 0, i = s * SL_SIGNAL_SLICE; l < SL_SIGNAL_SLICE && i < a->n; l++, i++) {
			uint64_t length = length_of(p->c, i);
			if (length > SL_SIGNAL_WIDE) {
				a->elsewhere[s] |= 1u << l;
				a->hubs += length > SL_SIGNAL_HUB;
				a->wide += length <= SL_SIGNAL_HUB;
				listed += length;
			} else if (length > longest) {
				longest = length;
			}
		}
		a->slice[s + 1] = a->slice[s] + longest * SL_SIGNAL_SLICE;
	}
	return listed;
}

static void fill_slices(struct packed *p)
{
	struct sl_signal_matrix *a = &p->a;
	for (uint32_t s = 0; s < a->slices; s++)
		for (uint32_t l = 0; l < SL_SIGNAL_SLICE; l++) {
			uint32_t i = s * SL_SIGNAL_SLICE + l;
			bool here = i < a->n && !(a->elsewhere[s] >> l & 1);
			uint64_t from = here ? p->c->start[i] : 0, length = here ? length_of(p->c, i) : 0;
			for (uint64_t k = 0, at = a->slice[s] + l; at < a->slice[s + 1]; k++, at += SL_SIGNAL_SLICE) {
				a->node[at] = k < length ? p->c->node[from + k] : a->n;
				if (a->weight)
					a->weight[at] = k < length ? p->c->weight[from + k] : 0;
			}
		}
}

/* Lists the long rows: first the hubs, then the others, each in order of rows. */
static void fill_list(struct packed *p)
{
	struct sl_signal_matrix *a = &p->a;
	uint32_t count = 0;
	a->start[0] = 0;
	for (int hubs = 1; hubs >= 0; hubs--)
		for (uint32_t i = 0; i < a->linked; i++) {
			uint64_t length = length_of(p->c, i), to = a->start[count];
			if (length <= SL_SIGNAL_WIDE || (length > SL_SIGNAL_HUB) != hubs)
				continue;
			memcpy(a->listed_node + to, p->c->node + p->c->start[i], length * sizeof *a->listed_node);
			if (a->weight)
				memcpy(a->listed_weight + to, p->c->weight + p->c->start[i], length * sizeof *a->listed_weight);
			a->row[count] = i;
			a->start[++count] = to + length;
		}
}

static int pack(struct packed *p, const struct sl_coupling *c)
{
	struct sl_signal_matrix *a = &p->a;
	*p = (struct packed){.c = c, .a = {.n = c->n, .linked = c->linked,
					   .slices = (c->n + SL_SIGNAL_SLICE - 1) / SL_SIGNAL_SLICE}};
	a->slice = malloc((a->slices + 1ull) * sizeof *a->slice);
	a->elsewhere = malloc((a->slices + 1ull) * sizeof *a->elsewhere);
	if (!a->slice || !a->elsewhere)
		return SL_NOMEM;
	uint64_t listed = lay_out(p), sliced = a->slice[a->slices], rows = (uint64_t)a->hubs + a->wide;
	a->node = malloc((sliced + 1) * sizeof *a->node);
	a->weight = c->weight ? malloc((sliced + 1) * sizeof *a->weight) : NULL;
	a->row = malloc((rows + 1) * sizeof *a->row);
	a->start = malloc((rows + 1) * sizeof *a->start);
	a->listed_node = malloc((listed + 1) * sizeof *a->listed_node);
	a->listed_weight = c->weight ? malloc((listed + 1) * sizeof *a->listed_weight) : NULL;
	if (!a->node || !a->row || !a->start || !a->listed_node || (c->weight && (!a->weight || !a->listed_weight)))
		return SL_NOMEM;
	fill_slices(p);
	fill_list(p);
	return 0;
}

/* Reserves room for an array in the device's block of memory and copies it there; stream NULL: only counts bytes. */
static int place(char **at, cudaStream_t stream, const void *from, uint64_t bytes, void *array, struct sl_error *err)
{
	int code = 0;
	void *to = from ? sl__carve(at, bytes) : NULL;
	if (stream) {
		memcpy(array, &to, sizeof to);
		if (to && bytes)
			SL_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream));
	}
out:
	return code;
}

static int place_all(const struct packed *p, const struct sl_signal_table *t, char **at, cudaStream_t stream,
		     struct sl_signal_matrix *out, struct sl_error *err)
{
	const struct sl_signal_matrix *a = &p->a;
	uint64_t n = a->n, sliced = a->slice[a->slices], rows = (uint64_t)a->hubs + a->wide, listed = a->start[rows];
	int code = 0;
	SL_TRY(place(at, stream, a->slice, (a->slices + 1ull) * sizeof *a->slice, &out->slice, err));
	SL_TRY(place(at, stream, a->elsewhere, a->slices * sizeof *a->elsewhere, &out->elsewhere, err));
	SL_TRY(place(at, stream, a->node, sliced * sizeof *a->node, &out->node, err));
	SL_TRY(place(at, stream, a->weight, sliced * sizeof *a->weight, &out->weight, err));
	SL_TRY(place(at, stream, a->row, rows * sizeof *a->row, &out->row, err));
	SL_TRY(place(at, stream, a->start, (rows + 1) * sizeof *a->start, &out->start, err));
	SL_TRY(place(at, stream, a->listed_node, listed * sizeof *a->listed_node, &out->listed_node, err));
	SL_TRY(place(at, stream, a->listed_weight, listed * sizeof *a->listed_weight, &out->listed_weight, err));
	SL_TRY(place(at, stream, p->c->degree, n * sizeof *a->degree, &out->degree, err));
	SL_TRY(place(at, stream, p->c->inverse, n * sizeof *a->inverse, &out->inverse, err));
	SL_TRY(place(at, stream, p->c->user, n * sizeof *a->user, &out->user, err));
	SL_TRY(place(at, stream, t->stimulated, n, &out->stimulated, err));
out:
	return code;
}

int sl__signal_matrix_put(struct sl_device *d, const struct sl_signal_table *t, struct sl_signal_matrix *out,
			  char **memory, uint64_t *bytes, struct sl_error *err)
{
	struct packed p;
	char what[64], *at = NULL;
	snprintf(what, sizeof what, "signals at %u nodes", t->coupling->n);
	int code = pack(&p, t->coupling);
	*memory = NULL;
	if (code) {
		sl_error_set(err, code, SL_NO_MEMORY "%s.", what);
		goto out;
	}
	*out = p.a;
	place_all(&p, t, &at, NULL, out, NULL);
	*bytes = (uint64_t)at;
	SL_TRY(sl__device_alloc(d, *bytes, what, memory, err));
	at = *memory;
	SL_TRY(place_all(&p, t, &at, d->stream, out, err));
	SL_CUDA(cudaStreamSynchronize(d->stream));
out:
	packed_finish(&p);
	return code;
}
