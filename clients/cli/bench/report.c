/* report.c -- prints the measurements as tables for people and as JSON for programs; docs/performance.md explains them.
 *
 * The first job of a device makes plans that later jobs reuse. So figures for an iteration leave out the first job,
 * unless it is the only one. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/bench/bench.h"
#include "clients/cli/common/messages.h"

/* ---- figures ---------------------------------------------------------------------------- */

/* Index of the first job that figures include: 1, or 0 if there is only one job. */
static int first_of(const struct bench *b) { return b->jobs_done > 1 ? 1 : 0; }

enum figure { EARLY, LATE, MEAN, CREATE, FIRST, REST };

static double figure_of(const struct bench *b, const struct bench_job *j, enum figure f)
{
	switch (f) {
	case EARLY: return j->early.median;
	case LATE: return j->late.median;
	case MEAN: return j->all_s / b->l.params.iterations;
	case CREATE: return j->create_s;
	case FIRST: return j->first_s;
	case REST: return j->all_s - j->first_s;
	}
	return NAN;
}

/* The spread of a figure over the jobs that count. */
static struct bench_spread over_jobs(const struct bench *b, enum figure f)
{
	struct bench_spread none = {NAN, NAN, NAN};
	int from = first_of(b), count = 0;
	double *value = malloc(sizeof *value * (size_t)(b->jobs_done + 1));
	if (!value)
		return none;
	for (int i = from; i < b->jobs_done; i++) {
		double x = figure_of(b, &b->jobs[i], f);
		if (isfinite(x))
			value[count++] = x;
	}
	none = bench_spread_of(value, count);
	free(value);
	return none;
}

static uint64_t difference(uint64_t after, uint64_t before) { return after > before ? after - before : 0; }

static uint64_t graph_bytes(const struct bench *b)
{
	return difference(b->uploaded.memory_used, b->opened.memory_used);
}

/* As the engine computes it; the rest of what the first job allocated is plans. */
static uint64_t embedding_bytes(const struct bench *b)
{
	return b->l.engine->embedding_bytes(b->l.affinities->n, &b->settings);
}

static uint64_t grid_bytes(const struct bench *b)
{
	return difference(b->ended.memory_used, b->uploaded.memory_used + embedding_bytes(b));
}

/* Seconds to compute P on the host, from the graph or from neighbours. */
static double preparation(const struct bench *b)
{
	return fmax(b->l.prepare_s - b->l.search_s - b->l.put_s, 0);
}

/* Seconds to make plans: the difference between the first job and the others, which reuse the plans. NAN: there was
 * only one job. */
static double plans_seconds(const struct bench *b)
{
	double all = over_jobs(b, FIRST).median + over_jobs(b, REST).median;
	return b->jobs_done > 1 ? fmax(b->jobs[0].all_s - all, 0) : NAN;
}

static const char *word_of(const char *name, int value)
{
	const struct sl_param_info *info = sl_params_find(name);
	return info && info->words ? info->words[value] : "";
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static json_t *spread_json(struct bench_spread s)
{
	return json_pack("{s:o, s:o, s:o}", "median", number(s.median), "least", number(s.min), "most", number(s.max));
}

static json_t *phases_json(const struct bench *b)
{
	json_t *list = json_array();
	for (int i = 0; i < b->phase_count; i++) {
		const struct sl_phase *p = &b->phases[i];
		double rate = (double)p->bytes / p->seconds;
		json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:I, s:f, s:o, s:b}", "name", p->name,
			"seconds", p->seconds, "least", p->low, "most", p->high, "bytes", (json_int_t)p->bytes,
			"bytes_per_second", rate, "share_of_copy", number(b->copy > 0 ? rate / b->copy : NAN),
			"beside", p->beside));
	}
	return list;
}

static json_t *jobs_json(const struct bench *b)
{
	json_t *list = json_array();
	for (int i = 0; i < b->jobs_done; i++) {
		const struct bench_job *j = &b->jobs[i];
		char bits[24];
		snprintf(bits, sizeof bits, "%016" PRIx64, j->bits);
		json_array_append_new(list, json_pack("{s:f, s:f, s:f, s:o, s:o, s:o, s:i, s:f, s:s}", "embedding", j->create_s,
			"first_iteration", j->first_s, "all_iterations", j->all_s, "early", spread_json(j->early),
			"late", spread_json(j->late), "kl", number(j->end.kl), "grid_side", j->end.side,
			"grid_spacing", j->end.h, "layout_bits", bits));
	}
	return list;
}

static json_t *start_json(const struct bench *b)
{
	const struct bench_job *first = &b->jobs[0];
	json_t *next = json_null();
	if (b->jobs_done > 1)
		next = json_pack("{s:o, s:o, s:o}", "embedding", number(over_jobs(b, CREATE).median), "first_iteration",
				 number(over_jobs(b, FIRST).median), "other_iterations", number(over_jobs(b, REST).median));
	return json_pack("{s:f, s:f, s:f, s:{s:f, s:f, s:f, s:f, s:f, s:o}, s:o}", "read", b->l.read_s,
			 "neighbours", b->l.search_s, "prepare", preparation(b),
			 "first_job", "open_device", b->open_s, "upload", b->l.put_s, "embedding", first->create_s,
			 "first_iteration", first->first_s, "other_iterations", first->all_s - first->first_s,
			 "plans", number(plans_seconds(b)),
			 "next_job", next);
}

