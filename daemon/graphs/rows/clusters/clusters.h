/* clusters.h -- the clusters of a job's layout, named from the columns of its nodes. Loop thread, except where told. */
#ifndef SL_CLUSTERS_H
#define SL_CLUSTERS_H

#include <jansson.h>

#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"

#define SL_CLUSTER_NAME_BYTES 201
#define SL_CLUSTER_TERMS 6       /* of each column, in a reply */

/* Texts and JSON are borrowed until the call returns. */
struct sl_clusters_query {
	const char *folder;           /* of the jobs' files */
	const char *job, *graph;      /* ids */
	int dims;                     /* of the layout */
	const char *columns;          /* those to name from, with ';' between them; NULL: chosen */
	const char *from;             /* a job whose labels are the clusters; NULL: the density of the layout */
	const char *array;            /* the name of that job's array of labels */
	const json_t *given;          /* names given by hand: [{"cluster", "name", "by", "at"}], or NULL */
	bool blind;                   /* the reader may not read the graph: clusters get no automatic names */
	int level;                    /* reply with the clusters of the nodes at this level, u32; -1: with all levels */
};

/* Replies when the pool has found and named them. */
void sl_clusters_reply(struct sl_graphs *s, const struct sl_clusters_query *q, struct sl_request *r);

/* True if the id has the form of a cluster's: LEVEL-NODE. Any thread. */
bool sl_cluster_id(const char *id, uint32_t nodes);

/* The same for a picture that is being drawn: {"levels": [...]} as in replies. own: the title of the labels that came
 * with the graph; content: of the graph. Pool thread. */
int sl_clusters_named(struct sl_graphs *s, const struct sl_clusters_query *q, const float *y, uint32_t nodes,
		      const char *own, struct sl_content *content, struct sl_account *account, json_t **out,
		      struct sl_error *err);

#endif
