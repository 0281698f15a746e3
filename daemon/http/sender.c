/* Identifies the sender of a request by its headers: Host, Origin, token or cookie. */
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "daemon/http/http_internal.h"
#include "daemon/util/time_text.h"

/* CORS headers for pages of allowed_origins, which must send a token; cookies are not allowed for them. */
#define CORS_METHODS "GET, HEAD, POST, PUT, PATCH, DELETE"
#define CORS_HEADERS \
	"Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Range, Last-Event-ID, Range, X-Request-Id"
#define CORS_EXPOSED \
	"Accept-Ranges, Content-Disposition, Content-Range, ETag, Location, Retry-After, Spaceland-Note, " \
	"Spaceland-Projected, Spaceland-Token-Expires, X-Request-Id"
#define CORS_MAX_AGE_S 600
#define COOKIE_AGE_S (30 * 86400)
#define TOKEN_TOLD_MS (7 * 86400 * (int64_t)1000)  /* the end of a token is told so long before */

struct count {
	const char *name;
	int found;
};

static bool on_header(void *arg, const struct sl__pair *pair)
{
	struct count *count = arg;
	count->found += !strcasecmp(pair->name, count->name);
	return true;
}

int sl__count_headers(const struct sl_request *r, const char *name)
{
	struct count count = {name, 0};
	sl__exchange_headers(r->x, on_header, &count);
	return count.found;
}

/* Refuses a request and ends the connection, because it is not certain where the request ends. */
static bool refuse(struct sl_request *r, const struct sl__fault *fault)
{
	r->close = true;
	sl_reply_header(r, "Connection", "close");
	sl__reply_status_header(r, fault->status, fault->header, fault->detail);
	return false;
}

/* Checks the site from which a browser sends the request. A foreign page may link to this server, but may not change or
 * embed anything. */
static bool check_site(struct sl_request *r, const char *method)
{
	const char *site = sl_request_header(r, "Sec-Fetch-Site"), *mode = sl_request_header(r, "Sec-Fetch-Mode");
	if (!site || (strcmp(site, "cross-site") && strcmp(site, "same-site")) || sl_request_header(r, "Origin"))
		return true;
	if (mode && !strcmp(mode, "navigate") && (!strcmp(method, "GET") || !strcmp(method, "HEAD")))
		return true;
	sl__reply_status_header(r, 403, "Sec-Fetch-Site", "pages of other sites may not use this server; "
				"allowed_origins in its configuration lists those that may (CORS)");
	return false;
}

static void preflight(struct sl_request *r)
{
	sl_reply_header(r, "Access-Control-Allow-Methods", CORS_METHODS);
	sl_reply_header(r, "Access-Control-Allow-Headers", CORS_HEADERS);
	sl_reply_header(r, "Access-Control-Max-Age", "%d", CORS_MAX_AGE_S);
	if (sl_request_header(r, "Access-Control-Request-Private-Network"))
		sl_reply_header(r, "Access-Control-Allow-Private-Network", "true");
	sl_reply_empty(r, 204);
}

/* Health is the same for every name and tells nothing of users: load balancers ask by address, or without Host. */
static bool any_host(const struct sl_request *r)
{
	return !strncmp(r->encoded, "/v1/health/", 11);
}

bool sl__sender_check(struct sl_request *r, const char *method, const struct sl__fault *fault)
{
	struct sl__auth *a = r->http->auth;
	const char *origin = sl_request_header(r, "Origin");
	char why[320];
	if (fault->status)
		return refuse(r, fault);
	const char *host = sl_request_header(r, "Host");
	int status = any_host(r) ? 0 : sl__auth_host(a, host && r->authority ? r->authority : host, why, sizeof why);
	if (status) {
		sl__reply_status_header(r, status, "Host", why);
		return false;
	}
	if (sl__auth_has_origins(a))
		sl_reply_header(r, "Vary", "Origin");
	if (origin && sl__auth_cross(a, origin)) {
		r->foreign = sl__auth_origin(a, origin, why, sizeof why);
		sl_reply_header(r, "Access-Control-Allow-Origin", "%s", origin);
		sl_reply_header(r, "Access-Control-Expose-Headers", CORS_EXPOSED);
		if (strcmp(method, "OPTIONS") || !sl_request_header(r, "Access-Control-Request-Method"))
			return true;
		preflight(r);
		return false;
	}
	status = sl__auth_origin(a, origin, why, sizeof why);
	if (status) {
		sl__reply_status_header(r, status, "Origin", why);
		return false;
	}
	return check_site(r, method);
}

/* True if the request has a valid token, in the header, the cookie, or as a public link in the query. */
static bool is_user(struct sl_request *r, const char *authorization, const char *link, const char *cookie)
{
	char token[SL__COOKIE_BYTES];
	if (link)
		return !strncmp(link, SL_LINK_PREFIX, 4) && sl_users_identify(r->http->d->users, link, &r->who);
	bool found = sl__auth_text(authorization, cookie, token) && sl_users_identify(r->http->d->users, token, &r->who);
	sodium_memzero(token, sizeof token);
	return found;
}

