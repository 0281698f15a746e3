/* GET /v1/accounting: what users and projects have used, by day; JSON or CSV. Administrators see all, others their
 * own. GET /v1/top: who has and uses most. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/meant.h"
#include "daemon/config/daemon.h"
#include "daemon/people/people.h"
#include "daemon/routes/routes.h"
#include "daemon/users/accounting.h"
#include "daemon/users/projects.h"
#include "daemon/users/users.h"
#include "daemon/util/buffer.h"

static const char *const members[] = {"day", "user", "user_id", "project", "project_id", "device_seconds",
				      "allocation_seconds", "gpu_seconds", "jobs", "disk_byte_days"};

static int read_day(const struct sl_request *r, const char *name, int *day, struct sl_error *err)
{
	const char *text = sl_request_query(r, name);
	char pointer[16];
	snprintf(pointer, sizeof pointer, "?%s", name);
	if (!text || sl_accounting_day(text, day))
		return 0;
	return sl_error_field(err, SL_BADPARAM, pointer, "%s must be a date, 2026-11-28", name);
}

static int read_by(const char *text, struct sl_accounting_query *q, struct sl_error *err)
{
	static const char *const words[] = {"day", "user", "project"};
	bool *const by[] = {&q->by_day, &q->by_user, &q->by_project};
	for (text = text ? text : "user"; *text;) {
		size_t length = strcspn(text, ",");
		int i = 0;
		while (i < 3 && (strncmp(text, words[i], length) || words[i][length]))
			i++;
		if (i == 3)
			return sl_error_field(err, SL_BADPARAM, "?by", "by must be one or several of day, user and project, with "
					      "commas between them");
		*by[i] = true;
		text += length + (text[length] == ',');
	}
	return 0;
}

/* Whose rows: all for administrators, unless they ask for one; else those of the sender. */
static int read_whose(const struct sl_request *r, struct sl_accounting_query *q, struct sl_error *err)
{
	const struct sl_users *u = sl_request_daemon(r)->users;
	const struct sl_principal *who = sl_request_who(r);
	const char *user = sl_request_query(r, "user"), *project = sl_request_query(r, "project");
	if (sl_users_limited(who))
		q->user = who->user;
	if (user && !sl_users_limited(who) && !(q->user = user[0] ? sl_users_id(u, user) : ""))
		return sl_error_field(err, SL_NOTFOUND, "?user", "there is no user %.64s", user);
	if (user && sl_users_limited(who) && strcmp(user, who->name))
		return sl_error_field(err, SL_NOTFOUND, "?user", "you may see your own accounting only");
	if (project && !(q->project = project[0] ? sl_project_id(u, project) : ""))
		return sl_error_field(err, SL_NOTFOUND, "?project", "there is no project %.64s", project);
	return 0;
}

static void write_text(FILE *to, const char *text)
{
	bool quote = strpbrk(text, ",\"\r\n");
	if (quote)
		fputc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', to);
		fputc(*text, to);
	}
	if (quote)
		fputc('"', to);
}

static void write_value(FILE *to, const json_t *value)
{
	if (json_is_string(value))
		write_text(to, json_string_value(value));
	else if (json_is_integer(value))
		fprintf(to, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		fprintf(to, "%.15g", json_real_value(value));
}

static void reply_csv(struct sl_request *r, const json_t *rows)
{
	char *text = NULL;
	size_t bytes = 0, i;
	json_t *row;
	struct sl_buffer *b = NULL;
	struct sl_error err;
	FILE *to = open_memstream(&text, &bytes);
	for (size_t k = 0; to && k < sizeof members / sizeof *members; k++)
		fprintf(to, "%s%s", k ? "," : "", members[k]);
	json_array_foreach(rows, i, row)
		for (size_t k = 0; to && k < sizeof members / sizeof *members; k++) {
			fputc(k ? ',' : '\n', to);
			write_value(to, json_object_get(row, members[k]));
		}
	if (to)
		fputc('\n', to);
	bool made = to && !fclose(to);
	if (!made)
		free(text);
	if (!made || sl_buffer_of(&b, text, bytes, &err)) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the list.");
		return;
	}
	sl_reply_buffer(r, "text/csv; charset=utf-8", NULL, b);
}

void sl_route_accounting(struct sl_request *r)
{
	struct sl_accounting_query q = {.to = sl_accounting_today()};
	const char *format = sl_request_query(r, "format");
	bool csv = format && !strcmp(format, "csv");
	struct sl_error err;
	q.from = q.to - SL_ACCOUNTING_DAYS;
	int rc = read_day(r, "from", &q.from, &err);
	if (!rc)
		rc = read_day(r, "to", &q.to, &err);
	if (!rc)
		rc = read_by(sl_request_query(r, "by"), &q, &err);
	if (!rc)
		rc = read_whose(r, &q, &err);
	if (!rc && sl_request_query(r, "from") && q.from > q.to)
		rc = sl_error_field(&err, SL_BADPARAM, "?from", "from must not be after to, which is today unless it is given");
	if (!rc && format && !csv && strcmp(format, "json"))
		rc = sl_error_field(&err, SL_BADPARAM, "?format", "format must be json or csv");
	if (rc) {
		sl_reply_error(r, &err);
		return;
	}
	sl_people_look(sl_request_daemon(r));
	json_t *rows = sl_accounting_rows(sl_request_daemon(r)->users, &q);
	if (csv)
		reply_csv(r, rows);
	else
		sl_reply_json(r, 200, rows ? json_pack("{s:O}", "items", rows) : NULL);
	json_decref(rows);
}

/* GET /v1/top: who has and uses most. */
void sl_route_top(struct sl_request *r)
{
	static const char *const sorts[] = {"device_seconds", "device_bytes", "disk_bytes", "running_jobs", "queued_jobs",
					    "jobs", "graphs", NULL};
	const char *by = sl_request_query(r, "by"), *sort = sl_request_query(r, "sort");
	struct sl_error err;
	bool projects = by && !strcmp(by, "project");
	if (by && !projects && strcmp(by, "user")) {
		sl_error_field(&err, SL_BADPARAM, "?by", "by must be user or project");
		sl_reply_error(r, &err);
	} else if (sort && !sl_word_in(sorts, sort)) {
		sl_error_field(&err, SL_BADPARAM, "?sort", "sort must be device_seconds, device_bytes, disk_bytes, "
			       "running_jobs, queued_jobs, jobs or graphs");
		sl_reply_error(r, &err);
	} else {
		json_t *items = sl_people_top(sl_request_daemon(r), projects, sort ? sort : sorts[0]);
		sl_reply_json(r, 200, items ? json_pack("{s:o}", "items", items) : NULL);
	}
}
