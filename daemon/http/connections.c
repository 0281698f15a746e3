/* Accepts connections, limits their number and time, and detects clients that have gone.
 *
 * This file accepts connections and passes them to libmicrohttpd, whose own accept loops endlessly when descriptors run
 * out and cannot reserve places. libmicrohttpd also misses the end of a client's data if it arrives together with data
 * (its epoll is edge-triggered, and it treats a short read as the last). So a separate uv_poll waits for the end on
 * each socket.
 *
 * At the limit of connections, a new connection replaces one that waits for the reply to a wrong token, or else the
 * one that has been idle longest, between requests or inside a request's header. If all are busy, RESERVE more are
 * accepted, which may request only health and metrics, and PRIVILEGED of them at a time whatever an administrator asks
 * for. One user's requests take half of the connections (limits.c).
 *
 * A client that closes its sending side may still wait for the reply (shutdown(SHUT_WR)) or may be gone. TCP
 * distinguishes these only when the server sends something. So a parked request is probed with an interim "100
 * Continue", which clients ignore; if the client is gone, its kernel answers with a reset, which ends the request at
 * once. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/http/http_internal.h"
#include "daemon/http/mhd/received.h"
#include "daemon/util/log.h"
#include "daemon/util/ulid.h"

#define RESERVE 32
#define PRIVILEGED 16           /* of the reserve */
#define DELAYED_PART 8          /* replies to wrong tokens that are delayed take 1 / so many of the connections */
#define ACCEPT_AT_ONCE 64       /* most connections accepted in one turn of the loop */
#define PAUSE_MS 50             /* pause of accepting if there are no descriptors */
#define SWEEP_MS 250
#define LINES_BYTES (32 << 10)  /* most bytes of extensions and trailers of a body in chunks */
#define STUCK_SWEEPS 2          /* sweeps without progress, so that the loop has read at least once in between */
#define RESERVE_MS 2000         /* time limit of a reserved place without a request */
#define LEAST_RATE 4096.0       /* least bytes per second of a body, after the first request_timeout_s */
#define OTHER_DESCRIPTORS 64    /* files, sockets and pipes of the rest of the daemon */

/* ---- ending ------------------------------------------------------------------------------- */

/* Shuts the connection down; libmicrohttpd notices that and closes it when it runs next. */
void sl__connection_end(struct sl__connection *c)
{
	if (c->leaving)
		return;
	c->leaving = true;
	c->http->leaving++;
	shutdown(c->fd, SHUT_RDWR);
}

void sl__connection_target(struct sl__connection *c, const char *target)
{
	int parameters = 0;
	free(c->encoded);
	c->target_bytes = strlen(target);
	c->encoded = strndup(target, strcspn(target, "?"));
	for (const char *at = strchr(target, '?'); at; at = strpbrk(at + 1, "&"))
		parameters++;
	if (parameters > SL__PARAMETERS && !c->leaving)
		sl__refuse_parameters(c);
}

/* ---- the client's end ---------------------------------------------------------------------- */

static bool is_reset(int fd)
{
	struct pollfd p = {.fd = fd};
	return poll(&p, 1, 0) > 0 && p.revents & (POLLERR | POLLHUP);
}

