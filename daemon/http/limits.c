/* Limits on a user's requests per second and streams, and the reply to a request that exceeds a limit. */
#include <string.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/buffer.h"

int sl_http_user_streams(const struct sl_http *h, const char *user)
{
	int count = 0;
	SL_LIST_EACH(struct sl_request, r, &h->requests, link)
		count += r->stream && !strcmp(r->who.account, user);
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

/* True if the server, or the user's part of it, has no room for another stream; then the request has been answered. */
static bool no_room(struct sl_request *r, int open)
{
	const struct sl_http *h = r->http;
	int64_t most = h->d->config.max_streams, part = sl_users_part(h->d->users, r->who.account, most);
	if (h->streams >= most)
		sl_reply_status(r, 429, "%lld streams are open, and no more are allowed (max_streams)", (long long)h->streams);
	else if (part < most && open >= part)
		sl_reply_status(r, 429, "you have %d streams open; a user may have %lld at most, a quarter of max_streams",
				open, (long long)part);
	else
		return false;
	return true;
}

bool sl__limits_stream(struct sl_request *r)
{
	struct sl_limit_hit hit;
	const char *user = r->who.account;
	int open = sl_http_user_streams(r->http, user);
	if (!sl_users_exceeds(r->http->d->users, user, SL_LIMIT_STREAMS, open, 1, &hit))
		return !no_room(r, open);
	sl_reply_limit(r, &hit);
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

void sl_reply_limit(struct sl_request *r, const struct sl_limit_hit *hit)
{
	char text[256];
	json_t *problem = sl_problem_http(sl_limit_status(hit->limit), sl_limit_text(hit, text, sizeof text));
	if (problem)
		json_object_set_new(problem, "limit", json_pack("{s:s, s:f, s:f}", "name", sl_limit_names[hit->limit], "most",
							      hit->bound, "used", hit->used));
	if (problem && hit->project[0])
		json_object_set_new(json_object_get(problem, "limit"), "project", json_string(hit->project));
	if (hit->retry_s)
		sl_reply_header(r, "Retry-After", "%d", hit->retry_s);
	sl_reply_json(r, sl_limit_status(hit->limit), problem);
}
