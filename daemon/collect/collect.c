/* A worker measures the folder, the loop chooses. Each user's part of the limit is computed first, by levelling: what
 * a user holds above it goes first, least recently used, so that one user's uploads do not delete another's results.
 * A removal is the same as a client's, and is recorded before files go. */
#include "daemon/collect/collect.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/daemon.h"
#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"
#include "daemon/jobs/jobs.h"
#include "daemon/layouts/layouts.h"
#include "daemon/store/db.h"
#include "daemon/store/uses.h"
#include "daemon/upkeep/settings.h"
#include "daemon/users/links.h"
#include "daemon/users/users.h"
#include "daemon/json/json.h"
#include "daemon/util/log.h"
#include "daemon/util/metrics.h"
#include "daemon/util/pool.h"
#include "daemon/util/seen.h"
#include "daemon/util/time_text.h"

#define FIRST_MS 1000
#define EVERY_MS 30000
#define MEASURE_TICKS 10   /* without a limit the folder is measured only so often */
#define TARGET 0.9
#define SETTING "collection"

/* The bytes of the files of one graph or job. */
struct sizes {
	char id[SL_ULID_BYTES];
	uint64_t bytes;
};

/* The options max_state_bytes and collect_after_s. */
struct rule {
	double bytes;             /* 0: no limit */
	double after_s;
};

enum purpose {
	BY_ITSELF,                /* keeps the folder within the limit in force */
	REQUESTED,                /* for a client */
	ASKED,                    /* what would the options that are not in force yet remove? */
	MEASURED,                 /* there is no limit: only the size is wanted */
};

/* A measurement of the folder, and the removals after it. */
struct walk {
	struct sl_collect *c;
	struct sl_pool_place work;
	struct sizes *size;       /* by id, after the walk */
	size_t count, room;
	uint64_t total;
	bool failed;              /* out of memory */
	struct sl_request *r;     /* the request, or NULL */
	enum purpose purpose;
	bool dry_run;
	double after_s;           /* what was used later than so many seconds ago stays */
	double bytes_max;              /* most bytes that may remain */
};

struct candidate {
	const char *kind;         /* "job", "graph" */
	char id[SL_ULID_BYTES];
	uint64_t used_ms, bytes;
};

struct candidates {
	struct walk *w;
	struct candidate *at;
	size_t count, room;
};

/* What a user or a project has in the folder; "": what belongs to nobody. */
struct holder {
	char account[SL_ULID_BYTES];
	double bytes;
};

struct holders {
	struct holder *at;        /* by account */
	size_t count;
	double part;              /* the fair part: who has no more loses nothing */
};

struct sl_collect {
	struct sl_daemon *d;
	uv_timer_t timer;
	int busy;                 /* walks */
	struct rule rule, asked;  /* in force; those of the configuration, if they are to be confirmed */
	size_t pending;           /* things that the latter would remove in addition; 0: nothing is to be confirmed */
	double pending_bytes;
	uint64_t since_ms;        /* since 1970: when this was noticed */
	unsigned ticks;
	struct sl_metric *metric_bytes;
	bool warned;              /* has logged that nothing more can be removed */
	bool closing;
	void (*closed)(void *arg);
	void *closed_arg;
};

/* ---- the walk, on the pool ------------------------------------------------------------------ */

static void add_file(struct walk *w, const char *name, uint64_t bytes)
{
	char id[SL_ULID_BYTES];
	w->total += bytes;
	snprintf(id, sizeof id, "%.26s", name);
	if (strlen(name) < SL_ULID_BYTES || name[SL_ULID_BYTES - 1] != '.' || !sl_ulid_valid(id))
		return;
	if (w->count == w->room) {
		size_t room = w->room ? 2 * w->room : 1024;
		struct sizes *more = realloc(w->size, room * sizeof *more);
		if (!more) {
			w->failed = true;
			return;
		}
		w->size = more;
		w->room = room;
	}
	w->size[w->count].bytes = bytes;
	memcpy(w->size[w->count++].id, id, sizeof id);
}

