/* The server: libmicrohttpd in external epoll mode on the uv loop.
 *
 * Its epoll descriptor sits in a uv_poll, and the time until it wants to be called again in
 * a uv_timer: step() runs it and asks for that time. It calls on_access() for each request
 * several times: once with the headers, once for each piece of body, once at the end, and
 * once more after a suspended connection was resumed. The states of enum sl__state say what a
 * call means. An error found early is answered at once when the client waits for "100
 * Continue" or the body is huge; else the body is read and thrown away first, since closing a
 * socket with unread data would take the reply away from the client. */
#include "daemon/http/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/log.h"
#include "daemon/util/problem.h"

#define CONNECTION_BYTES (256 << 10)  /* buffer of one connection: headers, then pieces of body */
#define ACTIVATED "SPACELAND_LISTEN_ACTIVATED"  /* in the environment, for a program that starts itself anew */
#define LATER_S 5                    /* connections.c ends silent clients first, with a reply */
#define GRACE_MS 1000                /* for replies under way when the server closes */

/* ---- the life of a request --------------------------------------------------------- */

/* All connections are taken but for those kept for health and metrics. */
static void busy(struct sl_request *r)
{
	if (r->reply)
		MHD_destroy_response(r->reply);
	r->reply = NULL;
	sl_reply_header(r, "Connection", "close");
	sl_reply_status(r, 503, "all connections of this server are busy (max_connections)");
}

/* All that can be said by the headers. Leaves a reply (state SL__DISCARD) if something is wrong. */
static void begin(struct sl_request *r, const char *method)
{
	struct sl_error err;
	if (strlen(r->target) > SL__TARGET_BYTES) {
		sl_reply_status(r, 414, "a path may have %d bytes", SL__TARGET_BYTES);
		return;
	}
	if (!sl__sender_check(r, method))
		return;
	sl__route_find(r, method);
	if (r->peer->reserve && !(r->route && r->route->flags & SL_ROUTE_RESERVE)) {
		busy(r);
		return;
	}
	if (!sl__sender_token(r) || r->reply || !sl__rights_check(r) || !sl__route_query(r))
		return;
	int rc = sl__body_begin(r, &err);
	if (rc > 0)
		sl__reply_status_header(r, rc, "Content-Type", err.detail);
	else if (rc)
		sl_reply_error(r, &err);
}

static bool has_body(const struct sl_request *r, uint64_t *bytes)
{
	const char *length = sl_request_header(r, "Content-Length");
	*bytes = length ? strtoull(length, NULL, 10) : UINT64_MAX;
	return length ? *bytes > 0 : sl_request_header(r, "Transfer-Encoding") != NULL;
}

static enum MHD_Result queue(struct sl_request *r)
{
	struct MHD_Response *reply = r->reply;
	if (!reply)
		return MHD_NO;
	if (r->slow) {  /* nobody finds a token by trying */
		r->slow = false;
		sl__request_delay(r, sl__guess_delay(r->http, &r->client));
		return MHD_YES;
	}
	if (sl__rights_audit(r))
		return MHD_YES;
	int class = r->status / 100;
	sl_metric_add(r->http->count[class < 6 ? class : 5], 1);
	sl_log_debug("http", "%s %s: %d", r->route ? r->route->method : "?", r->target, r->status);
	enum MHD_Result result = MHD_queue_response(r->connection, (unsigned)r->status, reply);
	r->reply = NULL;
	MHD_destroy_response(reply);
	return result;
}

/* "http://lab.example/v1/jobs" is legal, too: its host takes the place of the header's. */
static bool keep_target(struct sl_request *r, const char *url)
{
	size_t scheme = !strncasecmp(url, "http://", 7) ? 7 : !strncasecmp(url, "https://", 8) ? 8 : 0;
	if (scheme) {
		size_t length = strcspn(url + scheme, "/");
		if (!(r->authority = strndup(url + scheme, length)))
			return false;
		url += scheme + length;
		url = *url ? url : "/";
	}
	r->target = strdup(url);
	return r->target != NULL;
}

