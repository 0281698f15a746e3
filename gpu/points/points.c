/* Passes over points for principal axes, on a stream of their own. If the points fit beside the memory of a pass, they
 * stay on the device; else each pass uploads them block by block. */
#include "gpu/points/points.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/device.h"
#include "gpu/neighbours/scan/scan.h"

struct passes {
	const struct sl_points *points;
	const int *cancel;
	int index;
	cudaStream_t stream;
	uint64_t budget, row_bytes;
	uint32_t block, loaded, first;  /* rows that fit; rows first .. first + loaded - 1 are there */
	char *raw;
	double *mean;
	double squares;                 /* sum over all rows; negative: not known yet */
};

static int checkpoint(const struct passes *v, struct sl_error *err)
{
	if (v->cancel && __atomic_load_n(v->cancel, __ATOMIC_RELAXED))
		return sl_error_set(err, SL_CANCELLED, "Computing the principal axes was cancelled.");
	return 0;
}

/* Brings the rows from `first` on to the device, as many as fit; *t describes them. */
static int load(struct passes *v, uint32_t first, struct sl_pca_table *t, struct sl_error *err)
{
	const struct sl_points *p = v->points;
	uint32_t n = p->n - first < v->block ? p->n - first : v->block;
	int code = checkpoint(v, err);
	*t = (struct sl_pca_table){.value = v->raw, .mean = v->mean, .n = n, .d = p->d, .bytes = p->type == SL_POINTS_U8};
	if (code || (v->loaded == n && v->first == first))
		return code;
	SL_CUDA(cudaMemcpyAsync(v->raw, (const char *)p->value + first * v->row_bytes, n * v->row_bytes,
				cudaMemcpyHostToDevice, v->stream));
	v->first = first;
	v->loaded = n;
out:
	return code;
}

/* Allocates from the stream's pool; the size was checked against the budget. */
static int take(struct passes *v, uint64_t bytes, void *out, struct sl_error *err)
{
	int code = 0;
	if (v->block * v->row_bytes + bytes > v->budget)
		return sl_error_set(err, SL_DEVMEM, "Principal axes of %u columns need more GPU memory than there is.",
				    v->points->d);
	SL_CUDA(cudaMallocAsync((void **)out, bytes, v->stream));
out:
	return code;
}

static int find_mean(void *arg, double *mean, struct sl_error *err)
{
	struct passes *v = arg;
	uint32_t n = v->points->n, d = v->points->d;
	struct sl_frame frame = {.d = d, .metric = SL_EUCLIDEAN};
	double *part = NULL;
	int code = 0;
	SL_CUDA(cudaSetDevice(v->index));
	SL_TRY(take(v, (SL_FRAME_PARTS + 2) * d * sizeof *part, &part, err));
	frame.sum = part + (size_t)SL_FRAME_PARTS * d;
	frame.largest = (uint32_t *)(frame.sum + d);
	SL_CUDA(cudaMemsetAsync(frame.sum, 0, 2 * d * sizeof *part, v->stream));
	for (uint64_t first = 0; first < n; first += v->block) {
		struct sl_pca_table t;
		SL_TRY(load(v, (uint32_t)first, &t, err));
		struct sl_table rows = {.value = t.value, .n = t.n, .d = d, .type = v->points->type};
		SL_CUDA(sl__frame_add(&frame, &rows, part, v->stream));
	}
	SL_CUDA(sl__fetch(mean, frame.sum, d * sizeof *mean, v->stream));
	for (uint32_t k = 0; k < d; k++)
		mean[k] /= n;
	SL_CUDA(cudaMemcpyAsync(v->mean, mean, d * sizeof *mean, cudaMemcpyHostToDevice, v->stream));
	SL_CUDA(cudaStreamSynchronize(v->stream));
out:
	if (part)
		cudaFreeAsync(part, v->stream);
	return code;
}

