/* input.c -- reads a file and prepares embed --local: neighbours, affinities, device. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/common/files.h"
#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/local/local.h"
#include "core/engine/gpus.h"
#include "core/engine/load.h"
#include "core/formats/labels/labels.h"
#include "core/init/init.h"

int local_failed(const struct local *l, const char *path)
{
	if (cli_interrupted)
		return cli_fail(CLI_INTERRUPTED, "interrupted");
	return cli_fail_error(path, &l->err);
}

/* ---- reading -------------------------------------------------------------------- */

int local_options(struct local *l, enum sl_input_kind kind, struct sl_input_options *options)
{
	/* `cancel` points to an int that may be set at any time; here the signal handler sets it */
	*options = (struct sl_input_options){.read = {.cancel = (const int *)&cli_interrupted}};
	sl_param_defaults(&sl_input_params_table, &l->given);
	int status = cli_params_of(l->cli, &sl_input_params_table, &l->given);
	if (status)
		return status;
	if (kind != SL_INPUT_AUTO)
		l->given.kind = (int)kind;
	options->read.few_isolated = !l->given.isolated;
	return sl_input_params_settle(&l->given, options, &l->search, &l->err) ? cli_fail_error(NULL, &l->err) : CLI_OK;
}

/* Moves the further columns of a file of labels to the points, where pictures find them by their titles. */
static void take_more(struct sl_points *p, struct sl_label_table *t)
{
	struct sl_more_labels *more = realloc(p->more, ((size_t)p->more_count + t->columns + 1) * sizeof *more);
	if (!more)
		return;
	p->more = more;
	for (uint32_t k = 0; k < t->columns; k++) {
		struct sl_label_column *c = &t->column[k];
		struct sl_more_labels *to = &more[p->more_count++];
		*to = (struct sl_more_labels){.label = c->label, .labels = c->labels, .label_name = c->text};
		memcpy(to->title, c->title, sizeof to->title);
		memset(c, 0, sizeof *c);
	}
	t->columns = 0;
}

static int read_labels(struct local *l, const struct sl_read_options *options, const char *path)
{
	const char *only = cli_option(l->cli, "labels-column");
	struct sl_source *source = NULL;
	struct sl_label_table table = {0};
	int code = sl_source_open_path(&source, path, NULL, &l->err);
	if (!code && l->input.points)
		code = sl_points_read_label_table(l->input.points, &table, only, options, source, &l->err);
	else if (!code)
		code = sl_graph_read_label_table(l->input.graph ? l->input.graph : &l->nodes, &table, only, options,
				source,
						 &l->err);
	sl_source_close(source);
	if (!code)
		cli_note_labels(l->cli, path, table.taken);
	if (!code && l->input.points)
		take_more(l->input.points, &table);
	for (uint32_t k = 0; !code && k < table.columns; k++)
		cli_tell(l->cli, path, "the column \"%s\" is left out; name it with --labels-column", table.column[k].title);
	sl_label_table_finish(&table);
	return code ? local_failed(l, path) : CLI_OK;
}

void local_view_nodes(struct local *l)
{
	const struct sl_graph *g = l->input.graph;
	const struct sl_points *p = l->input.points;
	if (g)
		l->nodes = (struct sl_graph){.n = g->n, .name_bytes = g->name_bytes, .name_at = g->name_at,
				.label = g->label,
					     .labels = g->labels, .label_name = g->label_name};
	else if (p)
		l->nodes = (struct sl_graph){.n = p->n_user, .name_bytes = p->name_bytes, .name_at = p->name_at,
					     .label = p->label, .labels = p->labels, .label_name = p->label_name};
	else
		l->nodes.n = l->input.neighbours->n_user;
	if (g || p)
		memcpy(l->nodes.label_title, g ? g->label_title : p->label_title, sizeof l->nodes.label_title);
}

