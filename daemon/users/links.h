/* links.h -- public links, with which anybody may see a job without a token until the link expires.
 *
 * A link is a token for one job: "spl_", the link's id, "_" and 43 random characters. A request has it in its query
 * (?link=) or as its bearer token. It gives access to the routes whose verb is SL_VERB_WATCH (routes/routes.h). Its
 * maker chooses the columns of labels that it shows, and whether it shows the names of nodes; it shows no others, and
 * these only while its maker may read the graph (sl_users_shows()). It is shown only once, when it is made; the server
 * keeps a hash of it, as of users' tokens. It is void when it has expired or was revoked, when its maker may no longer
 * change the job, and when the job is deleted. All functions: loop thread. */
#ifndef SL_LINKS_H
#define SL_LINKS_H

#include "daemon/users/users.h"

/* Makes a link. body: {"seconds", "name", "labels", "names"}, all optional. *reply, new reference: the record with the
 * link itself; the caller sends it after done has run. */
int sl_users_link_add(struct sl_users *u, const char *thing, const struct sl_principal *maker, const json_t *body,
		      json_t **reply, sl_db_done_fn done, void *arg, struct sl_error *err);
/* The valid links of a job: an array, new reference. */
json_t *sl_users_links_json(const struct sl_users *u, const char *thing);
/* The time at which the last of its links expires, in milliseconds since 1970; 0: it has none. Links that are not valid
 * only while their maker is disabled or deleted count. */
int64_t sl_users_linked_until(const struct sl_users *u, const char *thing);
bool sl_users_has_link(const struct sl_users *u, const char *thing);  /* true: it has such a link */
int sl_users_link_remove(struct sl_users *u, const char *thing, const char *link, sl_db_done_fn done, void *arg,
			 struct sl_error *err);

#endif
