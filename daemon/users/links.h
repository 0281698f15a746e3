/* links.h -- public links: whoever has one may see a job without a token until the link expires.
 *
 * A link is a token for one thing: "spl_", its id, "_" and 43 random characters, in the query of any request (?link=)
 * or as its bearer token. It opens the routes whose verb is SL_VERB_WATCH (routes/routes.h). It is shown once, when it
 * is made; a hash of it is kept, as of users' tokens. It ends when it expires or is revoked, when its maker may no
 * longer change the thing, and with the thing. All functions: loop thread. */
#ifndef SL_LINKS_H
#define SL_LINKS_H

#include "daemon/users/users.h"

/* body: {"seconds", "name"}, both optional. *reply, new reference: its record with the link itself, to be shown when
 * done has run. */
int sl_users_link_add(struct sl_users *u, const char *thing, const struct sl_principal *maker, const json_t *body,
		      json_t **reply, sl_db_done_fn done, void *arg, struct sl_error *err);
/* Those of a thing that are still good: an array, new reference. */
json_t *sl_users_links_json(const struct sl_users *u, const char *thing);
bool sl_users_has_link(const struct sl_users *u, const char *thing);  /* one that is still good */
int sl_users_link_remove(struct sl_users *u, const char *thing, const char *link, sl_db_done_fn done, void *arg,
			 struct sl_error *err);

#endif
