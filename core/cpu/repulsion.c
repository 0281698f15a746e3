/* Repulsion: the choice of its method and grids, and its computation.
 *
 * The choice depends on the layout alone, not on the machine, so that the same job gives the same bytes everywhere.
 * Points are re-sorted into grid strips in every iteration, which costs a few nanoseconds a point and makes
 * spreading free of races, its sums independent of the threads, and its memory accesses local. */
#include "core/cpu/cpu.h"
#include "core/params.h"

#include <limits.h>
#include <math.h>
#include <omp.h>
#include <string.h>

/* Work for which another thread pays: points with a grid, pairs (nu = 1) with all pairs. */
#define POINTS_PER_THREAD 3000
#define PAIRS_PER_THREAD 2e6

/* ---- choice ----------------------------------------------------------------------------- */

/* Measured nanoseconds of one core with AVX-512: for a pair; for spreading and reading a point; for a node of a padded
 * grid; for a node of the fine one of two grids, the coarse grid included. */
#define PAIR 0.22
static const double point[4] = SL_CPU_POINT, padded_node[4] = SL_CPU_NODE;
static const double fine_node[4] = {0, 0, 11, 12};
/* Time of a pair with nu != 1, in pairs with nu = 1. */
#define HEAVY 5

static double pair_time(double nu) { return nu == 1 ? 1 : HEAVY; }

/* True if two grids are better than one. With a given side, two grids leave less of it to points; they are rejected if
 * their spacing is 1.1 times that of one grid or more. */
static bool two_are_better(const struct sl_grid *fine, const struct sl_grid *one, const struct sl_settings *s)
{
	if (s->grid_side)
		return fine->h < 1.1 * one->h;
	return fine_node[s->dims] * pow(fine->side, s->dims) < padded_node[s->dims] * pow(one->side, s->dims) ||
	       one->h > sl_grid_spacing(s->dims, s->accuracy);  /* one grid cannot be large enough */
}

/* In 3-D, if the points lie in a few tight clumps, the widest spacing gives errors several times those of scattered
 * points. So halves the spacing, as far as the grid takes less than half the time of the points (with `fine`, than
 * their whole time). */
static void refine(struct sl_grid *g, const struct sl_settings *s, uint32_t n, double extent, double nu)
{
	static const int sides[] = {18, 20, 24, 32, 36, 40, 48, 64, 72, 80, 96, 128, 0};
	double enough = 0.5 * sl_grid_kernel_spacing(s->dims, s->accuracy, nu);
	double most = (s->accuracy == SL_FINE ? 1 : 0.5) * point[3] * n;
	for (const int *side = sides; *side && g->h > enough; side++) {
		if (padded_node[3] * pow(*side, 3) > most)
			break;
		if (*side > g->side)
			sl_grid_choose_kernel(g, s->dims, s->accuracy, g->window, *side, extent, nu);
	}
}

/* The most grid nodes per point, and the grid nodes that any job may have, which take some tens of milliseconds and
 * megabytes. The final layouts of few points need less than half of such a side. For a wider layout, such as one that
 * begins far apart, the spacing grows, as it does beyond the largest side. */
#define NODES_A_POINT 4096
#define NODES_LEAST (128 * 128 * 128)

/* The largest side of a grid of n points if the job demands a grid. Otherwise the engine may use all pairs, so a grid
 * never costs more than these. */
static int largest_side(int dims, uint32_t n)
{
	static const int sides[] = {8192, 4096, 3072, 2048, 1536, 1024, 768, 512, 384, 320, 256, 192, 160, 128};
	double most = fmax((double)NODES_A_POINT * n, NODES_LEAST);
	size_t i = 0;
	while (dims > 1 && i + 1 < sizeof sides / sizeof *sides && pow(sides[i], dims) > most)
		i++;
	return dims > 1 ? sides[i] : INT_MAX;
}

