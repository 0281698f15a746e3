/* The kernel that makes P's rows from outgoing and incoming edges (gpu/neighbours/joint/joint.cu) against the
 * definition. The probabilities are up to the least that calibration gives, and the scale is that of a million and of
 * a hundred million points. The tables differ in each run. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "gpu/neighbours/joint/joint.h"
#include "tests/gpu/device_memory.h"
#include "tests/unit/seeds.h"

#define N 300u
#define WIDTH 5u
#define GUARD 64

/* Outgoing edges, as struct sl_joint describes them, and all edges sorted by target. */
struct edges {
	uint32_t node[N * WIDTH], from[N * WIDTH], from_start[N + 1];
	float p[N * WIDTH];
	double both[N][N];     /* p_j|i + p_i|j, 0: no edge */
	uint64_t start[N + 1]; /* of P's rows */
};

static void make_edges(struct edges *g, uint64_t seed)
{
	uint64_t drawn = 0;
	uint32_t at = 0;
	memset(g, 0, sizeof *g);
	for (uint32_t i = 0; i < N; i++) {
		uint32_t used = 0;
		for (uint32_t j = 0; j < N && used < WIDTH - i % 2; j++)
			if (j != i && sl_random_uniform(seed, drawn++) < 2.0 * WIDTH / N) {
				double x = sl_random_uniform(seed, drawn++);
				g->node[i * WIDTH + used] = j;
				g->p[i * WIDTH + used] = x < 0.3 ? FLT_MIN : (float)x;
				g->both[i][j] += (double)g->p[i * WIDTH + used];
				g->both[j][i] += (double)g->p[i * WIDTH + used++];
			}
		for (; used < WIDTH; used++)
			g->node[i * WIDTH + used] = N;
	}
	for (uint32_t j = 0; j < N; j++) {
		g->from_start[j] = at;
		for (uint32_t e = 0; e < N * WIDTH; e++)
			if (g->node[e] == j)
				g->from[at++] = e;
	}
	g->from_start[N] = at;
	for (uint32_t i = 0; i < N; i++) {
		g->start[i + 1] = g->start[i];
		for (uint32_t j = 0; j < N; j++)
			g->start[i + 1] += g->both[i][j] > 0;
	}
}

/* Compares the rows with the definition; no entry may be 0. Returns the entropy. */
static double check_rows(const struct edges *g, float scale, const uint32_t *node, const float *p)
{
	double entropy = 0;
	for (uint32_t i = 0; i < N; i++) {
		uint64_t e = g->start[i];
		for (uint32_t j = 0; j < N; j++) {
			if (!(g->both[i][j] > 0))
				continue;
			double right = fmax(g->both[i][j] * (double)scale, (double)FLT_MIN);
			if (node[e] != j || !(fabs((double)p[e] - right) <= 3e-7 * right))
				fail_msg("entry %u of row %u is %u with %g, not %u with %g", (unsigned)(e - g->start[i]), i, node[e],
					 (double)p[e], j, right);
			entropy += right * log(right);
			e++;
		}
	}
	return entropy;
}

static void check_scale(const struct edges *g, float scale)
{
	struct device_memory here = {.guard = GUARD};
	uint64_t m = g->start[N];
	struct sl_joint j = {
		.n = N, .width = WIDTH, .node = take(&here, sizeof g->node, g->node), .p = take(&here, sizeof g->p, g->p),
		.from = take(&here, sizeof g->from, g->from),
		.from_start = take(&here, sizeof g->from_start, g->from_start),
	};
	const uint64_t *start = take(&here, sizeof g->start, g->start);
	uint32_t *node = take(&here, m * sizeof *node, NULL), *host_node = malloc(m * sizeof *node);
	float *p = take(&here, m * sizeof *p, NULL), *host_p = malloc(m * sizeof *p);
	double *part = take(&here, SL_JOINT_PARTS * sizeof *part, NULL), *sum = take(&here, sizeof *sum, NULL), entropy;
	CUDA(sl__joint_fill(&j, start, NULL, scale, node, p, part, sum, 0));
	CUDA(cudaMemcpy(host_node, node, m * sizeof *node, cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(host_p, p, m * sizeof *p, cudaMemcpyDeviceToHost));
	CUDA(cudaMemcpy(&entropy, sum, sizeof entropy, cudaMemcpyDeviceToHost));
	double right = check_rows(g, scale, host_node, host_p);
	if (!(fabs(entropy - right) <= 1e-6 * fabs(right)))
		fail_msg("the entropy is %.9g, not %.9g", entropy, right);
	give_back(&here);
	free(host_node);
	free(host_p);
}

static void rows_are_the_union_of_both_directions(void **state)
{
	if (!have_gpu)
		skip();
	struct edges *g = malloc(sizeof *g);
	make_edges(g, fresh_seed());
	check_scale(g, 5e-7f);
	check_scale(g, 5e-9f);
	free(g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_the_union_of_both_directions),
	};
	find_gpu(sl__joint_init);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
