/* The server: creates its parts, and ends them in order. */
#include "daemon/http/http.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/buffer.h"
#include "daemon/util/log.h"

#define LATER_S 5                    /* connections.c ends silent clients first, with a reply */
#define GRACE_MS 1000                /* for replies under way when the server closes */

/* ---- begin ---------------------------------------------------------------------------------- */

static void on_collect(void *arg)
{
	struct sl_http *h = arg;
	if (!h->mhd)
		return;
	sl_metric_set(h->connection_count, (double)h->connections.count);
	sl_metric_set(h->stream_count, (double)h->streams);
}

static void register_metrics(struct sl_http *h)
{
	struct sl_metrics *m = h->d->metrics;
	for (int i = 1; i < 6; i++) {
		char label[32];
		snprintf(label, sizeof label, "code=\"%dxx\"", i);
		h->count[i] = sl_metrics_register(m, SL_COUNTER, "spaceland_http_requests_total", label,
						  "Requests answered, by class of status.");
	}
	h->count[0] = h->count[5];
	h->seconds = calloc((size_t)sl_routes_count, sizeof *h->seconds);
	h->received_bytes = sl_metrics_register(m, SL_COUNTER, "spaceland_http_received_bytes_total", NULL,
						"Bytes of request bodies.");
	h->connection_count = sl_metrics_register(m, SL_GAUGE, "spaceland_http_connections", NULL, "Open connections.");
	h->stream_count = sl_metrics_register(m, SL_GAUGE, "spaceland_http_streams", NULL,
					      "Open event and frame streams.");
	sl_metrics_on_collect(m, on_collect, h);
}

static void on_refused(void *arg, int status)
{
	struct sl_http *h = arg;
	sl_metric_add(h->count[status / 100], 1);
}

static const struct sl__mhd_ops ops = {
	.opened = sl__connection_opened,
	.closed = sl__connection_closed,
	.header = sl__call_header,
	.data = sl__call_data,
	.whole = sl__call_whole,
	.resumed = sl__call_resumed,
	.gone = sl__request_gone,
	.ended = sl__call_ended,
	.refused = on_refused,
};

static int start_mhd(struct sl_http *h, struct sl_error *err)
{
	struct sl__mhd_options options = {
		.connections = sl__connections_most(h),
		.timeout_s = (unsigned)h->d->config.request_timeout_s + LATER_S,
		.tls = h->tls,
	};
	return sl__mhd_create(&h->mhd, h->d->loop, &options, &ops, h, err);
}

static int open_handles(struct sl_http *h, struct sl_error *err)
{
	uv_loop_t *loop = h->d->loop;
	uv_timer_t *timers[] = {&h->grace, &h->sweep, &h->pause};
	int rc = uv_poll_init(loop, &h->accept, h->listener);
	if (rc)
		return sl_error_set(err, SL_IO, "the HTTP server cannot be watched: %s", uv_strerror(rc));
	h->accept.data = h;
	for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
		uv_timer_init(loop, timers[i]);
		timers[i]->data = h;
	}
	h->handles = 5;
	return 0;
}

static void destroy(void *arg)
{
	struct sl_http *h = arg;
	if (h->spare_fd >= 0)
		close(h->spare_fd);
	sl__tls_destroy(h->tls);
	free(h->seconds);
	sl__auth_destroy(h->auth);
	sl__documents_close(h->documents);
	free(h);
}

int sl_http_create(struct sl_http **out, struct sl_daemon *d, struct sl_error *err)
{
	char host[64];
	uint16_t port;
	int fd = -1, rc = sl_config_address(d->config.listen, host, sizeof host, &port, err);
	if (rc)
		return rc;
	struct sl_http *h = calloc(1, sizeof *h);
	if (!h)
		return sl_error_memory(err, "the server");
	h->d = d;
	h->spare_fd = -1;
	sl_buffer_limit((uint64_t)d->config.reply_memory_bytes);
	rc = sl__listen(&d->config, host, sizeof host, &port, &fd, err);
	if (rc)
		goto out;
	h->listener = fd;
	rc = sl__auth_create(&h->auth, &d->config, host, port, err);
	if (!rc)
		rc = sl__tls_create(&h->tls, &d->config, d->metrics, err);
	h->documents = sl__documents_create(d->loop);
	if (!rc && !h->documents)
		rc = sl_error_memory(err, "the server");
	if (!rc)
		rc = start_mhd(h, err);
	if (!rc)
		rc = open_handles(h, err);
	if (rc)
		goto out;
	sl__connections_start(h);
	snprintf(h->address, sizeof h->address, strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, port);
	snprintf(h->url, sizeof h->url, "%s://%s", h->tls ? "https" : "http", h->address);
	if (!h->tls && !sl_config_loopback(host))
		sl_log_warning("http", "tokens and data go over the network unencrypted on %s; tls_certificate and tls_key, "
			       "or a proxy that speaks TLS, protect them", h->address);
	register_metrics(h);
	*out = h;
	return 0;
out:
	if (fd >= 0)
		close(fd);
	if (h->mhd)
		sl__mhd_stop(h->mhd, destroy, h);
	else
		destroy(h);
	return rc;
}

