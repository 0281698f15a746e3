/* Chooses the grids for a layout: as fine as the accuracy requires, with room for the layout to grow, so that a run
 * changes grids rarely. */
#include "core/sides.h"
#include "gpu/embedding/embedding.h"

#include <math.h>


#define ROOM 1.1           /* a new grid has room for a layout 1.1 times as large */
#define SMOOTH_ROOM 1.05   /* the same for smooth grids, whose reach is also rounded up to an eighth of an octave */
#define EXTENT_LEAST 1e-9
#define NARROWED 0.94      /* in 3-D the narrow window needs a spacing smaller by this factor */
#define EXACT_ALWAYS 1.6e7 /* number of pairs up to which computing all of them is the fastest method */
#define MANY 30000         /* from so many nodes on, a tight layout gets a larger grid; VERY_MANY: still larger */
#define VERY_MANY 300000
#define SPREAD 100000      /* from so many nodes on, clusters in 3-D are so wide that a wider spacing suffices */

/* The spacings for SPREAD nodes and more, in 3-D. */
static const double spacing_of_many[] = {[SL_DRAFT] = 0.9, [SL_NORMAL] = 0.6, [SL_FINE] = 0.38};

#define SIDE(side) side,
#define PAIR(side, coarse) {side, coarse},

/* The sides of padded grids. */
static const int ladder[4][20] = {
	{0},
	{SL_SIDES_1D(SIDE) 0},
	{SL_SIDES_2D(SIDE) 0},
	{SL_SIDES_3D(SIDE) 0},
};

struct pair {
	int side, coarse;
};
static const struct pair pairs[4][20] = {{{0, 0}}, {{0, 0}}, {SL_PAIRS_2D(PAIR) {0, 0}}, {SL_PAIRS_3D(PAIR) {0, 0}}};

bool sl__pair_known(int dims, int side, int coarse)
{
	const struct pair *p = pairs[dims];
	while (p->side && (p->side != side || p->coarse != coarse))
		p++;
	return p->side != 0;
}

/* Largest side, by dimension, at which one grid is faster than two. */
static const int one_grid_most[4] = {0, 1 << 30, 512, 64};

/* The sides of smooth grids. */
static const int smooth_sides[4][20] = {{0}, {0}, {SL_SIDES_SMOOTH_2D(SIDE) 0}, {SL_SIDES_SMOOTH_3D(SIDE) 0}};

/* The largest smooth grid that n nodes get. With more nodes in a layout of the same density a grid of the same side is
 * wider spaced, and the pairs of a point grow with n / side^2, while transforms cost more with the side alone. */
static int smooth_most(uint32_t n, int dims)
{
	return dims != 2 || n < 3000000 ? 2048 : n < 30000000 ? 4096 : 8192;
}

/* The smooth grid for a layout of n nodes. With accuracy draft, few nodes get the cut-off of accuracy normal. */
static void make_smooth(struct sl_grid *g, uint32_t n, const struct sl_settings *s, int side, double extent)
{
	bool few = sl__are_few(n, s->dims);
	int accuracy = few && s->accuracy == SL_DRAFT ? SL_NORMAL : s->accuracy;
	int window = few || s->dims == 2 ? SL_WINDOW_MAX : sl_grid_smooth_window(accuracy);
	sl_grid_smooth(g, s->dims, accuracy, window, side, extent);
}

bool sl__smooth_known(uint32_t n, const struct sl_settings *s, const struct sl_grid *g)
{
	struct sl_grid same;
	const int *side = smooth_sides[s->dims];
	while (*side && *side != g->side)
		side++;
	if (!*side || !(g->h > 1e-30 && g->h < 1e30))
		return false;
	make_smooth(&same, n, s, g->side, 1);
	bool cutoff_fits = fabs(g->cutoff / g->h / (same.cutoff / same.h) - 1) < 1e-9;
	same.h = g->h;
	same.cutoff = g->cutoff;
	return cutoff_fits && sl_grid_equal(&same, g);
}