static json_t *memory_json(const struct bench *b)
{
	return json_pack("{s:I, s:f, s:I, s:f, s:I}", "graph", (json_int_t)graph_bytes(b), "graph_per_entry",
			 (double)graph_bytes(b) / (double)b->l.affinities->m, "embedding", (json_int_t)embedding_bytes(b),
			 "embedding_per_node", (double)embedding_bytes(b) / b->l.affinities->n,
			 "grids_and_plans", (json_int_t)grid_bytes(b));
}

int bench_print_json(const struct bench *b)
{
	const struct bench_job *first = &b->jobs[0];
	json_t *object = json_pack(
		"{s:{s:s, s:I, s:I}, s:{s:s, s:s}, s:{s:i, s:s, s:s, s:s, s:i, s:i}, s:{s:o, s:o, s:o, s:o}, s:o, s:o, s:o, "
		"s:o, s:o}",
		"graph", "source", b->l.path, "nodes", (json_int_t)b->l.affinities->n,
		"entries", (json_int_t)b->l.affinities->m,
		"engine", "name", b->l.engine->name, "device", b->ended.name,
		"job", "dims", b->l.params.dims, "accuracy", word_of("accuracy", b->settings.accuracy),
		"optimizer", word_of("optimizer", b->l.params.optimizer),
		"repulsion", word_of("repulsion", b->l.params.repulsion), "iterations", b->l.params.iterations,
		"exaggeration_iterations", b->l.params.exaggeration_iterations,
		"iteration", "early", spread_json(over_jobs(b, EARLY)), "late", spread_json(over_jobs(b, LATE)),
		"mean", spread_json(over_jobs(b, MEAN)), "first_job_mean", number(figure_of(b, first, MEAN)),
		"copy_bytes_per_second", number(b->copy > 0 ? b->copy : NAN), "phases", phases_json(b),
		"start", start_json(b), "memory", memory_json(b), "jobs", jobs_json(b));
	return cli_print_result(object);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* Three digits and a suitable unit: "30.4 us", "1.41 ms". */
static char *time_text(double seconds, char out[24])
{
	const char *unit = seconds < 1e-3 ? "us" : seconds < 1 ? "ms" : "s";
	double value = seconds * (seconds < 1e-3 ? 1e6 : seconds < 1 ? 1e3 : 1);
	if (isfinite(seconds))
		snprintf(out, 24, "%.*f %s", value < 10 ? 2 : value < 100 ? 1 : 0, value, unit);
	else
		snprintf(out, 24, "-");
	return out;
}

static void print_head(const struct bench *b)
{
	char nodes[24], entries[24], copy[24], reading[24], searching[24], preparing[24];
	const struct sl_affinities *a = b->l.affinities;
	const struct sl_params *p = &b->l.params;
	printf("%s: %s nodes, %s entries of P, %.1f a node; read in %s, ", b->l.path, cli_count_text(a->n, nodes),
	       cli_count_text((double)a->m, entries), (double)a->m / a->n, time_text(b->l.read_s, reading));
	if (b->l.search_s > 0)
		printf("neighbours found in %s, ", time_text(b->l.search_s, searching));
	printf("prepared in %s\n", time_text(preparation(b), preparing));
	printf("%d-D, accuracy %s, %s, repulsion %s; %d iterations, %d of them with exaggeration %g\n", p->dims,
	       word_of("accuracy", b->settings.accuracy), word_of("optimizer", p->optimizer),
	       word_of("repulsion", p->repulsion), p->iterations,
	       p->exaggeration_iterations < p->iterations ? p->exaggeration_iterations : p->iterations, p->exaggeration);
	printf("engine %s: %s", b->l.engine->name, b->ended.name);
	printf(b->copy > 0 ? ", copies %s/s\n" : "%s\n", b->copy > 0 ? cli_bytes_text(b->copy, copy) : "");
}

static void spread_row(struct table *t, const char *what, struct bench_spread s)
{
	char median[24], min[24], max[24];
	if (isfinite(s.median))
		table_row(t, (const char *[]){what, time_text(s.median, median), time_text(s.min, min),
					      time_text(s.max, max)});
}

static void print_iterations(const struct bench *b)
{
	char title[64];
	double first = figure_of(b, &b->jobs[0], MEAN);
	snprintf(title, sizeof title, "an iteration, %d %s", b->jobs_done - first_of(b),
		 b->jobs_done > 2 ? "jobs" : "job");
	struct table *t = table_create(4, 0xe, (const char *[]){title, "median", "least", "most"});
	spread_row(t, "with early exaggeration", over_jobs(b, EARLY));
	spread_row(t, "after it", over_jobs(b, LATE));
	spread_row(t, "mean of all", over_jobs(b, MEAN));
	if (b->jobs_done > 1)
		spread_row(t, "mean of all, first job", (struct bench_spread){first, first, first});
	table_print(t, stdout);
	table_destroy(t);
}

static void print_phases(const struct bench *b)
{
	double all = 0;
	bool beside = false;
	struct table *t = table_create(7, 0x7e, (const char *[]){"a phase by itself", "median", "least", "most", "moved",
								  "rate", "of copy"});
	for (int i = 0; i < b->phase_count; i++) {
		const struct sl_phase *p = &b->phases[i];
		double rate = (double)p->bytes / p->seconds;
		char name[64], median[24], min[24], max[24], moved[24], text[32], share[24];
		snprintf(name, sizeof name, "%s%s", p->name, p->beside ? " *" : "");
		snprintf(share, sizeof share, b->copy > 0 ? "%.0f %%" : "-", 100 * rate / b->copy);
		cli_bytes_text(rate, text);
		strcat(text, "/s");
		table_row(t, (const char *[]){name, time_text(p->seconds, median), time_text(p->low, min),
					      time_text(p->high, max), cli_bytes_text((double)p->bytes, moved), text, share});
		all += p->seconds;
		beside = beside || p->beside;
	}
	char sum[24];
	table_row(t, (const char *[]){"one after the other", time_text(all, sum), "", "", "", "", ""});
	table_print(t, stdout);
	table_destroy(t);
	if (beside)
		puts("* runs beside the phases that follow");
}

static void start_row(struct table *t, const char *what, double first, double next)
{
	char one[24], other[24];
	table_row(t, (const char *[]){what, time_text(first, one), time_text(next, other)});
}

static void print_start(const struct bench *b)
{
	const struct bench_job *first = &b->jobs[0];
	bool more = b->jobs_done > 1;
	double create = more ? over_jobs(b, CREATE).median : NAN, iteration = more ? over_jobs(b, FIRST).median : NAN;
	double rest = first->all_s - first->first_s;
	struct table *t = table_create(3, 6, (const char *[]){"start", "first job", "next job"});
	start_row(t, "device opened", b->open_s, NAN);
	start_row(t, "P uploaded", b->l.put_s, NAN);
	start_row(t, "embedding created", first->create_s, create);
	start_row(t, "first iteration", first->first_s, iteration);
	start_row(t, "in all, to the end of the first iteration",
		  b->open_s + b->l.put_s + first->create_s + first->first_s, create + iteration);
	start_row(t, "all other iterations", rest, more ? over_jobs(b, REST).median : NAN);
	if (more)
		start_row(t, "plans: what the first job's iterations took longer", plans_seconds(b), NAN);
	table_print(t, stdout);
	table_destroy(t);
}

static void print_memory(const struct bench *b)
{
	char bytes[24], each[48];
	struct table *t = table_create(3, 6, (const char *[]){"memory", "bytes", "each"});
	snprintf(each, sizeof each, "%.2f an entry", (double)graph_bytes(b) / (double)b->l.affinities->m);
	table_row(t, (const char *[]){"graph", cli_bytes_text((double)graph_bytes(b), bytes), each});
	snprintf(each, sizeof each, "%.1f a node", (double)embedding_bytes(b) / b->l.affinities->n);
	table_row(t, (const char *[]){"embedding", cli_bytes_text((double)embedding_bytes(b), bytes), each});
	table_row(t, (const char *[]){"grids and plans", cli_bytes_text((double)grid_bytes(b), bytes), ""});
	table_print(t, stdout);
	table_destroy(t);
}

static void print_jobs(const struct bench *b)
{
	struct table *t = table_create(7, 0x3f, (const char *[]){"job", "mean", "late", "KL", "grid", "spacing",
								  "layout's bits"});
	for (int i = 0; i < b->jobs_done; i++) {
		const struct bench_job *j = &b->jobs[i];
		char job[16], mean[24], late[24], kl[24], side[16] = "", spacing[24] = "", bits[24];
		snprintf(job, sizeof job, "%d", i + 1);
		snprintf(kl, sizeof kl, "%.4f", cli_without_minus(j->end.kl));
		if (j->end.side) {
			snprintf(side, sizeof side, "%d", j->end.side);
			snprintf(spacing, sizeof spacing, "%.3g", j->end.h);
		}
		snprintf(bits, sizeof bits, "%016" PRIx64, j->bits);
		table_row(t, (const char *[]){job, time_text(figure_of(b, j, MEAN), mean), time_text(j->late.median, late), kl,
					      side, spacing, bits});
	}
	table_print(t, stdout);
	table_destroy(t);
}

int bench_print_tables(const struct bench *b)
{
	print_head(b);
	putchar('\n');
	print_iterations(b);
	putchar('\n');
	if (b->phase_count) {
		print_phases(b);
		putchar('\n');
	}
	print_start(b);
	putchar('\n');
	print_memory(b);
	putchar('\n');
	print_jobs(b);
	return fflush(stdout) ? cli_stdout_failed() : CLI_OK;
}
