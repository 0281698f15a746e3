/* Asks slurmrestd instead of Slurm's programs: HTTP with JSON, and a JSON web token that is read from its file for each
 * request, so that a renewed one holds at once. curl is the client, as a child process like sbatch: it gets everything
 * (the token, the script) by its standard input, so no command line shows it.
 *
 * What slurmrestd can do differs by version: the newest that both know is looked up first (GET /openapi/v3). Its job
 * descriptions have sbatch's options under names of their own, so one list of arguments serves both (script.c). It
 * cannot list the jobs of one user: what it tells of the whole cluster is read on the pool, and becomes lines like
 * those of squeue. */
#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>
#include <sodium.h>

#include "daemon/slurm/slurm_internal.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

#define LIMIT_MS 60000
#define CURL_S 50               /* it ends by itself before it would be killed */
#define CONNECT_S 10
#define LISTING_MOST (256u << 20)  /* bytes: about 80,000 jobs of the cluster */
#define TEXT_MOST (1u << 20)
#define TOKEN_BYTES 8192
#define HTTP_BYTES 5            /* of "\n200\n" */
#define FIRST_ERROR_OF_JOBS 2000  /* Slurm's errors below it are those of its connections */
#define LAST_ERROR_OF_JOBS 4999

/* Those whose job descriptions are known here, the newest first. */
static const char *const versions[] = {"v0.0.38", "v0.0.37"};

bool sl__rest_used(const struct sl_slurm *s)
{
	return s->d->config.slurm_rest_url[0];
}

/* ---- a request ------------------------------------------------------------------------------------- */

/* The JSON web token in its file, also as `scontrol token` prints it (SLURM_JWT=...). False: *why tells. */
static bool read_token(const struct sl_config *c, char *out, size_t bytes, char *why, size_t why_bytes)
{
	const char *path = c->slurm_rest_token_file;
	FILE *f = fopen(path, "r");
	size_t length = f ? fread(out, 1, bytes - 1, f) : 0;
	if (!f) {
		snprintf(why, why_bytes, "slurm_rest_token_file %.150s cannot be read: %s", path, strerror(errno));
		return false;
	}
	fclose(f);
	out[length] = 0;
	if (!strncmp(out, "SLURM_JWT=", 10))
		memmove(out, out + 10, length - 9);
	length = strcspn(out, " \t\r\n");
	bool rest = out[length + strspn(out + length, " \t\r\n")];
	out[length] = 0;
	for (size_t i = 0; i < length; i++)
		rest = rest || !(isalnum((unsigned char)out[i]) || strchr("._-", out[i]));
	if (length && !rest)
		return true;
	sodium_memzero(out, bytes);
	snprintf(why, why_bytes, "slurm_rest_token_file %.150s must have one line with a JSON web token, as "
		 "`scontrol token` prints it", path);
	return false;
}