/* Adds up the files of a folder. deep: including its folders. Files that disappear meanwhile are ignored. */
static void walk_folder(struct walk *w, int at, const char *folder, bool deep)
{
	int fd = openat(at, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	if (!dir && fd >= 0)
		close(fd);
	while (dir && (entry = readdir(dir))) {
		struct stat st;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISREG(st.st_mode))
			add_file(w, entry->d_name, (uint64_t)st.st_size);
		else if (S_ISDIR(st.st_mode) && deep && strcmp(entry->d_name, "tmp"))  /* uploads have a budget of their own */
			walk_folder(w, fd, entry->d_name, false);
	}
	if (dir)
		closedir(dir);
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct sizes *)a)->id, ((const struct sizes *)b)->id);
}

static void walk_work(void *arg)
{
	struct walk *w = arg;
	size_t merged = 0;
	walk_folder(w, AT_FDCWD, w->c->d->state_dir, true);
	if (w->count)
		qsort(w->size, w->count, sizeof *w->size, by_id);
	for (size_t i = 0; i < w->count; i++) {
		if (merged && !strcmp(w->size[merged - 1].id, w->size[i].id))
			w->size[merged - 1].bytes += w->size[i].bytes;
		else
			w->size[merged++] = w->size[i];
	}
	w->count = merged;
}

static uint64_t size_of(const struct walk *w, const char *id)
{
	struct sizes key = {0};
	snprintf(key.id, sizeof key.id, "%s", id);
	const struct sizes *s = w->count ? bsearch(&key, w->size, w->count, sizeof key, by_id) : NULL;
	return s ? s->bytes : 0;
}

/* ---- candidates for removal ----------------------------------------------------------------------------- */

/* The time of the last use, or made_ms if it is later. A time after the present comes from a clock that was set back
 * since: the age is unknown, and the thing counts as used now. */
static uint64_t last_use(const struct sl_daemon *d, const char *id, uint64_t made_ms, uint64_t now_ms)
{
	uint64_t used_ms = sl_uses_last(d->uses, id);
	if (used_ms > now_ms || (!used_ms && made_ms > now_ms)) {
		sl_uses_mark(d->uses, id);
		return now_ms;
	}
	return made_ms > used_ms && made_ms <= now_ms ? made_ms : used_ms;
}

static void add(struct candidates *all, const char *kind, const char *id, uint64_t made_ms)
{
	const struct sl_daemon *d = all->w->c->d;
	uint64_t now_ms = sl_seen_now_ms();
	struct candidate new = {.kind = kind, .used_ms = last_use(d, id, made_ms, now_ms), .bytes = size_of(all->w, id)};
	double kept_ms = all->w->after_s * 1e3;
	if (!new.bytes || (double)new.used_ms + kept_ms > (double)now_ms)
		return;
	if (all->count == all->room) {
		size_t room = all->room ? 2 * all->room : 256;
		struct candidate *more = realloc(all->at, room * sizeof *more);
		if (!more) {
			all->w->failed = true;
			return;
		}
		all->at = more;
		all->room = room;
	}
	snprintf(new.id, sizeof new.id, "%s", id);
	all->at[all->count++] = new;
}

static void add_job(void *arg, const char *id, uint64_t finished_ms)
{
	add(arg, "job", id, finished_ms);
}

static void add_graph(void *arg, const struct sl_graph_record *g)
{
	const struct candidates *all = arg;
	if (!g->pinned && !g->jobs && !sl_jobs_need_graph(all->w->c->d->jobs, g->id))
		add(arg, "graph", g->id, (uint64_t)sl_ulid_time_ms(g->id));
}

static int by_use(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	return x->used_ms != y->used_ms ? (x->used_ms < y->used_ms ? -1 : 1) : strcmp(x->id, y->id);
}

/* ---- removal ----------------------------------------------------------------------------------- */

static void tell(struct sl_collect *c, const struct candidate *x)
{
	struct sl_principal who = {.role = SL_ROLE_ADMINISTRATOR, .name = "max_state_bytes"};
	char path[64], used[SL_TIME_BYTES];
	snprintf(path, sizeof path, "/v1/%ss/%s", x->kind, x->id);
	struct sl_event event = {.who = &who, .address = "", .method = "DELETE", .path = path, .status = 204};
	sl_users_audit(c->d->users, &event);
	sl_log_info("collect", "removing %s %s, %.1f MB, last used %s", x->kind, x->id, (double)x->bytes / 1e6,
		    sl_time_text(x->used_ms, used));
}