static int read_init(struct local *l)
{
	const char *path = cli_option(l->cli, "init");
	uint64_t n, dims;
	if (!path || cli_init_is_word(path))
		return CLI_OK;
	int status = cli_init_read(path, &l->init, &n, &dims);
	if (status)
		return status;
	if (n != l->nodes.n || dims != (uint64_t)l->params.dims)
		return cli_fail(CLI_BADINPUT, "%s has the shape (%" PRIu64 ", %" PRIu64 "); it must have (%" PRIu32 ", "
				"%d), by the %s and --dims", path, n, dims, l->nodes.n, l->params.dims,
				l->input.graph ? "graph's nodes" : "points");
	return CLI_OK;
}

struct oddity {
	uint64_t count;
	const char *one, *many;
};

static uint64_t centred_columns(const struct sl_points *p)
{
	uint64_t count = 0;
	for (uint32_t k = 0; p->center && k < p->center_columns; k++)
		count += p->center[k] != 0;
	return count;
}

void local_warn(const struct local *l)
{
	struct oddity odd[5] = {{0}};
	if (l->input.graph) {
		const struct sl_graph_report *r = &l->input.graph->report;
		odd[0] = (struct oddity){r->self_loops, "self-loop was left out", "self-loops were left out"};
		odd[1] = (struct oddity){r->zero_weights, "entry of weight 0 was left out",
					 "entries of weight 0 were left out"};
		odd[2] = (struct oddity){r->duplicates, "duplicate entry was merged", "duplicate entries were merged"};
		odd[3] = (struct oddity){r->isolated, "node has no edge; it is placed apart",
					 "nodes have no edge; they are placed apart"};
	} else if (l->input.points) {
		const struct sl_points_report *r = &l->input.points->report;
		odd[0] = (struct oddity){r->not_finite, "point with NaN or infinity was left out; it is placed apart",
					 "points with NaN or infinity were left out; they are placed apart"};
		odd[1] = (struct oddity){r->duplicates, "point is equal to an earlier one",
					 "points are equal to an earlier one"};
		odd[2] = (struct oddity){r->constant_columns, "column is constant", "columns are constant"};
		odd[3] = (struct oddity){l->input.points->merged, "point differs from an earlier one by less than single "
					 "precision can hold; they are taken as equal", "points differ from earlier ones by less "
					 "than single precision can hold; they are taken as equal"};
		odd[4] = (struct oddity){l->input.points->taken ? 0 : centred_columns(l->input.points), "column lies far from "
					 "0; an offset was subtracted from it in double precision", "columns lie far from 0; an "
					 "offset was subtracted from them in double precision"};
	} else {
		odd[0] = (struct oddity){l->input.neighbours->short_rows, "point has fewer neighbours than others",
					 "points have fewer neighbours than others"};
	}
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
		if (odd[i].count)
			cli_tell(l->cli, l->path, "%" PRIu64 " %s", odd[i].count, odd[i].count == 1 ? odd[i].one : odd[i].many);
}

/* Reports an error: of an option if the error names one, else of the file. */
static int failed(const struct local *l)
{
	return l->err.code == SL_BADPARAM && l->err.pointer[0] ? cli_fail_error(NULL, &l->err) : local_failed(l,
			l->path);
}

static int check_params(struct local *l)
{
	bool points = l->input.kind != SL_INPUT_GRAPH;
	return sl_params_check_input(&l->params, points, &l->err) ? cli_fail_error(NULL, &l->err) : CLI_OK;
}

static int open_files(struct local *l, struct sl_source **out)
{
	char *one[] = {(char *)l->path};
	return l->more_count ? cli_files_open(out, l->more - 1, l->more_count + 1, &l->err) :
			       cli_files_open(out, one, 1, &l->err);
}

