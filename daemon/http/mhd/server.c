/* Runs libmicrohttpd in external epoll mode on the uv loop. A uv_poll watches its epoll descriptor, and a uv_timer its
 * next timeout. sl__mhd_run() runs it and asks for that timeout. If libmicrohttpd has more work at once, it runs in the
 * loop's next turn (uv_idle): a timer of 0 ms that restarts itself would keep the loop from all other work.
 *
 * libmicrohttpd tells only its log that it refuses a request, so the log is read for that (refusals.c). */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/mhd/mhd_internal.h"
#include "daemon/util/log.h"

/* Buffer of one connection: headers, then pieces of the body. libmicrohttpd clears it twice a request: with 256 KiB
 * that took a quarter of the time of a short reply. */
#define CONNECTION_BYTES (64 << 10)
/* TLS 1.2 and 1.3, forward secrecy, authenticated ciphers only. */
#define TLS_PRIORITIES "SECURE128:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2:-RSA:-SHA1:%SERVER_PRECEDENCE"

/* MHD_USE_NO_THREAD_SAFETY of later versions: without it they begin an added connection only in their next turn, so the
 * limits would not count it before. */
#define ONE_THREAD (1u << 19)

static void on_timer(uv_timer_t *timer);
static void on_soon(uv_idle_t *soon);

void sl__mhd_run(struct sl__mhd *m)
{
	MHD_UNSIGNED_LONG_LONG ms = 0;
	m->kicked = false;
	MHD_run(m->daemon);
	sl__exchanges_suspend(m);
	sl__tls_suspend(m);
	bool waits = !m->kicked && MHD_get_timeout(m->daemon, &ms) == MHD_YES;
	uv_timer_stop(&m->timer);
	uv_idle_stop(&m->soon);
	if (m->kicked || (waits && !ms)) {
		uv_idle_start(&m->soon, on_soon);
		return;
	}
	if (waits)
		uv_timer_start(&m->timer, on_timer, ms, 0);
	sl__sockets_check(m);
}

static void on_timer(uv_timer_t *timer)
{
	sl__mhd_run(timer->data);
}

static void on_soon(uv_idle_t *soon)
{
	sl__mhd_run(soon->data);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	sl__mhd_run(poll->data);
}

static void on_log(void *cls, const char *format, va_list args)
{
	char text[512];
	vsnprintf(text, sizeof text, format, args);
	text[strcspn(text, "\n")] = '\0';
	sl_log_debug("http", "libmicrohttpd: %s", text);
	sl__refuse_instead(cls, text);
}

/* ---- begin and end ------------------------------------------------------------------------- */

static int start(struct sl__mhd *m, const struct sl__mhd_options *o, struct sl_error *err)
{
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_CERT_CALLBACK, 0, sl__tls_no_certificate()},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, TLS_PRIORITIES},
		{MHD_OPTION_END, 0, NULL},
	};
	struct MHD_OptionItem plain[] = {{MHD_OPTION_END, 0, NULL}};
	bool old = sl__version_is_old();
	m->daemon = MHD_start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG | MHD_USE_NO_LISTEN_SOCKET |
		(o->tls ? MHD_USE_TLS : 0) | (old ? 0 : ONE_THREAD), 0, NULL, NULL,
		sl__exchange_access, m,
		MHD_OPTION_EXTERNAL_LOGGER, on_log, m,
		MHD_OPTION_ARRAY, o->tls ? tls : plain,
		MHD_OPTION_URI_LOG_CALLBACK, sl__exchange_target, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, sl__exchange_completed, m,
		MHD_OPTION_NOTIFY_CONNECTION, sl__socket_notify, m,
		MHD_OPTION_CONNECTION_LIMIT, o->connections,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, o->timeout_s,
		MHD_OPTION_STRICT_FOR_CLIENT, old ? 0 : 1,
		MHD_OPTION_END);
	if (!m->daemon)
		return sl_error_set(err, SL_IO, "the HTTP server cannot start: %s", strerror(errno));
	return 0;
}

/* Opens the handles; if that fails, stops libmicrohttpd. */
static int open_handles(struct sl__mhd *m, struct sl_error *err)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(m->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	int rc = info ? uv_poll_init(m->loop, &m->poll, info->epoll_fd) : UV_EINVAL;
	if (rc) {
		MHD_stop_daemon(m->daemon);
		return sl_error_set(err, SL_IO, "the HTTP server cannot be watched: %s", uv_strerror(rc));
	}
	uv_timer_init(m->loop, &m->timer);
	uv_idle_init(m->loop, &m->soon);
	m->on_soon = on_soon;
	m->handles = 3;
	m->poll.data = m->timer.data = m->soon.data = m;
	uv_poll_start(&m->poll, UV_READABLE, on_poll);
	return 0;
}

int sl__mhd_create(struct sl__mhd **out, uv_loop_t *loop, const struct sl__mhd_options *options,
		   const struct sl__mhd_ops *ops, void *arg, struct sl_error *err)
{
	int rc = sl__version_check(err);
	if (rc)
		return rc;
	if (options->tls && MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES)
		return sl_error_field(err, SL_BADPARAM, "/tls_certificate", "this machine's libmicrohttpd was built "
				      "without TLS; use a proxy that speaks it");
	struct sl__mhd *m = calloc(1, sizeof *m);
	if (!m)
		return sl_error_memory(err, "the server");
	m->loop = loop;
	m->ops = ops;
	m->arg = arg;
	m->tls = options->tls;
	rc = start(m, options, err);
	if (!rc)
		rc = open_handles(m, err);
	if (rc)
		free(m);
	else
		*out = m;
	return rc;
}

static void on_handle_closed(uv_handle_t *handle)
{
	struct sl__mhd *m = handle->data;
	if (--m->handles)
		return;
	void (*closed)(void *) = m->closed;
	void *arg = m->closed_arg;
	free(m);
	closed(arg);
}

void sl__mhd_stop(struct sl__mhd *m, void (*closed)(void *arg), void *arg)
{
	struct MHD_Daemon *daemon = m->daemon;
	m->closed = closed;
	m->closed_arg = arg;
	sl__tls_resume_all(m);
	m->daemon = NULL;  /* from here on nothing starts a handle */
	uv_close((uv_handle_t *)&m->poll, on_handle_closed);
	uv_close((uv_handle_t *)&m->timer, on_handle_closed);
	uv_close((uv_handle_t *)&m->soon, on_handle_closed);
	MHD_stop_daemon(daemon);
}

bool sl__mhd_add(struct sl__mhd *m, int fd, const struct sockaddr *address, socklen_t bytes)
{
	return MHD_add_connection(m->daemon, fd, address, bytes) == MHD_YES;
}

size_t sl__mhd_leaving(const struct sl__mhd *m)
{
	return m->leaving;
}