static bool let_go(struct sl_collect *c, const struct candidate *x)
{
	struct sl_error err;
	int rc = !strcmp(x->kind, "job") ? sl_job_remove(c->d->jobs, x->id) :
		 sl_graphs_delete(c->d->graphs, x->id, NULL, NULL, &err);
	if (!rc)
		tell(c, x);
	return !rc;
}

static json_t *item(const struct candidate *x)
{
	char used[SL_TIME_BYTES];
	return json_pack("{s:s, s:s, s:I, s:s}", "kind", x->kind, "id", x->id, "bytes", (json_int_t)x->bytes, "used",
			 sl_time_text(x->used_ms, used));
}

/* ---- fair parts ---------------------------------------------------------------------------------- */

/* Things of a project count for it, others for their first owner. */
static const char *account_of(const struct sl_users *u, const char *id)
{
	const char *project = sl_users_project_account(u, id);
	return project[0] ? project : sl_users_owners(u, id) ? sl_users_owner(u, id, 0) : "";
}

static int by_account(const void *a, const void *b)
{
	return strcmp(((const struct holder *)a)->account, ((const struct holder *)b)->account);
}

static int by_bytes(const void *a, const void *b)
{
	double x = ((const struct holder *)a)->bytes, y = ((const struct holder *)b)->bytes;
	return (x > y) - (x < y);
}

/* Divides `goal` bytes fairly: who has less than an equal part leaves the rest of it to the others. */
static double fair_part(struct holders *h, double goal)
{
	size_t i = 0;
	if (h->count)
		qsort(h->at, h->count, sizeof *h->at, by_bytes);
	while (i < h->count && h->at[i].bytes <= goal / (double)(h->count - i))
		goal -= h->at[i++].bytes;
	return i < h->count ? goal / (double)(h->count - i) : goal;
}

/* Adds up what each account has. goal: the bytes that may remain. False: no memory. */
static bool holders_make(struct holders *h, const struct walk *w, double goal)
{
	double owned = 0;
	*h = (struct holders){.at = calloc(w->count + 1, sizeof *h->at)};
	for (size_t i = 0; h->at && i < w->count; i++) {
		snprintf(h->at[i].account, SL_ULID_BYTES, "%s", account_of(w->c->d->users, w->size[i].id));
		h->at[i].bytes = (double)w->size[i].bytes;
		owned += h->at[i].bytes;
	}
	if (h->at && w->count)
		qsort(h->at, w->count, sizeof *h->at, by_account);
	for (size_t i = 0; h->at && i < w->count; i++) {
		if (h->count && !by_account(&h->at[h->count - 1], &h->at[i]))
			h->at[h->count - 1].bytes += h->at[i].bytes;
		else
			h->at[h->count++] = h->at[i];
	}
	double rest = goal - ((double)w->total - owned);  /* others: the data base, logs */
	h->part = fair_part(h, rest > 0 ? rest : 0);
	if (h->at && h->count)
		qsort(h->at, h->count, sizeof *h->at, by_account);
	return h->at;
}

/* Whose the thing is. */
static struct holder *holder_of(const struct holders *h, const struct sl_users *u, const char *id)
{
	struct holder key = {.bytes = 0};
	snprintf(key.account, sizeof key.account, "%s", account_of(u, id));
	return bsearch(&key, h->at, h->count, sizeof key, by_account);
}

/* ---- all together ------------------------------------------------------------------------------ */

/* Removes graphs and results of those who have more than their fair part, the least recently used first, until few
 * enough bytes are left; a dry run only lists them. So nobody loses results because another one uploads. Returns a new
 * reference to the reply. */
