/* admin.c -- spaceland admin ...: maintenance of a server by administrators. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/limits.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

#define POLL_US 100000

static void tell_progress(struct cli *cli, const json_t *backup, time_t *told)
{
	time_t now = time(NULL);
	if (now < *told + 5)
		return;
	*told = now;
	cli_note(cli, "%.0f of %.0f files, %.1f of %.1f MB", cli_number(backup, "files_done"), cli_number(backup, "files"),
		 cli_number(backup, "bytes_done") / 1e6, cli_number(backup, "bytes") / 1e6);
}

static int tell_end(struct cli *cli, const json_t *backup)
{
	const char *detail = cli_text(json_object_get(backup, "problem"), "detail");
	if (cli->json)
		cli_print_json(backup);
	if (strcmp(cli_text(backup, "state"), "done"))
		return cli_fail(CLI_REFUSED, "there is no backup: %s", *detail ? detail : "the server did not say why");
	if (!cli->json)
		puts(cli_text(backup, "folder"));
	cli_note(cli, "%.0f files, %.1f MB", cli_number(backup, "files"), cli_number(backup, "bytes") / 1e6);
	return CLI_OK;
}

/* Waits until the backup has ended. */
static int watch(struct cli *cli, const char *name)
{
	time_t told = time(NULL);
	for (;;) {
		json_t *backup = NULL;
		int status = http_send(cli, "GET", http_path("backups", name, NULL, NULL), NULL, &backup);
		if (status)
			return status;
		bool runs = !strcmp(cli_text(backup, "state"), "running");
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

static void print_collection(const json_t *reply)
{
	static const char *const titles[] = {"KIND", "ID", "SIZE", "LAST USED"};
	struct table *t = table_create(4, 4, titles);
	json_t *item;
	size_t i;
	json_array_foreach(json_object_get(reply, "items"), i, item) {
		char size[24];
		table_row(t, (const char *[]){cli_text(item, "kind"), cli_text(item, "id"),
					      cli_bytes_text(cli_number(item, "bytes"), size), cli_text(item, "used")});
	}
	if (i)
		table_print(t, stdout);
	table_destroy(t);
}

int cmd_admin_gc(struct cli *cli)
{
	const char *bytes = cli_option(cli, "bytes");
	bool dry_run = cli_option(cli, "dry-run");
	json_t *body = json_pack("{s:b}", "dry_run", dry_run), *reply = NULL, *most = bytes ? cli_limit_value(bytes) : NULL;
	char before[24], left[24];
	if (bytes && (!json_is_integer(most) || json_integer_value(most) < 1)) {
		json_decref(body);
		json_decref(most);
		return cli_fail(CLI_USAGE, "--bytes must be a size, for example 200GB, not '%s'", bytes);
	}
	if (most)
		json_object_set_new(body, "bytes", most);
	const struct http_request q = {.method = "POST", .path = "/v1/collection", .body = body};
	int status = http_do(cli, &q, &reply);
	json_decref(body);
	if (!status && cli->json) {
		status = cli_print_json(reply);
	} else if (!status) {
		print_collection(reply);
		cli_note(cli, "%s in the state folder, %s %s", cli_bytes_text(cli_number(reply, "bytes"), before),
			 cli_bytes_text(cli_number(reply, "left"), left), dry_run ? "would be left" : "are left");
	}
	json_decref(reply);
	return status;
}

/* ---- who changed what ----------------------------------------------------------------------- */

/* Adds ?NAME=VALUE for each of these options that is given. */
static char *with_query(struct cli *cli, const char *path, const char *const *names)
{
	char *text = strdup(path);
	for (int i = 0; text && names[i]; i++) {
		const char *value = cli_option(cli, names[i]);
		char *escaped = value ? cli_escape(value) : NULL, *more = NULL;
		if (escaped && asprintf(&more, "%s%c%s=%s", text, strchr(text, '?') ? '&' : '?', names[i], escaped) < 0)
			more = NULL;
		if (escaped) {
			free(text);
			text = more;
		}
		free(escaped);
	}
	return text;
}

static void print_events(const json_t *events)
{
	static const char *const titles[] = {"TIME", "USER", "TOKEN", "ADDRESS", "METHOD", "PATH", "STATUS", "OBJECT",
					     "CHANGES"};
	struct table *t = table_create(9, 1 << 6, titles);
	json_t *event;
	size_t i;
	json_array_foreach(events, i, event) {
		char when[32], status[16];
		time_t time = (time_t)cli_number(event, "time");
		struct tm local;
		json_t *changes = json_object_get(event, "changes");
		char *text = changes ? json_dumps(changes, JSON_COMPACT) : NULL;
		const char *user = cli_text(event, "user");
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", localtime_r(&time, &local));
		snprintf(status, sizeof status, "%.0f", cli_number(event, "status"));
		table_row(t, (const char *[]){when, *user ? user : "-", cli_text(event, "token_name"),
					      cli_text(event, "address"), cli_text(event, "method"), cli_text(event, "path"),
					      status, cli_text(event, "object"), text ? text : ""});
		free(text);
	}
	if (i)
		table_print(t, stdout);
	table_destroy(t);
}

int cmd_admin_audit(struct cli *cli)
{
	static const char *const names[] = {"user", "object", "since", "until", "limit", NULL};
	json_t *reply = NULL;
	int status = http_send(cli, "GET", with_query(cli, "/v1/audit", names), NULL, &reply);
	if (!status && cli->json)
		status = cli_print_json(json_object_get(reply, "items"));
	else if (!status && !json_array_size(json_object_get(reply, "items")))
		cli_note(cli, "no events");
	else if (!status)
		print_events(json_object_get(reply, "items"));
	json_decref(reply);
	return status;
}

/* ---- who uses what -------------------------------------------------------------------------- */

int cmd_admin_top(struct cli *cli)
{
	static const char *const titles[] = {"NAME", "DEVICE TIME", "DEVICE MEMORY", "DISK", "RUNNING", "WAITING", "JOBS",
					     "GRAPHS"};
	static const char *const names[] = {"by", "sort", NULL};
	json_t *reply = NULL, *item;
	size_t i;
	int status = http_send(cli, "GET", with_query(cli, "/v1/top", names), NULL, &reply);
	if (!status && cli->json) {
		status = cli_print_json(json_object_get(reply, "items"));
	} else if (!status) {
		struct table *t = table_create(8, 0xfe, titles);
		json_array_foreach(json_object_get(reply, "items"), i, item) {
			const char *name = cli_text(item, "name"), *id = cli_text(item, "id"), *state = cli_text(item, "state");
			bool gone = *state && strcmp(state, "active");
			char who[320], seconds[24], memory[24], disk[24], number[4][24];
			static const char *const counts[] = {"running_jobs", "queued_jobs", "jobs", "graphs"};
			snprintf(who, sizeof who, "%s%s%s%s", *name ? name : *id ? id : "-", gone ? " (" : "", gone ? state : "",
				 gone ? ")" : "");
			for (int k = 0; k < 4; k++)
				snprintf(number[k], sizeof number[k], "%.0f", cli_number(item, counts[k]));
			table_row(t, (const char *[]){who, cli_seconds_text(cli_number(item, "device_seconds"), seconds),
						      cli_bytes_text(cli_number(item, "device_bytes"), memory),
						      cli_bytes_text(cli_number(item, "disk_bytes"), disk), number[0], number[1],
						      number[2], number[3]});
		}
		table_print(t, stdout);
		table_destroy(t);
	}
	json_decref(reply);
	return status;
}

static bool print_piece(void *arg, const char *bytes, size_t count)
{
	fwrite(bytes, 1, count, stdout);
	return true;
}

static void print_accounting(const json_t *rows)
{
	static const char *const titles[] = {"DAY", "USER", "PROJECT", "DEVICE TIME", "GPU HOURS", "JOBS", "DISK, DAYS"};
	struct table *t = table_create(7, 0x78, titles);
	json_t *row;
	size_t i;
	json_array_foreach(rows, i, row) {
		char seconds[24], hours[24], jobs[24], disk[24];
		const char *day = cli_text(row, "day"), *user = cli_text(row, "user"), *project = cli_text(row, "project");
		snprintf(jobs, sizeof jobs, "%.0f", cli_number(row, "jobs"));
		snprintf(hours, sizeof hours, "%.2f", cli_number(row, "gpu_seconds") / 3600);
		table_row(t, (const char *[]){*day ? day : "-", *user ? user : "-", *project ? project : "-",
					      cli_seconds_text(cli_number(row, "device_seconds"), seconds), hours, jobs,
					      cli_bytes_text(cli_number(row, "disk_byte_days"), disk)});
	}
	table_print(t, stdout);
	table_destroy(t);
}

int cmd_admin_accounting(struct cli *cli)
{
	static const char *const names[] = {"from", "to", "by", "user", "project", NULL};
	bool csv = cli_option(cli, "csv");
	char *path = with_query(cli, csv ? "/v1/accounting?format=csv" : "/v1/accounting", names);
	const struct http_request q = {.path = path, .sink = csv ? print_piece : NULL, .accept = csv ? "text/csv" : NULL};
	json_t *reply = NULL;
	int status = path ? http_do(cli, &q, csv ? NULL : &reply) : cli_fail(CLI_USAGE, "out of memory");
	if (!status && !csv && cli->json)
		status = cli_print_json(json_object_get(reply, "items"));
	else if (!status && !csv)
		print_accounting(json_object_get(reply, "items"));
	free(path);
	json_decref(reply);
	return status;
}

/* ---- tokens of workers -------------------------------------------------------------------- */

static void tell_place(struct cli *cli, const json_t *reply)
{
	const char *place = cli_text(reply, "connect");
	if (*place)
		cli_note(cli, "spacelandd --worker --connect %s --token-file FILE --pin %s", place, cli_text(reply, "pin"));
	else
		cli_note(cli, "workers cannot connect to this server: its option worker_listen is not set");
}

static void print_worker_token(struct cli *cli, const json_t *reply)
{
	puts(cli_text(reply, "token"));
	fflush(stdout);
	tell_place(cli, reply);
}

static const char *day(const json_t *o, const char *key, char out[16])
{
	time_t seconds = (time_t)cli_number(o, key);
	struct tm tm;
	if (!json_is_integer(json_object_get(o, key)) || !gmtime_r(&seconds, &tm))
		return "never";
	strftime(out, 16, "%Y-%m-%d", &tm);
	return out;
}

static void print_worker_tokens(struct cli *cli, const json_t *reply)
{
	const json_t *items = json_object_get(reply, "items");
	char expires[16], used[16];
	printf("%-26s  %-10s  %-10s  %-8s  %s\n", "id", "expires", "last used", "engine", "name");
	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *o = json_array_get(items, i);
		printf("%-26s  %-10s  %-10s  %-8s  %s\n", cli_text(o, "id"), day(o, "expires", expires),
		       day(o, "last_used", used), cli_text(o, "engine"), cli_text(o, "name"));
	}
	fflush(stdout);
	tell_place(cli, reply);
}

int cmd_admin_worker_token(struct cli *cli)
{
	const char *name = cli_option(cli, "name"), *revoke = cli_option(cli, "revoke");
	json_t *body, *reply = NULL;
	long days = 0;
	int status = cli_option_int(cli, "days", 1, 36500, &days);
	if (status)
		return status;
	if (revoke) {
		status = http_send(cli, "DELETE", http_path("workers", "tokens", revoke, NULL), NULL, NULL);
		if (!status)
			cli_note(cli, "the token is revoked; workers that came with it end");
		return status;
	}
	if (cli_option(cli, "list")) {
		status = http_get(cli, "/v1/workers/tokens", &reply);
		return cli_print_reply(cli, status, reply, print_worker_tokens);
	}
	body = json_object();
	if (name)
		json_object_set_new(body, "name", json_string(name));
	if (days)
		json_object_set_new(body, "days", json_integer(days));
	status = http_send(cli, "POST", http_path("workers", "tokens", NULL, NULL), body, &reply);
	return cli_print_reply(cli, status, reply, print_worker_token);
}