/* A line of curl's configuration: name = "value", with its escapes. */
static void put(FILE *to, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void put(FILE *to, const char *name, const char *format, ...)
{
	va_list values;
	char *text = NULL;
	va_start(values, format);
	if (vasprintf(&text, format, values) < 0)
		text = NULL;
	va_end(values);
	fprintf(to, "%s = \"", name);
	for (const char *c = text ? text : ""; *c; c++) {
		if (*c == '"' || *c == '\\')
			fputc('\\', to);
		if (*c != '\n' && *c != '\r')
			fputc(*c, to);
	}
	fputs("\"\n", to);
	if (text)
		sodium_memzero(text, strlen(text));
	free(text);
}

/* Looked up once, since that may take long where accounts are on a network. */
static void find_account(struct sl_slurm *s)
{
	const struct passwd *p = s->account[0] ? NULL : getpwuid(getuid());
	if (p)
		snprintf(s->account, sizeof s->account, "%s", p->pw_name);
}

struct request {
	const char *method, *body;   /* body NULL: none */
	const char *const *paths;    /* NULL-terminated: one request for each */
	size_t most_bytes;
	sl_child_fn fn;
};

static char *configuration(const struct sl_slurm *s, const struct request *q, const char *token)
{
	const struct sl_config *c = &s->d->config;
	const char *url = c->slurm_rest_url;
	bool local = !strncmp(url, "unix:", 5);
	char *text = NULL;
	size_t bytes;
	FILE *to = open_memstream(&text, &bytes);
	if (!to)
		return NULL;
	fprintf(to, "silent\nshow-error\nmax-time = %d\nconnect-timeout = %d\nnoproxy = \"*\"\n"
		"write-out = \"\\n%%{http_code}\\n\"\n",
		CURL_S, CONNECT_S);
	put(to, "request", "%s", q->method);
	put(to, "header", "X-SLURM-USER-NAME: %s", s->account);
	put(to, "header", "X-SLURM-USER-TOKEN: %s", token);
	if (local)
		put(to, "unix-socket", "%s", url + 5);
	if (q->body) {
		put(to, "header", "Content-Type: application/json");
		put(to, "data-binary", "%s", q->body);
	}
	for (int i = 0; q->paths[i]; i++)
		put(to, "url", "%s%s", local ? "http://localhost" : url, q->paths[i]);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

/* NULL: it could not be sent; *why tells. */
static struct sl_child *ask(struct sl_slurm *s, const struct request *q, char *why, size_t bytes)
{
	static const char *const argv[] = {"curl", "--disable", "--config", "-", NULL};
	char token[TOKEN_BYTES];
	if (!read_token(&s->d->config, token, sizeof token, why, bytes))
		return NULL;
	find_account(s);
	char *text = configuration(s, q, token);
	sodium_memzero(token, sizeof token);
	const struct sl_child_spec spec = {.argv = argv, .input = text, .most_bytes = q->most_bytes, .limit_ms = LIMIT_MS};
	struct sl_child *child = text ? sl_child_run(s->d->loop, &spec, q->fn, s) : NULL;
	if (text)
		sodium_memzero(text, strlen(text));
	free(text);
	if (!child)
		snprintf(why, bytes, "there is no memory for a request to slurmrestd");
	return child;
}

/* ---- a reply ------------------------------------------------------------------------------------- */

struct reply {
	int http;               /* 0: there is none */
	bool good;
	enum sl__verdict verdict;
	char why[300];          /* if it is not good */
};

/* curl prints "\n200\n" after each reply. */
static int http_status(const struct sl_child_result *r)
{
	const char *end = r->out + r->out_bytes;
	return r->out_bytes >= HTTP_BYTES && end[-1] == '\n' && end[-HTTP_BYTES] == '\n' ? atoi(end - HTTP_BYTES + 1) : 0;
}

static const char *text_at(const json_t *o, const char *name)
{
	const char *text = json_string_value(json_object_get(o, name));
	return text ? text : "";
}

/* The first of its errors. Slurm's own number of it; 0: none. */
static int first_error(const json_t *o, char *why, size_t bytes)
{
	const json_t *e = json_array_get(json_object_get(o, "errors"), 0);
	const char *description = text_at(e, "description"), *error = text_at(e, "error");
	bool both = description[0] && error[0] && !strstr(description, error);
	snprintf(why, bytes, "slurmrestd: %.130s%s%.100s", description, both ? ": " : "",
		 both || !description[0] ? error : "");
	const json_t *number = json_object_get(e, "error_number");
	return (int)json_integer_value(number ? number : json_object_get(e, "error_code"));
}

static void read_refusal(struct sl_slurm *s, const struct sl_child_result *r, struct reply *out)
{
	const struct sl_config *c = &s->d->config;
	json_t *o = json_loadb(r->out, r->out_bytes, JSON_DISABLE_EOF_CHECK, NULL);
	int number = first_error(o, out->why, sizeof out->why);
	json_decref(o);
	if (out->http == 401)
		snprintf(out->why, sizeof out->why, "slurmrestd refuses the token in %.150s; it may have expired",
			 c->slurm_rest_token_file);
	else if (out->http == 404)
		snprintf(out->why, sizeof out->why, "slurmrestd has no %s any more; its version is looked up again", s->rest);
	else if (!strcmp(out->why, "slurmrestd: "))
		snprintf(out->why, sizeof out->why, "slurmrestd answered with HTTP status %d", out->http);
	if (out->http == 404)
		s->rest[0] = 0;
	bool of_job = number >= FIRST_ERROR_OF_JOBS && number <= LAST_ERROR_OF_JOBS;
	if (of_job || (out->http >= 400 && out->http < 500 && out->http != 401 && out->http != 404))
		out->verdict = SL__REFUSED;
}

static struct reply read_reply(struct sl_slurm *s, const struct sl_child_result *r)
{
	struct reply out = {.verdict = SL__NO_ANSWER};
	if (!sl_child_succeeded(r)) {
		char why[200];
		snprintf(out.why, sizeof out.why, "slurmrestd at %.80s: %s", s->d->config.slurm_rest_url,
			 sl_child_problem(r, "curl", why, sizeof why));
		return out;
	}
	out.http = http_status(r);
	out.good = out.http == 200;
	if (out.good)
		out.verdict = SL__GRANTED;
	else
		read_refusal(s, r, &out);
	return out;
}

static json_t *document(const struct sl_child_result *r)
{
	return json_loadb(r->out, r->out_bytes, JSON_DISABLE_EOF_CHECK, NULL);
}

/* ---- its version ----------------------------------------------------------------------------------- */

static void on_versions(void *arg, const struct sl_child_result *r)
{
	struct sl_slurm *s = arg;
	struct reply reply = read_reply(s, r);
	s->squeue = NULL;
	json_t *o = reply.good ? document(r) : NULL;
	for (size_t i = 0; o && !s->rest[0] && i < sizeof versions / sizeof *versions; i++) {
		char path[64];
		snprintf(path, sizeof path, "/slurm/%s/jobs", versions[i]);
		if (json_object_get(json_object_get(o, "paths"), path))
			snprintf(s->rest, sizeof s->rest, "%s", versions[i]);
	}
	json_decref(o);
	if (reply.good && !s->rest[0])
		snprintf(reply.why, sizeof reply.why, "slurmrestd at %.80s offers neither %s nor %s (of Slurm 21.08 to 23.02): "
			 "start it with one of them (-s openapi/%s), or use Slurm's programs (slurm_rest_url empty)",
			 s->d->config.slurm_rest_url, versions[0], versions[1], versions[0]);
	if (s->rest[0])
		sl_log_info("slurm", "slurmrestd at %s offers %s", s->d->config.slurm_rest_url, s->rest);
	sl__slurm_listed(s, NULL, s->rest[0] ? NULL : reply.why);
}

/* ---- the queue ------------------------------------------------------------------------------------- */

struct reading {
	struct sl_slurm *slurm;
	char *text, *lines;
	size_t bytes;
};

/* A number, or {"set": true, "number": 5}. */
static long long number_of(const json_t *value)
{
	return json_integer_value(json_is_object(value) ? json_object_get(value, "number") : value);
}

/* As squeue prints it in SL_SQUEUE_FORMAT. */
static void write_line(FILE *to, const json_t *job)
{
	const char *name = text_at(job, "name");
	const json_t *state = json_object_get(job, "job_state");
	if (strncmp(name, SL__PREFIX, strlen(SL__PREFIX)) || strpbrk(name, "|\n"))
		return;
	const char *word = json_string_value(json_is_array(state) ? json_array_get(state, 0) : state);
	fprintf(to, "%lld|%s|%s|%lld|%lld|%s|%s\n", number_of(json_object_get(job, "job_id")), name, word ? word : "",
		number_of(json_object_get(job, "start_time")), number_of(json_object_get(job, "end_time")),
		text_at(job, "nodes"), text_at(job, "state_reason"));
}

static void read_jobs(void *arg)
{
	struct reading *w = arg;
	size_t bytes, i;
	json_t *o = json_loadb(w->text, w->bytes, JSON_DISABLE_EOF_CHECK, NULL), *jobs = json_object_get(o, "jobs"), *job;
	FILE *to = json_is_array(jobs) ? open_memstream(&w->lines, &bytes) : NULL;
	json_array_foreach(jobs, i, job)
		if (to)
			write_line(to, job);
	if (to)
		fclose(to);
	json_decref(o);
}

static void jobs_are_read(void *arg)
{
	struct reading *w = arg;
	struct sl_slurm *s = w->slurm;
	s->reading = false;
	if (!s->closing)
		sl__slurm_listed(s, w->lines, w->lines ? NULL : "slurmrestd's list of jobs is not readable");
	free(w->text);
	free(w->lines);
	free(w);
	sl__slurm_closed(s);
}

static void on_jobs(void *arg, const struct sl_child_result *r)
{
	struct sl_slurm *s = arg;
	struct reply reply = read_reply(s, r);
	struct reading *w = reply.good ? calloc(1, sizeof *w) : NULL;
	s->squeue = NULL;
	if (w && (w->text = malloc(r->out_bytes + 1))) {
		memcpy(w->text, r->out, r->out_bytes + 1);
		w->bytes = r->out_bytes;
		w->slurm = s;
		s->reading = true;
		sl_pool_run(s->d->loop, read_jobs, jobs_are_read, w);
		return;
	}
	free(w);
	sl__slurm_listed(s, NULL, reply.good ? "there is no memory for the list of slurmrestd" : reply.why);
}

void sl__rest_list(struct sl_slurm *s)
{
	char path[64], why[300];
	snprintf(path, sizeof path, "/slurm/%s/jobs", s->rest);
	const char *const jobs[] = {path, NULL}, *const openapi[] = {"/openapi/v3", NULL};
	const struct request q = {.method = "GET", .paths = s->rest[0] ? jobs : openapi, .most_bytes = LISTING_MOST,
				  .fn = s->rest[0] ? on_jobs : on_versions};
	s->squeue = ask(s, &q, why, sizeof why);
	if (!s->squeue)
		sl__slurm_listed(s, NULL, why);
}

/* ---- a request for an allocation ----------------------------------------------------------------- */

enum form { FORM_TEXT, FORM_NUMBER, FORM_NONE };

/* sbatch's options whose names, or types, are others in a job description. */
static const struct { const char *option, *key; enum form form; } options[] = {
	{"job-name", "name", FORM_TEXT}, {"chdir", "current_working_directory", FORM_TEXT},
	{"ntasks", "tasks", FORM_NUMBER}, {"cpus-per-task", "cpus_per_task", FORM_NUMBER},
	{"mem", "memory_per_node", FORM_NUMBER},  /* MiB */
	{"time", "time_limit", FORM_NUMBER},      /* minutes */
	{"output", "standard_output", FORM_TEXT}, {"constraint", "constraints", FORM_TEXT},
	{"parsable", "", FORM_NONE}, {"export", "", FORM_NONE},
	{"signal", "", FORM_NONE},  /* it refuses B:, and sends other signals to steps only; KillWait must do */
};

/* "--name=value", or "--name": true. Those that slurmrestd does not know, it names in its refusal. */
static void set_option(json_t *job, const char *argument)
{
	const char *sign = strchr(argument, '=');
	char key[64];
	snprintf(key, sizeof key, "%.*s", (int)(sign ? sign - argument - 2 : (long)strlen(argument + 2)), argument + 2);
	enum form form = FORM_TEXT;
	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (!strcmp(key, options[i].option)) {
			snprintf(key, sizeof key, "%s", options[i].key);
			form = options[i].form;
			break;
		}
	for (char *c = key; *c; c++)
		*c = *c == '-' ? '_' : *c;
	if (form != FORM_NONE)
		json_object_set_new(job, key, !sign ? json_true() : form == FORM_TEXT ? json_string(sign + 1) :
				    json_integer(strtoll(sign + 1, NULL, 10)));
}

char *sl__rest_description(const struct sl__arguments *arguments, const char *script, const char *token)
{
	static const char *const kept[] = {"PATH", "HOME"};
	json_t *job = json_object(), *environment = json_object();
	for (int i = 1; i < arguments->count; i++)
		if (!strncmp(arguments->argv[i], "--", 2))
			set_option(job, arguments->argv[i]);
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		if (getenv(kept[i]))
			json_object_set_new(environment, kept[i], json_string(getenv(kept[i])));
	json_object_set_new(environment, "SPACELAND_WORKER_TOKEN", json_string(token));
	json_object_set_new(job, "environment", environment);
	json_t *o = json_pack("{s:o, s:s}", "job", job, "script", script);
	char *text = o ? json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
	json_decref(o);
	return text;
}

static void on_submitted(void *arg, const struct sl_child_result *r)
{
	struct sl_slurm *s = arg;
	struct reply reply = read_reply(s, r);
	json_t *o = reply.good ? document(r) : NULL;
	uint64_t id = (uint64_t)number_of(json_object_get(o, "job_id"));
	if (reply.good && !id) {
		first_error(o, reply.why, sizeof reply.why);
		reply.verdict = SL__REFUSED;
	}
	json_decref(o);
	sl__slurm_submitted(s, reply.verdict, id, reply.why);
}

bool sl__rest_submit(struct sl_slurm *s, const struct sl__arguments *arguments, const char *script, const char *token,
		     char *why, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof path, "/slurm/%s/job/submit", s->rest);
	char *body = sl__rest_description(arguments, script, token);
	const char *const paths[] = {path, NULL};
	const struct request q = {.method = "POST", .body = body, .paths = paths, .most_bytes = TEXT_MOST,
				  .fn = on_submitted};
	if (body)
		s->sbatch = ask(s, &q, why, bytes);
	else
		snprintf(why, bytes, "there is no memory for a request to slurmrestd");
	if (body)
		sodium_memzero(body, strlen(body));
	free(body);
	return s->sbatch;
}

/* ---- what is cancelled ----------------------------------------------------------------------------- */

static void on_cancelled(void *arg, const struct sl_child_result *r)
{
	struct reply reply = read_reply(arg, r);
	sl__slurm_cancelled(arg, reply.good ? NULL : reply.why);
}

void sl__rest_cancel(struct sl_slurm *s, const uint64_t *ids, int count)
{
	char path[SL__CANCELS][48], why[300];
	const char *paths[SL__CANCELS + 1];
	for (int i = 0; i < count; i++) {
		snprintf(path[i], sizeof path[i], "/slurm/%s/job/%llu", s->rest, (unsigned long long)ids[i]);
		paths[i] = path[i];
	}
	paths[count] = NULL;
	const struct request q = {.method = "DELETE", .paths = paths, .most_bytes = TEXT_MOST, .fn = on_cancelled};
	s->scancel = ask(s, &q, why, sizeof why);
	if (!s->scancel)
		sl_log_warning("slurm", "nothing is cancelled: %s", why);
}