/* The longest side of a layout that fits the grids. Of two grids, the far one also holds the near grid's charges, which
 * lie up to a window's width outside the layout. */
static double reach_of(const struct sl_device_embedding *e)
{
	const struct sl_grid *g = e->grid;
	return e->levels == 1 ? sl_grid_reach(&g[0]) : sl_grid_reach(&g[1]) - (g[0].window + 1) * g[0].h;
}

static void split(struct sl_device_embedding *e, double h, const struct pair *p)
{
	sl_grid_split(&e->grid[0], &e->grid[1], e->settings.dims, e->settings.accuracy,
		      sl__window_width(e), h, p->side, p->coarse);
	sl_grid_feed(&e->grid[0], &e->grid[1]);
	e->grid[0].exponent = e->grid[1].exponent = sl__exponent(e);
}

/* Chooses two grids of at least that reach, at spacing h. If even the largest sides do not suffice, the spacing is
 * wider. */
static void choose_pair(struct sl_device_embedding *e, double reach_min, double h)
{
	const struct sl_settings *s = &e->settings;
	const struct pair *p = pairs[s->dims];
	e->levels = 2;
	for (;; p++) {
		split(e, h, p);
		if (reach_of(e) >= reach_min || !p[1].side)
			break;
	}
	double wider = reach_min / reach_of(e);
	if (wider > 1)  /* in quarters of an octave, so that plans are reused */
		split(e, h * exp2(ceil(4 * log2(wider)) / 4), p);
}

/* The least index on the ladder of sides for a tight layout. A side larger than the spacing requires spreads the atomic
 * additions of a tight layout over more addresses. In 3-D, very many points in a tight layout also need it for forces
 * as exact as those of a wide layout. But the rounding errors of the transforms grow with the side and with the empty
 * part of the grid. */
static int least_index(int dims, uint32_t n)
{
	static const int first[4][3] = {{0, 0, 0}, {0, 0, 0}, {2, 4, 6}, {0, 3, 5}};
	return first[dims][n < MANY ? 0 : n < VERY_MANY ? 1 : 2];
}

/* Chooses the grids for a layout of longest side `extent`, and the range of layouts that they serve. A side above the
 * smallest gets the widest spacing that the accuracy allows; the additional room delays the next change of grids.
 * Returns true for the smallest side, which also serves much smaller layouts. */
static bool choose_grid(struct sl_device_embedding *e, double extent)
{
	const struct sl_settings *s = &e->settings;
	const int *side = ladder[s->dims];
	double reach_min = fmax(extent, EXTENT_LEAST) * ROOM, widest = sl_grid_kernel_spacing(s->dims, s->accuracy, e->nu);
	if (s->dims == 1 || s->accuracy == SL_FINE)
		widest *= 0.9;  /* these grids always have the widest spacing; the CPU engine's have it only at worst */
	if (s->dims == 3 && e->n >= SPREAD)
		widest *= spacing_of_many[s->accuracy] / sl_grid_spacing(3, s->accuracy);
	if (s->dims == 3 && sl__window_width(e) == SL_WINDOW_NARROW)
		widest *= NARROWED;
	int window = sl__window_width(e), margin = window + 1;
	bool smallest = false, fine = s->accuracy == SL_FINE;
	int first = fine ? 0 : least_index(s->dims, e->n);
	int most = ladder[s->dims][first] > one_grid_most[s->dims] ? ladder[s->dims][first] : one_grid_most[s->dims];
	double steps = fine ? 8 : 1;  /* steps of the spacing in an octave */
	side += first;
	while (side[1] && widest * (*side - margin) < reach_min)
		side++;
	e->levels = 1;
	if (s->grid_side || (!sl_grid_splits(s->dims, e->nu) && widest * (*side - margin) < reach_min)) {
		sl_grid_choose_kernel(&e->grid[0], s->dims, s->accuracy, window,
				      s->grid_side ? s->grid_side : *side, reach_min, e->nu);
	} else if (sl_grid_splits(s->dims, e->nu) &&
		   (*side > most || widest * (*side - margin) < reach_min)) {
		choose_pair(e, reach_min, widest);
	} else {
		smallest = side == ladder[s->dims] + first;
		e->grid[0] = (struct sl_grid){.dims = s->dims, .side = *side, .window = window, .h = widest,
					      .exponent = sl__exponent(e)};
		if (smallest)
			e->grid[0].h = widest * exp2(-floor(steps * log2(widest * (*side - margin) / reach_min)) / steps);
	}
	return smallest && !fine;
}

