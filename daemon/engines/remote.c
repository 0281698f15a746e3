/* Workers that dial in, as devices. There are three kinds of records: what is expected, who has come, and the device of
 * each that has come. A worker is known by the session that the door gave it (worker/door.h); it is forgotten with the
 * last event of its device. Loop thread. */
#include "daemon/engines/remote.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/engines/engines_internal.h"
#include "daemon/stream/events.h"
#include "daemon/util/crashes.h"
#include "daemon/util/log.h"
#include "daemon/util/time_text.h"
#include "daemon/network/door.h"
#include "daemon/network/tls.h"
#include "daemon/worker/tokens.h"
#include "daemon/worker/worker.h"

#define TICK_MS 1000
#define STOP_MS 5000
#define PATIENCE_S 1200       /* time limit of a slice */
#define REFUSALS_EVERY_MS 1000

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
	uint64_t session;
	char instance[64];             /* of its process: the same one never has two sessions */
	struct sl_remote_facts facts;
	struct sl_server_device *device;
	struct sl_remote_expected *expected;  /* NULL: it has a token of an administrator */
	char token[SL_ULID_BYTES];            /* that one's id; "": none */
	bool away, opened;
	bool ended;                    /* its session is over, or was asked to end */
	bool retiring;
	uint64_t until_ms;             /* RETIRING: with what is on it, then */
	uint64_t stop_ms;              /* the daemon stops, and has told it; 0: not yet */
	char why[200];                 /* it is gone */
	char retired[200];             /* it retires */
};

struct sl_remotes {
	struct sl_engines *engines;
	struct sl_door *door;
	uv_timer_t tick;
	uint16_t port;
	char host[64], pin[SL_REMOTE_PIN_BYTES];
	struct sl_list expected, workers;
	uint64_t refused_ms;
	int refused;                   /* refusals that were not logged */
	int closing;                   /* parts that are still open */
	void (*closed)(void *arg);
	void *closed_arg;
	struct sl_metric *away, *connections, *strangers, *crowded, *joined;
};

static struct sl_remote *of_session(const struct sl_remotes *r, uint64_t session)
{
	return SL_LIST_FIND(struct sl_remote, w, &r->workers, link, w->session == session);
}

static void end_session(struct sl_remote *w, const char *why, bool again)
{
	if (w->ended)
		return;
	w->ended = true;
	sl_door_end(w->remotes->door, w->session, why, again);
}

/* ---- those who come --------------------------------------------------------------------------------------- */

static const char *text_at(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));
	return text ? text : "";
}

/* Copies a text of a stranger: what does not print becomes "?". */
static void take_text(char *to, size_t bytes, const json_t *o, const char *key)
{
	snprintf(to, bytes, "%s", text_at(o, key));
	for (char *c = to; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f || *c == '"' || *c == '\\')
			*c = '?';
}

static int whole_at(const json_t *o, const char *key, int most)
{
	json_int_t value = json_integer_value(json_object_get(o, key));
	return value < 0 ? 0 : value < most ? (int)value : most;
}

static void take_facts(struct sl_remote_facts *f, const json_t *o, const char *address)
{
	*f = (struct sl_remote_facts){.index = whole_at(o, "index", 255), .threads = whole_at(o, "threads", 4096),
				      .pid = whole_at(o, "pid", 1 << 30), .came_ms = (int64_t)sl_time_now_ms()};
	take_text(f->name, sizeof f->name, o, "name");
	take_text(f->host, sizeof f->host, o, "host");
	take_text(f->engine, sizeof f->engine, o, "engine");
	take_text(f->slurm_job, sizeof f->slurm_job, o, "slurm_job");
	snprintf(f->address, sizeof f->address, "%s", address);
}

