/* nodes_internal.h -- what nodes.c and columns.c share: one question about a graph, on its way to the reply. */
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
	unsigned wanted;                   /* parts not fetched yet, a bit each */
	enum sl_content_part fetching;
	struct sl_content *part[SL_PARTS]; /* references, or NULL */
	/* the pool's */
	int (*make)(struct sl__question *q);
	struct sl_columns *columns;        /* of columns.c */
	json_t *answer;                    /* or bytes */
	char *answer_text;                 /* the answer, when make() is over */
	struct sl_buffer *bytes;
	char etag[100];
	int status;
	struct sl_error err;
};

/* Takes the request. parts: a bit for each that make() needs. make() runs on the pool: 0 with answer or bytes (NULL: no
 * memory), or a code with err. */
void sl__question_ask(struct sl_graphs *s, const char *id, const struct sl_nodes_query *query, unsigned parts,
		      int (*make)(struct sl__question *q), struct sl_request *r);

#endif