static float extent_of(const struct sl_device_embedding *e)
{
	float extent = 0;
	for (int k = 0; k < e->settings.dims; k++)
		extent = fmaxf(extent, e->report.high[k] - e->report.low[k]);
	return extent;
}

/* True if computing all pairs is faster. A pair costs about a thirtieth of a node of the transformed grid; twice as
 * much if the degrees of freedom are not 1. */
static bool exact_is_cheaper(const struct sl_device_embedding *e)
{
	double pairs = (double)e->n * (double)e->n * (e->nu == 1 ? 1 : 2);
	return pairs < EXACT_ALWAYS || pairs < 30 * pow(sl_grid_length(&e->grid[0]), e->grid[0].dims);
}

/* Takes the plans of the chosen grids and gives back those held before. */
static int take_plans(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	for (int k = 0; k < SL_LEVELS; k++) {
		struct sl_plan *plan = NULL;
		if (k < e->levels && e->plan[k] && sl_grid_equal(&e->plan[k]->grid, &e->grid[k]))
			continue;
		int code = k < e->levels ? sl__plans_take(d, &e->grid[k], &plan, err) : 0;
		if (code)
			return code;
		sl__plans_give(d, e->plan[k]);
		e->plan[k] = plan;
	}
	return 0;
}

static bool is_inside(const struct sl_device_embedding *e)
{
	for (int k = 0; k < e->settings.dims; k++)
		if (!(e->report.low[k] >= e->report.corner[k] && e->report.high[k] <= e->report.corner[k] + e->reach))
			return false;
	return true;
}

/* ---- pairs within a cut-off ---------------------------------------------------------------- */

/* Costs in nanoseconds, measured on one H200. */
#define CANDIDATE_NS 2.3e-3
#define SORT_NS 12000.0
#define SORT_POINT_NS 0.2
#define SORT_CELL_NS 0.01
#define EXACT_NS 1.2e-3
#define CROWDED 2.5        /* grids are chosen again if the candidates grow by this factor */
#define RIGHT_FORCES 16    /* pairs may cost this many times as much as grids too coarse for the accuracy, */
#define RIGHT_POINT_NS 1.0 /* and so much a point more: the cost of grids does not grow with the points */

/* The cost of a convolution (charges, transforms, kernel), by the size of the spectrum. */
static double transform_ns(int dims, double side, double length)
{
	double numbers = (side + length) * (0.5 * length + 1);
	return dims == 2 ? 4000 + 0.0115 * numbers : 7500 + 0.0125 * side * numbers;
}

static double grid_ns(const struct sl_grid *g) { return transform_ns(g->dims, g->side, sl_grid_length(g)); }

/* True if the chosen grids are too coarse for the accuracy, since even the largest are too small for the layout. */
static bool is_coarse(const struct sl_device_embedding *e)
{
	const struct sl_settings *s = &e->settings;
	return s->dims == 2 && !e->exact && e->grid[0].h > sl_grid_spacing(2, s->accuracy);
}

bool sl__is_coarse(const struct sl_device_embedding *e)
{
	return e->chosen && !sl__is_smooth(e) && e->levels > 1 && is_coarse(e);
}

