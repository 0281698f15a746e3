/* spaceland admin ...: what administrators do with a server. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clients/cli/server/http.h"

#define POLL_US 100000

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

static void tell_progress(struct cli *cli, const json_t *backup, time_t *told)
{
	time_t now = time(NULL);
	if (now < *told + 5)
		return;
	*told = now;
	cli_note(cli, "%.0f of %.0f files, %.1f of %.1f MB", number_of(backup, "files_done"), number_of(backup, "files"),
		 number_of(backup, "bytes_done") / 1e6, number_of(backup, "bytes") / 1e6);
}

static int tell_end(struct cli *cli, const json_t *backup)
{
	const char *state = json_string_value(json_object_get(backup, "state"));
	const char *detail = json_string_value(json_object_get(json_object_get(backup, "problem"), "detail"));
	if (cli->json)
		cli_print_json(backup);
	if (!state || strcmp(state, "done") != 0)
		return cli_fail(CLI_REFUSED, "there is no backup: %s", detail ? detail : "the server did not say why");
	if (!cli->json)
		puts(json_string_value(json_object_get(backup, "folder")));
	cli_note(cli, "%.0f files, %.1f MB", number_of(backup, "files"), number_of(backup, "bytes") / 1e6);
	return CLI_OK;
}

/* Until it has ended. */
static int watch(struct cli *cli, const char *name)
{
	char *escaped = cli_escape(name), path[512];
	time_t told = time(NULL);
	int status;
	snprintf(path, sizeof path, "/v1/backups/%.400s", escaped ? escaped : "");
	free(escaped);
	for (;;) {
		json_t *backup = NULL;
		if ((status = http_get(cli, path, &backup)))
			return status;
		const char *state = json_string_value(json_object_get(backup, "state"));
		bool runs = state && !strcmp(state, "running");
		if (runs)
			tell_progress(cli, backup, &told);
		else
			status = tell_end(cli, backup);
		json_decref(backup);
		if (!runs)
			return status;
		if (cli_interrupted)
			return CLI_INTERRUPTED;
		usleep(POLL_US);
	}
}

int cmd_admin_backup(struct cli *cli)
{
	char by_time[32];
	time_t now = time(NULL);
	struct tm tm;
	strftime(by_time, sizeof by_time, "%Y-%m-%dT%H%M%SZ", gmtime_r(&now, &tm));
	const char *name = cli->argument_count ? cli->arguments[0] : by_time;
	json_t *body = json_pack("{s:s}", "name", name);
	const struct http_request q = {.method = "POST", .path = "/v1/backups", .body = body};
	int status = body ? http_do(cli, &q, NULL) : cli_fail(CLI_USAGE, "NAME must be text in UTF-8");
	json_decref(body);
	return status ? status : watch(cli, name);
}
