/* The server: libmicrohttpd in external epoll mode on the uv loop. A uv_poll watches its epoll descriptor, and a
 * uv_timer its next timeout. sl__http_step() runs it and asks for that timeout. If libmicrohttpd has more work at once,
 * it runs in the loop's next turn (uv_idle): a timer of 0 ms that restarts itself would keep the loop from all other
 * work. */
#include "daemon/http/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/buffer.h"
#include "daemon/util/log.h"

/* Buffer of one connection: headers, then pieces of the body. libmicrohttpd clears it twice a request: with 256 KiB
 * that took a quarter of the time of a short reply. */
#define CONNECTION_BYTES (64 << 10)
#define LATER_S 5                    /* connections.c ends silent clients first, with a reply */
#define GRACE_MS 1000                /* for replies under way when the server closes */

/* ---- the loop ------------------------------------------------------------------------ */

static void on_timer(uv_timer_t *timer);
static void on_soon(uv_idle_t *soon);

void sl__http_step(struct sl_http *h)
{
	MHD_UNSIGNED_LONG_LONG ms = 0;
	h->kicked = false;
	MHD_run(h->mhd);
	sl__requests_suspend(h);
	sl__tls_suspend(h);
	bool waits = !h->kicked && MHD_get_timeout(h->mhd, &ms) == MHD_YES;
	uv_timer_stop(&h->timer);
	uv_idle_stop(&h->soon);
	if (h->kicked || (waits && !ms)) {
		uv_idle_start(&h->soon, on_soon);
		return;
	}
	if (waits)
		uv_timer_start(&h->timer, on_timer, ms, 0);
	sl__connections_check(h);
}

static void on_timer(uv_timer_t *timer)
{
	sl__http_step(timer->data);
}

static void on_soon(uv_idle_t *soon)
{
	sl__http_step(soon->data);
}

void sl__http_soon(struct sl_http *h)
{
	h->kicked = true;  /* in case sl__http_step() is running now */
	if (h->mhd)
		uv_idle_start(&h->soon, on_soon);
}

/* Resumes a connection, and makes libmicrohttpd run: it processes resumed connections only when it runs next. */
void sl__http_resume(struct sl_http *h, struct MHD_Connection *connection)
{
	MHD_resume_connection(connection);
	sl__http_soon(h);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	sl__http_step(poll->data);
}

static void on_mhd_log(void *cls, const char *format, va_list args)
{
	char text[512];
	int status = 0;
	vsnprintf(text, sizeof text, format, args);
	text[strcspn(text, "\n")] = '\0';
	sl_log_debug("http", "libmicrohttpd: %s", text);
	if (sscanf(text, "Error processing request (HTTP response code is %d", &status) == 1)
		sl__refuse_instead(cls, status, text);
}

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

static int start_mhd(struct sl_http *h, struct sl_error *err)
{
	const struct sl_config *c = &h->d->config;
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, sl__tls_no_certificate()},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, SL__TLS_PRIORITIES},
		{MHD_OPTION_END, 0, NULL},
	};
	struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
	h->mhd = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET |
		(h->tls ? MHD_USE_TLS : 0), 0, NULL, NULL,
		sl__call_access, h,
		MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, h,
		MHD_OPTION_ARRAY, h->tls ? tls : plain,
		MHD_OPTION_URI_LOG_CALLBACK, sl__call_target, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, sl__call_completed, h,
		MHD_OPTION_NOTIFY_CONNECTION, sl__connection_notify, h,
		MHD_OPTION_CONNECTION_LIMIT, sl__connections_most(h),
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)c->request_timeout_s + LATER_S,
		MHD_OPTION_STRICT_FOR_CLIENT, 0,
		MHD_OPTION_END);
	if (!h->mhd)
		return sl_error_set(err, SL_IO, "the HTTP server cannot start: %s", strerror(errno));
	return 0;
}

/* Opens the handles; if that fails, stops libmicrohttpd. */
static int open_handles(struct sl_http *h, struct sl_error *err)
{
	uv_loop_t *loop = h->d->loop;
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	int rc = info ? uv_poll_init(loop, &h->poll, info->epoll_fd) : UV_EINVAL;
	h->handles = !rc;
	if (!rc)
		rc = uv_poll_init(loop, &h->accept, h->listener);
	if (rc) {
		MHD_stop_daemon(h->mhd);
		return sl_error_set(err, SL_IO, "the HTTP server cannot be watched: %s", uv_strerror(rc));
	}
	uv_timer_t *timers[] = {&h->timer, &h->grace, &h->sweep, &h->pause};
	for (size_t i = 0; i < sizeof timers / sizeof *timers; i++) {
		uv_timer_init(loop, timers[i]);
		timers[i]->data = h;
	}
	uv_idle_init(loop, &h->soon);
	h->handles = 7;
	h->accept.data = h->soon.data = h;
	return 0;
}

static void on_handle_closed(uv_handle_t *handle);

static void destroy(struct sl_http *h)
{
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
		return sl_error_set(err, SL_NOMEM, "no memory for the server");
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
		rc = sl_error_set(err, SL_NOMEM, "no memory for the server");
	if (!rc)
		rc = start_mhd(h, err);
	h->poll.data = h;
	if (!rc)
		rc = open_handles(h, err);
	if (rc)
		goto out;
	uv_poll_start(&h->poll, UV_READABLE, on_poll);
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
	if (h->handles) {  /* freed when the handles are closed */
		uv_close((uv_handle_t *)&h->poll, on_handle_closed);
		return rc;
	}
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

const char *sl_http_url(const struct sl_http *h)
{
	return h->url;
}

int sl_http_listener(const struct sl_http *h)
{
	return h->quiet ? -1 : fcntl(h->listener, F_DUPFD, 3);  /* this copy stays open across exec() */
}

/* ---- the end --------------------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct sl_http *h = handle->data;
	if (--h->handles)
		return;
	void (*closed)(void *) = h->closed;
	void *arg = h->closed_arg;
	destroy(h);
	if (closed)
		closed(arg);
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
	uv_handle_t *handles[] = {(uv_handle_t *)&h->poll, (uv_handle_t *)&h->timer, (uv_handle_t *)&h->grace,
				  (uv_handle_t *)&h->sweep, (uv_handle_t *)&h->pause, (uv_handle_t *)&h->soon};
	struct MHD_Daemon *mhd = h->mhd;
	sl__tls_resume_all(h);
	h->mhd = NULL;  /* from here on nothing starts a handle */
	for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
		uv_close(handles[i], on_handle_closed);
	MHD_stop_daemon(mhd);
}

/* Waits until the replies in progress are sent, or the time for them is over. */
static void on_grace(uv_timer_t *timer)
{
	struct sl_http *h = timer->data;
	if (!h->requests.count || uv_now(h->d->loop) >= h->deadline_ms)
		stop_mhd(h);
}

void sl_http_close(struct sl_http *h, void (*closed)(void *arg), void *arg)
{
	h->closed = closed;
	h->closed_arg = arg;
	h->deadline_ms = uv_now(h->d->loop) + GRACE_MS;
	sl_http_quiesce(h);
	SL_LIST_EACH(struct sl_request, r, &h->requests, link) {
		if (r->stream) {
			sl__stream_abort(r->stream);
		} else if (r->state == SL__PARKED) {
			sl__request_forget(r);
			if (r->reply)  /* it waits for the audit log, or is delayed */
				sl__request_resume(r);
			else
				sl_reply_status(r, 503, "the server is being stopped");
		}
	}
	uv_timer_start(&h->grace, on_grace, 0, 10);
}