/* A user's token that ends soon says so in each reply. */
static void tell_expiry(struct sl_request *r)
{
	char text[SL_TIME_BYTES];
	int64_t left_ms = r->who.until_ms - (int64_t)sl_time_now_ms();
	if (r->who.user[0] && r->who.until_ms && left_ms < TOKEN_TOLD_MS)
		sl_reply_header(r, "Spaceland-Token-Expires", "%s", sl_time_text((uint64_t)r->who.until_ms, text));
}

bool sl__sender_token(struct sl_request *r)
{
	char why[256];
	const char *header = sl_request_header(r, "Authorization");
	const char *cookie = r->foreign ? NULL : sl__exchange_cookie(r->x, SL__COOKIE);
	const char *link = header ? NULL : sl_request_query(r, "link");
	bool public = r->route && r->route->verb == SL_VERB_OPEN;
	int proxy = link || public ? 0 : sl__sender_proxy(r);
	if (proxy)
		return proxy > 0;
	int status = link ? sl__auth_token(r->http->auth, NULL, why, sizeof why) :
		     !header && cookie ? sl__auth_cookie(r->http->auth, cookie, why, sizeof why) :
		     sl__auth_token(r->http->auth, header, why, sizeof why);
	if (!status) {
		sl_users_administrator(r->http->d->users, &r->who);
		snprintf(r->who.token_name, sizeof r->who.token_name, "%s", sl__auth_name(r->http->auth, header, cookie));
	}
	if (!status || is_user(r, header, link, cookie) || public) {
		tell_expiry(r);
		return true;
	}
	bool known = r->who.name[0];  /* it was no guess */
	char expired[SL_TIME_BYTES];
	r->slow = !known && (header || link || cookie);
	sl_reply_header(r, "WWW-Authenticate", "Bearer realm=\"spaceland\"");
	if (known && r->who.until_ms)
		snprintf(why, sizeof why, "this token of user %.64s expired at %s; another valid one of the same user, or an "
			 "administrator, makes a new one", r->who.name, sl_time_text((uint64_t)r->who.until_ms, expired));
	else if (known)
		snprintf(why, sizeof why, "user %.64s is disabled; ask an administrator", r->who.name);
	else if (link || (header && !strncasecmp(header, "Bearer " SL_LINK_PREFIX, 11)))
		snprintf(why, sizeof why, "the link has expired, was revoked, or is not one of this server's");
	sl__reply_status_header(r, status, header || link || !cookie ? "Authorization" : "Cookie", why);
	return false;
}

/* ---- the cookie of a browser ------------------------------------------------------------ */

/* True if the browser reaches the server at base_url, not directly: then its cookies have the path of it. */
static bool by_base(const struct sl_request *r)
{
	const struct sl_base *base = sl__auth_base(r->http->auth);
	const char *origin = sl_request_header(r, "Origin"), *host = sl_request_header(r, "Host");
	if (!base->origin[0])
		return false;
	return origin ? !strcasecmp(origin, base->origin) :
	       r->based || (host && !strcasecmp(host, sl_base_authority(base)));
}

/* Sets the cookie for the path under which the browser has this server, and for TLS alone if it comes by TLS. */
static void set_cookie(struct sl_request *r, const char *value, int age_s)
{
	const struct sl_base *base = sl__auth_base(r->http->auth);
	const char *origin = sl_request_header(r, "Origin"), *scheme = sl_request_header(r, "X-Forwarded-Proto");
	bool secure = r->http->tls || (origin ? !strncmp(origin, "https://", 8) : by_base(r) && base->tls) ||
		      (scheme && !strcasecmp(scheme, "https"));
	sl_reply_header(r, "Set-Cookie", SL__COOKIE "=%s; HttpOnly; SameSite=Strict; Path=%s/; Max-Age=%d%s", value,
			by_base(r) ? base->path : "", age_s, secure ? "; Secure" : "");
}

void sl_reply_login(struct sl_request *r, const char *token)
{
	if (r->foreign) {
		sl__reply_status_header(r, 403, "Origin", "pages of allowed_origins get no cookie; they must send the token "
					"itself: Authorization: Bearer TOKEN");
		return;
	}
	char why[256], value[SL__COOKIE_BYTES];
	int status = sl__auth_login(r->http->auth, token, value, why, sizeof why);
	if (status == 401 && sl_users_identify(r->http->d->users, token, &r->who))
		status = 0;
	if (status) {
		r->slow = true;
		sl_reply_status(r, status, "%s", why);
		return;
	}
	set_cookie(r, value, COOKIE_AGE_S);
	sl_reply_empty(r, 204);
}

void sl_reply_logout(struct sl_request *r)
{
	set_cookie(r, "", 0);
	sl_reply_empty(r, 204);
}