/* Ends the connection if the client will send no more, all its data was read, and they contain no complete request. */
static void check_half_closed(struct sl__connection *c)
{
	char byte;
	bool whole = c->r && c->r->state != SL__BODY && c->r->state != SL__DISCARD;
	if (!whole && recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
		sl__connection_end(c);
}

void sl__connections_check(struct sl_http *h)
{
	SL_LIST_EACH(struct sl__connection, c, &h->half_closed, half_closed)
		check_half_closed(c);
}

static void gone(struct sl__connection *c)
{
	uv_poll_stop(&c->poll);
	if (c->r)
		sl__request_gone(c->r);
	sl__connection_end(c);
}

/* Probes the client; if it is gone, a reset will arrive soon. */
static void probe(struct sl__connection *c)
{
	static const char interim[] = "HTTP/1.1 100 Continue\r\n\r\n";
	if (c->r->interim && !c->probed) {
		if (c->session)
			sl__tls_send(c, interim, sizeof interim - 1, false);
		else
			sl__send_text(c->fd, interim, sizeof interim - 1);
	}
	c->probed = true;
}

void sl__connection_parked(struct sl__connection *c)
{
	if (c->half_closed.in)
		probe(c);
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct sl__connection *c = poll->data;
	struct sl_request *r = c->r;
	if (sl__tls_resume(c))
		return;
	if (status < 0 || is_reset(c->fd)) {
		gone(c);
		return;
	}
	uv_poll_stop(poll);
	if (c->half_closed.in)  /* urgent data, which is never read */
		return;
	sl_list_append(&c->http->half_closed, &c->half_closed);
	uv_poll_start(poll, UV_PRIORITIZED, on_poll);  /* also reported after a reset */
	if (r && r->stream)
		gone(c);
	else if (r && r->state == SL__PARKED)
		probe(c);
	else
		check_half_closed(c);
}

void sl__connection_watch(struct sl__connection *c, int events)
{
	uv_poll_start(&c->poll, events, on_poll);
}

/* ---- the life of a connection ------------------------------------------------------------- */

static void closed(uv_handle_t *handle)
{
	struct sl__connection *c = handle->data;
	if (--c->handles)
		return;
	free(c->encoded);
	free(c);
}

static void keep_address(struct sl__connection *c, const struct sockaddr *address)
{
	if (address->sa_family == AF_INET6) {
		c->address = ((const struct sockaddr_in6 *)address)->sin6_addr;
	} else {
		c->address.s6_addr[10] = c->address.s6_addr[11] = 0xff;
		memcpy(&c->address.s6_addr[12], &((const struct sockaddr_in *)address)->sin_addr, 4);
	}
}

static bool is_loopback(const struct in6_addr *a)
{
	return IN6_IS_ADDR_V4MAPPED(a) ? a->s6_addr[12] == 127 : IN6_IS_ADDR_LOOPBACK(a);
}

static size_t alive(const struct sl_http *h)
{
	return h->connections.count - h->leaving + h->accepted;
}

static size_t held_by(const struct sl_http *h, const struct in6_addr *address)
{
	size_t count = 0;
	SL_LIST_EACH(struct sl__connection, c, &h->connections, link)
		count += !c->leaving && sl__same_client(address, &c->address);
	return count;
}

/* The most connections of one address. */
static size_t most_of(const struct sl_http *h, const struct in6_addr *address)
{
	size_t most = (size_t)h->d->config.max_connections_per_address;
	if (most)
		return most;
	return is_loopback(address) ? SIZE_MAX : (h->limit + 1) / 2;
}

static void started(struct sl_http *h, struct MHD_Connection *connection, void **slot)
{
	int fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
	struct sl__connection *c = calloc(1, sizeof *c);
	*slot = NULL;
	if (h->accepted)
		h->accepted--;
	if (!c || uv_poll_init(h->d->loop, &c->poll, fd)) {
		shutdown(fd, SHUT_RDWR);
		free(c);
		return;
	}
	uv_timer_init(h->d->loop, &c->timer);
	c->poll.data = c->timer.data = c;
	c->handles = 2;
	c->http = h;
	c->fd = fd;
	c->mhd = connection;
	c->since_ms = uv_now(h->d->loop);
	keep_address(c, MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr);
	c->reserve = alive(h) >= h->limit || held_by(h, &c->address) >= most_of(h, &c->address);
	uv_poll_start(&c->poll, UV_DISCONNECT, on_poll);
	sl_list_append(&h->connections, &c->link);
	if (h->tls)
		sl__tls_begin(c, connection);
	*slot = c;
}

static void ended(struct sl__connection *c)
{
	c->http->leaving -= c->leaving;
	sl_list_unlink(&c->link);
	sl_list_unlink(&c->half_closed);
	sl__tls_end(c);
	uv_close((uv_handle_t *)&c->poll, closed);
	uv_close((uv_handle_t *)&c->timer, closed);
}

void sl__connection_notify(void *cls, struct MHD_Connection *connection, void **slot,
			   enum MHD_ConnectionNotificationCode code)
{
	if (code == MHD_CONNECTION_NOTIFY_STARTED)
		started(cls, connection, slot);
	else if (*slot)
		ended(*slot);
}

struct sl__connection *sl__connection_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	return info ? info->socket_context : NULL;
}

void sl__connection_request(struct sl__connection *c, struct sl_request *r)
{
	c->r = r;
	c->since_ms = c->moved_ms = uv_now(c->http->d->loop);
	c->moved = 0;
	free(c->encoded);
	c->encoded = NULL;
	if (!r)
		c->answered_bytes = sl__bytes_received(c->fd);
	if (c->reserve && alive(c->http) <= c->http->limit &&
	    held_by(c->http, &c->address) <= most_of(c->http, &c->address))
		c->reserve = false;
}

