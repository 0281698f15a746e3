/* methods.c -- what the table of methods (core/method/method.h) adds to the commands: `job NAME` for each method beside
 * the default one, whose command is `job submit`; `NAME`, which computes it from a file without a server, for each
 * beside those on P, whose command is `embed --local`; and the options of `job fetch` for the methods' arrays. Made
 * once; the program keeps them until it ends. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/options.h"
#include "clients/cli/common/messages.h"
#include "core/engine/load.h"
#include "core/method/method.h"

#define OPTIONS_MOST 64
#define OUTPUTS_MOST 40

/* Text of any length. Without memory for its commands the program ends. */
static char *text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *text(const char *format, ...)
{
	char *out;
	va_list args;
	va_start(args, format);
	if (vasprintf(&out, format, args) < 0)
		exit(cli_fail(CLI_FAILED, "out of memory"));
	va_end(args);
	return out;
}

static void *room(size_t bytes)
{
	void *out = calloc(1, bytes);
	if (!out)
		exit(cli_fail(CLI_FAILED, "out of memory"));
	return out;
}

/* ---- commands ---------------------------------------------------------------------------- */

static const struct cli_option state = {
	0, "state", "FILE", "Initial values: an .npy with a row for each node and a column for each value. Default: those "
	"that the parameters choose."};

/* The names of the method's arrays as options: " --labels or --centroids". */
static const char *outputs_of(const struct sl_method *m, char *out, size_t size)
{
	out[0] = '\0';
	for (const struct sl_method_output *o = m->results; o->name; o++)
		snprintf(out + strlen(out), size - strlen(out), "%s--%s", o == m->results ? " " : o[1].name ? ", " : " or ",
			 o->name);
	return out;
}

static const char *description_of(const struct sl_method *m)
{
	char outputs[200];
	bool points = sl_method_takes(m, SL_OF_POINTS), layout = sl_method_takes(m, SL_OF_LAYOUT);
	bool edges = sl_method_takes(m, SL_OF_EDGES);
	return text("Submit a job of method %s on %s%s, and print the job's id. %s Fetch the result with job fetch%s.",
		    m->name, points && edges ? "GRAPH" : points ? "the points of GRAPH" : "the graph GRAPH",
		    layout ? ", or on the layout of a job on it" : "", m->about, outputs_of(m, outputs, sizeof outputs));
}

static const struct cli_option *options_of(const struct sl_method *m)
{
	static const struct cli_option layout = {0, "layout", "JOB", "Compute from the layout of this job. Default: from "
						 "GRAPH itself."};
	static const struct cli_option state = {0, "state", "FILE", "Initial values: an .npy with a row for each node and "
						"a column for each value. Default: those that the parameters choose."};
	static const struct cli_option all[] = {
		{0, "engine", "NAME", "What computes: " SL_ENGINES_TEXT ". auto: what the server is configured for, if it "
		 "computes this method; else cpu. Default: auto."},
		{0, "name", "NAME", "Name of the job, for people."},
		{0, "after", "JOB", "Start when this job is done."},
		{0, "time-limit", "TIME", CLI_TIME_LIMIT_TEXT},
		{0, "project", "PROJECT", "Project that this counts for; none: no project. Default: your default project."},
		{0, "dry-run", NULL, "Submit nothing; print the engine, memory and time that the job would take."},
		{0, "watch", NULL, "Watch the job until it ends."},
	};
	struct cli_option *options = room((sizeof all / sizeof *all + 3) * sizeof *options), *to = options;
	if (sl_method_takes(m, SL_OF_LAYOUT))
		*to++ = layout;
	if (m->value_columns)
		*to++ = state;
	memcpy(to, all, sizeof all);
	return options;
}

/* ---- commands without a server ----------------------------------------------------------- */

static const char *local_description_of(const struct sl_method *m)
{
	char table[200] = "", parts[80] = "";
	const char *doing = m->doing[0] ? m->doing[0] : "compute";
	bool points = sl_method_takes(m, SL_OF_POINTS);
	for (const struct sl_method_column *c = m->table ? m->columns : NULL; c && c->name; c++)
		snprintf(table + strlen(table), sizeof table - strlen(table), "%s%s%s%s", c == m->columns ? ", " : "",
			 c == m->columns ? m->table : "", c == m->columns ? " (" : ", ", c->name);
	if (m->parts)
		snprintf(parts, sizeof parts, "%s, ", m->parts);
	return text("%s FILE holds %s. No server is needed. With --json, standard output has one object with %s, %s%s"
		    "iterations, %s, stop%s%s, seconds (read and %s), and notes: what was left out, guessed or changed.",
		    m->about, !points ? "a graph" : sl_method_takes(m, SL_OF_EDGES) ? "points, a layout or a graph" :
		    "points, a table or a layout", m->layout || !points ? "nodes" : "points",
		    m->layout ? "dims, layout, picture, " : points ? "columns, " : "",
		    parts, m->measure, table, *table ? ")" : "", doing);
}

