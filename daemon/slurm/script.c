/* The arguments and the batch script with which sbatch requests an allocation.
 *
 * The worker is the batch step itself (exec): so it gets Slurm's signals (--signal=B:TERM@60), needs no further
 * answers of slurmctld, and ends with the allocation. The token travels in the environment, which --export names; no
 * command line has it. Values of the configuration are the administrator's; names of users are others', and only
 * become --comment, cut to harmless characters. */
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/slurm/slurm_internal.h"

#define MIB 1048576.0
#define MEMORY_LEAST (1ull << 30)
#define MEMORY_PART 1.25           /* of the forecast */
#define MEMORY_PROGRAM (256ull << 20)

static bool add(struct sl__arguments *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool add(struct sl__arguments *out, const char *format, ...)
{
	va_list values;
	char *text = NULL;
	if (out->count == SL__ARGUMENTS)
		return false;
	va_start(values, format);
	if (vasprintf(&text, format, values) < 0)
		text = NULL;
	va_end(values);
	out->argv[out->count] = text;
	out->count += text != NULL;
	out->argv[out->count] = NULL;
	return text;
}

/* Adds "--name=value", unless the value is empty. */
static bool add_text(struct sl__arguments *out, const char *name, const char *value)
{
	return !value[0] || add(out, "--%s=%s", name, value);
}

/* Adds each word of a text. */
static bool add_words(struct sl__arguments *out, const char *text)
{
	for (text += strspn(text, " \t"); *text; text += strspn(text, " \t")) {
		int length = (int)strcspn(text, " \t");
		if (!add(out, "%.*s", length, text))
			return false;
		text += length;
	}
	return true;
}

static uint64_t memory_bytes(const struct sl__script *s)
{
	double forecast = MEMORY_PART * (double)s->a->need.bytes + (double)MEMORY_PROGRAM;
	return s->config->slurm_memory_bytes ? (uint64_t)s->config->slurm_memory_bytes :
	       forecast > (double)MEMORY_LEAST ? (uint64_t)forecast : MEMORY_LEAST;
}

/* Copies letters, digits and some signs; others become "_". */
static void harmless(const char *text, char *out, size_t bytes)
{
	size_t i = 0;
	for (; text[i] && i + 1 < bytes; i++)
		out[i] = (char)(isalnum((unsigned char)text[i]) || strchr("._@+-", text[i]) ? text[i] : '_');
	out[i] = 0;
}

void sl__script_account(const char *list, const char *project, char *out, size_t bytes)
{
	size_t length, named = strlen(project);
	out[0] = 0;
	for (const char *w; (w = sl_config_word(&list, &length));) {
		const char *sign = memchr(w, '=', length);
		size_t before = sign ? (size_t)(sign - w) : 0;
		if (!sign && !out[0])
			snprintf(out, bytes, "%.*s", (int)length, w);
		if (sign && before == named && !memcmp(w, project, named)) {
			snprintf(out, bytes, "%.*s", (int)(length - before - 1), sign + 1);
			return;
		}
	}
}

int sl__script_gpus(const char *gres)
{
	int gpus = 0;
	size_t length;
	for (const char *w; (w = sl_config_word(&gres, &length));) {
		if (strncmp(w, "gpu", 3) || (length > 3 && w[3] != ':'))
			continue;
		const char *last = w + length;
		while (last > w && isdigit((unsigned char)last[-1]))
			last--;
		gpus += last < w + length && last[-1] == ':' ? atoi(last) : 1;
	}
	return gpus;
}

char *sl__script_path(const struct sl_config *c, const char *program, char *out, size_t bytes)
{
	snprintf(out, bytes, "%s%s%s", c->slurm_bin_dir, c->slurm_bin_dir[0] ? "/" : "", program);
	return out;
}

static bool add_limits(const struct sl__script *s, struct sl__arguments *out)
{
	const struct sl_config *c = s->config;
	bool fits = add(out, "--mem=%.0fM", ceil((double)memory_bytes(s) / MIB));
	if (c->slurm_cpus)
		fits = fits && add(out, "--cpus-per-task=%lld", (long long)c->slurm_cpus);
	if (c->slurm_time_s > 0)
		fits = fits && add(out, "--time=%.0f", ceil(c->slurm_time_s / 60));
	return fits;
}

bool sl__script_arguments(const struct sl__script *s, struct sl__arguments *out)
{
	const struct sl_config *c = s->config;
	char path[4200], account[128], user[80];
	sl__script_account(c->slurm_account, s->a->need.project, account, sizeof account);
	harmless(s->a->need.user, user, sizeof user);
	*out = (struct sl__arguments){0};
	bool fits = add(out, "%s", sl__script_path(c, "sbatch", path, sizeof path)) && add(out, "--parsable") &&
		    add(out, "--job-name=%s", s->a->name) && add(out, "--requeue") &&
		    add(out, "--signal=B:TERM@%d", SL__NOTICE_S) && add(out, "--ntasks=1") && add(out, "--chdir=/") &&
		    add(out, "--export=PATH,HOME,SPACELAND_WORKER_TOKEN") &&
		    add(out, "--comment=spaceland job %s%s%s", s->a->need.job, user[0] ? " of " : "", user) &&
		    add_text(out, "partition", c->slurm_partition) && add_text(out, "qos", c->slurm_qos) &&
		    add_text(out, "account", account) && add_text(out, "gres", c->slurm_gres) && add_limits(s, out) &&
		    add_text(out, "output", c->slurm_output[0] ? c->slurm_output : "/dev/null") &&
		    add_words(out, c->slurm_arguments);
	if (!fits)
		sl__arguments_finish(out);
	return fits;
}

void sl__arguments_finish(struct sl__arguments *a)
{
	for (int i = 0; i < a->count; i++)
		free(a->argv[i]);
	*a = (struct sl__arguments){0};
}

/* A word for the shell, in single quotes. */
static void quote(const char *text, char *out, size_t bytes)
{
	size_t n = 0;
	out[n++] = '\'';
	for (; *text && n + 6 < bytes; text++) {
		if (*text == '\'') {
			memcpy(out + n, "'\\''", 4);
			n += 4;
		} else {
			out[n++] = *text;
		}
	}
	out[n++] = '\'';
	out[n] = 0;
}

char *sl__script_text(const struct sl__script *s)
{
	char program[4200], place[SL_REMOTE_PLACE_BYTES + 8], *text = NULL;
	const struct sl_config *c = s->config;
	bool cache = c->slurm_cache_dir[0], before = c->slurm_prologue[0];
	quote(s->program, program, sizeof program);
	quote(s->place, place, sizeof place);
	/* a login shell knows `module`; the folder of the cache may have variables */
	if (asprintf(&text,
		     "#!/bin/%s\n"
		     "# A worker of a spaceland server: it connects to the server, and computes jobs until it is idle.\n"
		     "token=$SPACELAND_WORKER_TOKEN\n"
		     "unset SPACELAND_WORKER_TOKEN\n"
		     "%s%s"
		     "exec %s --worker --connect %s --pin %s --token-file /dev/fd/3 --engine %s --name %s \\\n"
		     "\t${SLURM_CPUS_PER_TASK:+--threads \"$SLURM_CPUS_PER_TASK\"}%s%s%s 3<<END\n"
		     "$token\n"
		     "END\n",
		     before ? "bash -l" : "sh", c->slurm_prologue, before ? "\n" : "", program, place, s->pin, c->slurm_engine,
		     s->a->name, cache ? " --cache-dir \"" : "", c->slurm_cache_dir, cache ? "\"" : "") < 0)
		return NULL;
	return text;
}