int local_read(struct local *l, enum sl_input_kind kind)
{
	const char *labels = cli_option(l->cli, "labels");
	struct sl_input_options options;
	struct sl_source *source = NULL;
	struct progress progress;
	int status = local_options(l, kind, &options);
	if (status)
		return status;
	progress_init(&progress, l->cli, l->cli->command->name);
	progress_phase(&progress, "reading");
	int code = open_files(l, &source);
	if (!code)
		code = sl_input_read(&l->input, &options, source, &l->err);
	sl_source_close(source);
	progress_finish(&progress, true);
	if (code)
		return local_failed(l, l->path);
	status = check_params(l);
	local_view_nodes(l);
	if (!status && labels) {
		status = read_labels(l, &options.read, labels);
		if (!status && !l->input.neighbours)
			local_view_nodes(l);
	}
	if (!status)
		status = read_init(l);
	const struct sl_input *in = &l->input;
	if (!status) {
		local_tell(l->cli, l->path, in->kind, in->graph ? in->graph->taken : in->points ? in->points->taken
			   : in->neighbours->taken);
		local_warn(l);
	}
	return status;
}

/* ---- neighbours ------------------------------------------------------------------- */

static void on_progress(void *arg, double share)
{
	char text[48];
	snprintf(text, sizeof text, "neighbours %.0f%%", 100 * share);
	progress_phase(arg, text);
}

static int project(struct local *l, uint32_t to)
{
	struct sl_points *projected;
	double kept;
	if (sl_engine_pca(l->engine, 0, 0, &projected, l->input.points, to, &kept, (const int *)&cli_interrupted,
			&l->err))
		return l->err.code == SL_BADPARAM ? cli_fail(CLI_USAGE, "--pca: %s", l->err.detail) : local_failed(l,
				l->path);
	local_tell_axes(l->cli, l->path, to, l->input.points->d, kept);
	projected->more = l->input.points->more;   /* further columns of labels */
	projected->more_count = l->input.points->more_count;
	l->input.points->more = NULL;
	l->input.points->more_count = 0;
	sl_points_destroy(l->input.points);
	l->input.points = projected;
	local_view_nodes(l);
	return CLI_OK;
}

/* Searches on the engine if it can search with this metric, else on the CPU. */
static int search(struct local *l, const struct sl_neighbours_params *params)
{
	const struct sl_points *p = l->input.points, *view;
	int code = SL_BADPARAM;
	if (sl_neighbours_check(p, params, &l->err))
		return SL_BADPARAM;
	int rc = sl_distance_points(&view, p, params->metric, &l->err);
	if (rc)
		return rc;
	if (l->engine->neighbours_find)
		code = l->engine->neighbours_find(0, 0, view, params, &l->input.neighbours, &l->err);
	if (code == SL_BADPARAM)
		code = sl_neighbours_find(&l->input.neighbours, view, params, &l->err);
	sl_points_uncentred_end(view, p);
	return code;
}

static int find_neighbours(struct local *l, const struct sl_affinities_params *ap)
{
	struct progress progress;
	double start = cli_now();
	/* sparse points were already projected while they were read */
	int status = l->given.pca && !l->input.points->pca ? project(l, (uint32_t)l->given.pca) : CLI_OK;
	if (status)
		return status;
	uint32_t needed = sl_affinities_neighbours_needed(ap, l->input.points->n);
	progress_init(&progress, l->cli, "embed");
	if (!sl_param_given(&sl_input_params_table, &l->given, "neighbours") || l->search.k < needed)
		l->search.k = needed ? needed : 1;
	if (sl_param_given(&sl_input_params_table, &l->given, "neighbours") && l->search.k != (uint32_t)l->given.neighbours)
		cli_tell(l->cli, l->path, "%d neighbours are too few for this perplexity; %u of each point are searched",
			 l->given.neighbours, l->search.k);
	else if (l->search.k > l->input.points->n - 1)
		cli_tell(l->cli, l->path, "each point has only %u neighbours, not %u", l->input.points->n - 1, l->search.k);
	l->search.gpus = l->gpus;
	l->search.cancel = (const int *)&cli_interrupted;
	l->search.progress = on_progress;
	l->search.arg = &progress;
	int code = search(l, &l->search);
	progress_finish(&progress, true);
	l->search_s = cli_now() - start;
	return code ? local_failed(l, l->path) : CLI_OK;
}