int sl__cpu_choose(struct sl_grid out[2], const struct sl_settings *s, uint32_t n, double extent, double nu,
		   double *cost)
{
	struct sl_grid one;
	double pairs = pair_time(nu) * PAIR * n * n;
	int window = sl_grid_window(s->dims, s->accuracy);
	int most = s->repulsion == SL_REPULSION_GRID && !s->grid_side ? largest_side(s->dims, n) : INT_MAX;
	*cost = pairs;
	if (s->repulsion == SL_REPULSION_EXACT)
		return 0;
	sl_grid_choose_kernel(&one, s->dims, s->accuracy, window, s->grid_side, extent, nu);
	if (one.side > most)
		sl_grid_choose_kernel(&one, s->dims, s->accuracy, window, most, extent, nu);
	bool two = sl_grid_choose_two(&out[0], &out[1], s->dims, s->accuracy, s->grid_side, extent, nu);
	if (two && out[0].side > most)
		two = sl_grid_choose_two(&out[0], &out[1], s->dims, s->accuracy, most, extent, nu);
	two = two && two_are_better(&out[0], &one, s);
	if (!two && s->dims == 3 && !s->grid_side)
		refine(&one, s, n, extent, nu);
	if (two)
		out[1].through = out[0].h;
	else
		out[0] = one;
	*cost = (two ? fine_node : padded_node)[s->dims] * pow(out[0].side, s->dims) + point[s->dims] * n;
	if (s->repulsion == SL_REPULSION_AUTO && pairs < *cost) {
		*cost = pairs;
		return 0;
	}
	return two ? 2 : 1;
}

/* Measured nanoseconds of one core: for an entry of P; for a node's step; for an iteration. */
#define ENTRY 2
#define NODE 12
#define ITERATION 4000

static double useful_threads(double n, bool exact, double nu)
{
	return 1 + (exact ? pair_time(nu) * n * n / PAIRS_PER_THREAD : n / POINTS_PER_THREAD);
}

/* By measurement: cells and points that act on a point at theta = 1, per level of the tree; nanoseconds of adding a
 * point to the tree. */
#define TREE_LEVEL 14
#define TREE_POINT 120

static double tree_cost(const struct sl_settings *s, uint32_t n, double nu)
{
	double levels = log2((double)n / 16 + 2) / s->dims, nearness = fmax(s->theta, 0.05);
	double sources = fmin(n, 64 + TREE_LEVEL * levels * pow(1 / nearness, s->dims) * s->dims);
	return n * (TREE_POINT + pair_time(nu) * PAIR * sources);
}

static double tree_threads(double n) { return 1 + n / 500; }

/* Asks the system only once, since every waiting job needs a forecast. */
static int processors(void)
{
	static _Atomic int count;
	if (!count)
		count = omp_get_num_procs();
	return count;
}

double sl__cpu_iteration_seconds(const struct sl_settings *s, uint32_t n, uint64_t entries, int threads)
{
	struct sl_grid grid[2];
	double repulsion;
	double extent = fmax(sl_grid_usual_extent(s->dims, n), 1), nu = s->dof > 0 ? s->dof : 1;
	bool tree = s->repulsion == SL_REPULSION_BARNES_HUT;
	int grids = tree ? 0 : sl__cpu_choose(grid, s, n, extent, nu, &repulsion);
	if (tree)
		repulsion = tree_cost(s, n, nu);
	double have = threads > 0 ? threads : processors();
	double useful = tree ? tree_threads(n) : useful_threads(n, !grids, nu);
	double work = repulsion + ENTRY * (double)entries + NODE * (double)n;
	return 1e-9 * (ITERATION + work / fmin(have, useful));
}

/* The memory that sl__cpu_work_reserve() and plan_create() allocate, without small arrays. */
static uint64_t bytes_of(const struct sl_grid *g)
{
	uint64_t length = (uint64_t)sl_grid_length(g), spectrum = 1, lines = 1;
	for (int k = 0; k < g->dims; k++)
		spectrum *= length / 2 + 1;
	for (int k = 1; k < g->dims; k++)
		lines *= k == 2 ? length : (uint64_t)g->side;
	return sizeof(float) * (sl__grid_floats(g) + spectrum) + sizeof(fftwf_complex) * lines * (length / 2 + SL_LINES);
}