static enum MHD_Result first_call(struct sl_http *h, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, void **slot)
{
	struct sl__connection *peer = sl__connection_of(connection);
	struct sl_request *r = peer ? calloc(1, sizeof *r) : NULL;
	if (!r)
		return MHD_NO;
	if (!keep_target(r, url)) {
		free(r->authority);
		free(r);
		return MHD_NO;
	}
	r->http = h;
	r->connection = connection;
	r->peer = peer;
	r->interim = !strcmp(version, "HTTP/1.1");
	r->since_ns = uv_hrtime();
	snprintf(r->method, sizeof r->method, "%s", method);
	sl__request_id(r);
	sl__proxy_client(r);
	sl__connection_request(peer, r);
	sl_list_prepend(&h->requests, &r->link);
	*slot = r;
	r->state = SL__BODY;
	begin(r, method);
	if (r->state == SL__BODY)
		return MHD_YES;
	uint64_t bytes;
	if (r->close)
		return queue(r);
	if (!has_body(r, &bytes))
		return MHD_YES;
	const char *expect = sl_request_header(r, "Expect");
	bool waits = expect && !strcasecmp(expect, "100-continue");
	/* chunked: the length is not known, and it is cut off below */
	if (waits || (bytes != UINT64_MAX && bytes > SL__DRAIN_BYTES))
		return queue(r);
	return MHD_YES;
}

static enum MHD_Result body_call(struct sl_request *r, const char *data, size_t *bytes)
{
	size_t n = *bytes;
	*bytes = 0;
	sl_metric_add(r->http->received_bytes, (double)n);
	if (r->state == SL__DISCARD) {
		r->received += n;
		return r->received > SL__DRAIN_BYTES ? MHD_NO : MHD_YES;
	}
	struct sl_error err;
	if (sl__body_data(r, data, n, &err)) {
		r->received = 0;
		sl__body_free(r);
		sl_reply_error(r, &err);
	}
	return MHD_YES;
}

static void handle(struct sl_request *r)
{
	if (sl__rights_check_body(r))
		r->route->handler(r);
}

static enum MHD_Result last_call(struct sl_request *r)
{
	struct sl_error err;
	if (sl__body_end(r, &err)) {
		sl_reply_error(r, &err);
		return queue(r);
	}
	r->state = SL__HANDLING;
	if (r->route->flags & SL_BODY_JSON && sl__document_wait(r, handle))
		return MHD_YES;
	handle(r);
	if (r->state == SL__HANDLING)
		sl_reply_problem(r, SL_INTERNAL, "%s %s was not answered", r->route->method, r->route->pattern);
	return r->state == SL__REPLIED && r->reply ? queue(r) : r->state == SL__REPLIED ? MHD_NO : MHD_YES;
}

static enum MHD_Result on_access(void *cls, struct MHD_Connection *connection, const char *url, const char *method,
				 const char *version, const char *data, size_t *bytes, void **slot)
{
	struct sl_http *h = cls;
	struct sl_request *r = *slot;
	if (!r)
		return first_call(h, connection, url, method, version, slot);
	switch (r->state) {
	case SL__BODY:
		return *bytes ? body_call(r, data, bytes) : last_call(r);
	case SL__DISCARD:
		return *bytes ? body_call(r, data, bytes) : queue(r);
	case SL__REPLIED:
		return queue(r);
	case SL__PARKED:
		return MHD_YES;
	default:
		return MHD_NO;
	}
}

