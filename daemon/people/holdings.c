/* What users and projects have, in one pass over all graphs, jobs and layouts. */
#include <stdlib.h>
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/jobs/jobs.h"
#include "daemon/layouts/layouts.h"
#include "daemon/people/people.h"
#include "daemon/users/accounting.h"
#include "daemon/users/limits.h"
#include "daemon/users/projects.h"
#include "daemon/users/users.h"
#include "daemon/util/list.h"

#define BUCKETS 1024

struct pass {
	struct sl_daemon *d;
	struct sl_holding *at;
	size_t count, room;
	int *next;                 /* [room]: the next one of the bucket, or -1 */
	int first[BUCKETS];
	bool failed;               /* no memory */
};

static bool grow(struct pass *p)
{
	size_t room = p->room ? 2 * p->room : 64;
	struct sl_holding *at = realloc(p->at, room * sizeof *at);
	if (at)
		p->at = at;
	int *next = at ? realloc(p->next, room * sizeof *next) : NULL;
	if (!next)
		return false;
	p->next = next;
	p->room = room;
	return true;
}

/* NULL: no memory. */
static struct sl_holding *of(struct pass *p, const char *user, const char *project)
{
	unsigned bucket = (sl_list_hash(user, SIZE_MAX) ^ sl_list_hash(project, SIZE_MAX)) % BUCKETS;
	for (int i = p->first[bucket]; i >= 0; i = p->next[i])
		if (!strcmp(p->at[i].user, user) && !strcmp(p->at[i].project, project))
			return &p->at[i];
	if (p->count == p->room && !grow(p)) {
		p->failed = true;
		return NULL;
	}
	struct sl_holding *h = &p->at[p->count];
	*h = (struct sl_holding){0};
	snprintf(h->user, sizeof h->user, "%s", user);
	snprintf(h->project, sizeof h->project, "%s", project);
	p->next[p->count] = p->first[bucket];
	p->first[bucket] = (int)p->count++;
	return h;
}

static struct sl_holding *of_thing(struct pass *p, const char *id)
{
	const struct sl_users *u = p->d->users;
	return of(p, sl_users_owners(u, id) ? sl_users_owner(u, id, 0) : "", sl_users_project_account(u, id));
}

static void add_graph(void *arg, const struct sl_graph_record *g)
{
	struct sl_holding *h = of_thing(arg, g->id);
	if (!h)
		return;
	h->graphs++;
	h->disk_bytes += sl_graph_booked(g);
}

static void add_layout(void *arg, const struct sl_layout_record *l)
{
	struct sl_holding *h = of_thing(arg, l->id);
	if (h)
		h->disk_bytes += l->bytes;
}

static void add_job(void *arg, const struct sl_job_holding *j)
{
	struct sl_holding *h = of(arg, j->user, j->project);
	if (!h)
		return;
	h->jobs++;
	h->disk_bytes += j->disk_bytes;
	h->device_bytes += j->device_bytes;
	h->queued_jobs += j->queued;
	h->running_jobs += j->running;
}

/* One for each user and project that has anything: [*count], which the caller frees. NULL: no memory. */
static struct sl_holding *holdings_of(struct sl_daemon *d, size_t *count)
{
	struct pass p = {.d = d};
	memset(p.first, 0xff, sizeof p.first);
	p.failed = !grow(&p);
	if (!p.failed) {
		sl_graphs_each(d->graphs, add_graph, &p);
		sl_jobs_each_holding(d->jobs, add_job, &p);
		sl_layouts_each(d->layouts, add_layout, &p);
	}
	free(p.next);
	*count = p.count;
	if (!p.failed)
		return p.at;
	free(p.at);
	return NULL;
}

void sl_people_look(struct sl_daemon *d)
{
	size_t count;
	struct sl_holding *all = holdings_of(d, &count);
	for (size_t i = 0; all && i < count; i++)
		sl_accounting_disk(d->users, all[i].user, all[i].project, (double)all[i].disk_bytes);
	free(all);
}

/* ---- the top list ----------------------------------------------------------------------------- */

static void add_to(struct sl_holding *to, const struct sl_holding *h)
{
	to->disk_bytes += h->disk_bytes;
	to->device_bytes += h->device_bytes;
	to->graphs += h->graphs;
	to->jobs += h->jobs;
	to->queued_jobs += h->queued_jobs;
	to->running_jobs += h->running_jobs;
}

static int by_user(const void *a, const void *b)
{
	return strcmp(((const struct sl_holding *)a)->user, ((const struct sl_holding *)b)->user);
}

static int by_project(const void *a, const void *b)
{
	return strcmp(((const struct sl_holding *)a)->project, ((const struct sl_holding *)b)->project);
}

/* Adds up those of one user, or of one project. Returns their new number. */
static size_t merge(struct sl_holding *at, size_t count, bool of_projects)
{
	int (*compare)(const void *, const void *) = of_projects ? by_project : by_user;
	size_t merged = 0;
	qsort(at, count, sizeof *at, compare);
	for (size_t i = 0; i < count; i++)
		if (merged && !compare(&at[merged - 1], &at[i]))
			add_to(&at[merged - 1], &at[i]);
		else
			at[merged++] = at[i];
	return merged;
}

static json_t *item(const struct sl_users *u, const struct sl_holding *h, bool of_projects)
{
	const char *id = of_projects ? h->project : h->user;
	const char *name = !id[0] ? NULL : of_projects ? sl_project_name(u, id) : sl_users_name(u, id);
	static const char *const states[] = {"active", "disabled", "deleted"};
	const char *state = of_projects || !id[0] ? NULL : states[sl_users_state(u, id)];
	return json_pack("{s:s?, s:s?, s:s?, s:f, s:I, s:I, s:i, s:i, s:i, s:i}", "id", id[0] ? id : NULL, "name", name,
			 "state", state, "device_seconds", sl_users_device_seconds(u, id), "device_bytes",
			 (json_int_t)h->device_bytes, "disk_bytes", (json_int_t)h->disk_bytes, "running_jobs",
			 h->running_jobs, "queued_jobs", h->queued_jobs, "jobs", h->jobs, "graphs", h->graphs);
}

static double amount(const json_t *item, const char *what)
{
	return json_number_value(json_object_get(item, what));
}

json_t *sl_people_top(struct sl_daemon *d, bool of_projects, const char *sort)
{
	size_t count;
	struct sl_holding *all = holdings_of(d, &count);
	json_t *items = all ? json_array() : NULL;
	count = all ? merge(all, count, of_projects) : 0;
	for (size_t i = 0; items && i < count; i++) {
		json_t *one = item(d->users, &all[i], of_projects);
		size_t at = json_array_size(items);
		while (at > 0 && amount(json_array_get(items, at - 1), sort) < amount(one, sort))
			at--;
		json_array_insert_new(items, at, one);
	}
	free(all);
	return items;
}
