/* bench.c -- spaceland bench: measures the speed of an engine on a graph and of each phase. Without a server. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/bench/bench.h"
#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "core/graph/synthetic.h"

/* Checks the options, except those that local_read() checks. */
static int check_options(struct bench *b, long *nodes, long *neighbours)
{
	struct cli *cli = b->l.cli;
	int status = cli_params(cli, &b->l.params);
	if (!status)
		status = cli_option_int(cli, "nodes", 3, 0xfffffff0l, nodes);
	if (!status && *nodes)
		status = cli_option_int(cli, "neighbours", 2, 1000, neighbours);
	if (!status)
		status = cli_option_int(cli, "repeat", 1, 1000, &b->repeats);
	if (status)
		return status;
	if (!b->l.params.iterations && cli_option(cli, "iterations"))
		return cli_fail(CLI_USAGE, "--iterations must not be auto here: bench compares runs of equal length");
	b->l.params.iterations = sl_params_iterations(&b->l.params);
	sl_params_settle(&b->l.params);
	if (!*nodes == !cli->argument_count)
		return cli_fail(CLI_USAGE, *nodes ? "bench measures one graph: FILE or --nodes, not both" :
						    "bench needs a graph: FILE, or --nodes for a synthetic one");
	for (int i = 0; i < cli->first_shared && *nodes; i++)
		if (cli->param[i] && cli->values[i] && strcmp(cli->options[i].name, "neighbours"))
			return cli_fail(CLI_USAGE, "--%s: only with FILE", cli->options[i].name);
	return CLI_OK;
}

/* Finds the kind of graph that --synthetic names. */
static int read_kind(const struct cli *cli, long nodes, int *kind)
{
	const char *word = cli_option(cli, "synthetic");
	for (*kind = 0; word && sl_synthetic_words[*kind] && strcmp(word, sl_synthetic_words[*kind]) != 0; ++*kind)
		;
	if (!sl_synthetic_words[*kind])
		return cli_fail(CLI_USAGE, "--synthetic: %s is not a kind of graph; use clusters, mesh, random, small_world or "
				"attachment", word);
	return word && !nodes ? cli_fail(CLI_USAGE, "--synthetic: only with --nodes") : CLI_OK;
}

/* Makes a synthetic graph. It sets its own perplexity, and the nodes of clusters are already in a good order. */
static int make_graph(struct bench *b, long nodes, long neighbours, int kind)
{
	struct local *l = &b->l;
	double began = cli_now();
	l->path = "synthetic";
	l->input.kind = SL_INPUT_GRAPH;
	l->order = kind == SL_SYNTHETIC_CLUSTERS ? SL_ORDER_NONE : SL_ORDER_AUTO;
	if (!cli_option(l->cli, "lambda"))
		l->params.lambda = 1;
	int code = sl_synthetic_kind(&l->input.graph, (enum sl_synthetic_kind)kind, (uint32_t)nodes, (uint32_t)neighbours,
				     l->params.seed, &l->err);
	l->read_s = cli_now() - began;
	return code ? local_failed(l, l->path) : CLI_OK;
}

static int read_file(struct bench *b)
{
	double began = cli_now();
	b->l.path = b->l.cli->arguments[0];
	int status = local_read(&b->l, SL_INPUT_AUTO);
	b->l.read_s = cli_now() - began;
	return status;
}

/* Opens the device and puts P on it. */
static int prepare(struct bench *b)
{
	struct local *l = &b->l;
	double began = cli_now();
	int status = local_open(l);
	if (status)
		return status;
	if (l->err.code)
		cli_tell(l->cli, NULL, "engine %s: %s", l->engine->name, l->err.detail);
	b->open_s = cli_now() - began;
	l->engine->info(l->device, &b->opened);
	began = cli_now();
	status = local_put(l);
	l->prepare_s = cli_now() - began;
	if (status)
		return status;
	if (!l->affinities->n)
		return cli_fail(CLI_BADINPUT, "%s: no node has an edge, so there is nothing to measure", l->path);
	l->engine->info(l->device, &b->uploaded);
	sl_embedding_settings(&l->params, l->affinities->n, &b->settings);
	sl_input_finish(&l->input);  /* frees the graph, which may be large; only P is needed now */
	memset(&l->input, 0, sizeof l->input);
	memset(&l->nodes, 0, sizeof l->nodes);
	return CLI_OK;
}

int cmd_bench(struct cli *cli)
{
	struct bench b = {.l = {.cli = cli}, .repeats = 3};
	long nodes = 0, neighbours = 90;
	int kind = 0, status = check_options(&b, &nodes, &neighbours);
	if (!status)
		status = read_kind(cli, nodes, &kind);
	if (!status)
		status = nodes ? make_graph(&b, nodes, neighbours, kind) : read_file(&b);
	if (!status)
		status = prepare(&b);
	if (!status)
		status = bench_run(&b);
	if (!status)
		status = cli->json ? bench_print_json(&b) : bench_print_tables(&b);
	local_finish(&b.l);
	free(b.jobs);
	return status;
}