/* The request is over, one way or another. */
static void on_completed(void *cls, struct MHD_Connection *connection, void **slot,
			 enum MHD_RequestTerminationCode code)
{
	struct sl_request *r = *slot;
	if (!r)
		return;
	*slot = NULL;
	sl__request_told(r, code != MHD_REQUEST_TERMINATED_COMPLETED_OK);
	sl__connection_request(r->peer, NULL);
	uv_timer_stop(&r->peer->timer);
	if (r->state == SL__PARKED && r->gone)
		r->gone(r->arg);
	if (r->stream)
		sl__stream_detach(r->stream);
	sl__reply_free(r);
	sl__body_free(r);
	sl_list_unlink(&r->link);
	sl_list_unlink(&r->parking);
	for (int i = 0; i < r->paths; i++)
		free(r->path[i].value);
	free(r->target);
	free(r->authority);
	free(r);
}

/* ---- the loop ------------------------------------------------------------------------ */

static void on_timer(uv_timer_t *timer);

void sl__http_step(struct sl_http *h)
{
	MHD_UNSIGNED_LONG_LONG ms = 0;
	h->kicked = false;
	MHD_run(h->mhd);
	sl__requests_suspend(h);
	sl__tls_suspend(h);
	if (h->kicked || MHD_get_timeout(h->mhd, &ms) == MHD_YES)
		uv_timer_start(&h->timer, on_timer, ms, 0);
	else
		uv_timer_stop(&h->timer);
	if (!uv_is_active((uv_handle_t *)&h->timer) || ms)
		sl__connections_check(h);
}

static void on_timer(uv_timer_t *timer)
{
	sl__http_step(timer->data);
}

void sl__http_soon(struct sl_http *h)
{
	h->kicked = true;  /* should sl__http_step() be running right now */
	if (h->mhd)
		uv_timer_start(&h->timer, on_timer, 0, 0);
}

/* libmicrohttpd looks at resumed connections when it runs next, and nothing else makes it run. */
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
	vsnprintf(text, sizeof text, format, args);
	text[strcspn(text, "\n")] = '\0';
	sl_log_debug("http", "libmicrohttpd: %s", text);
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

/* Where a socket listens. */
static bool place_of(int fd, char *host, size_t bytes, uint16_t *port)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof address;
	if (getsockname(fd, (struct sockaddr *)&address, &length) ||
	    (address.ss_family != AF_INET && address.ss_family != AF_INET6))
		return false;
	bool v6 = address.ss_family == AF_INET6;
	const void *number = v6 ? (const void *)&((struct sockaddr_in6 *)&address)->sin6_addr
				: (const void *)&((struct sockaddr_in *)&address)->sin_addr;
	*port = ntohs(v6 ? ((struct sockaddr_in6 *)&address)->sin6_port : ((struct sockaddr_in *)&address)->sin_port);
	return inet_ntop(address.ss_family, number, host, (socklen_t)bytes) != NULL;
}

/* The socket that this program listened on before it started itself anew, if it was one of these. */
static int inherited(char *host, size_t bytes, uint16_t *port)
{
	const char *text = getenv(SL_LISTEN_FD);
	char name[64];
	uint16_t bound;
	int fd = text ? atoi(text) : -1;
	unsetenv(SL_LISTEN_FD);
	if (fd < 0 || !place_of(fd, name, sizeof name, &bound))
		return -1;
	if (!getenv(ACTIVATED) && (strcmp(name, host) || (*port && *port != bound))) {
		close(fd);
		return -1;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	snprintf(host, bytes, "%s", name);
	*port = bound;
	return fd;
}

/* The socket that systemd has opened for us (spacelandd.socket), in place of `listen`: *out, or -1 if there is none. */
static int activated(const struct sl_config *c, char *host, size_t bytes, uint16_t *port, int *out,
		     struct sl_error *err)
{
	int count = sd_listen_fds(1);
	*out = -1;
	if (count <= 0)
		return 0;
	/* one that is no such socket stays open: where LISTEN_FDS is wrong, its number is that of a file of this program */
	int fd = SD_LISTEN_FDS_START;
	if (count > 1 || sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, 1) <= 0 || !place_of(fd, host, bytes, port))
		return sl_error_field(err, SL_BADPARAM, "/listen", "%d socket%s came from systemd; one TCP socket that listens "
				      "would be right (ListenStream=127.0.0.1:7070)", count, count > 1 ? "s" : "");
	if (!sl_config_loopback(host) && !c->token_file[0]) {
		close(fd);
		return sl_error_field(err, SL_BADPARAM, "/token_file", "the socket from systemd, %s port %u, can be reached "
				      "from elsewhere, so token_file is needed (or ListenStream=127.0.0.1:7070)", host, *port);
	}
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	setenv(ACTIVATED, "1", 1);
	*out = fd;
	return 0;
}