/* The cost of the grids, or of all pairs, that are chosen: pairs beside a smooth grid must not cost more. */
static double others_ns(const struct sl_device_embedding *e)
{
	const struct sl_settings *s = &e->settings;
	double ns = grid_ns(&e->grid[0]);
	if (e->exact)
		return EXACT_NS * e->n * e->n;
	if (e->levels > 1)
		ns += grid_ns(&e->grid[1]) + (s->dims == 3 ? 0.008 * pow(e->grid[0].side, 3) : 0);
	return is_coarse(e) ? RIGHT_FORCES * ns + RIGHT_POINT_NS * e->n : ns;
}

/* Counts the candidate pairs beside the smooth grid e->grid[0]. */
static int take_census(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	int side = sl__cutoff_side(&e->grid[0]);
	uint64_t room = sl__cutoff_room(e->settings.dims, side), bytes = (2 * room + room / 4096) * sizeof(uint32_t);
	uint32_t *memory = NULL;
	int code = sl__device_alloc(d, bytes, "Cells of a layout", &memory, err);
	struct sl_grid_memory g = {.cells = side, .cell_count = memory, .cell_start = memory + room,
				   .cell_offset = memory + 2 * room};
	struct sl_cutoff_cells c = sl__cutoff_cells(e, &g);
	if (code)
		return code;
	SL_CUDA(cudaMemsetAsync(memory, 0, bytes, d->stream));
	SL_TRY(sl__control_up(e, NULL, err));
	SL_CUDA(sl__cutoff_census(&c, &e->points, &e->control->orders, &e->control->report, d->stream));
	SL_TRY(sl__report_down(e, err));
out:
	sl__device_free(d, memory, bytes);
	return code;
}

/* Makes e->grid[0] the smooth grid of that side. *cost: nanoseconds of an iteration on it, or INFINITY if they exceed
 * `most` or memory does not suffice. The number of candidates is in the report. */
static int smooth_ns(struct sl_device_embedding *e, int side, double extent, double most, double *cost,
		     struct sl_error *err)
{
	int dims = e->settings.dims;
	double fixed = SORT_NS + SORT_POINT_NS * e->n + transform_ns(dims, side, 2 * side);
	*cost = INFINITY;
	make_smooth(&e->grid[0], e->n, &e->settings, side, fmax(extent, EXTENT_LEAST) * SMOOTH_ROOM);
	fixed += SORT_CELL_NS * (double)sl__cutoff_room(dims, sl__cutoff_side(&e->grid[0]));
	if (fixed > most)
		return 0;
	int code = take_census(e, err), worst = code == SL_DEVMEM ? 0 : code;
	uint64_t full = code == SL_DEVMEM, any[SL_RANKS_MAX];
	if (sl__is_divided(e->graph)) {  /* if one rank lacks memory, none takes this grid */
		worst = sl__group_tell(e->graph->device, worst, &full, 1, any, err);
		for (int r = 0; r < e->graph->device->ranks; r++)
			full |= any[r];
	}
	if (worst)
		return worst;
	if (!full)
		*cost = fixed + CANDIDATE_NS * (double)e->report.candidates;
	return 0;
}

static int place_of_side(const int *sides, int side)
{
	int place = 0;
	for (int i = 0; sides[i]; i++)
		place = sides[i] == side ? i : place;
	return place;
}

/* Replaces the chosen grids by a smooth grid with pairs, if that costs less. With a larger side there are fewer pairs
 * and longer transforms, so the search ends when the sum of both grows. before: side of the smooth grid that the layout
 * has outgrown, where the search begins; or 0. */