void sl_http_end_user(struct sl_http *h, const char *name)
{
	SL_LIST_EACH(struct sl__connection, c, &h->connections, link) {
		struct sl_request *r = c->r;
		bool waits = r && r->state == SL__PARKED && !r->reply;
		if (!r || !r->who.role || strcmp(r->who.name, name) || !(r->stream || (name[0] && waits)))
			continue;
		if (waits)
			sl__send_problem(c, 401, "Unauthorized", "the user or the token was removed or changed while the request "
					 "waited");
		gone(c);
	}
}

/* ---- time limits ---------------------------------------------------------------------------- */

/* Called when the connection's time is over. A client that has begun a request, or has never sent one, gets a reply. A
 * client between two requests does not, since it would take the reply for that to its next request. */
static void too_late(struct sl__connection *c)
{
	if (c->r || !c->answered_bytes || sl__bytes_received(c->fd) > c->answered_bytes)
		sl__send_problem(c, 408, "Request Timeout", "the request did not arrive in time (request_timeout_s)");
	sl__connection_end(c);
}

/* True if no byte of the body has arrived for `patience`, or if it arrives too slowly. */
static bool body_too_late(struct sl__connection *c, double now, double patience)
{
	const struct sl_request *r = c->r;
	if (r->state != SL__BODY && r->state != SL__DISCARD)
		return false;
	if (r->received != c->moved) {
		c->moved = r->received;
		c->moved_ms = (uint64_t)now;
	}
	return now - (double)c->moved_ms > patience ||
	       now - (double)c->since_ms > patience + 1000 * (double)r->received / LEAST_RATE;
}

/* True if most of what was read of a body in chunks is no data: a long extension or trailer. The lines around a byte
 * of data are five bytes. */
static bool is_wordy(const struct sl__connection *c, uint64_t read)
{
	const union MHD_ConnectionInfo *header =
		MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	uint64_t due = c->answered_bytes + (header ? header->header_size : 0) + 6 * c->r->received + LINES_BYTES;
	return c->r->state == SL__BODY && !c->session && read > due;
}

/* True if libmicrohttpd has stopped reading a body in chunks, since its buffer is full of a line that does not end, or
 * if such a line is being sent. */
static bool is_stuck(struct sl__connection *c)
{
	const struct sl_request *r = c->r;
	int pending = 0;
	if (!r || !r->chunked || (r->state != SL__BODY && r->state != SL__DISCARD) || ioctl(c->fd, FIONREAD, &pending))
		return false;
	uint64_t all = sl__bytes_received(c->fd), read = all - (uint64_t)pending;
	if (all && is_wordy(c, read))
		return true;
	if (!pending || !all || read != c->read_bytes) {
		c->read_bytes = read;
		c->stuck = 0;
		return false;
	}
	return ++c->stuck > STUCK_SWEEPS;
}

static void sweep_one(struct sl__connection *c, double now)
{
	struct sl_request *r = c->r;
	double patience = c->http->d->config.request_timeout_s * 1000, age = now - (double)c->since_ms;
	if (c->leaving)
		return;
	if (r && r->stream && r->who.role && !sl__rights_still(r)) {
		gone(c);  /* its token or link is invalid or has expired, or the job is no longer shared */
		return;
	}
	if (r && sl__rights_lost(r)) {
		sl__request_refuse(r);
		return;
	}
	if (is_stuck(c)) {
		sl__refuse_chunks(c);
		return;
	}
	if (r ? body_too_late(c, now, patience) : age > (c->reserve ? RESERVE_MS : patience))
		too_late(c);
}

static void on_sweep(uv_timer_t *timer)
{
	struct sl_http *h = timer->data;
	double now = (double)uv_now(h->d->loop);
	SL_LIST_EACH(struct sl__connection, c, &h->connections, link)
		sweep_one(c, now);
}

/* ---- newcomers ------------------------------------------------------------------------------ */

bool sl__connections_admit(const struct sl_http *h)
{
	size_t privileged = 0;
	SL_LIST_EACH(const struct sl__connection, c, &h->connections, link)
		privileged += c->reserve && c->privileged && c->r && !c->leaving;
	return privileged < PRIVILEGED;
}

void sl__connections_delay(struct sl_request *r)
{
	struct sl_http *h = r->http;
	size_t most = h->limit / DELAYED_PART > 4 ? h->limit / DELAYED_PART : 4;
	if (h->delayed.count >= most) {
		struct sl_request *oldest = SL_LIST_ITEM(struct sl_request, h->delayed.first, delayed);
		sl_list_unlink(&oldest->delayed);
		gone(oldest->peer);
	}
	sl_list_append(&h->delayed, &r->delayed);
}