static json_t *collect(struct walk *w)
{
	struct sl_collect *c = w->c;
	struct candidates all = {.w = w};
	struct holders holders;
	json_t *items = json_array();
	double left = (double)w->total;
	if (left > w->bytes_max) {
		sl_jobs_each_unused(c->d->jobs, add_job, &all);
		sl_graphs_each(c->d->graphs, add_graph, &all);
		if (all.count)
			qsort(all.at, all.count, sizeof *all.at, by_use);
	}
	double goal = w->purpose == REQUESTED ? w->bytes_max : TARGET * w->bytes_max;
	bool fair = holders_make(&holders, w, goal);
	for (size_t i = 0; fair && i < all.count && left > goal; i++) {
		struct holder *holder = holder_of(&holders, c->d->users, all.at[i].id);
		if (!holder || holder->bytes <= holders.part || sl_users_has_link(c->d->users, all.at[i].id) ||
		    sl_job_is_kept(c->d->jobs, all.at[i].id) ||
		    (!w->dry_run && !let_go(c, &all.at[i])))
			continue;
		holder->bytes -= (double)all.at[i].bytes;
		left -= (double)all.at[i].bytes;
		json_array_append_new(items, item(&all.at[i]));
	}
	bool over = w->purpose == BY_ITSELF && left > w->bytes_max;
	if (over && !c->warned)
		sl_log_warning("collect", "the state folder has %.1f MB, more than max_state_bytes, and nothing in it "
			       "may be removed: those who have more than their fair part have it in use, pinned, linked or "
			       "used it recently (collect_after_s)", left / 1e6);
	c->warned = w->purpose == BY_ITSELF ? over : c->warned;
	free(all.at);
	free(holders.at);
	return json_pack("{s:b, s:I, s:I, s:I, s:o}", "dry_run", w->dry_run, "bytes", (json_int_t)w->total, "most",
			 (json_int_t)w->bytes_max, "left", (json_int_t)(left > 0 ? left : 0), "items", items);
}

/* ---- changed options ----------------------------------------------------------------------------- */

static struct rule wanted(const struct sl_collect *c)
{
	return (struct rule){(double)c->d->config.max_state_bytes, c->d->config.collect_after_s};
}

static bool same(const struct rule *a, const struct rule *b)
{
	return a->bytes == b->bytes && a->after_s == b->after_s;
}

/* True if the first may remove what the second keeps. */
static bool tighter(const struct rule *a, const struct rule *b)
{
	return a->bytes > 0 && (b->bytes <= 0 || a->bytes < b->bytes || a->after_s < b->after_s);
}

static json_t *rule_json(const struct rule *rule)
{
	return json_pack("{s:I, s:f}", "max_state_bytes", (json_int_t)rule->bytes, "collect_after_s", rule->after_s);
}

/* Puts the rule into force. done (or NULL) runs when it is recorded; not if this returns an error. */
static int adopt(struct sl_collect *c, const struct rule *rule, sl_db_done_fn done, void *arg)
{
	json_t *o = rule_json(rule);
	int rc = o ? sl_settings_put(c->d->settings, SETTING, o, done, arg) : SL_NOMEM;
	json_decref(o);
	if (rc)
		return rc;
	c->rule = *rule;
	c->pending = 0;
	return 0;
}

/* What the walk for the asked options has found. */
static void asked(struct sl_collect *c, const struct walk *w, const json_t *found)
{
	struct rule want = wanted(c), was = {w->bytes_max, w->after_s};
	size_t count = json_array_size(json_object_get(found, "items"));
	if (!same(&want, &was))
		return;  /* the options have changed again */
	if (!count) {
		adopt(c, &want, NULL, NULL);
		return;
	}
	if (!c->pending || !same(&want, &c->asked)) {
		c->since_ms = sl_time_now_ms();
		sl_log_warning("collect", "max_state_bytes = %.0f, collect_after_s = %.10g would delete %zu results and graphs "
			       "now; %.0f and %.10g stay in force. spaceland admin gc --dry-run lists them. Confirm by: spaceland "
			       "admin retention --confirm", want.bytes, want.after_s, count, c->rule.bytes, c->rule.after_s);
	}
	c->asked = want;
	c->pending = count;
	c->pending_bytes = json_number_value(json_object_get(found, "bytes")) -
			   json_number_value(json_object_get(found, "left"));
}