/* Logs a refusal; of many in a second, one. */
static void refuse(struct sl_remotes *r, uint64_t stranger, const char *address, const char *why, bool again)
{
	uint64_t now = uv_now(r->engines->d->loop);
	sl_door_refuse(r->door, stranger, why, again);
	if (r->refused_ms && now - r->refused_ms < REFUSALS_EVERY_MS) {
		r->refused++;
		return;
	}
	sl_log_warning("device", "a worker at %s was refused: %s%s", address, why, r->refused ? " Others, too." : "");
	r->refused_ms = now;
	r->refused = 0;
}

static struct sl_remote_expected *expected_with(const struct sl_remotes *r, const unsigned char *hash)
{
	struct sl_remote_expected *found = NULL;
	SL_LIST_EACH(struct sl_remote_expected, x, &r->expected, link)
		if (!sodium_memcmp(x->hash, hash, sizeof x->hash))
			found = x;
	return found;
}

/* The engine whose devices compute what this one computes, which need not be on this machine. */
static int usable_engine(struct sl_server_engine *e, const char *name, const struct sl_engine **out,
			 struct sl_error *err)
{
	int code = sl_engine_word(name) && strcmp(name, SL_ENGINE_AUTO) ? sl_engine_load(name, out, err) :
		   sl_error_set(err, SL_BADPARAM, "There is no engine \"%.15s\".", name);
	if (!code && !e->functions)
		sl__engine_await(e, *out);
	return code;
}

static void ended_by_port(void *arg, const char *why)
{
	struct sl_remote *w = arg;
	snprintf(w->why, sizeof w->why, "%s", why);
	w->device->leaving = true;
	end_session(w, why, true);
}

static int open_device(struct sl_remote *w, const struct sl_engine *functions, int fd, struct sl_error *err)
{
	struct sl_server_device *d = w->device;
	const struct sl_config *c = &w->remotes->engines->d->config;
	const struct sl_device_config config = {
		.engine = functions, .slice_ms = c->slice_ms,
		.options = {.index = w->facts.index, .threads = w->facts.threads, .plan_bytes = (uint64_t)c->plan_cache_bytes},
	};
	const struct sl_worker_options options = {.id = d->id, .state_dir = "", .patience_s = PATIENCE_S,
						  .input_bytes = (uint64_t)c->graph_memory_bytes};
	const struct sl_worker_channel channel = {.end = ended_by_port, .arg = w};
	return sl_worker_take(&d->port, w->remotes->engines->d->loop, &config, &options, fd, &channel,
			      sl__device_event_fn(), d, err);
}

static void admit(struct sl_remotes *r, uint64_t stranger, struct sl_remote *w, struct sl_server_engine *e)
{
	const struct sl_engine *functions;
	struct sl_error err;
	const char *address = w->facts.address;
	int code = usable_engine(e, w->facts.engine, &functions, &err);
	if (!code && !(w->device = sl__device_add(e, r->engines)))
		code = sl_error_set(&err, SL_TOOBIG, "Engine %s has as many devices as it can.", e->name);
	if (code) {
		refuse(r, stranger, address, err.detail, code != SL_BADPARAM);
		free(w);
		return;
	}
	w->device->remote = w;
	int fd = sl_door_admit(r->door, stranger, r->engines->d->config.worker_grace_s, &w->session);
	sl_list_append(&r->workers, &w->link);
	if (fd < 0 || open_device(w, functions, fd, &err)) {
		end_session(w, SL_NO_MEMORY "a worker.", true);
		sl__device_gone(w->device);
		return;
	}
	sl_metric_add(r->joined, 1);
	sl_log_info("device", "%s: the worker %s on %s (process %lld, at %s%s%s) has come", w->device->id, w->facts.name,
		    w->facts.host, (long long)w->facts.pid, address, w->facts.slurm_job[0] ? ", Slurm job " : "",
		    w->facts.slurm_job);
	sl_events_changed(r->engines->d->events, SL_EVENTS_DEVICE, w->device->id);
	if (w->expected) {
		w->expected->worker = w;
		if (w->expected->ops.come)
			w->expected->ops.come(w->expected->arg, w);
	}
}

