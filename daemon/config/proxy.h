/* proxy.h -- the options of a reverse proxy that authenticates users: trusted_proxies, and those that begin with
 * proxy_. */
#ifndef SL_PROXY_H
#define SL_PROXY_H

#include <netinet/in.h>
#include <stdbool.h>

#include "core/error.h"

struct sl_config;

/* Checks that the options fit together and do not let everybody in. */
int sl_proxy_check(const struct sl_config *c, struct sl_error *err);
/* True if trusted_proxies has the address (IPv4 in its IPv6-mapped form). */
bool sl_proxy_trusted(const struct sl_config *c, const struct in6_addr *address);

#endif
