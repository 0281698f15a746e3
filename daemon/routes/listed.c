/* Pages of lists; see listed.h. */
#include "daemon/routes/listed.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/config/daemon.h"
#include "daemon/json/json.h"
#include "daemon/util/turns.h"

#define LIMIT 100

struct listing {
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
	sl_request_tell(l->r, record);
	size_t length = 0;
	char *text = sl_json_text(record, &length);
	l->failed = l->failed || !text || append(text, length, l);
	free(text);
	json_decref(record);
}

/* Returns true if all is written or the client is gone. */
static bool step(void *arg)
{
	struct listing *l = arg;
	if (l->r && !l->failed && l->at < l->count)
		write_one(l, l->ids[l->at++]);
	return !l->r || l->failed || l->at == l->count;
}

static void answer(void *arg)
{
	struct listing *l = arg;
	append_text(l, l->next[0] ? "],\"next\":\"" : "],\"next\":null}");
	if (l->next[0]) {
		append_text(l, l->next);
		append_text(l, "\"}");
	}
	if (l->r)
		sl_reply_text(l->r, l->failed ? NULL : l->text);
	if (!l->r || l->failed)
		free(l->text);
	free(l->ids);
	free(l);
}

void sl__listed(struct sl_request *r, char (*ids)[SL_ULID_BYTES], size_t count,
		json_t *(*one)(void *of, const char *id), void *of, const char *next)
{
	struct listing *l = calloc(1, sizeof *l);
	if (!l) {
		free(ids);
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "a list.");
		return;
	}
	*l = (struct listing){.r = r, .ids = ids, .count = count, .one = one, .of = of};
	snprintf(l->next, sizeof l->next, "%s", next);
	append_text(l, "{\"items\":[");
	if (!sl_turns(sl_request_daemon(r)->loop, step, answer, l))
		sl_park(&l->r, 0);
}

/* ---- pages by id ------------------------------------------------------------------------------ */

bool sl__page_read(struct sl_request *r, struct sl_page *page)
{
	struct sl_error err;
	int64_t limit = LIMIT;
	page->cursor = sl_request_query(r, "cursor");
	int rc = sl_request_query_int(r, "limit", 1, 1000, &limit, &err);
	if (!rc)
		rc = sl_request_check_user(r, &err);
	if (!rc && page->cursor && !sl_ulid_valid(page->cursor))
		rc = sl_error_field(&err, SL_BADPARAM, "?cursor", "cursor must be the value of next on the previous page");
	page->limit = (int)limit;
	if (rc)
		sl_reply_error(r, &err);
	return !rc;
}

void sl__page_reply(struct sl_request *r, const char *path, const struct sl_page *page, json_t *items,
		    const char *next)
{
	if (next[0] && !sl_request_query(r, "user"))  /* names need quoting: clients add theirs themselves */
		sl_reply_header(r, "Link", "<%s%s?limit=%d&cursor=%s>; rel=\"next\"", sl_request_base(r), path, page->limit,
				next);
	sl_reply_json(r, 200, json_pack("{s:o, s:s?}", "items", items, "next", next[0] ? next : NULL));
}
