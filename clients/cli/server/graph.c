/* graph.c -- uploading a graph. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/common/files.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/server/http.h"
#include "clients/cli/server/jobs.h"
#include "core/formats/input_params.h"

static void on_sent(void *arg, double sent, double total)
{
	progress_bytes(arg, sent, total);
	/* the server now reads the data, which may take longer than the upload */
	if (sent >= total)
		progress_phase(arg, "the server reads it");
}

/* Returns "/v1/graphs?name=..." as a new string. NULL: it failed, and the error is printed. */
static char *upload_url(const struct cli *cli, const char *path)
{
	const char *given = cli_option(cli, "name"), *slash = strrchr(path, '/');
	char *name = cli_escape(given ? given : slash ? slash + 1 : path), *url = NULL;
	const char *project = cli_option(cli, "project");
	char *escaped = project ? cli_escape(strcmp(project, "none") ? project : "") : NULL;
	size_t bytes;
	FILE *f = name ? open_memstream(&url, &bytes) : NULL;
	if (f)
		fprintf(f, "/v1/graphs?name=%s%s%s", name, escaped ? "&project=" : "", escaped ? escaped : "");
	const char *column = cli_option(cli, "labels-column");
	char *column_escaped = column ? cli_escape(column) : NULL;
	if (f && column_escaped)
		fprintf(f, "&labels_column=%s", column_escaped);
	free(column_escaped);
	int status = f ? cli_params_query(cli, &sl_input_params_table, f) : cli_fail(CLI_FAILED, "out of memory");
	if (f && fclose(f) && !status)
		status = cli_fail(CLI_FAILED, "out of memory");
	free(name);
	free(escaped);
	if (!status)
		return url;
	free(url);
	return NULL;
}

static void note(const struct cli *cli, const char *path, const char *text)
{
	if (*text)
		cli_tell(cli, path, "%s", text);
}

/* Notes what the server took of the file of labels, and how it was joined with the nodes. */
static void tell_labels(const struct cli *cli, const json_t *taken)
{
	const char *path = cli_option(cli, "labels");
	size_t i;
	json_t *one;
	if (!json_is_object(taken))
		return;
	cli_note_taken(cli, path, "labels", cli_text(taken, "text"), cli_text(taken, "sign"));
	json_array_foreach(json_object_get(taken, "notes"), i, one)
		note(cli, path, cli_text(one, "text"));
}

/* Notes what the server took of the file, and what is unusual in it. */
static void tell(const struct cli *cli, const char *path, const json_t *graph)
{
	const json_t *taken = json_object_get(graph, "taken");
	size_t i;
	json_t *one;
	const json_t *lines = json_object_get(taken, "lines"), *rows = json_object_get(taken, "rows");
	bool coordinates = cli_number(json_object_get(taken, "roles"), "coordinate") == cli_number(taken, "columns");
	/* of an array that was taken as it is there is nothing to say */
	bool plain = coordinates && cli_number(lines, "all") == 0 && cli_number(rows, "left_out") == 0 &&
		     !json_array_size(json_object_get(taken, "notes")) && !json_is_true(json_object_get(taken, "transposed"));
	if (json_is_object(taken) && !plain)
		cli_note_taken(cli, path, cli_text(graph, "kind"), cli_text(taken, "text"), cli_text(taken, "sign"));
	json_array_foreach(json_object_get(taken, "notes"), i, one)
		if (json_is_false(json_object_get(one, "changes")))  /* the others are among the warnings */
			note(cli, path, cli_text(one, "text"));
	json_array_foreach(json_object_get(graph, "warnings"), i, one)
		note(cli, path, json_string_value(one) ? json_string_value(one) : "");
	tell_labels(cli, json_object_get(graph, "labels_taken"));
}

/* Uploads `file`, which is called as `path` is. */
static int upload(struct cli *cli, const char *file, const char *path, json_t **reply, bool *made)
{
	char *url = upload_url(cli, path);
	struct progress progress;
	long code = 0;
	int status;
	*reply = NULL;
	if (!url)
		return CLI_FAILED;
	progress_init(&progress, cli, "upload");
	const struct http_request q = {
		.method = "POST", .path = url, .upload = file, .labels = cli_option(cli, "labels"), .input = path,
		.progress = on_sent, .arg = &progress, .code = &code,
	};
	/* the bar must end before an error message is printed */
	struct http_request silent = q;
	if (!progress.terminal)
		silent.progress = NULL;
	status = http_do(cli, &silent, reply);
	progress_finish(&progress, true);
	if (!status && !*cli_text(*reply, "id"))
		status = cli_fail(CLI_REFUSED, "the server's answer to the upload has no id");
	if (made)
		*made = code == 201;
	if (!status)
		tell(cli, path, *reply);
	free(url);
	return status;
}

int cli_graph_upload(struct cli *cli, const char *path, json_t **reply, bool *made)
{
	return upload(cli, path, path, reply, made);
}

int cli_files_upload(struct cli *cli, char **path, int count, json_t **reply, bool *made)
{
	const char *slash = strrchr(path[0], '/');
	char *joined, name[256];
	*reply = NULL;
	if (count == 1)
		return cli_graph_upload(cli, path[0], reply, made);
	int status = cli_files_join(cli, path, count, &joined);
	if (status)
		return status;
	snprintf(name, sizeof name, "%.200s and %d other%s", slash ? slash + 1 : path[0], count - 1, count > 2 ? "s" : "");
	status = upload(cli, joined, name, reply, made);
	remove(joined);
	free(joined);
	return status;
}
