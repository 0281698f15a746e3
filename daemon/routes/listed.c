#include "daemon/routes/listed.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/config/daemon.h"

#define TURN_NS 5000000  /* that writing takes in one turn of the loop */

struct listing {
	uv_idle_t idle;
	struct sl_request *r;  /* NULL: the client is gone */
	char (*ids)[SL_ULID_BYTES];
	size_t count, at;      /* at: the next one */
	json_t *(*one)(void *of, const char *id);
	void *of;
	char next[64];
	char *text;
	size_t used, room;
	bool failed;           /* no memory */
};

static int append(const char *bytes, size_t size, void *to)
{
	struct listing *l = to;
	if (l->used + size >= l->room) {
		size_t room = 2 * (l->used + size) + 4096;
		char *text = realloc(l->text, room);
		if (!text)
			return -1;
		l->text = text;
		l->room = room;
	}
	memcpy(l->text + l->used, bytes, size);
	l->used += size;
	l->text[l->used] = '\0';
	return 0;
}

static void append_text(struct listing *l, const char *text)
{
	l->failed = l->failed || append(text, strlen(text), l);
}

static void write_one(struct listing *l, const char *id)
{
	json_t *record = sl_request_sees(l->r, id) ? l->one(l->of, id) : NULL;
	if (!record)
		return;
	if (l->text[l->used - 1] == '}')
		append_text(l, ",");
	l->failed = l->failed || json_dump_callback(record, append, l, JSON_COMPACT | JSON_REAL_PRECISION(15));
	json_decref(record);
}

/* True: all is written, or nobody wants it any more. */
static bool go_on(struct listing *l)
{
	uint64_t end = uv_hrtime() + TURN_NS;
	while (l->r && !l->failed && l->at < l->count && uv_hrtime() < end)
		write_one(l, l->ids[l->at++]);
	if (l->r && !l->failed && l->at < l->count)
		return false;
	append_text(l, l->next[0] ? "],\"next\":\"" : "],\"next\":null}");
	if (l->next[0]) {
		append_text(l, l->next);
		append_text(l, "\"}");
	}
	return true;
}

/* After go_on(). */
static void answer(struct listing *l)
{
	if (l->r)
		sl_reply_text(l->r, l->failed ? NULL : l->text);
	if (!l->r || l->failed)
		free(l->text);
	free(l->ids);
}

static void closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void on_turn(uv_idle_t *idle)
{
	struct listing *l = idle->data;
	if (!go_on(l))
		return;
	answer(l);
	uv_close((uv_handle_t *)idle, closed);
}

void sl__listed(struct sl_request *r, char (*ids)[SL_ULID_BYTES], size_t count,
		json_t *(*one)(void *of, const char *id), void *of, const char *next)
{
	struct listing *l = calloc(1, sizeof *l);
	if (!l) {
		free(ids);
		sl_reply_problem(r, SL_NOMEM, "Out of memory for a list.");
		return;
	}
	*l = (struct listing){.r = r, .ids = ids, .count = count, .one = one, .of = of};
	snprintf(l->next, sizeof l->next, "%s", next);
	append_text(l, "{\"items\":[");
	if (go_on(l)) {
		answer(l);
		free(l);
		return;
	}
	l->idle.data = l;
	uv_idle_init(sl_request_daemon(r)->loop, &l->idle);
	uv_idle_start(&l->idle, on_turn);
	sl_park(&l->r, 0);
}