static void lose(struct sl_remote *w, const char *why)
{
	if (!w->why[0])
		snprintf(w->why, sizeof w->why, "%s", why);
	w->device->leaving = true;  /* no job comes to it between the loss of its jobs and its end */
	if (w->device->port)
		sl_worker_gone(w->device->port, w->why);
}

static void on_greeted(void *arg, uint64_t stranger, const char *address, const json_t *greeting)
{
	struct sl_remotes *r = arg;
	struct sl_daemon *d = r->engines->d;
	unsigned char hash[SL_SECRET_HASH_BYTES];
	char id[SL_ULID_BYTES] = "", why[240];
	struct sl_remote_facts facts;
	take_facts(&facts, greeting, address);
	sl_users_secret_hash(d->users, text_at(greeting, "token"), hash);
	struct sl_remote_expected *x = expected_with(r, hash);
	if (!x && !sl_worker_token_identify(d->settings, hash, facts.engine, id)) {
		refuse(r, stranger, address, "This token does not admit workers. Use one of spaceland admin worker-token.",
		       false);
		return;
	}
	if (json_integer_value(json_object_get(greeting, "protocol")) != SL_WORKER_PROTOCOL ||
	    strcmp(text_at(greeting, "version"), SL_VERSION)) {
		snprintf(why, sizeof why, "The worker is version %.40s (protocol %d), the daemon " SL_VERSION " (protocol %d). "
			 "Use the same version for both.", text_at(greeting, "version"), whole_at(greeting, "protocol", 1 << 20),
			 SL_WORKER_PROTOCOL);
		refuse(r, stranger, address, why, false);
		return;
	}
	SL_LIST_EACH(struct sl_remote, o, &r->workers, link)
		if (o->instance[0] && !strcmp(o->instance, text_at(greeting, "instance")) && !o->ended) {
			end_session(o, "It has come anew.", true);
			lose(o, "it has come anew");
		}
	struct sl_server_engine *e = x ? x->engine : sl_engines_find(r->engines, facts.engine);
	if (x && x->worker) {
		refuse(r, stranger, address, "This token admits one worker at a time, and one has come.", true);
		return;
	}
	if (d->stopping || d->ending) {
		refuse(r, stranger, address, "The daemon is stopping.", true);
		return;
	}
	if (!e || (!x && !e->offered) || !strcmp(facts.engine, SL_ENGINE_AUTO)) {
		snprintf(why, sizeof why, "The daemon does not offer engine \"%s\" (its option engines).", facts.engine);
		refuse(r, stranger, address, why, false);
		return;
	}
	struct sl_remote *w = calloc(1, sizeof *w);
	if (!w) {
		refuse(r, stranger, address, SL_NO_MEMORY "a worker.", true);
		return;
	}
	w->remotes = r;
	w->facts = facts;
	w->expected = x;
	memcpy(w->token, id, sizeof w->token);
	snprintf(w->instance, sizeof w->instance, "%s", text_at(greeting, "instance"));
	admit(r, stranger, w, e);
}

/* ---- those who are there --------------------------------------------------------------------------------- */

static void on_away(void *arg, uint64_t session, bool away, const char *why)
{
	struct sl_remote *w = of_session(arg, session);
	if (!w || w->away == away)
		return;
	w->away = away;
	if (w->remotes->engines->d->stopping) {
		sl__remote_stop(w->device);
		return;
	}
	if (away)
		sl_log_warning("device", "%s: the worker %s on %s is not heard: %s", w->device->id, w->facts.name,
			       w->facts.host, why);
	sl_worker_away(w->device->port, away, why);
	if (w->expected && w->expected->ops.away)
		w->expected->ops.away(w->expected->arg, w, away);
}

