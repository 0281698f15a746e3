/* GET /v1/health/live and /v1/health/ready, and the same for metrics. */
#include <sys/statvfs.h>

#include "daemon/config/daemon.h"
#include "daemon/routes/routes.h"
#include "daemon/routes/server/health.h"
#include "daemon/store/db.h"
#include "daemon/upkeep/maintenance.h"

#define LOW_PART 20  /* a disk with less than 1/20 of its size left is low, however small it is */

/* The disk is nearly full: told before uploads are refused. */
static bool is_low(const struct sl_daemon *d, double *left)
{
	struct statvfs st;
	if (statvfs(d->state_dir, &st))
		return false;
	double all = (double)st.f_blocks * (double)st.f_frsize, low = (double)d->config.low_disk_bytes;
	*left = (double)st.f_bavail * (double)st.f_frsize;
	return *left < (low < all / LOW_PART ? low : all / LOW_PART);
}

static int not_now(struct sl_error *err, const char *why)
{
	sl_error_set(err, SL_CONFLICT, "%s", why);
	return SL_NOT_NOW;
}

int sl_health(const struct sl_daemon *d, struct sl_error *err)
{
	double left;
	if (!d->ready || d->ending)
		return not_now(err, d->ending ? "the server is being stopped" : "the server is starting");
	if (sl_db_disk_is_full(d->db))
		return sl_error_set(err, SL_DISKFULL, "the disk is full: what is stored is served, but uploads are "
				    "refused, and results wait, until there is room in %s", d->state_dir);
	if (sl_db_is_read_only(d->db))
		return sl_error_set(err, SL_READONLY, "the disk of %s is read-only: what is stored is served, but nothing "
				    "new is accepted; make it writable and restart", d->state_dir);
	if (sl_db_has_moved(d->db))
		return sl_error_set(err, SL_READONLY, "the state folder %s was moved, replaced or unmounted while the server "
				    "ran: nothing new is accepted; put it back, or restart", d->state_dir);
	if (sl_maintenance_drains(d->maintenance))
		return not_now(err, sl_maintenance_why(d->maintenance));
	if (is_low(d, &left))
		return sl_error_set(err, SL_DISKFULL, "the disk is nearly full: %.0f MB are left in %s (low_disk_bytes). All "
				    "requests are still served; delete something, or give it more room, before uploads are refused",
				    left / 1e6, d->state_dir);
	return 0;
}

/* GET /v1/health/ready: 200 if the server accepts work; 503 while starting, stopping and drained. */
void sl_route_health_ready(struct sl_request *r)
{
	struct sl_error err;
	int code = sl_health(sl_request_daemon(r), &err);
	if (!code)
		sl_reply_json(r, 200, json_pack("{s:s}", "status", "ready"));
	else if (code == SL_NOT_NOW)
		sl_reply_status(r, 503, "%s", err.detail);
	else
		sl_reply_problem(r, code, "%s", err.detail);
}

/* GET /v1/health/live: a reply shows that the loop runs. */
void sl_route_health_live(struct sl_request *r)
{
	sl_reply_json(r, 200, json_pack("{s:s}", "status", "live"));
}