uint64_t sl__cpu_grid_bytes(uint32_t n, const struct sl_settings *s, double extent)
{
	struct sl_grid grid[2];
	double nu = s->dof > 0 ? s->dof : 1, cost;
	if (s->repulsion == SL_REPULSION_BARNES_HUT)
		return 0;
	int grids = sl__cpu_choose(grid, s, n, extent / sqrt(nu), nu, &cost);
	return (grids > 0 ? bytes_of(&grid[0]) : 0) + (grids > 1 ? bytes_of(&grid[1]) : 0);
}

bool sl__cpu_may_be_smooth(uint32_t n, const struct sl_settings *s)
{
	static const uint32_t least[4] = SL_CUTOFF_NODES;
	return s->dims > 1 && n >= least[s->dims] && sl__cpu_may_use_grid(s) && !s->grid_side &&
	       (s->dof == 0 || s->dof == 1);
}

/* ---- preparation, outside the team ---------------------------------------------------------- */

int sl__cpu_threads_for(const struct sl_device_embedding *e)
{
	double useful = e->method == SL_CPU_TREE ? tree_threads(e->n) :
						   useful_threads(e->n, e->method == SL_CPU_EXACT, e->nu);
	int have = e->graph->device->threads;
	return have < useful ? have : (int)useful;
}

/* Replaces *held by the plan of grid (NULL: none). */
static int replace_plan(struct sl_plans *plans, const struct sl_grid *grid, struct sl_plan **held, struct sl_error *err)
{
	struct sl_plan *plan = NULL;
	int code = grid ? sl__cpu_plans_take(plans, grid, &plan, err) : 0;
	if (code)
		return code;
	sl__cpu_plans_give(plans, *held);
	*held = plan;
	return 0;
}

int sl__cpu_prepare(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	if (!e->box.finite)
		return sl_error_field(err, SL_BADPARAM, "/learning_rate", "The layout has diverged: a coordinate is beyond "
				      "1e15 or not a number. Use a lower learning rate.");
	if (e->settings.repulsion == SL_REPULSION_BARNES_HUT) {
		e->method = SL_CPU_TREE;
		return sl__tree_build(&e->tree, e->y, sl__cpu_threads_for(e), err);
	}
	double extent = 0;
	for (int k = 0; k < e->settings.dims; k++)
		extent = fmax(extent, (double)e->box.high[k] - (double)e->box.low[k]);
	struct sl_grid grid[2];
	double cost;
	int grids = sl__cpu_choose(grid, &e->settings, e->n, extent, e->nu, &cost), code = 0;
	/* one grid suffices for a narrow layout */
	if (grids != 1 && e->cutoff.n &&
	    sl__cutoff_choose(&e->cutoff, e->y, e->box.low, extent, e->settings.accuracy, cost, &grid[0])) {
		grids = 1;
		code = sl__cutoff_reserve(&e->cutoff, &grid[0], e->box.low, extent, err);
	}
	e->method = grids ? SL_CPU_GRID : SL_CPU_EXACT;
	if (!grids || code)
		return code;
	code = replace_plan(&d->plans, &grid[0], &e->plan, err);
	if (!code)
		code = replace_plan(&d->plans, grids == 2 ? &grid[1] : NULL, &e->far, err);
	if (!code)
		code = sl__cpu_work_reserve(&d->work, e->plan, e->far, d->threads, err);
	return code ? code : sl__bins_reserve(&e->bins, &grid[0], err);
}

/* ---- functions of the team ---------------------------------------------------------------- */

