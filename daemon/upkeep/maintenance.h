/* maintenance.h -- what administrators announce and order before they work on the server: a drain, and a banner.
 *
 * While the server is drained, it takes no new jobs (503), starts no waiting ones, and /v1/health/ready answers 503;
 * running jobs finish. From the time `by` on, those that still run are saved as checkpoints and wait, too. A banner is
 * a text that dashboards, the command line and Python show. Both are settings (settings.h), so they last until they are
 * ended, also over restarts. Loop thread. */
#ifndef SL_MAINTENANCE_H
#define SL_MAINTENANCE_H

#include <jansson.h>
#include <stdbool.h>
#include <uv.h>

#include "daemon/store/db.h"

struct sl_maintenance;
struct sl_metrics;
struct sl_settings;

int sl_maintenance_create(struct sl_maintenance **out, uv_loop_t *loop, struct sl_settings *settings,
			  struct sl_metrics *metrics, struct sl_error *err);
void sl_maintenance_destroy(struct sl_maintenance *m);  /* NULL is fine */

bool sl_maintenance_drains(const struct sl_maintenance *m);
bool sl_maintenance_is_due(const struct sl_maintenance *m);  /* it drains, and `by` has come: running jobs are saved */
/* A sentence for people: why no jobs are taken, and until when running ones go on. */
const char *sl_maintenance_why(const struct sl_maintenance *m);
/* What is shown to everybody: the banner, and the drain; a JSON text in ASCII, for a header. NULL: nothing. */
const char *sl_maintenance_notice(struct sl_maintenance *m);
json_t *sl_maintenance_json(struct sl_maintenance *m);       /* openapi.yaml: Maintenance; new reference */

/* Changes. They hold at once; done runs when they are recorded, not if the function returns an error. body:
 * openapi.yaml, DrainRequest and BannerRequest; NULL: ends it. who: name of the administrator. */
int sl_maintenance_drain(struct sl_maintenance *m, const json_t *body, const char *who, sl_db_done_fn done, void *arg,
			 struct sl_error *err);
int sl_maintenance_banner(struct sl_maintenance *m, const json_t *body, const char *who, sl_db_done_fn done, void *arg,
			  struct sl_error *err);

#endif
