/* listed.h -- long pages: their records are written a few at a time, over several turns of the loop. */
#ifndef SL_ROUTES_LISTED_H
#define SL_ROUTES_LISTED_H

#include "daemon/http/http.h"
#include "daemon/util/ulid.h"

/* Replies {"items": [...], "next": ...} with the record of each of these things, which one() makes (a new reference;
 * NULL: it is gone, and left out). What the sender may not see is left out, too. A record is as it is when it is
 * written. Takes ids; next "": there are no more pages. */
void sl__listed(struct sl_request *r, char (*ids)[SL_ULID_BYTES], size_t count,
		json_t *(*one)(void *of, const char *id), void *of, const char *next);

#endif
