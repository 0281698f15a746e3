/* accounting.h -- what users and projects have used, by day, for SL_ACCOUNTING_DAYS days.
 *
 * Days are those of UTC. A row has the device time that a user used for a project on a day, the part of the time of
 * allocations of a cluster and of their GPUs, the number of jobs that ended, and the disk that was held: the most that
 * was seen on that day. Rows are kept by the ids of user and project,
 * with the names that these had last, so that they outlive both. The rows of one day are one record of the data base,
 * written every SL_ACCOUNTING_SAVE_MS and at the stop. Loop thread. */
#ifndef SL_ACCOUNTING_H
#define SL_ACCOUNTING_H

#include <jansson.h>

#include "daemon/users/users.h"

#define SL_ACCOUNTING_DAYS 400
#define SL_ACCOUNTING_SAVE_MS 10000

/* user, project: ids, "" for nobody and none. */
void sl_accounting_time(struct sl_users *u, const char *user, const char *project, double seconds);
/* Part of the time of an allocation with so many GPUs. Nobody's is what no job had: a worker that starts or is idle.
 * Negative: what jobs had after the end of an allocation is taken from nobody's, as far as there is any. */
void sl_accounting_allocation(struct sl_users *u, const char *user, const char *project, double seconds, int gpus);
void sl_accounting_job(struct sl_users *u, const char *user, const char *project);
void sl_accounting_disk(struct sl_users *u, const char *user, const char *project, double bytes);
void sl_accounting_save(struct sl_users *u, bool now);

/* Which rows are added up to one: those of the same day, user, project, as far as these are chosen. */
struct sl_accounting_query {
	int from, to;               /* days since 1970, both included */
	bool by_day, by_user, by_project;
	const char *user, *project; /* ids of those that are wanted, "": nobody, none; NULL: all */
};
/* {"day", "user", "user_id", "project", "project_id", "device_seconds", "allocation_seconds", "gpu_seconds", "jobs",
 * "disk_byte_days"}, by day, then user, then project: an array, new reference. Members that are not chosen are null. */
json_t *sl_accounting_rows(const struct sl_users *u, const struct sl_accounting_query *query);

int sl_accounting_today(void);
/* Reads "2026-11-28". False: it is no date. */
bool sl_accounting_day(const char *text, int *day);

#endif
