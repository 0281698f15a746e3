/* batch.c -- spaceland batch: several jobs on one graph with different parameters. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/limits.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

static json_t *value_of(const char *text, size_t length)
{
	char *word = strndup(text, length), *end = word;
	double number = word ? strtod(word, &end) : 0;
	json_t *value = !word ? NULL : end == word || *end ? json_string(word) : json_loads(word, JSON_DECODE_ANY, NULL);
	if (word && !value)
		value = json_real(number);  /* "1e3" and ".5" are numbers, too; JSON would not accept ".5" */
	free(word);
	return value;
}

/* Adds a list of values: "perplexity=10,30,100". */
static int add_list(json_t *lists, const char *argument)
{
	const char *equals = strchr(argument, '=');
	json_t *values = json_array();
	char name[64] = "";
	if (equals && equals > argument && (size_t)(equals - argument) < sizeof name)
		memcpy(name, argument, (size_t)(equals - argument));
	for (char *c = name; *c; c++)
		*c = *c == '-' ? '_' : *c;
	for (const char *text = equals ? equals + 1 : ""; *text;) {
		size_t length = strcspn(text, ",");
		json_array_append_new(values, value_of(text, length));
		text += length + (text[length] == ',');
	}
	if (name[0] && json_array_size(values)) {
		json_object_set_new(lists, name, values);
		return CLI_OK;
	}
	json_decref(values);
	return cli_fail(CLI_USAGE, "'%s' must be PARAMETER=VALUE,VALUE, for example perplexity=10,30,100", argument);
}

static char *parameters_text(const json_t *parameters)
{
	char *text = strdup("");
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)parameters, key, value) {
		char *shown = json_is_string(value) ? strdup(json_string_value(value)) :
			      json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6)), *longer = NULL;
		if (shown && text && asprintf(&longer, "%s%s%s=%s", text, *text ? " " : "", key, shown) < 0)
			longer = NULL;
		free(shown);
		free(text);
		text = longer;
	}
	return text;
}

static void print_jobs(const json_t *batch)
{
	static const char *const titles[] = {"JOB", "PARAMETERS", "STATE", "ITERATION", "KL", "TIME"};
	struct table *t = table_create(6, 8 | 16 | 32, titles);
	json_t *job;
	size_t i;
	json_array_foreach(json_object_get(batch, "jobs"), i, job) {
		char *parameters = parameters_text(json_object_get(job, "parameters")), iteration[24], kl[24], seconds[24];
		const json_t *k = json_object_get(job, "kl");
		snprintf(iteration, sizeof iteration, "%.0f", json_number_value(json_object_get(job, "iteration")));
		snprintf(kl, sizeof kl, "%.4f", cli_without_minus(json_number_value(k)));
		cli_seconds_text(json_number_value(json_object_get(job, "seconds")), seconds);
		const char *state = cli_text(job, "state");
		table_row(t, (const char *[]){cli_text(job, "id"), parameters, *state ? state : "deleted", iteration,
					      json_is_number(k) ? kl : NULL, seconds});
		free(parameters);
	}
	table_print(t, stdout);
	table_destroy(t);
}

static int print_batch(struct cli *cli, const json_t *batch)
{
	if (cli->json)
		return cli_print_json(batch);
	print_jobs(batch);
	return CLI_OK;
}

int cmd_batch_submit(struct cli *cli)
{
	json_t *lists = json_object(), *batch = NULL;
	json_t *body = json_pack("{s:s, s:O}", "graph", cli->arguments[0], "parameters", lists);
	long priority = 0;
	int status = body ? cli_params_json(cli, body) : cli_fail(CLI_FAILED, "out of memory");
	for (int i = 1; i < cli->argument_count && !status; i++)
		status = add_list(lists, cli->arguments[i]);
	if (!status && cli_option(cli, "priority")) {
		status = cli_option_int(cli, "priority", -10, 10, &priority);
		json_object_set_new(body, "priority", json_integer(priority));
	}
	static const char *const texts[] = {"name", "engine", "after", NULL};
	for (int i = 0; texts[i]; i++)
		if (!status && cli_option(cli, texts[i]))
			json_object_set_new(body, texts[i], json_string(cli_option(cli, texts[i])));
	const struct http_request q = {.method = "POST", .path = "/v1/batches", .body = body};
	if (!status)
		cli_project_json(cli, body);
	if (!status)
		status = cli_time_limit_json(cli, body);
	if (!status)
		status = http_do(cli, &q, &batch);
	if (!status && cli->json)
		status = cli_print_json(batch);
	else if (!status)
		printf("%s\n", cli_text(batch, "id"));
	json_decref(lists);
	json_decref(body);
	json_decref(batch);
	return status;
}

int cmd_batch_show(struct cli *cli)
{
	json_t *batch = NULL;
	int status = http_send(cli, "GET", http_path("batches", cli->arguments[0], NULL, NULL), NULL, &batch);
	if (!status)
		status = print_batch(cli, batch);
	json_decref(batch);
	return status;
}

int cmd_batch_cancel(struct cli *cli)
{
	json_t *batch = NULL;
	int status = http_send(cli, "DELETE", http_path("batches", cli->arguments[0], NULL, NULL), NULL, &batch);
	if (!status && batch)
		status = print_batch(cli, batch);
	else if (!status)
		cli_note(cli, "batch %s had ended, and is deleted with its jobs", cli->arguments[0]);
	json_decref(batch);
	return status;
}

int cmd_batch_list(struct cli *cli)
{
	static const char *const titles[] = {"BATCH", "NAME", "QUEUED", "RUNNING", "DONE", "FAILED", "OWNER"};
	json_t *batches = NULL, *batch;
	size_t i;
	int status = http_list(cli, "/v1/batches", &batches);
	if (!status && cli->json) {
		status = cli_print_json(batches);
	} else if (!status) {
		struct table *t = table_create(cli_owned(batches) ? 7 : 6, 4 | 8 | 16 | 32, titles);
		json_array_foreach(batches, i, batch) {
			static const char *const states[] = {"queued", "running", "done", "failed"};
			char count[4][24], owner[300];
			for (int s = 0; s < 4; s++)
				snprintf(count[s], sizeof count[s], "%.0f", cli_number(json_object_get(batch, "states"), states[s]));
			table_row(t, (const char *[]){cli_text(batch, "id"), cli_text(batch, "name"),
						      count[0], count[1], count[2], count[3],
						      cli_owner_text(batch, owner, sizeof owner)});
		}
		table_print(t, stdout);
		table_destroy(t);
	}
	json_decref(batches);
	return status;
}
