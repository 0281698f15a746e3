/* run.c -- spaceland embed --local: computes in this process with libspaceland, with the same results as on a
 * server. */
#include <math.h>
#include <stdlib.h>

#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/local/local.h"

#define SLICE_MS 50.0  /* interval between updates of the progress bar and checks of the interrupt flag */

/* Recent iterations per second; iterations become slower as the layout grows. */
struct speed {
	double seconds, value;  /* compute time at the last update; NAN before the second update */
	int iteration;
};

static double speed_now(struct speed *v, const struct sl_status *s)
{
	if (s->seconds - v->seconds >= 0.5 || s->done || isnan(v->value)) {
		double newest = (s->iteration - v->iteration) / (s->seconds - v->seconds);
		if (s->iteration > v->iteration && isfinite(newest))
			v->value = newest;
		v->seconds = s->seconds;
		v->iteration = s->iteration;
	}
	return v->value;
}

static int iterate(struct local *l)
{
	struct progress progress;
	struct speed v = {.value = NAN};
	int code = 0;
	progress_init(&progress, l->cli, "embed");
	while (!code && !l->status.done && !cli_interrupted) {
		code = sl_embedding_advance(l->embedding, SLICE_MS, &l->status, &l->err);
		const struct sl_status *s = &l->status;
		double speed = s->done ? s->iteration / s->seconds : speed_now(&v, s);
		if (!code)
			progress_iterations(&progress, s->iteration, s->done ? s->iteration : s->iterations, s->measure, speed,
					    (s->iterations - s->iteration) / speed, NULL);
	}
	progress_finish(&progress, false);
	if (code || cli_interrupted)
		return local_failed(l, l->path);
	l->y = malloc((size_t)l->nodes.n * (size_t)l->params.dims * sizeof *l->y);
	if (!l->y)
		return cli_fail(CLI_FAILED, "out of memory");
	return sl_embedding_layout(l->embedding, l->y, &l->err) ? local_failed(l, l->path) : CLI_OK;
}

/* ---- values that stand for "auto" -------------------------------------------- */

static struct sl_method_data data_of(const struct local *l)
{
	const struct sl_input *in = &l->input;
	uint32_t k = in->kind == SL_INPUT_GRAPH ? 0 : in->neighbours ? in->neighbours->k : l->search.k;
	uint32_t most = l->nodes.n ? l->nodes.n - 1 : 0;
	struct sl_method_data data = {
		.known = true, .graph = in->kind == SL_INPUT_GRAPH, .coordinates = in->points != NULL, .n = l->nodes.n,
		.symmetric = in->graph && in->graph->symmetric, .neighbours = k < most ? k : most,
	};
	return data;
}

/* Of few points the perplexity is less than the usual one. */
static void tell_perplexity(const struct local *l)
{
	const struct sl_method_data data = data_of(l);
	double perplexity = sl_perplexity_auto(data.neighbours);
	if (!data.graph && !l->params.perplexity.count && perplexity < SL_PERPLEXITY_DEFAULT)
		cli_tell(l->cli, l->path, "the perplexity is %.4g, not %g, since each point has %u neighbours", perplexity,
			 SL_PERPLEXITY_DEFAULT, data.neighbours);
}

static json_t *resolved_json(const struct local *l)
{
	const struct sl_method *method = sl_methods[0];
	const struct sl_method_data data = data_of(l);
	struct sl_resolved value[SL_RESOLVED_MOST];
	int count = method->resolved ? method->resolved(&l->params, &data, l->status.iteration, NULL, value) : 0;
	json_t *o = json_object();
	for (int i = 0; i < count; i++) {
		json_t *list = value[i].type == SL_RESOLVED_LIST ? json_array() : NULL;
		for (int k = 0; list && k < value[i].list.count; k++)
			json_array_append_new(list, json_real(value[i].list.value[k]));
		json_object_set_new(o, value[i].name, list ? list :
				    value[i].type == SL_RESOLVED_NUMBER ? json_real(value[i].number) :
				    value[i].type == SL_RESOLVED_WORD ? json_string(value[i].word) : json_null());
	}
	return o;
}

/* ---- writing ---------------------------------------------------------------- */

static int report(const struct local *l, double total_s, const char *layout, const char *picture)
{
	const struct sl_status *s = &l->status;
	char nodes[24], entries[24], reading[24], searching[24], preparing[24], computing[24], total[24], search[48] = "";
	if (l->cli->json) {
		json_t *kl = isfinite(s->measure) ? json_real(s->measure) : json_null();
		json_t *object = json_pack("{s:I, s:I, s:i, s:i, s:o, s:s, s:{s:f, s:f, s:f, s:f, s:f}, s:s?, s:s?}",
			"nodes", (json_int_t)l->nodes.n, "entries", (json_int_t)l->entries, "dims", l->params.dims,
			"iterations", s->iteration, "kl", kl, "stop", sl_stop_name(s->stop), "seconds", "read", l->read_s,
			"search", l->search_s, "prepare", l->prepare_s - l->search_s, "embed", s->seconds, "total", total_s,
			"layout", layout, "picture", picture);
		if (object)
			json_object_set_new(object, "resolved", resolved_json(l));
		return cli_print_result(object);
	}
	if (l->search_s > 0)
		snprintf(search, sizeof search, "%s searching, ", cli_seconds_text(l->search_s, searching));
	cli_note(l->cli, "%s nodes, %s entries; %d iterations, KL %.4f; %s reading, %s%s preparing, %s computing, %s in "
		 "all", cli_count_text(l->nodes.n, nodes), cli_count_text((double)l->entries, entries), s->iteration,
		 cli_without_minus(s->measure),
		 cli_seconds_text(l->read_s, reading), search, cli_seconds_text(l->prepare_s - l->search_s, preparing),
		 cli_seconds_text(s->seconds, computing), cli_seconds_text(total_s, total));
	cli_note_written(l->cli, layout, picture);
	return CLI_OK;
}

int cli_embed_local(struct cli *cli)
{
	const char *layout = cli_option(cli, "output"), *picture = cli_option(cli, "picture");
	struct local l = {.cli = cli, .path = cli->arguments[0], .more = cli->arguments + 1,
			  .more_count = cli->argument_count - 1};
	double start = cli_now();
	int status = cli_params(cli, &l.params);
	if (!status && !layout && !picture && !cli->json)
		status = cli_fail(CLI_USAGE, "embed --local has nothing to write: give -o, --picture or --json");
	if (!status)
		status = local_read(&l, SL_INPUT_AUTO);
	l.read_s = cli_now() - start;
	if (!status)
		status = local_prepare(&l);
	l.prepare_s = cli_now() - start - l.read_s;
	if (!status) {
		tell_perplexity(&l);
		status = iterate(&l);
	}
	if (!status && layout)
		status = cli_layout_write(layout, &l.nodes, l.params.dims, l.y);
	if (!status && picture)
		status = local_write_picture(&l, picture);
	if (!status)
		status = report(&l, cli_now() - start, layout, picture);
	local_finish(&l);
	return status;
}
