/* Replies that are sent when a change has been recorded. */
#include <stdio.h>
#include <stdlib.h>

#include "daemon/http/http.h"

struct sl_later {
	struct sl_request *request;  /* NULL: the client is gone */
	json_t *(*tell)(void *of, const char *id);
	void *of;
	char id[32];
};

struct sl_later *sl_later_create(struct sl_request *r, json_t *(*tell)(void *of, const char *id), void *of,
				 const char *id)
{
	struct sl_later *l = malloc(sizeof *l);
	if (!l) {
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the request.");
		return NULL;
	}
	*l = (struct sl_later){.request = r, .tell = tell, .of = of};
	snprintf(l->id, sizeof l->id, "%s", id);
	return l;
}

void sl_later_done(void *arg, int status, const struct sl_error *err)
{
	struct sl_later *l = arg;
	json_t *record = l->request && !status && l->tell ? l->tell(l->of, l->id) : NULL;
	if (l->request && status)
		sl_reply_error(l->request, err);
	else if (l->request && !l->tell)
		sl_reply_empty(l->request, 204);
	else if (l->request && !record)
		sl_reply_problem(l->request, SL_NOTFOUND, "%s was deleted at this moment", l->id);
	else if (l->request)
		sl_reply_json(l->request, 200, record);
	free(l);
}

void sl_later_begun(struct sl_later *l, int code, const struct sl_error *err)
{
	if (!code) {
		sl_park(&l->request, 0);
		return;
	}
	sl_reply_error(l->request, err);
	free(l);
}