/* ---- affinities --------------------------------------------------------------------- */

static int graph_put(struct local *l)
{
	double start = cli_now();
	int code = l->engine->graph_put(l->device, l->affinities, &l->device_graph, &l->err);
	l->put_s = cli_now() - start;
	return code;
}

static bool for_the_host(int code) { return code == SL_DEVMEM || code == SL_TOOBIG || code == SL_BADPARAM; }

static int affinities_of_graph(struct local *l, const struct sl_affinities_params *ap)
{
	if (sl_engine_makes_graph(l->engine, l->input.graph->m)) {
		double start = cli_now();
		int made = l->engine->graph_make(l->device, l->input.graph, ap, &l->affinities, &l->device_graph, &l->err);
		l->put_s = cli_now() - start;
		if (!for_the_host(made))
			return made;
		if (made != SL_BADPARAM)
			cli_tell(l->cli, l->path, "the processor makes the affinities: %s", l->err.detail);
	}
	int code = sl_affinities_create(&l->affinities, l->input.graph, ap, &l->err);
	return code ? code : graph_put(l);
}

static int affinities_on_host(struct local *l, const struct sl_affinities_params *ap)
{
	int code = sl_affinities_from_neighbours(&l->affinities, l->input.neighbours, ap, &l->err);
	return code ? code : graph_put(l);
}

static int affinities_of_neighbours(struct local *l, const struct sl_affinities_params *ap)
{
	const struct sl_neighbours *nb = l->input.neighbours;
	struct sl_device_neighbours *resident = NULL;
	/* only the host supports rows of different lengths */
	if (!l->engine->neighbours_put || nb->short_rows)
		return affinities_on_host(l, ap);
	double start = cli_now();
	int code = l->engine->neighbours_put(l->device, nb, &resident, &l->err);
	if (!code)
		code = l->engine->neighbours_graph(resident, ap, &l->affinities, &l->device_graph, &l->err);
	if (resident)
		l->engine->neighbours_drop(resident);
	l->put_s = cli_now() - start;
	/* making P on the device takes several times the memory of P */
	return code == SL_DEVMEM || code == SL_TOOBIG ? affinities_on_host(l, ap) : code;
}

/* The principal axes of the points, if the layout begins with them. */
static int find_axes(struct local *l)
{
	if (l->input.kind != SL_INPUT_POINTS || sl_init_settled(&l->params, true) != SL_INIT_PCA)
		return 0;
	return sl_neighbours_axes(l->input.neighbours, l->input.points, NULL, &l->err);
}

#define GPUS_MOST 16
#define GPUS_START_S 1.5  /* opening a second GPU, and joining both */

/* The nodes, and about how many entries P will have. */
static uint32_t size_of(const struct local *l, uint64_t *entries)
{
	const struct sl_neighbours *nb = l->input.neighbours;
	uint32_t n = l->input.graph ? l->input.graph->n : nb ? nb->n : l->input.points->n;
	*entries = l->input.graph ? 2 * l->input.graph->m : (uint64_t)n * (nb ? nb->k : 90) * 3 / 2;
	return n;
}

/* With --gpus auto: opens more GPUs than the one that is open, if that pays or memory requires it. */
static int open_more(struct local *l, struct sl_device_options *device)
{
	struct sl_device_info info;
	struct sl_settings settings;
	struct sl_error err = {0};
	uint64_t entries;
	int most = sl_engine_devices("cuda");
	uint32_t n = size_of(l, &entries);
	l->engine->info(l->device, &info);
	sl_embedding_settings(&l->params, n, &settings);
	device->gpus = sl_engine_gpus(l->engine, &settings, n, entries, sl_params_iterations(&l->params),
				      most < GPUS_MOST ? most : GPUS_MOST, info.memory_budget, GPUS_START_S);
	if (device->gpus < 2)
		return 0;
	l->engine->close(l->device);
	l->device = NULL;
	if (!l->engine->open(&l->device, device, &err))
		return 0;
	cli_tell(l->cli, NULL, "one GPU computes, not %d: %s", device->gpus, err.detail);
	device->gpus = 1;
	return l->engine->open(&l->device, device, &l->err);
}

