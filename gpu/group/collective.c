/* Sums and gathers between the GPUs of a group. Parts of different lengths are broadcast by their ranks, all at
 * once. */
#include "gpu/group/group_internal.h"

/* In functions with `code`, `err`, `g` and a label `out`. */
#define NCCL(call) do { \
	int status_ = (call); \
	if (status_ != SL_NCCL_SUCCESS) { \
		code = sl__nccl_failed(g, err, status_, #call); \
		goto out; \
	} \
} while (0)

int sl__group_reduce(struct sl_device *d, uint64_t *numbers, uint64_t count, cudaStream_t stream, struct sl_error *err)
{
	struct sl_group *g = d->group;
	int code = 0;
	if (!g || !count)
		return 0;
	NCCL(g->nccl.AllReduce(numbers, numbers, count, SL_NCCL_UINT64, SL_NCCL_SUM, g->comm[d->rank], stream));
out:
	return code;
}

static int queue_parts(struct sl_device *d, const struct sl_gathered *a, cudaStream_t stream, struct sl_error *err)
{
	struct sl_group *g = d->group;
	int code = 0;
	for (int r = 0; r < g->ranks; r++) {
		char *part = (char *)a->array + a->parts[r] * a->each;
		uint64_t bytes = (a->parts[r + 1] - a->parts[r]) * a->each;
		if (bytes)
			NCCL(g->nccl.Broadcast(part, part, bytes, SL_NCCL_UINT8, r, g->comm[d->rank], stream));
	}
out:
	return code;
}

int sl__group_gather(struct sl_device *d, const struct sl_gathered *arrays, int count, cudaStream_t stream,
		     struct sl_error *err)
{
	struct sl_group *g = d->group;
	int code = 0;
	if (!g)
		return 0;
	NCCL(g->nccl.GroupStart());
	for (int i = 0; i < count && !code; i++)
		code = queue_parts(d, &arrays[i], stream, err);
	int status = g->nccl.GroupEnd();
	if (!code && status != SL_NCCL_SUCCESS)
		code = sl__nccl_failed(g, err, status, "ncclGroupEnd");
out:
	return code;
}