json_t *sl_collect_retention_json(const struct sl_collect *c)
{
	json_t *o = rule_json(&c->rule), *pending = c->pending ? rule_json(&c->asked) : json_null();
	if (c->pending) {
		json_object_set_new(pending, "items", json_integer((json_int_t)c->pending));
		json_object_set_new(pending, "bytes", json_integer((json_int_t)c->pending_bytes));
		json_object_set_new(pending, "since", sl_json_time(c->since_ms));
	}
	json_object_set_new(o, "pending", pending);
	return o;
}

int sl_collect_confirm(struct sl_collect *c, const json_t *body, const char *who, sl_db_done_fn done, void *arg,
		       struct sl_error *err)
{
	static const char *const known[] = {"max_state_bytes", "collect_after_s", NULL};
	const json_t *bytes = json_object_get(body, "max_state_bytes"), *after = json_object_get(body, "collect_after_s");
	struct rule said = {json_number_value(bytes), json_number_value(after)}, want = wanted(c);
	int rc = sl_json_known(body, known, err);
	if (!rc && (!json_is_integer(bytes) || !json_is_number(after)))
		rc = sl_error_field(err, SL_BADPARAM, json_is_integer(bytes) ? "/collect_after_s" : "/max_state_bytes",
				    "max_state_bytes and collect_after_s must be the pending numbers, as GET /v1/retention has "
				    "them");
	if (!rc && !c->pending)
		rc = sl_error_set(err, SL_CONFLICT, "Nothing is to be confirmed: the options in force are those of the "
				  "configuration.");
	if (!rc && !same(&said, &want))
		rc = sl_error_set(err, SL_CONFLICT, "The configuration now has max_state_bytes = %.0f and collect_after_s = "
				  "%.10g, not what you confirm; look again at what they would delete.", want.bytes, want.after_s);
	if (!rc && (rc = adopt(c, &said, done, arg)))
		sl_error_set(err, rc, "the confirmation cannot be recorded");
	if (!rc)
		sl_log_info("collect", "%s has confirmed: max_state_bytes = %.0f, collect_after_s = %.10g", who, said.bytes,
			    said.after_s);
	return rc;
}

/* ---- walks --------------------------------------------------------------------------------------- */

static void end(struct sl_collect *c);

static void walked(void *arg)
{
	struct walk *w = arg;
	struct sl_collect *c = w->c;
	bool wanted = !c->closing && w->purpose != MEASURED && (w->purpose != REQUESTED || w->r);
	json_t *reply = wanted ? collect(w) : NULL;
	if (!c->closing)
		sl_metric_set(c->metric_bytes, (double)w->total);
	if (reply && w->purpose == ASKED)
		asked(c, w, reply);
	if (w->r && !reply)
		sl_reply_status(w->r, 503, "The server is shutting down.");
	else if (w->r)
		sl_reply_json(w->r, 200, json_incref(reply));
	json_decref(reply);
	free(w->size);
	free(w);
	c->busy--;
	end(c);
}

static struct walk *begin(struct sl_collect *c, enum purpose purpose, double bytes_max, double after_s)
{
	struct walk *w = calloc(1, sizeof *w);
	if (!w)
		return NULL;
	w->c = c;
	w->purpose = purpose;
	w->bytes_max = bytes_max;
	w->after_s = after_s;
	c->busy++;
	return w;
}

static void walk(struct sl_collect *c, enum purpose purpose, double bytes_max, double after_s)
{
	struct walk *w = begin(c, purpose, bytes_max, after_s);
	if (!w)
		return;
	w->dry_run = purpose == ASKED;
	sl_pool_run_in(&w->work, c->d->loop, walk_work, walked, w);
}

void sl_collect_look(struct sl_collect *c)
{
	struct rule want = wanted(c);
	if (sl_db_is_read_only(c->d->db) || c->busy)
		return;
	if (same(&want, &c->rule))
		c->pending = 0;
	else if (!tighter(&want, &c->rule))
		adopt(c, &want, NULL, NULL);
	else
		walk(c, ASKED, want.bytes, want.after_s);
}

