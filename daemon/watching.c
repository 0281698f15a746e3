/* Values are read when somebody asks for metrics. */
#include "daemon/watching.h"

#include <sys/statvfs.h>

#include "daemon/config/daemon.h"
#include "daemon/routes/server/health.h"
#include "daemon/store/db.h"
#include "daemon/users/projects.h"
#include "daemon/util/metrics.h"

static struct sl_metric *ready, *full, *read_only, *free_bytes, *all_bytes, *users, *projects;

static void collect(void *arg)
{
	const struct sl_daemon *d = arg;
	struct statvfs st;
	struct sl_error why;
	sl_metric_set(ready, sl_health(d, &why) ? 0 : 1);
	if (d->db) {
		sl_metric_set(full, sl_db_disk_is_full(d->db));
		sl_metric_set(read_only, sl_db_is_read_only(d->db) || sl_db_has_moved(d->db));
	}
	if (d->users) {
		sl_metric_set(users, (double)sl_users_number(d->users));
		sl_metric_set(projects, (double)sl_projects_number(d->users));
	}
	if (!statvfs(d->state_dir, &st)) {
		sl_metric_set(free_bytes, (double)st.f_bavail * (double)st.f_frsize);
		sl_metric_set(all_bytes, (double)st.f_blocks * (double)st.f_frsize);
	}
}

void sl_watching_metrics(struct sl_daemon *d)
{
	struct sl_metrics *m = d->metrics;
	ready = sl_metrics_register(m, SL_GAUGE, "spaceland_ready", NULL, "1: /v1/health/ready answers 200; else 0.");
	full = sl_metrics_register(m, SL_GAUGE, "spaceland_disk_full", NULL,
				   "1: the disk of the state folder is full, and uploads are refused.");
	read_only = sl_metrics_register(m, SL_GAUGE, "spaceland_read_only", NULL,
					"1: the state folder cannot be written, or was moved.");
	free_bytes = sl_metrics_register(m, SL_GAUGE, "spaceland_disk_free_bytes", NULL,
					 "Free space on the disk of the state folder.");
	all_bytes = sl_metrics_register(m, SL_GAUGE, "spaceland_disk_bytes", NULL, "Size of that disk.");
	users = sl_metrics_register(m, SL_GAUGE, "spaceland_users", NULL, "Users on record, also disabled ones.");
	projects = sl_metrics_register(m, SL_GAUGE, "spaceland_projects", NULL, "Projects.");
	sl_metric_set(sl_metrics_register(m, SL_GAUGE, "spaceland_build_info", "version=\"" SL_VERSION "\"",
					  "Always 1; the label has the version."), 1);
	sl_metrics_on_collect(m, collect, d);
}