static void on_note(void *arg, uint64_t session, const json_t *note)
{
	struct sl_remote *w = of_session(arg, session);
	double seconds = json_number_value(json_object_get(note, "seconds"));
	if (!w || strcmp(text_at(note, "kind"), "leave"))
		return;
	seconds = seconds > 0 && seconds < 86400 ? seconds : 0;
	bool first = !w->retiring;
	sl_remote_retire(w, seconds, "its process was asked to end");
	if (first && w->expected && w->expected->ops.leaves)
		w->expected->ops.leaves(w->expected->arg, w, seconds);
}

/* The jobs that the ended process computed when it crashed. */
static void take_crashes(const struct sl_remote *w, const json_t *last)
{
	int number = whole_at(last, "signal", 64);
	const json_t *jobs = json_object_get(last, "crashed");
	size_t i;
	json_t *job;
	json_array_foreach((json_t *)jobs, i, job)
		if (i < SL_CRASHES_TOGETHER && json_is_string(job) && w->device->port &&
		    sl_worker_has(w->device->port, json_string_value(job)))
			sl_crashes_add(json_string_value(job), number);
}

static void on_ended(void *arg, uint64_t session, const char *why, const json_t *last)
{
	struct sl_remote *w = of_session(arg, session);
	char text[200];
	if (!w)
		return;
	w->ended = true;
	take_text(text, sizeof text, last, "reason");
	take_crashes(w, last);
	lose(w, text[0] ? text : why[0] ? why : "it has ended the connection");
}

/* ---- what is expected ------------------------------------------------------------------------------------- */

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
	struct sl_remote *w = x->worker;
	if (w) {
		end_session(w, "Its token was withdrawn.", false);
		lose(w, "its token was withdrawn");
		if (x->worker) {  /* the events of the device come later */
			x->worker = NULL;
			w->expected = NULL;
			if (x->ops.gone)
				x->ops.gone(x->arg, w, w->retiring, w->why);
		}
	}
	sl_list_unlink(&x->link);
	free(x);
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
	uint64_t until_ms = uv_now(w->remotes->engines->d->loop) + (uint64_t)(seconds * 1e3);
	if (!w->retiring || until_ms < w->until_ms)
		w->until_ms = until_ms;
	if (w->retiring)
		return;
	w->retiring = w->device->leaving = true;
	snprintf(w->retired, sizeof w->retired, "%s", why);
	sl_log_info("device", "%s: the worker %s on %s retires: %s", w->device->id, w->facts.name, w->facts.host, why);
	sl_events_changed(w->remotes->engines->d->events, SL_EVENTS_DEVICE, w->device->id);
}

int sl_remote_place(const struct sl_engines *all, char place[SL_REMOTE_PLACE_BYTES], char pin[SL_REMOTE_PIN_BYTES],
		    struct sl_error *err)
{
	const struct sl_remotes *r = all->remotes;
	char name[256] = "localhost";
	if (!r)
		return sl_error_set(err, SL_CONFLICT, "Workers cannot connect to this server. Set worker_listen.");
	const char *host = all->d->config.worker_host[0] ? all->d->config.worker_host : r->host;
	if (!strcmp(host, "0.0.0.0") || !strcmp(host, "::")) {
		gethostname(name, sizeof name - 1);
		host = name;
	}
	snprintf(place, SL_REMOTE_PLACE_BYTES, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, r->port);
	memcpy(pin, r->pin, SL_REMOTE_PIN_BYTES);
	return 0;
}

json_t *sl__remote_json(const struct sl_remote *w)
{
	const struct sl_remote_facts *f = &w->facts;
	return json_pack("{s:s, s:s, s:s, s:I, s:s, s:s?, s:s?, s:o}", "name", f->name, "host", f->host,
			 "address", f->address, "pid", (json_int_t)f->pid,
			 "state", w->away ? "away" : w->retiring ? "retiring" : "connected",
			 "slurm_job", f->slurm_job[0] ? f->slurm_job : NULL, "token", w->token[0] ? w->token : NULL,
			 "since", json_integer((json_int_t)(f->came_ms / 1000)));
}

