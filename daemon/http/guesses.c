/* Delays the reply to a wrong token: by half a second, and from an address's tenth wrong token on by twice as long each
 * time, up to MOST_MS. An address's count of wrong tokens halves each minute. Only replies to wrong tokens are delayed,
 * so a client that shares its address with a guesser is not affected. */
#include <math.h>
#include <string.h>

#include "daemon/http/http_internal.h"

#define FREE 10
#define HALF_MS 60000.0
#define MOST_MS 8000.0

bool sl__same_client(const struct in6_addr *a, const struct in6_addr *b)
{
	size_t bytes = IN6_IS_ADDR_V4MAPPED(a) ? sizeof *a : 8;
	return !memcmp(a, b, bytes) && IN6_IS_ADDR_V4MAPPED(a) == IN6_IS_ADDR_V4MAPPED(b);
}

static double left(const struct sl__guesser *g, uint64_t now)
{
	return g->count * exp2(-(double)(now - g->since_ms) / HALF_MS);
}

/* The entry of this address, or else the entry with the lowest count, which it replaces. */
static struct sl__guesser *place_of(struct sl_http *h, const struct in6_addr *address, uint64_t now)
{
	struct sl__guesser *fewest = &h->guesser[0];
	for (int i = 0; i < SL__GUESSERS; i++) {
		struct sl__guesser *g = &h->guesser[i];
		if (g->count > 0 && sl__same_client(&g->address, address))
			return g;
		if (left(g, now) < left(fewest, now))
			fewest = g;
	}
	*fewest = (struct sl__guesser){.address = *address, .since_ms = now};
	return fewest;
}

uint64_t sl__guess_delay(struct sl_http *h, const struct in6_addr *address)
{
	uint64_t now = uv_now(h->d->loop);
	struct sl__guesser *g = place_of(h, address, now);
	g->count = left(g, now) + 1;
	g->since_ms = now;
	return (uint64_t)fmin(SL__DELAY_MS * exp2(fmax(floor(g->count) - FREE, 0)), MOST_MS);
}
