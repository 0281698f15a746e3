#include "daemon/config/daemon.h"
#include "daemon/routes/routes.h"
#include "daemon/store/db.h"
#include "daemon/upkeep/maintenance.h"

/* GET /v1/health/ready: 200 if the server accepts work; 503 while starting and stopping. */
void sl_route_health_ready(struct sl_request *r)
{
	const struct sl_daemon *d = sl_request_daemon(r);
	if (d->ready && sl_db_disk_is_full(d->db))
		sl_reply_problem(r, SL_DISKFULL, "the disk is full: what is stored is served, but uploads are "
				 "refused, and results wait, until there is room in %s", d->state_dir);
	else if (d->ready && sl_db_is_read_only(d->db))
		sl_reply_problem(r, SL_READONLY, "the disk of %s is read-only: what is stored is served, but nothing "
				 "new is accepted; make it writable and restart", d->state_dir);
	else if (d->ready && sl_db_has_moved(d->db))
		sl_reply_problem(r, SL_READONLY, "the state folder %s was moved, replaced or unmounted while the server ran: "
				 "nothing new is accepted; put it back, or restart", d->state_dir);
	else if (d->ready && !d->ending && sl_maintenance_drains(d->maintenance))
		sl_reply_status(r, 503, "%s", sl_maintenance_why(d->maintenance));
	else if (d->ready && !d->ending)
		sl_reply_json(r, 200, json_pack("{s:s}", "status", "ready"));
	else
		sl_reply_status(r, 503, d->ending ? "the server is being stopped" : "the server is starting");
}