/* ---- once a second ----------------------------------------------------------------------------------------- */

static void look_at(struct sl_remote *w)
{
	uint64_t now = uv_now(w->remotes->engines->d->loop);
	if (w->device->stop_sent) {
		w->stop_ms = w->stop_ms ? w->stop_ms : now;
		if (now - w->stop_ms > STOP_MS)
			lose(w, "it does not stop");
	} else if (w->token[0] && !w->ended && !sl_worker_token_is_valid(w->remotes->engines->d->settings, w->token)) {
		end_session(w, "Its token was revoked, or has expired.", true);
		lose(w, "its token was revoked, or has expired");
	} else if (w->retiring && !w->ended && (!(w->device->active[0] + w->device->active[1]) || now >= w->until_ms)) {
		end_session(w, w->retired, false);
		lose(w, w->retired);
	}
}

static void on_tick(uv_timer_t *timer)
{
	struct sl_remotes *r = timer->data;
	uint64_t now = uv_now(r->engines->d->loop);
	bool retires = false;
	SL_LIST_EACH(struct sl_remote, w, &r->workers, link) {
		retires = retires || w->retiring;
		look_at(w);
	}
	SL_LIST_EACH(struct sl_remote_expected, x, &r->expected, link)
		if (x->until_ms && now >= x->until_ms && !x->worker) {
			x->until_ms = 0;
			memset(x->hash, 0, sizeof x->hash);
			if (x->ops.gone)
				x->ops.gone(x->arg, NULL, false, "it has not come in time");
			break;  /* the list may have changed */
		}
	if (retires && r->engines->listener.leave)
		SL_LIST_EACH(struct sl_remote, w, &r->workers, link)
			if (w->retiring && w->device->active[0] + w->device->active[1])
				r->engines->listener.leave(r->engines->arg, w->device);
}

static void collect(void *arg)
{
	struct sl_engines *all = arg;
	struct sl_remotes *r = all->remotes;
	int away = 0;
	if (!r || !r->door)
		return;
	struct sl_door_counts counts = sl_door_counts(r->door);
	SL_LIST_EACH(const struct sl_remote, w, &r->workers, link)
		away += w->away;
	sl_metric_set(r->away, away);
	sl_metric_set(r->connections, (double)counts.connections);
	sl_metric_set(r->strangers, (double)counts.strangers);
	sl_metric_set(r->crowded, (double)counts.crowded);
}

/* ---- life --------------------------------------------------------------------------------------------------- */

void sl__remote_stop(struct sl_server_device *d)
{
	if (d->remote->away)
		lose(d->remote, "the daemon stops, and it is not heard");
}

void sl__remote_opened(struct sl_server_device *d)
{
	struct sl_remote *w = d->remote;
	w->opened = true;
	if (w->expected && w->expected->ops.opened)
		w->expected->ops.opened(w->expected->arg, w);
}

void sl__remote_gone(struct sl_server_device *d)
{
	struct sl_remote *w = d->remote;
	struct sl_remote_expected *x = w->expected;
	d->remote = NULL;
	end_session(w, d->problem.code ? d->problem.detail : "The daemon has ended its device.", true);
	if (!w->retiring)
		sl_log_warning("device", "%s: the worker %s on %s is gone: %s", d->id, w->facts.name, w->facts.host, w->why);
	else
		sl_log_info("device", "%s: the worker %s on %s has retired", d->id, w->facts.name, w->facts.host);
	sl_list_unlink(&w->link);
	if (x) {
		x->worker = NULL;
		if (x->ops.gone)
			x->ops.gone(x->arg, w, w->retiring, w->why);
	}
	free(w);
}