/* --gpus; *gpus 0: auto. */
static int gpus_option(struct local *l, int *gpus)
{
	const char *text = cli_option(l->cli, "gpus");
	long number = 0;
	int status = text && strcmp(text, "auto") != 0 ? cli_option_int(l->cli, "gpus", 1, GPUS_MOST, &number) : CLI_OK;
	*gpus = (int)number;
	return status;
}

int local_open(struct local *l)
{
	const char *engine = cli_option(l->cli, "engine");
	struct sl_device_options device = {0};
	long threads = 0;
	int status = cli_option_int(l->cli, "threads", 1, 1024, &threads);
	device.threads = (int)threads;
	if (!status)
		status = gpus_option(l, &device.gpus);
	if (status)
		return status;
	if (sl_engine_open(engine ? engine : "auto", &l->engine, &l->err))
		return local_failed(l, engine);
	bool cuda = !strcmp(l->engine->name, "cuda");
	if (device.gpus > 1 && !cuda)
		return cli_fail(CLI_USAGE, "--gpus %d: engine %s computes on one device; use --engine cuda", device.gpus,
				l->engine->name);
	bool automatic = !device.gpus && cuda && (l->input.graph || l->input.neighbours || l->input.points);
	int code = l->engine->open(&l->device, &device, &l->err);
	if (!code && automatic && sl_engine_devices("cuda") > 1)
		code = open_more(l, &device);
	l->gpus = device.gpus;
	return code ? local_failed(l, l->path) : CLI_OK;
}

int local_put(struct local *l)
{
	struct sl_affinities_params ap;
	sl_affinities_params_from(&ap, &l->params);
	ap.order = l->order;
	int status = l->input.kind == SL_INPUT_POINTS ? find_neighbours(l, &ap) : CLI_OK;
	if (status)
		return status;
	int code = find_axes(l);
	if (!code)
		code = l->input.neighbours ? affinities_of_neighbours(l, &ap) : affinities_of_graph(l, &ap);
	return code ? failed(l) : CLI_OK;
}

int local_prepare(struct local *l)
{
	int status = local_open(l), code;  /* before the search, so that --threads limits the search, too */
	if (!status)
		status = local_put(l);
	if (status)
		return status;
	l->entries = l->input.graph ? l->input.graph->m
				    : l->input.neighbours ? (uint64_t)l->input.neighbours->n * l->input.neighbours->k : 0;
	code = sl_embedding_create(&l->embedding, l->engine, l->device_graph, l->affinities, &l->params, l->init, &l->err);
	if (!code && l->input.neighbours && l->affinities->unreachable)
		cli_tell(l->cli, l->path, l->affinities->unreachable == 1 ?
			 "%u point has too many equal distances for this perplexity; it gets the nearest possible one" :
			 "%u points have too many equal distances for this perplexity; they get the nearest possible one",
			 l->affinities->unreachable);
	return code ? failed(l) : CLI_OK;
}

void local_finish(struct local *l)
{
	sl_embedding_destroy(l->embedding);
	if (l->device_graph)
		l->engine->graph_drop(l->device_graph);
	if (l->device)
		l->engine->close(l->device);
	sl_affinities_destroy(l->affinities);
	if (l->input.neighbours && !l->input.points) {
		/* labels that only l->nodes owns */
		for (uint32_t k = 0; l->nodes.label_name && k < l->nodes.labels; k++)
			free(l->nodes.label_name[k]);
		free(l->nodes.label_name);
		free(l->nodes.label);
	}
	sl_input_finish(&l->input);
	free(l->init);
	free(l->y);
}
