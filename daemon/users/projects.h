/* projects.h -- groups of users with common limits, a share of the devices, and access to graphs and jobs that are
 * shared with the group.
 *
 * A project is a record: name, share (its weight among projects), keep (the server deletes none of its jobs by age),
 * limits (limits.h) and members. A job or graph belongs to the project that its request names (`project`), or else to
 * its user's default project. It counts towards the project's limits, and the job gets device time by the project's
 * share. Every member may read graphs and jobs that are shared with the project.
 *
 * Removing a project or a member ends no job: its jobs continue, without the project's limits and with a share of 1.
 * All functions: loop thread. Arguments are names of projects and users, unless a comment says id. */
#ifndef SL_PROJECTS_H
#define SL_PROJECTS_H

#include "daemon/users/users.h"

/* The projects that the principal may see: administrators see all, others those of which they are members. An array,
 * new reference. */
json_t *sl_projects_list(const struct sl_users *u, const struct sl_principal *p);
/* NULL: there is none, or the principal may not see it. */
json_t *sl_project_json(const struct sl_users *u, const struct sl_principal *p, const char *name);
/* body: {"name", "share", "keep", "job_seconds", "limits", "members"} */
int sl_project_add(struct sl_users *u, const json_t *body, sl_db_done_fn done, void *arg, struct sl_error *err);
/* body: {"share", "keep", "job_seconds", "limits"}, all optional */
int sl_project_change(struct sl_users *u, const char *name, const json_t *body, sl_db_done_fn done, void *arg,
		      struct sl_error *err);
int sl_project_remove(struct sl_users *u, const char *name, sl_db_done_fn done, void *arg, struct sl_error *err);
/* Makes the user a member (true), or no longer a member (false); done also runs if that is the case already. */
int sl_project_member(struct sl_users *u, const char *name, const char *user, bool member, sl_db_done_fn done,
		      void *arg, struct sl_error *err);

/* Writes the id of the request's project to out; "": none. name NULL: the user's default project, "": none. SL_NOTFOUND
 * with `pointer`: there is no such project, or the principal is no member. Administrators need not be members. */
int sl_project_of(const struct sl_users *u, const struct sl_principal *p, const char *name, const char *pointer,
		  char out[SL_ULID_BYTES], struct sl_error *err);
/* Of the project with this id: name, share, and whether its jobs are kept. If it was removed: NULL, 1, false. */
const char *sl_project_name(const struct sl_users *u, const char *id);
size_t sl_projects_number(const struct sl_users *u);
double sl_project_job_seconds(const struct sl_users *u, const char *id);  /* 0: no limit */
bool sl_project_keeps(const struct sl_users *u, const char *id);
double sl_project_share(const struct sl_users *u, const char *id);
const char *sl_project_id(const struct sl_users *u, const char *name);  /* NULL: none */

/* Adds the members "project" (the default one) and "projects" of a user (an id, "" for nobody) to o. */
void sl_users_add_projects(const struct sl_users *u, const char *id, json_t *o);

#endif
