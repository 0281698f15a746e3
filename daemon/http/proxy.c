/* Users whom a proxy in front has logged in. The proxy names the user in a header (proxy_user_header), which is
 * accepted only from the proxy's addresses. Like a cookie, this header comes with every request of a browser. So Host
 * and Origin are checked before (sender.c), and pages of allowed_origins need a token, as they do where cookies are
 * used. */
#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "daemon/config/proxy.h"
#include "daemon/http/http_internal.h"
#include "daemon/util/log.h"

struct chain {
	const struct sl_request *r;
	struct in6_addr client;
};

static bool read_address(const char *word, size_t length, struct in6_addr *out)
{
	char text[INET6_ADDRSTRLEN];
	*out = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	snprintf(text, sizeof text, "%.*s", (int)(length < sizeof text ? length : 0), word);
	return inet_pton(AF_INET, text, &out->s6_addr[12]) == 1 || inet_pton(AF_INET6, text, out) == 1;
}

/* Each proxy appends the address from which it got the request. So the last address that does not belong to a proxy is
 * that of the client; addresses before it come from the client and are not trusted. */
static bool on_forwarded(void *arg, const struct sl__pair *pair)
{
	struct chain *chain = arg;
	struct in6_addr address;
	const char *value = strcasecmp(pair->name, "X-Forwarded-For") ? "" : pair->value;
	for (size_t length; *(value += strspn(value, ", \t")); value += length) {
		length = strcspn(value, ", \t");
		if (!read_address(value, length, &address))
			chain->client = chain->r->peer->address;
		else if (!sl_proxy_trusted(&chain->r->http->d->config, &address))
			chain->client = address;
	}
	return true;
}

void sl__proxy_client(struct sl_request *r)
{
	struct chain chain = {r, r->peer->address};
	if (sl_request_header(r, "X-Forwarded-For") && sl_proxy_trusted(&r->http->d->config, &r->peer->address))
		sl__exchange_headers(r->x, on_forwarded, &chain);
	r->client = chain.client;
}

static int refuse(struct sl_request *r, int status, const char *header, const char *detail)
{
	sl__reply_status_header(r, status, header, detail);
	return -1;
}

/* Writes new users and roles to the log and the audit log. */
static void tell(struct sl_request *r, enum sl_proxy_news news)
{
	bool added = news == SL_PROXY_NEW_USER;
	char path[SL_USER_NAME_BYTES + 16];
	snprintf(path, sizeof path, "/v1/users/%s", r->who.name);
	sl__rights_tell(r, added ? "POST" : "PATCH", path, added ? 201 : 200);
	sl_log_info("users", "%s %s", r->who.name, added ? "was added, since the proxy has named this user" :
		    news == SL_PROXY_NEW_ROLE ? "has a new role, since the proxy has sent it" :
		    "has other projects, since the proxy has sent other groups");
}

static int identify(struct sl_request *r, const char *name, const char *role)
{
	const struct sl_config *c = &r->http->d->config;
	struct sl_users *u = r->http->d->users;
	struct sl_error err;
	enum sl_proxy_news news = SL_PROXY_NOTHING;
	const char *fresh = !strcmp(c->proxy_new_users, "refuse") ? NULL : c->proxy_new_users;
	const char *groups = c->proxy_groups_header[0] ? sl_request_header(r, c->proxy_groups_header) : NULL;
	const struct sl_proxy_login login = {name, role, groups || !c->proxy_groups_header[0] ? groups : "",
					     c->proxy_group_roles, c->proxy_group_projects, fresh};
	if (sl_users_by_proxy(u, &login, &r->who, &news, &err))
		return refuse(r, 403, !strcmp(err.pointer, "/role") ? c->proxy_role_header : c->proxy_user_header, err.detail);
	if (news)
		tell(r, news);
	if (news == SL_PROXY_NEW_ROLE || news == SL_PROXY_NEW_PROJECTS)
		sl_http_end_user(r->http, r->who.name);
	return 1;
}

int sl__sender_proxy(struct sl_request *r)
{
	const struct sl_config *c = &r->http->d->config;
	const char *name = c->proxy_user_header[0] ? sl_request_header(r, c->proxy_user_header) : NULL;
	const char *role = c->proxy_role_header[0] ? sl_request_header(r, c->proxy_role_header) : NULL;
	char why[200];
	if (!name && !role)
		return 0;
	if (!sl_proxy_trusted(c, &r->peer->address))
		return refuse(r, 403, name ? c->proxy_user_header : c->proxy_role_header, "this header is accepted "
			      "only from trusted_proxies, and your address is not one of them; send a token, or go "
			      "through the proxy");
	if (!name)
		return refuse(r, 403, c->proxy_role_header, "the proxy names a role, but no user");
	bool groups = c->proxy_groups_header[0];
	if (sl__count_headers(r, c->proxy_user_header) > 1 || (role && sl__count_headers(r, c->proxy_role_header) > 1) ||
	    (groups && sl__count_headers(r, c->proxy_groups_header) > 1))
		return refuse(r, 400, c->proxy_user_header, "the header was sent twice: the proxy must remove the one that "
			      "clients send");
	if (r->foreign)
		return 0;
	if (sl_request_header(r, "Authorization")) {
		snprintf(why, sizeof why, "the request has a token and names a user in %.100s; it must have only one "
			 "of the two",
			 c->proxy_user_header);
		return refuse(r, 400, "Authorization", why);
	}
	return identify(r, name, role);
}