/* Ends the oldest connection that waits for the reply to a wrong token. */
static bool evict_delayed(struct sl_http *h, const struct in6_addr *address, bool reserve)
{
	SL_LIST_EACH(struct sl_request, r, &h->delayed, delayed) {
		struct sl__connection *c = r->peer;
		if (c->leaving || c->reserve != reserve || (address && !sl__same_client(address, &c->address)))
			continue;
		sl_list_unlink(&r->delayed);
		gone(c);
		return true;
	}
	return false;
}

/* Ends the connection that has been without a request for the longest. address: only of this client, or NULL. */
static bool evict(struct sl_http *h, const struct in6_addr *address, bool reserve)
{
	struct sl__connection *oldest = NULL;
	if (evict_delayed(h, address, reserve))
		return true;
	SL_LIST_EACH(struct sl__connection, c, &h->connections, link)
		if (!c->r && !c->leaving && c->reserve == reserve && (!oldest || c->since_ms < oldest->since_ms) &&
		    (!address || sl__same_client(address, &c->address)))
			oldest = c;
	if (oldest)
		sl__connection_end(oldest);
	return oldest != NULL;
}

static bool make_room(struct sl_http *h, const struct sockaddr *address)
{
	struct sl__connection newcomer = {0};
	keep_address(&newcomer, address);
	if ((held_by(h, &newcomer.address) + h->accepted < most_of(h, &newcomer.address) ||
	     evict(h, &newcomer.address, false)) && (alive(h) < h->limit || evict(h, NULL, false)))
		return true;
	return alive(h) < h->limit + RESERVE || evict(h, NULL, true);
}

/* Called when no descriptors are left: uses the spare one to reply to the client, then pauses accepting. */
static void without_descriptors(struct sl_http *h)
{
	uint64_t now = uv_now(h->d->loop);
	if (now - h->complained_ms > 60000 || !h->complained_ms)
		sl_log_warning("http", "no file descriptor is left for a connection: %s; raise LimitNOFILE",
			       strerror(errno));
	h->complained_ms = now;
	evict(h, NULL, false);
	if (h->spare_fd >= 0)
		close(h->spare_fd);
	int fd = accept4(h->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		sl__refuse_socket(h, fd);
	h->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uv_poll_stop(&h->accept);
	uv_timer_start(&h->pause, sl__connections_listen, PAUSE_MS, 0);
}

static bool accept_one(struct sl_http *h)
{
	struct sockaddr_storage address;
	socklen_t bytes = sizeof address;
	int fd = accept4(h->listener, (struct sockaddr *)&address, &bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)) {
		without_descriptors(h);
		return false;
	}
	if (fd < 0)
		return errno == EINTR || errno == ECONNABORTED;
	if (!make_room(h, (struct sockaddr *)&address)) {
		sl__refuse_socket(h, fd);
		return true;
	}
	h->accepted++;
	if (MHD_add_connection(h->mhd, fd, (struct sockaddr *)&address, bytes) != MHD_YES)
		sl_log_debug("http", "a connection was not accepted: %s", strerror(errno));  /* it is closed */
	return true;
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
	struct sl_http *h = poll->data;
	int i = 0;
	while (i < ACCEPT_AT_ONCE && accept_one(h))
		i++;
	sl__http_step(h);
	h->accepted = 0;
}

void sl__connections_listen(uv_timer_t *timer)
{
	struct sl_http *h = timer->data;
	if (!h->quiet)
		uv_poll_start(&h->accept, UV_READABLE, on_accept);
}

unsigned sl__connections_most(struct sl_http *h)
{
	struct rlimit limit;
	h->limit = (size_t)h->d->config.max_connections;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur != RLIM_INFINITY) {
		size_t others = OTHER_DESCRIPTORS + RESERVE + ACCEPT_AT_ONCE;
		size_t most = limit.rlim_cur > others + 4 ? limit.rlim_cur - others : 4;
		if (h->limit > most) {
			sl_log_warning("http", "%zu connections at most, not %zu (max_connections): the process may have only "
				       "%llu descriptors", most, h->limit, (unsigned long long)limit.rlim_cur);
			h->limit = most;
		}
	}
	h->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return (unsigned)(h->limit + RESERVE + 2 * ACCEPT_AT_ONCE);
}

void sl__connections_start(struct sl_http *h)
{
	sl__connections_listen(&h->pause);
	uv_timer_start(&h->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
}
