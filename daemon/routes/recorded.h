/* recorded.h -- handlers of requests that change a user, a project or a link: they reply when the change is on disk. */
#ifndef SL_ROUTES_RECORDED_H
#define SL_ROUTES_RECORDED_H

#include "daemon/config/daemon.h"
#include "daemon/http/http.h"
#include "daemon/users/users.h"

struct sl_recorded;

/* An endpoint of this kind. */
struct sl_recorded_kind {
	int status;             /* of a successful reply; 204: without a body */
	const char *parameter;  /* parameter of the path with the name of the user, project or link */
	bool body;              /* the request has a JSON body */
	/* Starts the change, which ends with sl__recorded_done(w). If it returns an error, the request is answered with
	 * it. */
	int (*start)(struct sl_recorded *w, const json_t *body, struct sl_error *err);
	/* Makes the reply, unless start() has set it; NULL: the user, project or link does not exist. New reference. */
	json_t *(*reply)(const struct sl_recorded *w);
};

struct sl_recorded {
	const struct sl_recorded_kind *kind;
	struct sl_request *r;   /* NULL: the client is gone */
	struct sl_daemon *d;
	char name[SL_USER_NAME_BYTES];  /* of the user, project or link */
	json_t *reply;          /* or NULL. Owned */
	/* Users whose streams are closed when the change is recorded, since they may have fewer rights then. */
	char ends[SL_USER_NAME_BYTES];  /* a user's name, or "" */
	json_t *members;        /* more names, or NULL. Owned */
	bool rights;            /* the change gives or takes rights to read: streams of events start again */
};

void sl__recorded(struct sl_request *r, const struct sl_recorded_kind *kind);
/* Defines the handler of an endpoint of this kind: SL_RECORDED_ROUTE(handler, members of struct sl_recorded_kind...) */
#define SL_RECORDED_ROUTE(handler, ...) \
	void handler(struct sl_request *r) \
	{ \
		static const struct sl_recorded_kind kind = {__VA_ARGS__}; \
		sl__recorded(r, &kind); \
	}
void sl__recorded_done(void *w, int status, const struct sl_error *err);

#endif