static void register_metrics(struct sl_remotes *r, struct sl_metrics *m)
{
	r->away = sl_metrics_register(m, SL_GAUGE, "spaceland_workers_away", NULL,
				      "Workers of other machines that are not heard at present.");
	r->joined = sl_metrics_register(m, SL_COUNTER, "spaceland_workers_joined_total", NULL,
					"Workers of other machines that have come.");
	r->connections = sl_metrics_register(m, SL_COUNTER, "spaceland_worker_connections_total", NULL,
					     "Connections to the port for workers.");
	r->strangers = sl_metrics_register(m, SL_COUNTER, "spaceland_worker_strangers_total", NULL,
					   "Of these, those that ended before a worker was admitted.");
	r->crowded = sl_metrics_register(m, SL_COUNTER, "spaceland_worker_crowded_total", NULL,
					 "Of these, those that were dropped since too many waited.");
}

static int certificate_of(const struct sl_daemon *d, char *certificate, char *key, size_t bytes, struct sl_error *err)
{
	const struct sl_config *c = &d->config;
	char host[256] = "localhost";
	bool own = c->worker_tls_certificate[0], servers = c->tls_certificate[0];
	snprintf(certificate, bytes, own || servers ? "%s" : "%s/worker.pem", own ? c->worker_tls_certificate : servers ?
		 c->tls_certificate : d->state_dir);
	snprintf(key, bytes, own || servers ? "%s" : "%s/worker.key", own ? c->worker_tls_key : servers ? c->tls_key :
		 d->state_dir);
	gethostname(host, sizeof host - 1);
	return own || servers ? 0 :
	       sl_tls_make_certificate(certificate, key, c->worker_host[0] ? c->worker_host : host, err);
}

int sl__remotes_create(struct sl_engines *all, struct sl_error *err)
{
	static const struct sl_door_ops ops = {.greeted = on_greeted, .away = on_away, .note = on_note, .ended = on_ended};
	struct sl_daemon *d = all->d;
	char certificate[4096], key[4096];
	if (!d->config.worker_listen[0])
		return 0;
	struct sl_remotes *r = calloc(1, sizeof *r);
	if (!r)
		return sl_error_memory(err, "the port for workers");
	r->engines = all;
	struct sl_door_options options = {.host = r->host, .certificate = certificate, .key = key};
	int rc = sl_config_address(d->config.worker_listen, r->host, sizeof r->host, &options.port, err);
	if (!rc)
		rc = certificate_of(d, certificate, key, sizeof key, err);
	if (!rc)
		rc = sl_door_create(&r->door, d->loop, &options, &ops, r, &r->port, r->pin, err);
	if (rc) {
		free(r);
		return rc;
	}
	register_metrics(r, d->metrics);
	sl_metrics_on_collect(d->metrics, collect, all);
	uv_timer_init(d->loop, &r->tick);
	r->tick.data = r;
	uv_timer_start(&r->tick, on_tick, TICK_MS, TICK_MS);
	all->remotes = r;
	sl_log_info("device", "workers connect to %s port %u, pin %s", r->host, r->port, r->pin);
	return 0;
}

static void part_closed(struct sl_remotes *r)
{
	if (--r->closing)
		return;
	void (*closed)(void *) = r->closed;
	void *arg = r->closed_arg;
	SL_LIST_EACH(struct sl_remote, w, &r->workers, link)
		free(w);
	SL_LIST_EACH(struct sl_remote_expected, x, &r->expected, link)
		free(x);
	free(r);
	if (closed)
		closed(arg);
}

static void timer_closed(uv_handle_t *handle)
{
	part_closed(handle->data);
}

static void door_closed(void *arg)
{
	part_closed(arg);
}

void sl__remotes_close(struct sl_engines *all, void (*closed)(void *arg), void *arg)
{
	struct sl_remotes *r = all->remotes;
	all->remotes = NULL;
	r->closed = closed;
	r->closed_arg = arg;
	r->closing = 2;
	uv_close((uv_handle_t *)&r->tick, timer_closed);
	sl_door_close(r->door, door_closed, r);
	r->door = NULL;
}
