/* job.c -- submits, follows and fetches jobs, for embed and the job commands.
 *
 * A job is followed by its server-sent events. If that stream ends before the job (a proxy closed it, the server has
 * too many streams), the client requests the job itself and tries the stream again; at worst this is polling at 5
 * requests a second. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clients/cli/common/layout.h"
#include "clients/cli/common/limits.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/picture.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/server/http.h"
#include "clients/cli/server/jobs.h"
#include "core/method/method.h"

#define FETCHES 6               /* attempts to download a result */
#define MAX_EVENT (1u << 20)  /* bytes accepted in one event */

static const char *job_path(const char *id, const char *tail, char out[256])
{
	char *escaped = cli_escape(id);
	snprintf(out, 256, "/v1/jobs/%.128s%s", escaped ? escaped : "", tail);
	free(escaped);
	return out;
}

/* ---- submitting ------------------------------------------------------------- */

/* Uploads the file unchanged; the server parses it and names it in errors. */
static int upload_layout(struct cli *cli, const char *file, char id[64])
{
	json_t *reply = NULL;
	const struct http_request q = {.method = "POST", .path = "/v1/layouts", .upload = file, .input = file};
	int status = http_do(cli, &q, &reply);
	snprintf(id, 64, "%s", cli_text(reply, "id"));
	json_decref(reply);
	return status;
}

/* Deletes an uploaded layout, of which the job has a copy. */
static void forget_layout(struct cli *cli, const char *id)
{
	char path[96];
	snprintf(path, sizeof path, "/v1/layouts/%s", id);
	const struct http_request q = {.method = "DELETE", .path = path, .quiet = true};
	if (*id)
		http_do(cli, &q, NULL);
}

int cli_job_state(struct cli *cli, json_t *request, char uploaded[64])
{
	const char *state = cli_option(cli, "state");
	int status = state ? upload_layout(cli, state, uploaded) : CLI_OK;
	if (!status && state)
		json_object_set_new(request, "input", json_pack("{s:s}", "layout", uploaded));
	return status;
}

void cli_job_forget_state(struct cli *cli, const char *uploaded)
{
	forget_layout(cli, uploaded);
}

/* Adds --init to the request: a word, a file of coordinates, or the id of a job. layout: gets the id of an uploaded
 * file. */
