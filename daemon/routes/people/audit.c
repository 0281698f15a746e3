/* GET /v1/audit: the events that fit the filters, the last ones, oldest first. */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/routes/routes.h"
#include "daemon/users/users.h"

struct finding {
	struct sl_request *r;  /* NULL: the client is gone */
};

static void found(void *arg, json_t *items)
{
	struct finding *f = arg;
	if (f->r)
		sl_reply_json(f->r, 200, items ? json_pack("{s:o}", "items", items) : NULL);
	else
		json_decref(items);
	free(f);
}

/* Reads a date, or a time as the interface writes it, in UTC. */
static int read_time(const struct sl_request *r, const char *name, double *out, struct sl_error *err)
{
	const char *text = sl_request_query(r, name), *end;
	char pointer[32];
	struct tm tm = {0};
	snprintf(pointer, sizeof pointer, "?%s", name);
	if (!text)
		return 0;
	end = strptime(text, "%Y-%m-%d", &tm);
	if (end && *end)
		end = strptime(end, "T%H:%M:%S", &tm);
	*out = (double)timegm(&tm);
	if (end && *end == '.')
		*out += strtod(end, (char **)&end);
	if (end && *end == 'Z')
		end++;
	if (end && !*end)
		return 0;
	return sl_error_field(err, SL_BADPARAM, pointer, "%s must be a date, 2026-11-28, or a time in UTC, "
			      "2026-11-28T10:30:00Z", name);
}

void sl_route_audit(struct sl_request *r)
{
	struct sl_audit_filter filter = {.user = sl_request_query(r, "user"), .object = sl_request_query(r, "object")};
	const struct sl_users *users = sl_request_daemon(r)->users;
	const char *named = filter.object ? sl_users_id(users, filter.object) : NULL;
	const char *user = filter.user ? sl_users_id(users, filter.user) : NULL;
	int64_t limit = 100;
	struct sl_error err;
	int rc = sl_request_query_int(r, "limit", 1, 100000, &limit, &err);
	if (!rc)
		rc = read_time(r, "since", &filter.since, &err);
	if (!rc)
		rc = read_time(r, "until", &filter.until, &err);
	filter.limit = (int)limit;
	filter.or_object = named;
	filter.user_id = user ? user : filter.user && sl_ulid_valid(filter.user) ? filter.user : NULL;
	struct finding *f = rc ? NULL : malloc(sizeof *f);
	if (!rc && f)
		f->r = r;
	if (!rc && (!f || sl_users_audit_find(sl_request_daemon(r)->users, &filter, found, f)))
		rc = sl_error_memory(&err, "the events");
	if (rc) {
		free(f);
		sl_reply_error(r, &err);
		return;
	}
	sl_park(&f->r, 0);
}
