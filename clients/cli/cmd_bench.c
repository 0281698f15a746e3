/* cmd_bench.c -- spaceland bench: how fast an engine is on a graph, and where the time goes. Without a server. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/bench.h"
#include "core/engine_load.h"
#include "core/formats/read.h"
#include "core/graph/synthetic.h"

static int failed(const struct bench *b)
{
	return cli_interrupted ? cli_fail(CLI_INTERRUPTED, "interrupted") : cli_fail_error(b->source, &b->err);
}

/* Everything that can be wrong with the command line. */
static int check_options(struct bench *b, long *nodes, long *neighbours, long *threads)
{
	struct cli *cli = b->cli;
	int status = cli_params(cli, &b->params);
	if (!status)
		status = cli_option_int(cli, "nodes", 3, 0xfffffff0l, nodes);
	if (!status)
		status = cli_option_int(cli, "neighbours", 2, 1000, neighbours);
	if (!status)
		status = cli_option_int(cli, "threads", 1, 1024, threads);
	if (!status)
		status = cli_option_int(cli, "repeat", 1, 1000, &b->repeats);
	if (status)
		return status;
	if (!*nodes == !cli->argument_count)
		return cli_fail(CLI_USAGE, *nodes ? "bench measures one graph: FILE or --nodes, not both" :
						    "bench needs a graph: FILE, or --nodes for a synthetic one");
	if (!*nodes && cli_option(cli, "neighbours"))
		return cli_fail(CLI_USAGE, "--neighbours: only with --nodes; a file has its own edges");
	if (*nodes && cli_option(cli, "format"))
		return cli_fail(CLI_USAGE, "--format: only with FILE");
	return CLI_OK;
}

static int read_graph(struct bench *b, struct sl_graph **out)
{
	struct sl_read_options options = {.cancel = (const int *)&cli_interrupted};
	const char *format = cli_option(b->cli, "format");
	struct sl_source *source = NULL;
	if (format && sl_graph_format_parse(format, &options.format, &b->err))
		return cli_fail(CLI_USAGE, "--format: %s", b->err.detail);
	int code = sl_source_open_path(&source, b->source, NULL, &b->err);
	if (!code)
		code = sl_graph_read(out, &options, source, &b->err);
	sl_source_close(source);
	return code ? failed(b) : CLI_OK;
}

/* P, from the file or made up. A synthetic graph has its perplexity, and its nodes are in a good order. */
static int prepare(struct bench *b, long nodes, long neighbours)
{
	struct sl_affinities_params ap;
	struct sl_graph *g = NULL;
	double began = cli_now();
	int status = CLI_OK;
	sl_affinities_params_from(&ap, &b->params);
	if (nodes) {
		b->source = "synthetic";
		ap.order = SL_ORDER_NONE;
		if (!cli_option(b->cli, "lambda"))
			ap.lambda = 1;
		if (sl_synthetic_graph(&g, (uint32_t)nodes, (uint32_t)neighbours, b->params.seed, &b->err))
			status = failed(b);
	} else {
		b->source = b->cli->arguments[0];
		status = read_graph(b, &g);
	}
	b->read_s = cli_now() - began;
	if (!status && sl_affinities_create(&b->a, g, &ap, &b->err))
		status = failed(b);
	if (!status && !b->a->n)
		status = cli_fail(CLI_BADINPUT, "%s: no node has an edge; there is nothing to measure", b->source);
	sl_graph_destroy(g);
	b->prepare_s = cli_now() - began - b->read_s;
	return status;
}

static int open_device(struct bench *b, long threads)
{
	struct sl_device_options options = {.threads = (int)threads};
	double began = cli_now();
	if (b->engine->open(&b->device, &options, &b->err))
		return failed(b);
	b->open_s = cli_now() - began;
	b->engine->info(b->device, &b->opened);
	began = cli_now();
	if (b->engine->graph_put(b->device, b->a, &b->graph, &b->err))
		return failed(b);
	b->upload_s = cli_now() - began;
	b->engine->info(b->device, &b->uploaded);
	sl_embedding_settings(&b->params, b->a->n, &b->settings);
	return CLI_OK;
}

int cmd_bench(struct cli *cli)
{
	struct bench b = {.cli = cli, .repeats = 3};
	long nodes = 0, neighbours = 90, threads = 0;
	const char *engine = cli_option(cli, "engine");
	int status = check_options(&b, &nodes, &neighbours, &threads);
	if (status)
		return status;
	if (sl_engine_open(engine ? engine : "auto", &b.engine, &b.err))
		return failed(&b);
	if (b.err.code)
		cli_note(cli, "spaceland: engine %s: %s", b.engine->name, b.err.detail);
	status = prepare(&b, nodes, neighbours);
	if (!status)
		status = open_device(&b, threads);
	if (!status)
		status = bench_run(&b);
	if (!status)
		status = cli->json ? bench_print_json(&b) : bench_print_tables(&b);
	if (b.graph)
		b.engine->graph_drop(b.graph);
	if (b.device)
		b.engine->close(b.device);
	sl_affinities_destroy(b.a);
	free(b.jobs);
	return status;
}
