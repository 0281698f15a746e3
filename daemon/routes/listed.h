/* listed.h -- pages of lists. A long page is written in several turns of the loop. */
#ifndef SL_ROUTES_LISTED_H
#define SL_ROUTES_LISTED_H

#include "daemon/http/http.h"
#include "daemon/util/ulid.h"

/* Replies {"items": [...], "next": ...} with the records that one() makes from these ids (a new reference; NULL: it was
 * deleted, and is left out). Records that the sender may not see are also left out. Each record has its state at the
 * time it is written. Takes ids; next "": there are no more pages. */
void sl__listed(struct sl_request *r, char (*ids)[SL_ULID_BYTES], size_t count,
		json_t *(*one)(void *of, const char *id), void *of, const char *next);

/* A page of a list by id. sl__page_read() reads `limit` and `cursor` of the query, or answers with the error and
 * returns false. sl__page_reply() steals items; next as above; path: "/v1/graphs". */
struct sl_page {
	const char *cursor;  /* an id; NULL: the first page */
	int limit;
};
bool sl__page_read(struct sl_request *r, struct sl_page *page);
void sl__page_reply(struct sl_request *r, const char *path, const struct sl_page *page, json_t *items,
		    const char *next);

#endif