static int choose_smooth(struct sl_device_embedding *e, double extent, int before, struct sl_error *err)
{
	const struct sl_grid grid[SL_LEVELS] = {e->grid[0], e->grid[1]};
	const int *sides = smooth_sides[e->settings.dims];
	int levels = e->levels, begin = place_of_side(sides, before), most = smooth_most(e->n, e->settings.dims), code = 0;
	double others = others_ns(e), least = others;
	bool exact = e->exact, wider = false;
	struct sl_grid best = grid[0];
	uint64_t candidates = 0;
	e->exact = false;
	e->levels = 1;
	for (int step = 1; step >= -1 && !wider && !code; step -= 2) {  /* larger sides; then smaller ones */
		double last = step > 0 ? INFINITY : least, cost;
		for (int at = step > 0 ? begin : begin - 1; at >= 0 && sides[at] && sides[at] <= most && !code; at += step) {
			code = smooth_ns(e, sides[at], extent, least, &cost, err);
			if (code || cost >= last)
				break;
			last = cost;
			if (cost < least) {
				least = cost;
				best = e->grid[0];
				candidates = e->report.candidates;
				wider = at > begin;
			}
		}
	}
	bool found = least < others;
	e->exact = exact && !found;
	e->levels = found ? 1 : levels;
	e->grid[0] = best;
	e->grid[1] = grid[1];
	e->report.candidates = candidates;
	e->candidates_most = (uint64_t)(CROWDED * (double)candidates) + 100 * (uint64_t)e->n;
	return code;
}

/* ------------------------------------------------------------------------------------------------ */

/* Sets the range of layouts that the chosen grids serve. */
static void set_reach(struct sl_device_embedding *e, double extent, bool smallest)
{
	e->reach = (float)(reach_of(e) * (1 - 1e-5));
	for (int k = 0; k < e->settings.dims; k++)  /* the layout in the middle */
		e->report.corner[k] = 0.5f * (e->report.low[k] + e->report.high[k] - e->reach);
	e->shrink = extent <= EXTENT_LEAST ? -1 : e->reach * (smallest ? 0.125f : 0.3f);
}

/* Chooses grids (or all pairs) for the present layout, reserves work memory and takes plans. */
int sl__prepare(struct sl_device_embedding *e, struct sl_error *err)
{
	struct sl_device *d = e->graph->device;
	if (!e->report.finite)
		return sl_error_field(err, SL_BADPARAM, "/learning_rate", "%s", SL_DIVERGED_DETAIL);
	float extent = extent_of(e);
	bool crowded = sl__is_smooth(e) && e->report.candidates > e->candidates_most;
	bool fits = e->chosen && (e->exact || (is_inside(e) && extent >= e->shrink && !crowded));
	int code = 0;
	if (sl__is_tree(&e->settings)) {
		e->chosen = e->exact = true;
	} else if (!fits) {
		code = sl__freshen(e, err);
		if (code)
			return code;
		int before = e->chosen && sl__is_smooth(e) ? e->grid[0].side : 0;
		bool smallest = choose_grid(e, (double)extent);
		d->work->owner = NULL;
		e->chosen = false;
		e->exact = e->settings.repulsion == SL_REPULSION_EXACT ||
			   (e->settings.repulsion == SL_REPULSION_AUTO && sl__may_be_exact(e->n, &e->settings) &&
			    exact_is_cheaper(e));
		bool wide = e->settings.dims == 3 || (double)extent > SL_GRID_FLAT_LEAST;
		if (wide && sl__may_be_smooth(e->n, &e->settings) && (e->exact || e->levels > 1))
			code = choose_smooth(e, (double)extent, before, err);
		if (code)
			return code;
		set_reach(e, (double)extent, smallest && !sl__is_smooth(e));
		e->chosen = true;
		e->stretch = STRETCH_FIRST;
	}
	if (e->exact)
		return 0;
	struct sl_transform *transforms[SL_LEVELS];
	code = take_plans(e, err);
	if (code) {
		e->chosen = fits;
		return code;
	}
	return sl__work_reserve(d, e->grid, e->levels, transforms, err);
}
