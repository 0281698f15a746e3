/* Accepts connections, and limits their number and time.
 *
 * This file accepts connections and passes them to mhd/, since libmicrohttpd's own accept loops endlessly when
 * descriptors run out and cannot reserve places.
 *
 * At the limit of connections, a new connection replaces one that waits for the reply to a wrong token, or else the
 * one that has been idle longest, between requests or inside a request's header. If all are busy, RESERVE more are
 * accepted, which may request only health and metrics, and PRIVILEGED of them at a time whatever an administrator asks
 * for. One user's requests take half of the connections (limits.c). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/log.h"

#define RESERVE 32
#define PRIVILEGED 16           /* of the reserve */
#define DELAYED_PART 8          /* replies to wrong tokens that are delayed take 1 / so many of the connections */
#define ACCEPT_AT_ONCE 64       /* most connections accepted in one turn of the loop */
#define PAUSE_MS 50             /* pause of accepting if there are no descriptors */
#define SWEEP_MS 250
#define RESERVE_MS 2000         /* time limit of a reserved place without a request */
#define LEAST_RATE 4096.0       /* least bytes per second of a body, after the first request_timeout_s */
#define OTHER_DESCRIPTORS 64    /* files, sockets and pipes of the rest of the daemon */

/* ---- the life of a connection ------------------------------------------------------------- */

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
	return h->connections.count - sl__mhd_leaving(h->mhd) + h->accepted;
}

static size_t held_by(const struct sl_http *h, const struct in6_addr *address)
{
	size_t count = 0;
	SL_LIST_EACH(struct sl__connection, c, &h->connections, link)
		count += !sl__socket_leaving(c->socket) && sl__same_client(address, &c->address);
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

void *sl__connection_opened(void *http, struct sl__socket *s, const struct in6_addr *client)
{
	struct sl_http *h = http;
	struct sl__connection *c = calloc(1, sizeof *c);
	if (h->accepted)
		h->accepted--;
	if (!c)
		return NULL;
	uv_timer_init(h->d->loop, &c->timer);
	c->timer.data = c;
	c->http = h;
	c->socket = s;
	c->since_ms = uv_now(h->d->loop);
	c->address = *client;
	c->reserve = alive(h) >= h->limit || held_by(h, client) >= most_of(h, client);
	sl_list_append(&h->connections, &c->link);
	return c;
}

static void timer_closed(uv_handle_t *timer)
{
	free(timer->data);
}

void sl__connection_closed(void *peer)
{
	struct sl__connection *c = peer;
	sl_list_unlink(&c->link);
	uv_close((uv_handle_t *)&c->timer, timer_closed);
}

void sl__connection_request(struct sl__connection *c, struct sl_request *r)
{
	c->r = r;
	c->since_ms = c->moved_ms = uv_now(c->http->d->loop);
	c->moved = 0;
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
			sl__socket_problem(c->socket, r->id, 401, "the user or the token was removed or changed while the request "
					   "waited");
		sl__socket_gone(c->socket);
	}
}

/* ---- time limits ---------------------------------------------------------------------------- */

/* Called when the connection's time is over. A client that has begun a request, or has never sent one, gets a reply. A
 * client between two requests does not, since it would take the reply for that to its next request. */
static void too_late(struct sl__connection *c)
{
	if (!sl__socket_between(c->socket))
		sl__socket_problem(c->socket, c->r ? c->r->id : NULL, 408,
				   "the request did not arrive in time (request_timeout_s)");
	sl__socket_end(c->socket);
}

/* True if no byte of the body has arrived for `patience`, or if it arrives too slowly. */
static bool body_too_late(struct sl__connection *c, double now, double patience)
{
	uint64_t received = sl__exchange_received(c->r->x);
	if (!sl__exchange_reading(c->r->x))
		return false;
	if (received != c->moved) {
		c->moved = received;
		c->moved_ms = (uint64_t)now;
	}
	return now - (double)c->moved_ms > patience ||
	       now - (double)c->since_ms > patience + 1000 * (double)received / LEAST_RATE;
}

static void sweep_one(struct sl__connection *c, double now)
{
	struct sl_request *r = c->r;
	double patience = c->http->d->config.request_timeout_s * 1000, age = now - (double)c->since_ms;
	if (sl__socket_leaving(c->socket))
		return;
	if (r && r->stream && r->who.role && !sl__rights_still(r)) {
		sl__socket_gone(c->socket);  /* its token or link is invalid or has expired, or the job is no longer shared */
		return;
	}
	if (r && sl__rights_lost(r)) {
		sl__request_refuse(r);
		return;
	}
	if (sl__socket_stalls(c->socket))
		return;
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
		privileged += c->reserve && c->privileged && c->r && !sl__socket_leaving(c->socket);
	return privileged < PRIVILEGED;
}

void sl__connections_delay(struct sl_request *r)
{
	struct sl_http *h = r->http;
	size_t most = h->limit / DELAYED_PART > 4 ? h->limit / DELAYED_PART : 4;
	if (h->delayed.count >= most) {
		struct sl_request *oldest = SL_LIST_ITEM(struct sl_request, h->delayed.first, delayed);
		sl_list_unlink(&oldest->delayed);
		sl__socket_gone(oldest->peer->socket);
	}
	sl_list_append(&h->delayed, &r->delayed);
}

/* Ends the oldest connection that waits for the reply to a wrong token. */
static bool evict_delayed(struct sl_http *h, const struct in6_addr *address, bool reserve)
{
	SL_LIST_EACH(struct sl_request, r, &h->delayed, delayed) {
		struct sl__connection *c = r->peer;
		if (sl__socket_leaving(c->socket) || c->reserve != reserve ||
		    (address && !sl__same_client(address, &c->address)))
			continue;
		sl_list_unlink(&r->delayed);
		sl__socket_gone(c->socket);
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
		if (!c->r && !sl__socket_leaving(c->socket) && c->reserve == reserve &&
		    (!oldest || c->since_ms < oldest->since_ms) &&
		    (!address || sl__same_client(address, &c->address)))
			oldest = c;
	if (oldest)
		sl__socket_end(oldest->socket);
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

static void listen_again(uv_timer_t *timer);

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
		sl__mhd_turn_away(h->mhd, fd);
	h->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	uv_poll_stop(&h->accept);
	uv_timer_start(&h->pause, listen_again, PAUSE_MS, 0);
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
		sl__mhd_turn_away(h->mhd, fd);
		return true;
	}
	h->accepted++;
	if (!sl__mhd_add(h->mhd, fd, (struct sockaddr *)&address, bytes))
		sl_log_debug("http", "a connection was not accepted: %s", strerror(errno));  /* it is closed */
	return true;
}

static void on_accept(uv_poll_t *poll, int status, int events)
{
	struct sl_http *h = poll->data;
	int i = 0;
	while (i < ACCEPT_AT_ONCE && accept_one(h))
		i++;
	sl__mhd_run(h->mhd);
	h->accepted = 0;
}

static void listen_again(uv_timer_t *timer)
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
	listen_again(&h->pause);
	uv_timer_start(&h->sweep, on_sweep, SWEEP_MS, SWEEP_MS);
}