int sl_http_reload(struct sl_http *h, const struct sl_config *c, struct sl_error *err)
{
	struct sl__auth *fresh;
	char host[64];
	uint16_t port;
	int rc = sl_config_address(h->address, host, sizeof host, &port, err);
	if (!rc)
		rc = sl__auth_create(&fresh, c, host, port, err);
	if (rc)
		return rc;
	rc = sl__tls_reload(h->tls, c, err);
	if (rc) {
		sl__auth_destroy(fresh);
		return rc;
	}
	if (!sl__auth_same_tokens(h->auth, fresh)) {  /* ends streams opened with a removed token */
		sl_users_file_changed(h->d->users);
		sl_http_end_user(h, "");
	}
	sl__auth_destroy(h->auth);
	h->auth = fresh;
	return 0;
}

int sl_http_check(const struct sl_config *c, struct sl_error *err)
{
	struct sl_metrics *m = sl_metrics_create();
	struct sl__auth *auth = NULL;
	struct sl__tls *tls = NULL;
	char host[64];
	uint16_t port;
	int rc = m ? sl_config_address(c->listen, host, sizeof host, &port, err) : sl_error_memory(err, "the check");
	if (!rc)
		rc = sl__auth_create(&auth, c, host, port, err);
	if (!rc)
		rc = sl__tls_create(&tls, c, m, err);
	sl__tls_destroy(tls);
	sl__auth_destroy(auth);
	sl_metrics_destroy(m);
	return rc;
}

const char *sl_http_url(const struct sl_http *h)
{
	return h->url;
}

int sl_http_listener(const struct sl_http *h)
{
	return h->quiet ? -1 : fcntl(h->listener, F_DUPFD, 3);  /* this copy stays open across exec() */
}

/* ---- the end --------------------------------------------------------------------------- */

static void one_closed(void *arg)
{
	struct sl_http *h = arg;
	if (--h->handles)
		return;
	void (*closed)(void *) = h->closed;
	void *closed_arg = h->closed_arg;
	destroy(h);
	if (closed)
		closed(closed_arg);
}

static void on_handle_closed(uv_handle_t *handle)
{
	one_closed(handle->data);
}

void sl_http_quiesce(struct sl_http *h)
{
	if (h->quiet)
		return;
	h->quiet = true;
	uv_close((uv_handle_t *)&h->accept, on_handle_closed);
	close(h->listener);
}

static void stop_mhd(struct sl_http *h)
{
	uv_close((uv_handle_t *)&h->grace, on_handle_closed);
	uv_close((uv_handle_t *)&h->sweep, on_handle_closed);
	uv_close((uv_handle_t *)&h->pause, on_handle_closed);
	sl__mhd_stop(h->mhd, one_closed, h);
	h->mhd = NULL;
}

/* Ends streams, and answers what waits: libmicrohttpd must not be stopped while a connection is suspended. */
static void answer_all(struct sl_http *h)
{
	SL_LIST_EACH(struct sl_request, r, &h->requests, link) {
		if (r->stream) {
			sl__exchange_abort(r->x);
		} else if (r->state == SL__PARKED) {
			sl__request_forget(r);
			if (r->reply)  /* it waits for the audit log, or is delayed */
				sl__request_resume(r);
			else
				sl_reply_status(r, 503, "the server is being stopped");
		}
	}
}

/* Waits until the replies in progress are sent, or the time for them is over. Connections that are open may have sent
 * further requests meanwhile, which are answered likewise. */
static void on_grace(uv_timer_t *timer)
{
	struct sl_http *h = timer->data;
	answer_all(h);
	if (!h->requests.count || uv_now(h->d->loop) >= h->deadline_ms)
		stop_mhd(h);
}

void sl_http_close(struct sl_http *h, void (*closed)(void *arg), void *arg)
{
	h->closed = closed;
	h->closed_arg = arg;
	h->deadline_ms = uv_now(h->d->loop) + GRACE_MS;
	sl_http_quiesce(h);
	uv_timer_start(&h->grace, on_grace, 0, 10);
}