/* A listening socket; *port comes back as bound. */
static int listen_on(const char *host, uint16_t *port, int *out, struct sl_error *err)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(*port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(*port)};
	bool v6 = inet_pton(AF_INET6, host, &six.sin6_addr) == 1;
	if (!v6)
		inet_pton(AF_INET, host, &four.sin_addr);
	struct sockaddr *address = v6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	socklen_t bytes = v6 ? sizeof six : sizeof four;
	int one = 1, fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return sl_error_set(err, SL_IO, "no socket: %s", strerror(errno));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, address, bytes) || listen(fd, 511) || getsockname(fd, address, &bytes)) {
		int why = errno;
		close(fd);
		return sl_error_field(err, SL_IO, "/listen", "cannot listen on %s port %u: %s.", host, *port, strerror(why));
	}
	*port = ntohs(v6 ? six.sin6_port : four.sin_port);
	*out = fd;
	return 0;
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
		on_access, h,
		MHD_OPTION_EXTERNAL_LOGGER, on_mhd_log, NULL,
		MHD_OPTION_ARRAY, h->tls ? tls : plain,
		MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
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

/* The handles; without them libmicrohttpd is stopped again. */
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
	h->handles = 6;
	h->accept.data = h;
	return 0;
}

static void on_handle_closed(uv_handle_t *handle);

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
	fd = inherited(host, sizeof host, &port);
	if (fd < 0)
		rc = activated(&d->config, host, sizeof host, &port, &fd, err);
	if (!rc && fd < 0)
		rc = listen_on(host, &port, &fd, err);
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
	if (h->handles) {  /* freed when that is closed */
		uv_close((uv_handle_t *)&h->poll, on_handle_closed);
		return rc;
	}
	if (h->spare_fd >= 0)
		close(h->spare_fd);
	sl__tls_destroy(h->tls);
	free(h->seconds);
	sl__auth_destroy(h->auth);
	sl__documents_close(h->documents);
	free(h);
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
	if (!sl__auth_same_tokens(h->auth, fresh)) {  /* nobody keeps what an older token has opened */
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
	return h->quiet ? -1 : fcntl(h->listener, F_DUPFD, 3);  /* stays open when another program is executed */
}

/* ---- the end --------------------------------------------------------------------------- */

static void on_handle_closed(uv_handle_t *handle)
{
	struct sl_http *h = handle->data;
	if (--h->handles)
		return;
	void (*closed)(void *) = h->closed;
	void *arg = h->closed_arg;
	if (h->spare_fd >= 0)
		close(h->spare_fd);
	sl__tls_destroy(h->tls);
	free(h->seconds);
	sl__auth_destroy(h->auth);
	sl__documents_close(h->documents);
	free(h);
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
				  (uv_handle_t *)&h->sweep, (uv_handle_t *)&h->pause};
	for (size_t i = 0; i < sizeof handles / sizeof *handles; i++)
		uv_close(handles[i], on_handle_closed);
	struct MHD_Daemon *mhd = h->mhd;
	sl__tls_resume_all(h);
	h->mhd = NULL;
	MHD_stop_daemon(mhd);
}

/* Until the replies under way are sent, or the grace is over. */
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
			void (*gone)(void *) = r->gone;
			r->gone = NULL;
			if (gone)
				gone(r->arg);
			sl_reply_status(r, 503, "the server is being stopped");
		}
	}
	uv_timer_start(&h->grace, on_grace, 0, 10);
}