static int find_covariance(void *arg, double *covariance, struct sl_error *err)
{
	struct passes *v = arg;
	uint32_t d = v->points->d;
	uint32_t splits = sl__pca_splits(d, 0, v->budget / 4);
	uint64_t bytes = sl__pca_part_bytes(d, 0, splits), square = (uint64_t)d * d * sizeof(double);
	double *part = NULL;
	int code = 0;
	SL_RETURN(take(v, bytes + square, &part, err));
	double *out = part + bytes / sizeof *part;
	SL_CUDA(cudaSetDevice(v->index));
	SL_CUDA(cudaMemsetAsync(part, 0, bytes, v->stream));
	for (uint64_t first = 0; first < v->points->n; first += v->block) {
		struct sl_pca_table t;
		SL_TRY(load(v, (uint32_t)first, &t, err));
		SL_CUDA(sl__pca_products(&t, NULL, 0, splits, part, v->stream));
	}
	SL_CUDA(sl__pca_add_parts(d, 0, splits, part, out, v->stream));
	SL_CUDA(sl__fetch(covariance, out, square, v->stream));
out:
	cudaFreeAsync(part, v->stream);
	return code;
}

/* The sum of squares over all rows, from the partial sums on the device. */
static int add_squares(struct passes *v, const double *part, struct sl_error *err)
{
	double host[SL_PCA_SQUARES];
	int code = 0;
	SL_CUDA(sl__fetch(host, part, sizeof host, v->stream));
	v->squares = 0;
	for (uint32_t i = 0; i < SL_PCA_SQUARES; i++)
		v->squares += host[i];
out:
	return code;
}

static int apply(void *arg, const double *x, uint32_t c, double *out, double *total, struct sl_error *err)
{
	struct passes *v = arg;
	uint32_t d = v->points->d, rows = 16384, splits = sl__pca_splits(d, c, v->budget / 4);
	uint64_t bytes = sl__pca_part_bytes(d, c, splits), matrix = (uint64_t)d * c;
	double *part = NULL, *at, *product, *result, *squares;
	while (rows > 256 && rows * 8ull * c > v->budget / 8)
		rows /= 2;
	int code = 0;
	SL_RETURN(take(v, bytes + (2 * matrix + (uint64_t)rows * c + SL_PCA_SQUARES) * sizeof *part, &part, err));
	at = part + bytes / sizeof *part;
	result = at + matrix;
	product = result + matrix;
	squares = product + (uint64_t)rows * c;
	SL_CUDA(cudaSetDevice(v->index));
	SL_CUDA(cudaMemsetAsync(part, 0, bytes, v->stream));
	SL_CUDA(cudaMemsetAsync(squares, 0, SL_PCA_SQUARES * sizeof *squares, v->stream));
	SL_CUDA(cudaMemcpyAsync(at, x, matrix * sizeof *x, cudaMemcpyHostToDevice, v->stream));
	for (uint64_t first = 0; first < v->points->n; first += v->block) {
		struct sl_pca_table t, some;
		SL_TRY(load(v, (uint32_t)first, &t, err));
		if (v->squares < 0)
			SL_CUDA(sl__pca_squares(&t, squares, v->stream));
		for (uint32_t row = 0; row < t.n; row += rows) {
			some = t;
			some.value = (const char *)t.value + row * v->row_bytes;
			some.n = t.n - row < rows ? t.n - row : rows;
			SL_CUDA(sl__pca_project(&some, at, c, product, v->stream));
			SL_CUDA(sl__pca_products(&some, product, c, splits, part, v->stream));
		}
	}
	SL_CUDA(sl__pca_add_parts(d, c, splits, part, result, v->stream));
	if (v->squares < 0)
		SL_TRY(add_squares(v, squares, err));
	SL_CUDA(sl__fetch(out, result, matrix * sizeof *out, v->stream));
	*total = v->squares;
out:
	cudaFreeAsync(part, v->stream);
	return code;
}