static int add_initial(struct cli *cli, json_t *request, char layout[64])
{
	const char *init = cli_option(cli, "init");
	json_t *initial;
	if (!init)
		return CLI_OK;
	if (cli_init_is_word(init))
		return json_object_set_new(request, "init", json_string(init)) ? cli_fail(CLI_FAILED, "out of memory") : CLI_OK;
	if (strlen(init) == 26 && strspn(init, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == 26 && access(init, F_OK)) {
		initial = json_string(init);
	} else {
		int status = upload_layout(cli, init, layout);
		if (status)
			return status;
		initial = json_pack("{s:s}", "layout", layout);
	}
	if (!initial || json_object_set_new(request, "initial", initial))
		return cli_fail(CLI_FAILED, "out of memory");
	return CLI_OK;
}

int cli_job_request(struct cli *cli, json_t *request, json_t **record)
{
	const struct http_request q = {.method = "POST", .path = "/v1/jobs", .body = request};
	cli_project_json(cli, request);
	int status = cli_time_limit_json(cli, request);
	if (status)
		return status;
	if (cli_option(cli, "dry-run"))
		json_object_set_new(request, "dry_run", json_true());
	return http_do(cli, &q, record);
}

int cli_job_submit(struct cli *cli, const char *graph_id, const char *name, json_t **record)
{
	json_t *request = json_pack("{s:s}", "graph", graph_id);
	const char *given = cli_option(cli, "name");
	char layout[64] = "";
	long priority = 0;
	int status = request ? cli_params_json(cli, request) : cli_fail(CLI_FAILED, "out of memory");
	if (!status)
		status = add_initial(cli, request, layout);
	if (!status && cli_option(cli, "priority")) {
		status = cli_option_int(cli, "priority", -10, 10, &priority);
		json_object_set_new(request, "priority", json_integer(priority));
	}
	if (!status && (given || (name && *name)))
		json_object_set_new(request, "name", json_string(given ? given : name));
	if (!status && cli_option(cli, "engine"))
		json_object_set_new(request, "engine", json_string(cli_option(cli, "engine")));
	if (!status && cli_option(cli, "after"))
		json_object_set_new(request, "after", json_string(cli_option(cli, "after")));
	if (!status)
		status = cli_job_request(cli, request, record);
	forget_layout(cli, layout);
	json_decref(request);
	return status;
}

int cli_job_patch(struct cli *cli, const char *id, json_t *change, json_t **record)
{
	char path[256];
	const struct http_request q = {.method = "PATCH", .path = job_path(id, "", path), .body = change};
	return http_do(cli, &q, record);
}

static void tell_state(struct cli *cli, const char *name, const json_t *job)
{
	cli_note(cli, "%s is %s", name, cli_text(job, "state"));
}

int cli_job_patch_all(struct cli *cli, const char *member, bool value,
		      void (*tell)(struct cli *cli, const char *name, const json_t *job))
{
	int status = CLI_OK;
	json_t *change = json_pack("{s:b}", member, value), *all = json_array();
	for (int i = 0; i < cli->argument_count && !cli_interrupted; i++) {
		json_t *job = NULL;
		int one = cli_job_patch(cli, cli->arguments[i], change, &job);
		if (!one)
			(tell ? tell : tell_state)(cli, cli->arguments[i], job);
		if (job)
			json_array_append_new(all, job);
		status = status ? status : one;
	}
	if (cli->json && json_array_size(all)) {
		int printed = cli_print_json(cli->argument_count == 1 ? json_array_get(all, 0) : all);
		status = status ? status : printed;
	}
	json_decref(all);
	json_decref(change);
	return status;
}

/* ---- following -------------------------------------------------------------- */

struct follower {
	struct progress progress;
	char *line;        /* the incomplete last line of the stream */
	size_t length;
	char event[32];
	json_t *record;    /* latest record of the job */
	char state[16];
};

static bool ended(const char *state)
{
	return !strcmp(state, "done") || !strcmp(state, "failed") || !strcmp(state, "cancelled");
}

static void show(struct follower *f, const json_t *progress)
{
	const char *note = !strcmp(f->state, "running") || ended(f->state) ? NULL : f->state;
	double done = cli_number(progress, "iteration");
	double total = !strcmp(f->state, "done") ? done : cli_number(progress, "iterations");  /* may converge early */
	if (!strcmp(f->state, "queued"))
		progress_phase(&f->progress, "queued");
	else if (!strcmp(f->state, "running") && done == 0)
		progress_phase(&f->progress, "preparing the graph");
	else if (!ended(f->state) || !strcmp(f->state, "done"))
		progress_iterations(&f->progress, done, total, cli_number(progress, f->progress.measure),
				    cli_number(progress, "iterations_per_second"), cli_number(progress, "eta_seconds"), note);
}

/* Shows a new record of the job; takes the reference. */
static void take_record(struct follower *f, json_t *record)
{
	json_decref(f->record);
	f->record = record;
	snprintf(f->state, sizeof f->state, "%s", cli_text(record, "state"));
	const struct sl_method *method = sl_method_find(cli_text(record, "method"));
	if (method && method != sl_methods[0]) {
		f->progress.title = method->name;
		f->progress.measure = method->measure;
	}
	show(f, record);
}

/* Processes one line of the stream, without its end. Returns false if the job has ended. */
static bool on_line(struct follower *f, const char *line)
{
	if (!*line)
		f->event[0] = 0;
	else if (!strncmp(line, "event:", 6))
		snprintf(f->event, sizeof f->event, "%s", line + 6 + (line[6] == ' '));
	else if (!strncmp(line, "data:", 5)) {
		json_t *data = json_loads(line + 5, 0, NULL);
		if (data && !strcmp(f->event, "state")) {
			take_record(f, data);
			return !ended(f->state);
		}
		if (data && !strcmp(f->event, "progress"))
			show(f, data);
		json_decref(data);
	}
	return true;
}

static bool on_stream(void *arg, const char *bytes, size_t count)
{
	struct follower *f = arg;
	while (count) {
		const char *end = memchr(bytes, '\n', count);
		size_t part = end ? (size_t)(end - bytes) : count;
		char *grown = f->length + part < MAX_EVENT ? realloc(f->line, f->length + part + 1) : NULL;
		if (!grown)
			return false;
		memcpy(grown + f->length, bytes, part);
		f->line = grown;
		f->length += part;
		f->line[f->length] = 0;
		if (end) {
			if (f->length && f->line[f->length - 1] == '\r')
				f->line[f->length - 1] = 0;
			f->length = 0;
			if (!on_line(f, f->line))
				return false;
		}
		bytes += part + (end != NULL);
		count -= part + (end != NULL);
	}
	return true;
}

static int interrupted(struct cli *cli, const char *id, bool cancel, struct follower *f)
{
	char path[256];
	json_t *record = NULL;
	progress_finish(&f->progress, false);
	if (!cancel) {
		cli_note(cli, "spaceland: no longer watching; the job goes on: spaceland job watch %s", id);
		return CLI_INTERRUPTED;
	}
	cli_interrupted = 0;
	json_t *change = json_pack("{s:b}", "cancelled", 1);
	const struct http_request q = {.method = "PATCH", .path = job_path(id, "", path), .body = change};
	if (!http_do(cli, &q, &record))
		cli_fail(CLI_INTERRUPTED, "interrupted; job %s is cancelled", id);
	json_decref(change);
	json_decref(record);
	return CLI_INTERRUPTED;
}

static int verdict(const struct follower *f, const char *id)
{
	if (!strcmp(f->state, "done"))
		return CLI_OK;
	if (!strcmp(f->state, "cancelled"))
		return cli_fail(CLI_FAILED, "job %s was cancelled after %.0f iterations", id,
				cli_number(f->record, "iteration"));
	const char *why = cli_text(json_object_get(f->record, "problem"), "detail");
	return cli_fail(CLI_FAILED, "job %s failed: %s", id, *why ? why : "the server does not say why");
}

/* Shows the progress of the search of neighbours until it ends; the job waits for it. */
static void watch_search(struct cli *cli, struct follower *f)
{
	char path[256], text[64];
	const struct http_request q = {.path = path, .quiet = true};
	long wait_ms = 10;
	snprintf(path, sizeof path, "/v1/graphs/%.128s", cli->searched);
	for (;;) {
		json_t *graph = NULL;
		bool searching = !http_do(cli, &q, &graph) && !cli_interrupted;
		const json_t *search = json_object_get(graph, "neighbours");
		searching = searching && !strcmp(cli_text(search, "state"), "searching");
		if (searching) {
			snprintf(text, sizeof text, "searching neighbours, %.0f%%", 100 * cli_number(search, "progress"));
			progress_phase(&f->progress, text);
		}
		json_decref(graph);
		if (!searching)
			return;
		nanosleep(&(struct timespec){.tv_nsec = wait_ms * 1000000}, NULL);
		wait_ms = wait_ms < 300 ? wait_ms * 3 / 2 : 400;
	}
}

int cli_job_follow(struct cli *cli, const char *id, bool cancel, json_t **record)
{
	char path[256], events[256];
	struct follower f = {0};
	int status = CLI_OK;
	*record = NULL;
	progress_init(&f.progress, cli, "embed");
	job_path(id, "", path);
	job_path(id, "/events", events);
	const struct http_request stream = {
		.path = events, .sink = on_stream, .arg = &f, .accept = "text/event-stream", .quiet = true,
	};
	if (cli->searched)
		watch_search(cli, &f);
	while (!status && !ended(f.state) && !cli_interrupted) {
		f.length = 0;
		http_do(cli, &stream, NULL);
		if (ended(f.state) || cli_interrupted)
			break;
		json_t *now = NULL;
		const struct http_request record_of = {.path = path};
		status = http_do_patiently(cli, &record_of, id, &now);
		if (!status)
			take_record(&f, now);
		if (!status && !ended(f.state))
			nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	}
	if (cli_interrupted && !ended(f.state)) {
		status = interrupted(cli, id, cancel, &f);
	} else {
		progress_finish(&f.progress, false);
		if (!status)
			status = verdict(&f, id);
	}
	*record = f.record;
	free(f.line);
	return status;
}

/* ---- fetching --------------------------------------------------------------- */

struct download {
	FILE *file;
	bool failed;
};

static bool on_bytes(void *arg, const char *bytes, size_t count)
{
	struct download *d = arg;
	d->failed = d->failed || fwrite(bytes, 1, count, d->file) != count;
	return !d->failed;
}

/* Downloads the result of a job into a regular file; if the server restarts meanwhile, begins again when it is back. */
static int fetch_patiently(struct cli *cli, const struct http_request *request, FILE *file)
{
	char path[256];
	const struct http_request record = {.path = job_path(request->job, "", path), .quiet = true};
	long code;
	for (int left = FETCHES; ; left--) {
		struct http_request q = *request;
		json_t *job = NULL;
		code = 0;
		q.code = &code;
		q.quiet = left > 1;
		int status = http_do(cli, &q, NULL);
		bool soon = status == CLI_UNREACHABLE || code == 429 || code == 503;
		if (!status || left == 1 || cli_interrupted)
			return status;
		if (!soon || http_do_patiently(cli, &record, request->job, &job))
			left = 2;  /* once more, to print the error */
		json_decref(job);
		if (fflush(file) || fseek(file, 0, SEEK_SET) || ftruncate(fileno(file), 0))
			return cli_fail(CLI_FAILED, "the file cannot be written: %s", strerror(errno));
	}
}

/* Writes to FILE.part and renames it when complete, so that FILE is never half a result. */
int http_fetch(struct cli *cli, const struct http_request *request, const char *file)
{
	char *part = NULL;
	struct download d = {0};
	if (!strcmp(file, "-")) {
		d.file = stdout;
	} else {
		struct stat st;
		/* pipes and devices are written directly */
		bool plain = stat(file, &st) || S_ISREG(st.st_mode);
		if (plain && asprintf(&part, "%s.part", file) < 0)
			return cli_fail(CLI_FAILED, "out of memory");
		d.file = fopen(part ? part : file, "wbe");
	}
	if (!d.file) {
		free(part);
		return cli_fail(CLI_FAILED, "%s: %s", file, strerror(errno));
	}
	struct http_request q = *request;
	q.sink = on_bytes;
	q.arg = &d;
	int status = request->job && part ? fetch_patiently(cli, &q, d.file) : http_do(cli, &q, NULL);
	d.failed = (d.file == stdout ? fflush(stdout) : fclose(d.file)) || d.failed;
	if (!status && (d.failed || (part && rename(part, file))))
		status = cli_fail(CLI_FAILED, "%s: %s", file, strerror(errno));
	if (status && part)
		unlink(part);
	free(part);
	return status;
}

/* id: of the job, or NULL. */
static int fetch(struct cli *cli, const char *path, const char *id, const char *accept, const char *file)
{
	const struct http_request q = {.path = path, .accept = accept, .job = id};
	return http_fetch(cli, &q, file);
}

int cli_job_fetch(struct cli *cli, const char *id, const char *layout, const char *picture)
{
	char path[256], tail[128], dpi[16] = "";
	const char *format;
	struct cli_picture form;
	int status = cli_picture(cli, &form);
	if (!status && layout && !(status = cli_layout_format(layout, &format))) {
		snprintf(tail, sizeof tail, "/layout?format=%s", format);
		status = fetch(cli, job_path(id, tail, path), id, "*/*", layout);
	}
	if (!status && picture) {
		char *colour = cli_escape(form.colour), *where = NULL;
		if (form.dpi)
			snprintf(dpi, sizeof dpi, "&dpi=%d", form.dpi);
		snprintf(tail, sizeof tail, "/picture.%s?width=%d&height=%d%s%s%s%s&color=", form.svg ? "svg" : "png",
			 form.width, form.height, form.light ? "&light=true" : "", form.legend ? "" : "&legend=false",
			 form.names ? "&names=true" : "", dpi);
		if (!colour || asprintf(&where, "%s%s", job_path(id, tail, path), colour) < 0)
			status = cli_fail(CLI_FAILED, "out of memory");
		else
			status = fetch(cli, where, id, form.svg ? "image/svg+xml" : "image/png", picture);
		free(where);
		free(colour);
	}
	const char *trace = cli_option(cli, "trace");
	if (!status && trace)
		status = fetch(cli, job_path(id, "/trace", path), id, "application/json", trace);
	return status;
}

int cli_job_fetch_array(struct cli *cli, const char *id, const char *name, const char *file)
{
	char path[256], tail[96];
	const char *format;
	int status = cli_layout_format(file, &format);
	if (status)
		return status;
	snprintf(tail, sizeof tail, "/results/%s?format=%s", name, format);
	return fetch(cli, job_path(id, tail, path), id, "*/*", file);
}
