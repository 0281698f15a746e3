/* The file STATE_DIR/slurm.json: the server's name in Slurm, and its allocations with the hashes of their tokens. It
 * is written after each change, on the pool, the newest state last. If the server dies before that, the next one does
 * not know the allocation, and cancels it as an orphan; its worker is refused. So the file needs not to be current. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <sodium.h>

#include "daemon/slurm/slurm_internal.h"
#include "daemon/store/atomic.h"
#include "daemon/util/log.h"
#include "daemon/util/pool.h"

#define FILE_NAME "slurm.json"

struct writing {
	struct sl_slurm *slurm;
	char path[4200];
	char *text;
	int code;
	struct sl_error err;
};

/* ---- writing ----------------------------------------------------------------------------------- */

static json_t *allocation_json(const struct sl__allocation *a)
{
	char hex[2 * SL_SECRET_HASH_BYTES + 1];
	sodium_bin2hex(hex, sizeof hex, a->hash, sizeof a->hash);
	return json_pack("{s:s, s:s, s:I, s:s, s:s, s:s, s:I, s:i, s:b, s:I, s:f, s:I}", "name", a->name, "hash", hex,
			 "slurm_job", (json_int_t)a->id, "job", a->need.job, "user", a->need.user, "project", a->need.project,
			 "bytes", (json_int_t)a->need.bytes, "gpus", a->gpus, "ending", a->stage == SL_ALLOCATION_ENDING,
			 "start", (json_int_t)a->start_s, "charged", a->charged_s, "lost", (json_int_t)a->lost_s);
}

static char *text_of(const struct sl_slurm *s)
{
	json_t *items = json_array();
	SL_LIST_EACH(const struct sl__allocation, a, &s->allocations, link)
		json_array_append_new(items, allocation_json(a));
	json_t *o = json_pack("{s:s, s:o}", "server", s->server, "allocations", items);
	char *text = o ? json_dumps(o, JSON_INDENT(1)) : NULL;
	json_decref(o);
	return text;
}

static void write_file(void *arg)
{
	struct writing *w = arg;
	const struct sl_array part = {w->text, strlen(w->text)};
	w->code = sl_atomic_replace(w->path, &part, 1, 0600, true, &w->err);
}

static void begin(struct sl_slurm *s);

static void written(void *arg)
{
	struct writing *w = arg;
	struct sl_slurm *s = w->slurm;
	if (w->code)
		sl_log_warning("slurm", "the allocations are not recorded: %s", w->err.detail);
	free(w->text);
	free(w);
	s->writing = false;
	if (s->changed)
		begin(s);
	sl__slurm_closed(s);
}

static void begin(struct sl_slurm *s)
{
	struct writing *w = calloc(1, sizeof *w);
	char *text = text_of(s);
	if (!w || !text) {  /* the next change writes it */
		free(w);
		free(text);
		return;
	}
	w->slurm = s;
	w->text = text;
	snprintf(w->path, sizeof w->path, "%s/" FILE_NAME, s->d->state_dir);
	s->changed = false;
	s->writing = true;
	sl_pool_run(s->d->loop, write_file, written, w);
}

void sl__book_write(struct sl_slurm *s)
{
	s->changed = true;
	if (!s->writing)
		begin(s);
}

/* ---- reading ----------------------------------------------------------------------------------- */

static void copy_text(const json_t *o, const char *key, char *out, size_t bytes)
{
	const char *text = json_string_value(json_object_get(o, key));
	snprintf(out, bytes, "%s", text ? text : "");
}

/* An allocation of the last run of the server: what became of it, the first listing tells. */
static int read_allocation(struct sl_slurm *s, const json_t *o)
{
	const char *hex = json_string_value(json_object_get(o, "hash"));
	struct sl__allocation *a = sl__allocation_create(s);
	size_t bytes = 0;
	if (!a)
		return SL_NOMEM;
	copy_text(o, "name", a->name, sizeof a->name);
	copy_text(o, "job", a->need.job, sizeof a->need.job);
	copy_text(o, "user", a->need.user, sizeof a->need.user);
	copy_text(o, "project", a->need.project, sizeof a->need.project);
	a->need.bytes = (uint64_t)json_integer_value(json_object_get(o, "bytes"));
	a->id = (uint64_t)json_integer_value(json_object_get(o, "slurm_job"));
	a->gpus = (int)json_integer_value(json_object_get(o, "gpus"));
	a->start_s = json_integer_value(json_object_get(o, "start"));
	a->charged_s = json_number_value(json_object_get(o, "charged"));
	a->lost_s = json_integer_value(json_object_get(o, "lost"));
	a->stage = json_is_true(json_object_get(o, "ending")) ? SL_ALLOCATION_ENDING :
		   a->id ? SL_ALLOCATION_AWAY : SL_ALLOCATION_UNSURE;
	if (!hex || sodium_hex2bin(a->hash, sizeof a->hash, hex, strlen(hex), NULL, &bytes, NULL) ||
	    bytes != sizeof a->hash || !a->name[0]) {
		sl__allocation_destroy(a);
		return 0;
	}
	sl_list_append(&s->allocations, &a->link);
	return 0;
}

static void invent_name(struct sl_slurm *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[SL__SERVER_BYTES - 1];
	randombytes_buf(random, sizeof random);
	for (size_t i = 0; i < sizeof random; i++)
		s->server[i] = letters[random[i] % 32];
	s->server[sizeof random] = 0;
}

int sl__book_read(struct sl_slurm *s, struct sl_error *err)
{
	char path[4200];
	json_error_t why;
	snprintf(path, sizeof path, "%s/" FILE_NAME, s->d->state_dir);
	json_t *o = json_load_file(path, 0, &why), *items = json_object_get(o, "allocations"), *item;
	size_t i;
	int code = 0;
	copy_text(o, "server", s->server, sizeof s->server);
	if (strlen(s->server) != SL__SERVER_BYTES - 1) {
		if (o || json_error_code(&why) != json_error_cannot_open_file)
			sl_log_warning("slurm", "%s is not readable (%s): allocations of the last run are not known any more; "
				       "cancel those whose names begin with " SL__PREFIX, path, o ? "it has no name" : why.text);
		invent_name(s);
		items = NULL;
	}
	json_array_foreach(items, i, item)
		code = code ? code : read_allocation(s, item);
	json_decref(o);
	if (code)
		return sl_error_memory(err, "allocations");
	sl__book_write(s);
	return 0;
}