void sl__cpu_spread(struct sl_device_embedding *e)
{
	struct sl_device *d = e->graph->device;
	const struct sl_plan *plan = e->plan;
	const struct sl_grid *g = &plan->grid;
	const struct sl_bins *bins = &e->bins;
	size_t floats = sl__grid_floats(g), piece = 1 << 14, dims = (size_t)g->dims;
	int stride = sl__grid_stride(g);

	sl__bins_fill(&e->bins, g, e->y, e->box.low);
#pragma omp for schedule(static)
	for (size_t at = 0; at < floats; at += piece)
		memset(d->work.grid + at, 0, sizeof(float) * (floats - at < piece ? floats - at : piece));
	for (int odd = 0; odd < 2; odd++) {
#pragma omp for schedule(dynamic, 1)
		for (int s = odd; s < bins->strips; s += 2)
			d->kernels->spread(&plan->window, g->dims, g->side, stride, bins->t + bins->first[s] * dims,
					   bins->first[s + 1] - bins->first[s], d->work.grid);
	}
}

void sl__cpu_read_back(struct sl_device_embedding *e)
{
	struct sl_device *d = e->graph->device;
	const struct sl_grid *g = &e->plan->grid;
	const struct sl_bins *bins = &e->bins;
	uint32_t step = 512;
#pragma omp for schedule(static)
	for (uint32_t at = 0; at < e->n; at += step)
		d->kernels->read(&e->plan->window, g->dims, g->side, sl__grid_stride(g), bins->t + at * (size_t)g->dims,
				 e->n - at < step ? e->n - at : step, d->work.grid, (float)(0.5 / (g->h * e->nu)),
				 bins->index + at, e->repulsion);
}

static double part_of_z(const struct sl_plan *plan, double n, double sum)
{
	return plan->zero * n * n - plan->self * n + sum;
}

double sl__cpu_convolve(struct sl_device_embedding *e)
{
	struct sl_device *d = e->graph->device;
	double z = 0;
	if (e->far) {
		sl__transfer_charges(&d->work, d->kernels, e->plan, e->far);
		z += part_of_z(e->far, e->n, sl__convolve(&d->work, d->kernels, e->far, d->work.coarse));
	}
	z += part_of_z(e->plan, e->n, sl__convolve(&d->work, d->kernels, e->plan, d->work.grid));
	if (e->far)
		sl__transfer_potential(&d->work, d->kernels, e->plan, e->far);
	return z;
}

double sl__cpu_cutoff(struct sl_device_embedding *e)
{
	sl__cutoff_sort(&e->cutoff, e->y);
	return sl__cutoff_pairs(&e->cutoff, e->graph->device->kernels, e->part, e->repulsion);
}

/* Team. Fills e->repulsion on grids; returns Z. */
static double repel_grid(struct sl_device_embedding *e)
{
	sl__cpu_spread(e);
	double z = sl__cpu_convolve(e);
	sl__cpu_read_back(e);
	return sl__cpu_is_smooth(e) ? z + sl__cpu_cutoff(e) : z;
}

double sl__cpu_repel_exact(struct sl_device_embedding *e)
{
	size_t dims = (size_t)e->settings.dims;
#pragma omp for schedule(static)
	for (uint32_t i = 0; i < e->n; i++)
		for (size_t k = 0; k < dims; k++)
			e->coordinate[k][i] = e->y[i * dims + k];
#pragma omp for schedule(dynamic, 1)
	for (uint32_t b = 0; b < e->blocks; b++) {
		uint32_t from = b * SL_BLOCK, to = e->n - from < SL_BLOCK ? e->n : from + SL_BLOCK;
		const struct sl_cpu_kernels *k = e->graph->device->kernels;
		e->part[b] = k->exact(e->settings.dims, e->nu, e->n, e->coordinate, from, to, e->repulsion);
	}
	double z = 0;
	for (uint32_t b = 0; b < e->blocks; b++)
		z += e->part[b];
#pragma omp barrier
	return z;
}

double sl__cpu_repel_tree(struct sl_device_embedding *e)
{
	return sl__tree_repel(&e->tree, e->graph->device->kernels, e->nu, e->repulsion);
}

double sl__cpu_repel(struct sl_device_embedding *e)
{
	double z = e->method == SL_CPU_TREE ? sl__cpu_repel_tree(e) :
		   e->method == SL_CPU_EXACT ? sl__cpu_repel_exact(e) : repel_grid(e);
	return z > 1e-30 ? z : 1e-30;
}
