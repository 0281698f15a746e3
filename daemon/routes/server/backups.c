/* /v1/backups: begins a backup, and reports its progress. */
#include "daemon/config/daemon.h"
#include "daemon/files/backup.h"
#include "daemon/routes/routes.h"

void sl_route_backups_get(struct sl_request *r)
{
	sl_reply_json(r, 200, json_pack("{s:o}", "items", sl_backups_list(sl_request_daemon(r)->backups)));
}

void sl_route_backups_post(struct sl_request *r)
{
	struct sl_backups *backups = sl_request_daemon(r)->backups;
	struct sl_error err;
	json_t *body = NULL;
	const char *name;
	int rc = sl_request_json(r, &body, &err);
	if (!rc)
		rc = sl_backups_make(backups, body, &name, &err);
	if (rc) {
		sl_reply_error(r, &err);
	} else {
		sl_reply_location(r, "/v1/backups/%s", name);
		sl_reply_json(r, 202, sl_backups_json(backups, name));
	}
	json_decref(body);
}

void sl_route_backup_get(struct sl_request *r)
{
	const char *name = sl_request_path(r, "name");
	json_t *backup = sl_backups_json(sl_request_daemon(r)->backups, name);
	if (backup)
		sl_reply_json(r, 200, backup);
	else
		sl_reply_problem(r, SL_NOTFOUND, "no backup %.64s was made since the start", name);
}
