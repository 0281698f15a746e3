#include <stdlib.h>

#include "daemon/routes/routes.h"

struct sl__deletion {
	struct sl_request *r;  /* NULL: the client is gone */
};

struct sl__deletion *sl__deletion_create(struct sl_request *r)
{
	struct sl__deletion *d = malloc(sizeof *d);
	if (d)
		d->r = r;
	return d;
}

void sl__deletion_wait(struct sl__deletion *d)
{
	sl_park(&d->r, 0);
}

void sl__deletion_done(void *arg, int status, const struct sl_error *err)
{
	struct sl__deletion *d = arg;
	if (d->r && status)
		sl_reply_error(d->r, err);
	else if (d->r)
		sl_reply_empty(d->r, 204);
	free(d);
}
