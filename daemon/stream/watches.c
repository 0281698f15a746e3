/* All watches of the server: their timer, their publisher, and the frames for new subscribers. */
#include <stdlib.h>

#include "daemon/stream/keys.h"
#include "daemon/stream/publisher.h"
#include "daemon/stream/topics.h"
#include "daemon/stream/watch_internal.h"

#define NEWCOMERS_MS 20            /* interval of checks for new subscriptions */

/* Sends the ends of recent jobs to new subscribers. */
static void pump_recent(struct sl_watches *all)
{
	all->newcomers = false;
	all->newcomers_ms = uv_now(all->loop);
	SL_LIST_EACH(struct sl_watch, w, &all->recent, link)
		sl_watch_pump(w);  /* it leaves the list if its end is no longer recent */
}

static void on_timer(uv_timer_t *timer)
{
	struct sl_watches *all = timer->data;
	if (all->newcomers)
		pump_recent(all);
	SL_LIST_EACH(struct sl_watch, w, &all->live, link)
		sl_watch_pump(w);
}

void sl__watches_schedule(struct sl_watches *all, uint64_t ms)
{
	if (all->stopping)
		return;
	if (!uv_is_active((uv_handle_t *)&all->timer) || uv_timer_get_due_in(&all->timer) > ms)
		uv_timer_start(&all->timer, on_timer, ms, 0);
}

/* Many subscriptions may arrive at once, so the timer checks for all of them what they need. */
static void on_subscription(void *arg, const char *prefix, size_t length)
{
	struct sl_watches *all = arg;
	struct sl_watch *w = length == SL_TOPIC_BYTES ? all->ops->find(all->arg, prefix) : NULL;
	if (w) {
		w->asked_stamp = sl_publisher_stamp(all->publisher);
		sl_watch_pump(w);
	}
	if (length == SL_TOPIC_BYTES)
		return;
	uint64_t since = uv_now(all->loop) - all->newcomers_ms;
	all->newcomers = true;
	sl__watches_schedule(all, since < NEWCOMERS_MS ? NEWCOMERS_MS - since : 0);
}

static void all_free(struct sl_watches *all)
{
	sl_stream_keys_destroy(all->keys);
	free(all);
}

static void closed(struct sl_watches *all)
{
	if (--all->handles)
		return;
	void (*done)(void *) = all->closed;
	void *arg = all->closed_arg;
	if (all->destroyed)
		all_free(all);
	if (done)
		done(arg);  /* this may destroy it */
}

static void on_timer_closed(uv_handle_t *handle)
{
	closed(handle->data);
}

static void on_publisher_closed(void *arg)
{
	closed(arg);
}

int sl_watches_create(struct sl_watches **out, uv_loop_t *loop, const struct sl_config *config,
		      const struct sl_users *users, struct sl_metrics *metrics, const struct sl_watches_ops *ops,
		      void *arg, struct sl_error *err)
{
	struct sl_watches *all = calloc(1, sizeof *all);
	if (!all)
		return sl_error_memory(err, "the streams");
	*all = (struct sl_watches){.loop = loop, .config = config, .ops = ops, .arg = arg};
	if (config->zmq[0] && !(all->keys = sl_stream_keys_create(users))) {
		free(all);
		return sl_error_memory(err, "the streams");
	}
	struct sl_publisher_options options = {
		.endpoint = config->zmq,
		.subscribers = (int)config->max_subscribers,
		.waiting = (int)config->zmq_high_water_mark,
		.keys = all->keys,
		.config = config,
	};
	int code = config->zmq[0] ? sl_publisher_create(&all->publisher, loop, &options, on_subscription, all, err) : 0;
	if (code) {
		sl_stream_keys_destroy(all->keys);
		free(all);
		return code;
	}
	all->frames = sl_metrics_register(metrics, SL_COUNTER, "spaceland_frames_total", NULL,
					  "Frames encoded, in any form.");
	uv_timer_init(loop, &all->timer);
	all->timer.data = all;
	all->handles = 1 + (all->publisher != NULL);
	*out = all;
	return 0;
}

const char *sl_watches_endpoint(const struct sl_watches *all)
{
	return all->publisher ? sl_publisher_endpoint(all->publisher) : NULL;
}

json_t *sl_watches_key(struct sl_watches *all, const struct sl_principal *who)
{
	return all->keys && all->config->token_file[0] ? sl_stream_keys_give(all->keys, who) : NULL;
}

void sl_watches_quiesce(struct sl_watches *all)
{
	all->stopping = true;
}

void sl_watches_close(struct sl_watches *all, void (*done)(void *arg), void *arg)
{
	if (!all)
		return;
	all->stopping = true;
	all->closed = done;
	all->closed_arg = arg;
	uv_close((uv_handle_t *)&all->timer, on_timer_closed);
	sl_publisher_destroy(all->publisher, on_publisher_closed, all);
	all->publisher = NULL;
}

void sl_watches_destroy(struct sl_watches *all)
{
	if (!all)
		return;
	all->destroyed = true;
	if (!all->handles)
		all_free(all);
}