static void on_timer(uv_timer_t *timer)
{
	struct sl_collect *c = timer->data;
	struct sl_daemon *d = c->d;
	if (sl_db_is_read_only(d->db))
		return;
	sl_uses_save(d->uses, false);
	sl_collect_look(c);
	if (c->busy > 1)
		return;
	if (c->rule.bytes > 0)
		walk(c, BY_ITSELF, c->rule.bytes, c->rule.after_s);
	else if (!c->busy && c->ticks++ % MEASURE_TICKS == 0)
		walk(c, MEASURED, 0, 0);
}

static int read_request(struct sl_collect *c, const json_t *body, bool *dry_run, double *bytes_max,
			struct sl_error *err)
{
	static const char *const known[] = {"dry_run", "bytes", NULL};
	int64_t bytes = c->d->config.max_state_bytes;
	int rc = sl_json_known(body, known, err);
	if (!rc)
		rc = sl_json_bool(body, "dry_run", dry_run, err);
	if (!rc)
		rc = sl_json_int(body, "bytes", 1, INT64_MAX, &bytes, err);
	if (!rc && bytes <= 0)
		rc = sl_error_field(err, SL_CONFLICT, "/bytes", "bytes is missing; it must be the size to reach, since "
				    "the server has no max_state_bytes");
	*bytes_max = (double)bytes;
	return rc;
}

void sl_collect_now(struct sl_collect *c, struct sl_request *r, const json_t *body)
{
	struct sl_error err;
	bool dry_run = false;
	double bytes_max;
	int rc = read_request(c, body, &dry_run, &bytes_max, &err);
	struct walk *w = rc ? NULL : begin(c, REQUESTED, bytes_max, c->d->config.collect_after_s);
	if (!rc && !w)
		rc = sl_error_memory(&err, "the request");
	if (rc) {
		sl_reply_error(r, &err);
		return;
	}
	w->dry_run = dry_run;
	w->r = r;
	sl_park(&w->r, 0);
	sl_pool_run_in(&w->work, c->d->loop, walk_work, walked, w);
}

/* ---- life ------------------------------------------------------------------------------------- */

static bool exists(void *arg, const char *id)
{
	const struct sl_daemon *d = arg;
	return sl_jobs_have(d->jobs, id) || sl_graphs_find(d->graphs, id);
}

/* The options in force are those of the last run, until others are confirmed. */
static void recall(struct sl_collect *c)
{
	const json_t *o = sl_settings_get(c->d->settings, SETTING);
	c->rule = wanted(c);
	if (o)
		c->rule = (struct rule){json_number_value(json_object_get(o, "max_state_bytes")),
					json_number_value(json_object_get(o, "collect_after_s"))};
	else if (!sl_db_is_read_only(c->d->db))
		adopt(c, &c->rule, NULL, NULL);
}

int sl_collect_create(struct sl_collect **out, struct sl_daemon *d, struct sl_error *err)
{
	struct sl_collect *c = calloc(1, sizeof *c);
	if (!c)
		return sl_error_memory(err, "the collection");
	c->d = d;
	c->metric_bytes = sl_metrics_register(d->metrics, SL_GAUGE, "spaceland_state_bytes", NULL,
					      "Size of the files in the state folder, without uploads in progress.");
	recall(c);
	uv_timer_init(d->loop, &c->timer);
	c->timer.data = c;
	uv_timer_start(&c->timer, on_timer, FIRST_MS, EVERY_MS);
	if (!sl_db_is_read_only(d->db))
		sl_uses_sweep(d->uses, exists, d);
	*out = c;
	return 0;
}

static void timer_closed(uv_handle_t *handle)
{
	struct sl_collect *c = handle->data;
	void (*closed)(void *arg) = c->closed;
	void *arg = c->closed_arg;
	free(c);
	closed(arg);
}

static void end(struct sl_collect *c)
{
	if (c->closing && !c->busy)
		uv_close((uv_handle_t *)&c->timer, timer_closed);
}

void sl_collect_close(struct sl_collect *c, void (*closed)(void *arg), void *arg)
{
	uv_timer_stop(&c->timer);
	c->closing = true;
	c->closed = closed;
	c->closed_arg = arg;
	if (!sl_db_is_read_only(c->d->db))
		sl_uses_save(c->d->uses, true);
	end(c);
}
