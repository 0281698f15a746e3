/* proxy.h -- the options about a proxy in front that logs users in: trusted_proxies and those that begin with
 * proxy_. */
#ifndef SL_PROXY_H
#define SL_PROXY_H

#include <netinet/in.h>
#include <stdbool.h>

#include "core/error.h"

struct sl_config;

/* Checks that the options fit together and do not let everybody in. */
int sl_proxy_check(const struct sl_config *c, struct sl_error *err);
/* Is the address, IPv4 as mapped, one of trusted_proxies? */
bool sl_proxy_trusted(const struct sl_config *c, const struct in6_addr *address);

#endif
