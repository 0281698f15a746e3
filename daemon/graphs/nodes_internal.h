/* nodes_internal.h -- one request about the nodes of a graph, until it is answered; for nodes.c and columns.c. */
#ifndef SL_NODES_INTERNAL_H
#define SL_NODES_INTERNAL_H

#include "daemon/graphs/graphs_internal.h"
#include "daemon/graphs/nodes.h"
#include "daemon/files/columns_file.h"
#include "daemon/util/buffer.h"

struct sl__question {
	struct sl_graphs *s;
	struct sl_request *r;              /* NULL: the client is gone */
	char id[SL_ULID_BYTES];
	enum sl_kind kind;
	uint32_t nodes;
	char own[64];                      /* name of the labels that came with the upload */
	struct sl_nodes_query query;
	char *text;                        /* the query's, owned */
	unsigned wanted;                   /* parts that are not fetched yet, as bits */
	enum sl_content_part fetching;
	struct sl_content *part[SL_PARTS]; /* references, or NULL */
	/* used by the pool: */
	int (*make)(struct sl__question *q);
	struct sl_columns *columns;        /* of columns.c */
	json_t *answer;                    /* the answer, or NULL if `bytes` is the answer */
	struct sl_buffer *bytes;           /* after make(): the reply */
	const char *media_type;            /* of bytes; NULL: JSON or, with an etag, octet-stream */
	void *more;                        /* of rows/, owned */
	void (*more_free)(void *more);
	char etag[100];
	int status;
	struct sl_error err;
};

/* Takes the request. parts: those that make() needs, as bits. make() runs on the pool. It returns 0 and sets answer or
 * bytes (both NULL: no memory), or returns a code with err. */
void sl__question_ask(struct sl_graphs *s, const char *id, const struct sl_nodes_query *query, unsigned parts,
		      int (*make)(struct sl__question *q), struct sl_request *r);
/* The same with more of its own, which it takes: more_free(more) runs on the loop in the end. */
void sl__question_ask_more(struct sl_graphs *s, const char *id, const struct sl_nodes_query *query, unsigned parts,
			   int (*make)(struct sl__question *q), void *more, void (*more_free)(void *more),
			   struct sl_request *r);

#endif