const char *cli_array_option(const struct sl_method *m, int array, char out[64])
{
	const char *name = array || m->layout ? m->results[array].name : "output";
	snprintf(out, 64, "%s%s", name, sl_param_find(m->params, name) ? "-file" : "");
	return out;
}

static struct cli_option array_option(const struct sl_method *m, int array)
{
	char name[64];
	bool first = !strcmp(cli_array_option(m, array, name), "output");
	return (struct cli_option){first ? 'o' : 0, text("%s", name), "FILE", text("Write %s to this file: .npy%s.",
				   m->results[array].doc, array ? "" : ", or .txt, a line for each row")};
}

static const struct cli_option *local_options_of(const struct sl_method *m)
{
	static const struct cli_option result[] = {RESULT_OPTIONS, LABELS_OPTIONS};
	static const struct cli_option threads = {0, "threads", "N", "Threads to compute with. Default: one for each "
						  "processor."};
	struct cli_option *options = room(OPTIONS_MOST * sizeof *options), *to = options;
	if (m->layout) {
		memcpy(to, result, sizeof result);
		to += sizeof result / sizeof *result;
	}
	for (int i = 0; m->results[i].name && to < options + OPTIONS_MOST - 5; i++)
		*to++ = array_option(m, i);
	if (m->start)
		*to++ = (struct cli_option){0, "start", "FILE", text("Start from %s.", m->start_doc)};
	if (m->value_columns)
		*to++ = state;
	if (m->operation)
		*to++ = (struct cli_option){
			0, "engine", "NAME", text(SL_ENGINES_TEXT "; auto: a GPU if there is one. %s%sDefault: cpu.",
						  m->devices ? m->devices : "", m->devices ? " " : "")};
	*to++ = threads;
	return options;
}

int cli_method_commands(struct cli_command *out, int most)
{
	int count = 0;
	for (int i = 0; sl_methods[i] && count + 1 < most; i++) {
		const struct sl_method *m = sl_methods[i];
		unsigned input = sl_method_takes(m, SL_OF_EDGES) ? CLI_FILE_PARAMS : CLI_POINTS_PARAMS;
		if (i)
			out[count++] = (struct cli_command){
				text("job %s", m->name), "GRAPH", 1, 1, m->summary, description_of(m),
				options_of(m), CLI_METHOD_PARAMS, true, cmd_job_method};
		if (!sl_method_takes(m, SL_OF_AFFINITIES))
			out[count++] = (struct cli_command){
				m->name, "FILE", 1, 1, m->summary, local_description_of(m),
				local_options_of(m), CLI_METHOD_PARAMS | input, false, cmd_method};
	}
	return count;
}

/* ---- options of job fetch ------------------------------------------------------------------ */

int cli_method_outputs(const char *name[], int most)
{
	const struct sl_method_output *output[OUTPUTS_MOST];
	int count = sl_method_outputs(output, most < OUTPUTS_MOST ? most : OUTPUTS_MOST);
	for (int i = 0; i < count; i++)
		name[i] = output[i]->name;
	return count;
}

/* "jobs kmeans and gmm": those that give the array. */
static const char *givers(const char *array, char *out, size_t size)
{
	const struct sl_method *giver[SL_METHOD_ARRAYS * 8];
	int count = 0;
	for (int i = 0; sl_methods[i] && count < (int)(sizeof giver / sizeof *giver); i++)
		if (sl_method_result_index(sl_methods[i], array) >= 0)
			giver[count++] = sl_methods[i];
	snprintf(out, size, "job%s ", count > 1 ? "s" : "");
	for (int i = 0; i < count; i++)
		snprintf(out + strlen(out), size - strlen(out), "%s%s", !i ? "" : i < count - 1 ? ", " : " and ",
			 giver[i]->name);
	return out;
}

const struct cli_option *cli_fetch_options(const struct cli_option *before)
{
	const struct sl_method_output *output[OUTPUTS_MOST];
	struct cli_option *options = room(OPTIONS_MOST * sizeof *options), *to = options;
	int count = sl_method_outputs(output, OUTPUTS_MOST);
	char jobs[200];
	for (; before->name; before++)
		*to++ = *before;
	for (int i = 0; i < count && to < options + OPTIONS_MOST - 1; i++)
		*to++ = (struct cli_option){0, output[i]->name, "FILE",
					    text("Of %s: write %s to this file, .npy, .csv or .json.",
						 givers(output[i]->name, jobs, sizeof jobs), output[i]->doc)};
	return options;
}
