/* Addresses are compared as IPv6, IPv4 as mapped, bit by bit over the length of the network. A network with bits
 * beyond its length is refused, since its writer meant another. */
#include "daemon/config/proxy.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/config/config.h"

#define WORD_BYTES 80

struct network {
	struct in6_addr address;
	int bits;
};

/* Reads a network: "10.0.0.0/8", "127.0.0.1", "fd00::/8". */
static bool read_network(const char *text, struct network *out)
{
	char host[WORD_BYTES], *slash, *end;
	struct in_addr four;
	snprintf(host, sizeof host, "%s", text);
	if ((slash = strchr(host, '/')))
		*slash++ = '\0';
	bool is_four = inet_pton(AF_INET, host, &four) == 1;
	long most = is_four ? 32 : 128, bits = slash && *slash >= '0' && *slash <= '9' ? strtol(slash, &end, 10) : most;
	if (slash && (*slash < '0' || *slash > '9' || *end))
		return false;
	if (is_four) {
		out->address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
		memcpy(&out->address.s6_addr[12], &four, sizeof four);
	} else if (inet_pton(AF_INET6, host, &out->address) != 1) {
		return false;
	}
	out->bits = (int)bits + (is_four ? 96 : 0);
	return bits <= most;
}

static bool bit(const struct in6_addr *a, int i)
{
	return a->s6_addr[i / 8] >> (7 - i % 8) & 1;
}

static bool contains(const struct network *n, const struct in6_addr *address)
{
	for (int i = 0; i < n->bits; i++)
		if (bit(&n->address, i) != bit(address, i))
			return false;
	return true;
}

/* Copies the next word of a list after *at, cut to WORD_BYTES - 1; false: there is none. */
static bool next_word(const char **at, char word[WORD_BYTES])
{
	size_t length;
	const char *from = sl_config_word(at, &length);
	if (from)
		snprintf(word, WORD_BYTES, "%.*s", (int)(length < WORD_BYTES ? length : WORD_BYTES - 1), from);
	return from;
}

bool sl_proxy_trusted(const struct sl_config *c, const struct in6_addr *address)
{
	char word[WORD_BYTES];
	struct network n;
	for (const char *at = c->trusted_proxies; next_word(&at, word);)
		if (read_network(word, &n) && contains(&n, address))
			return true;
	return false;
}

/* Bits after the prefix must be zero: 10.1.2.3/8 may mean the address or the network. */
static bool is_clean(const struct network *n)
{
	for (int i = n->bits; i < 128; i++)
		if (bit(&n->address, i))
			return false;
	return true;
}

static int check_networks(const struct sl_config *c, struct sl_error *err)
{
	char word[WORD_BYTES];
	struct network n;
	for (const char *at = c->trusted_proxies; next_word(&at, word);) {
		if (!read_network(word, &n) || !is_clean(&n))
			return sl_error_field(err, SL_BADPARAM, "/trusted_proxies", "trusted_proxies has '%s'; it must "
					      "be an address or a network, for example 127.0.0.1 or 10.1.0.0/16", word);
		if (n.bits == 0 || (n.bits == 96 && strchr(word, '.')))
			return sl_error_field(err, SL_BADPARAM, "/trusted_proxies", "trusted_proxies has '%s', which "
					      "lets everybody log in as any user; it must be the addresses of the "
					      "proxy only", word);
	}
	return 0;
}

static int check_header(const char *name, const char *pointer, struct sl_error *err)
{
	static const char *const ours[] = {"Authorization", "Cookie", "Host", "Origin", "Content-Length", "Content-Type",
					   "Transfer-Encoding", "Connection", "Prefer", "Idempotency-Key", "X-Request-Id"};
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-");
	bool taken = name[length] || length > 100;
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		taken = taken || !strcasecmp(name, ours[i]);
	if (!taken)
		return 0;
	return sl_error_field(err, SL_BADPARAM, pointer, "%s = %.64s is not possible; it must be a header that the "
			      "proxy sets, for example X-Forwarded-User", pointer + 1, name);
}

static int check_groups(const struct sl_config *c, struct sl_error *err)
{
	const char *header = c->proxy_groups_header, *user = c->proxy_user_header;
	if (header[0] && (!user[0] || !strcasecmp(header, user) || !strcasecmp(header, c->proxy_role_header)))
		return sl_error_field(err, SL_BADPARAM, "/proxy_groups_header", "proxy_groups_header needs proxy_user_header, "
				      "and must be another header");
	if (!header[0] && (c->proxy_group_roles[0] || c->proxy_group_projects[0]))
		return sl_error_field(err, SL_BADPARAM, c->proxy_group_roles[0] ? "/proxy_group_roles" :
				      "/proxy_group_projects", "%s needs proxy_groups_header, the header in which the proxy "
				      "sends the groups", c->proxy_group_roles[0] ? "proxy_group_roles" : "proxy_group_projects");
	return header[0] ? check_header(header, "/proxy_groups_header", err) : 0;
}

int sl_proxy_check(const struct sl_config *c, struct sl_error *err)
{
	bool user = c->proxy_user_header[0], proxies = c->trusted_proxies[strspn(c->trusted_proxies, ", \t")];
	if (user && !proxies)
		return sl_error_field(err, SL_BADPARAM, "/proxy_user_header", "proxy_user_header = %.64s needs "
				      "trusted_proxies, the addresses from which the header is "
				      "accepted", c->proxy_user_header);
	if (proxies && !user)
		return sl_error_field(err, SL_BADPARAM, "/trusted_proxies", "trusted_proxies needs "
				      "proxy_user_header, the header in which the proxy names the user, for example "
				      "X-Forwarded-User");
	if (user && !c->token_file[0])
		return sl_error_field(err, SL_BADPARAM, "/proxy_user_header", "proxy_user_header needs token_file: without "
				      "it, requests are not authenticated");
	if (c->proxy_role_header[0] && (!user || !strcasecmp(c->proxy_role_header, c->proxy_user_header)))
		return sl_error_field(err, SL_BADPARAM, "/proxy_role_header", "proxy_role_header needs "
				      "proxy_user_header, and must be another header");
	int rc = check_networks(c, err);
	if (!rc && user)
		rc = check_header(c->proxy_user_header, "/proxy_user_header", err);
	if (!rc && c->proxy_role_header[0])
		rc = check_header(c->proxy_role_header, "/proxy_role_header", err);
	return rc ? rc : check_groups(c, err);
}