/* Touches new pages for the first time by several threads. A copy to untouched pages would take ten times as long. */
static void touch(char *memory, uint64_t bytes)
{
	int threads = omp_get_max_threads() < 8 ? omp_get_max_threads() : 8;
#pragma omp parallel for num_threads(threads) schedule(static)
	for (uint64_t at = 0; at < bytes; at += 4096)
		memory[at] = 0;
}

static int project(void *arg, const struct sl_pca *pca, float *out, struct sl_error *err)
{
	struct passes *v = arg;
	uint32_t d = pca->from, to = pca->to, rows = v->block;
	uint64_t axes = (uint64_t)d * to * sizeof(double);
	char *memory = NULL;
	while (rows > 1024 && rows * 4ull * to > v->budget / 4)
		rows /= 2;
	int code = 0;
	SL_RETURN(take(v, axes + (uint64_t)rows * to * 4, &memory, err));
	SL_CUDA(cudaSetDevice(v->index));
	touch((char *)out, (uint64_t)v->points->n * to * 4);
	SL_CUDA(cudaMemcpyAsync(memory, pca->axis, axes, cudaMemcpyHostToDevice, v->stream));
	for (uint64_t first = 0; first < v->points->n; first += v->block) {
		struct sl_pca_table t, some;
		SL_TRY(load(v, (uint32_t)first, &t, err));
		for (uint32_t row = 0; row < t.n; row += rows) {
			float *at = (float *)(memory + axes);
			some = t;
			some.value = (const char *)t.value + row * v->row_bytes;
			some.n = t.n - row < rows ? t.n - row : rows;
			SL_CUDA(sl__pca_coordinates(&some, (const double *)memory, to, at, v->stream));
			SL_CUDA(sl__fetch(out + (first + row) * to, at, (uint64_t)some.n * to * 4, v->stream));
		}
	}
out:
	cudaFreeAsync(memory, v->stream);
	return code;
}

static void release(void *arg)
{
	struct passes *v = arg;
	cudaSetDevice(v->index);
	if (v->raw)
		cudaFreeAsync(v->raw, v->stream);
	if (v->mean)
		cudaFreeAsync(v->mean, v->stream);
	if (v->stream) {
		cudaStreamSynchronize(v->stream);
		cudaStreamDestroy(v->stream);
	}
	cudaGetLastError();
	free(v);
	sl__context_release();
}

static int reserve(struct passes *v, uint64_t memory_bytes, struct sl_error *err)
{
	uint64_t n = v->points->n;
	int code = 0;
	SL_CUDA(cudaSetDevice(v->index));
	SL_CUDA(sl__free_bytes(v->index, memory_bytes, &v->budget));
	v->block = (uint32_t)(n * v->row_bytes <= v->budget / 2 ? n : v->budget / 4 / v->row_bytes);
	if (!v->block)
		return sl_error_set(err, SL_DEVMEM, "Principal axes of %u columns need more GPU memory than there is.",
				    v->points->d);
	SL_CUDA(cudaStreamCreateWithFlags(&v->stream, cudaStreamNonBlocking));
	SL_CUDA(cudaMallocAsync((void **)&v->raw, v->block * v->row_bytes, v->stream));
	SL_CUDA(cudaMallocAsync((void **)&v->mean, v->points->d * sizeof *v->mean, v->stream));
out:
	return code;
}

int sl__points_passes(int index, uint64_t memory_bytes, const struct sl_points *p, const int *cancel,
		      struct sl_points_passes *out, struct sl_error *err)
{
	struct passes *v = calloc(1, sizeof *v);
	if (!v)
		return sl_error_memory(err, "principal axes");
	*v = (struct passes){.points = p, .cancel = cancel, .index = index, .squares = -1,
			     .row_bytes = (uint64_t)p->d * (p->type == SL_POINTS_U8 ? 1 : 4)};
	sl__context_hold();
	int code = reserve(v, memory_bytes, err);
	if (code) {
		release(v);
		return code;
	}
	*out = (struct sl_points_passes){.arg = v, .mean = find_mean, .covariance = find_covariance, .apply = apply,
					 .project = project,
					 .close = release};
	return 0;
}
