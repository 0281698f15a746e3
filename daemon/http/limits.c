/* Limits on a user's requests per second, streams and connections, and the reply to a request that exceeds a limit. */
#include <stdio.h>
#include <string.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/buffer.h"

static bool is_stream(const struct sl_request *r)
{
	return r->stream || (r->polls && r->state == SL__PARKED);
}

int sl_http_user_streams(const struct sl_http *h, const char *user)
{
	int count = 0;
	SL_LIST_EACH(struct sl_request, r, &h->requests, link)
		count += is_stream(r) && !strcmp(r->who.account, user);
	return count;
}

bool sl__limits_admit(struct sl_request *r)
{
	struct sl_limit_hit hit;
	if (r->route->verb == SL_VERB_OPEN || sl_users_admit(r->http->d->users, r->who.account, &hit))
		return true;
	sl_reply_limit(r, &hit);
	return false;
}

struct streams {
	int64_t all;    /* of the server */
	int64_t own;    /* of the account */
	int64_t links;  /* of these, by public links */
};

static struct streams count_streams(const struct sl_request *r)
{
	struct streams n = {0};
	SL_LIST_EACH(struct sl_request, other, &r->http->requests, link) {
		if (other == r || !is_stream(other))
			continue;
		bool own = !strcmp(other->who.account, r->who.account);
		n.all++;
		n.own += own;
		n.links += own && other->who.role == SL_ROLE_LINK;
	}
	return n;
}

/* True if the server, or the user's part of it, has no room for another stream; why[size]: the reason. Whoever holds a
 * user's links may take half of the user's part, so that the user is not locked out by them. */
static bool no_room(const struct sl_request *r, const struct streams *n, char *why, size_t size)
{
	int64_t most = r->http->d->config.max_streams, part = sl_users_part(r->http->d->users, r->who.account, most);
	bool link = r->who.role == SL_ROLE_LINK;
	if (n->all >= most)
		snprintf(why, size, "%lld streams are open, and no more are allowed (max_streams)", (long long)n->all);
	else if (part < most && n->own >= part)
		snprintf(why, size, "you have %lld streams open; a user may have %lld at most, a quarter of max_streams",
			 (long long)n->own, (long long)part);
	else if (link && part < most && n->links >= (part + 1) / 2)
		snprintf(why, size, "%lld streams are open by links of one user; they may be %lld at most", (long long)n->links,
			 (long long)(part + 1) / 2);
	else
		return false;
	return true;
}

static bool admit_stream(struct sl_request *r, bool answer)
{
	struct sl_limit_hit hit;
	char why[160];
	const char *user = r->who.account;
	struct streams n = count_streams(r);
	if (sl_users_exceeds(r->http->d->users, user, SL_LIMIT_STREAMS, (double)n.own, 1, &hit)) {
		if (answer)
			sl_reply_limit(r, &hit);
		return false;
	}
	bool full = no_room(r, &n, why, sizeof why);
	if (full && answer)
		sl_reply_status(r, 429, "%s", why);
	return !full;
}

bool sl__limits_stream(struct sl_request *r)
{
	return admit_stream(r, true);
}

bool sl_request_poll(struct sl_request *r, bool answer)
{
	r->polls = admit_stream(r, answer);
	return r->polls;
}

#define TOO_MANY "too many of your requests are in progress; a user's may take half of the connections " \
		 "(max_connections)"
#define CONNECTIONS_PART 2  /* one user's requests may hold 1 / so many of the connections */

bool sl__limits_connections(struct sl_request *r)
{
	const struct sl_http *h = r->http;
	size_t most = h->limit / CONNECTIONS_PART, own = 0;
	if (!r->who.account[0] || r->who.role == SL_ROLE_ADMINISTRATOR || h->requests.count <= most)
		return true;
	SL_LIST_EACH(const struct sl_request, other, &h->requests, link)
		own += !strcmp(other->who.account, r->who.account);
	if (own <= most)
		return true;
	/* The body is not read first, since the connection is what is short. */
	sl_reply_status(r, 429, "%s", TOO_MANY);
	sl__socket_problem(r->peer->socket, r->id, 429, TOO_MANY);
	sl__socket_end(r->peer->socket);
	return false;
}

/* The users' parts keep clients that read slowly from taking all memory for replies. */
bool sl__limits_reply(struct sl_request *r, const struct sl_buffer *b)
{
	uint64_t held = 0, most = sl_buffer_most();
	uint64_t part = b->booked ? (uint64_t)sl_users_part(r->http->d->users, r->who.account, (int64_t)most) : most;
	if (part == most)
		return true;
	SL_LIST_EACH(struct sl_request, other, &r->http->requests, link)
		held += !strcmp(other->who.account, r->who.account) ? other->booked : 0;
	if (held + b->booked <= part)
		return true;
	if (b->booked > part)
		sl_reply_status(r, 413, "the reply has %zu bytes; those of a user may have %llu together, a quarter of "
				"reply_memory_bytes. NumPy arrays (npy) are shorter than texts", b->booked,
				(unsigned long long)part);
	else
		sl_reply_status(r, 429, "the replies that you have not read yet have %llu bytes, and this one has %zu; "
				"a user's may have %llu together, a quarter of reply_memory_bytes",
				(unsigned long long)held, b->booked, (unsigned long long)part);
	return false;
}
