/* Workers that dial in, as devices. There are three kinds of records: what is expected, who has come, and the device of
 * each that has come, which outlives neither. Loop thread. */
#include "daemon/engines/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/engines/engines_internal.h"
#include "daemon/worker/tokens.h"

struct sl_remote_expected {
	struct sl_link link;           /* in sl_remotes.expected */
	struct sl_remotes *remotes;
	unsigned char hash[SL_SECRET_HASH_BYTES];
	struct sl_server_engine *engine;
	uint64_t until_ms;             /* uv_now(); 0: for ever */
	struct sl_remote_ops ops;
	void *arg;
	struct sl_remote *worker;      /* that has come; or NULL */
};

struct sl_remote {
	struct sl_link link;           /* in sl_remotes.workers */
	struct sl_remotes *remotes;
	struct sl_remote_facts facts;
	struct sl_server_device *device;
	struct sl_remote_expected *expected;  /* NULL: it has a token of an administrator */
	char token[SL_ULID_BYTES];            /* that one's id; "": none */
	bool away, retiring;
	char why[200];
};

struct sl_remotes {
	struct sl_engines *engines;
	struct sl_list expected, workers;
};

/* ---- what is expected ------------------------------------------------------------------------------- */

void sl_remote_token(const struct sl_engines *all, char text[SL_SECRET_BYTES],
		     unsigned char hash[SL_SECRET_HASH_BYTES])
{
	sl_worker_token_make(all->d->users, text, hash);
}

int sl_remote_expect(struct sl_engines *all, const unsigned char hash[SL_SECRET_HASH_BYTES], const char *engine,
		     double seconds, const struct sl_remote_ops *ops, void *arg, struct sl_remote_expected **out,
		     struct sl_error *err)
{
	struct sl_server_engine *e = sl_engines_find(all, engine);
	if (!e)
		return sl_error_set(err, SL_BADPARAM, "There is no engine %.40s.", engine);
	if (!all->remotes)
		return sl_error_set(err, SL_CONFLICT, "Workers cannot connect to this server. Set worker_listen.");
	struct sl_remote_expected *x = calloc(1, sizeof *x);
	if (!x)
		return sl_error_memory(err, "a worker that is expected");
	x->remotes = all->remotes;
	memcpy(x->hash, hash, sizeof x->hash);
	x->engine = e;
	x->until_ms = seconds > 0 ? uv_now(all->d->loop) + (uint64_t)(seconds * 1e3) : 0;
	x->ops = *ops;
	x->arg = arg;
	sl_list_append(&all->remotes->expected, &x->link);
	*out = x;
	return 0;
}

void sl_remote_unexpect(struct sl_remote_expected *x)
{
	if (!x)
		return;
	sl_list_unlink(&x->link);
	free(x);
}

struct sl_remote *sl_remote_of(const struct sl_remote_expected *x)
{
	return x->worker;
}

const struct sl_remote_facts *sl_remote_facts(const struct sl_remote *w)
{
	return &w->facts;
}

struct sl_server_device *sl_remote_device(const struct sl_remote *w)
{
	return w->device;
}

bool sl_remote_is_away(const struct sl_remote *w)
{
	return w->away;
}

void sl_remote_retire(struct sl_remote *w, double seconds, const char *why)
{
	w->retiring = true;
	w->device->leaving = true;
	snprintf(w->why, sizeof w->why, "%s", why);
}

int sl_remote_place(const struct sl_engines *all, char place[SL_REMOTE_PLACE_BYTES], char pin[SL_REMOTE_PIN_BYTES],
		    struct sl_error *err)
{
	return sl_error_set(err, SL_CONFLICT, "Workers cannot connect to this server. Set worker_listen.");
}

/* ---- life ------------------------------------------------------------------------------------------- */

void sl__remote_gone(struct sl_server_device *d)
{
	struct sl_remote *w = d->remote;
	d->remote = NULL;
	if (!w)
		return;
	if (w->expected) {
		w->expected->worker = NULL;
		if (w->expected->ops.gone)
			w->expected->ops.gone(w->expected->arg, w, w->retiring, w->why);
	}
	sl_list_unlink(&w->link);
	free(w);
}
