/* read.h -- the parameters of an upload, and reading its files. */
#ifndef SL_GRAPH_READ_H
#define SL_GRAPH_READ_H

#include "core/formats/read_points.h"
#include "daemon/graphs/graphs_internal.h"
#include "daemon/graphs/more_labels.h"
#include "daemon/http/http.h"

#define SL__FILES_MOST 15  /* with the labels, as many parts as a form may have */

struct sl__reading {
	/* the parameters; filled on the loop */
	struct sl_uploaded file, labels;
	struct sl_uploaded more[SL__FILES_MOST - 1];  /* further files, which are one table or graph with `file` */
	int more_count;
	bool has_labels;
	struct sl_input_options options;
	char *name_column, *label_column, *ignore_columns, *keep_columns, *labels_name, *labels_column;  /* or NULL */
	char *source, *target, *weight;  /* columns of edges, or NULL */
	struct sl_neighbours_params wanted;  /* of the search: metric, p, recall and k */
	bool asked;                   /* the request names k */
	int64_t pca;                  /* 0: none */
	int64_t max_columns;
	struct sl_account account;    /* reserved memory and disk, given back by sl__reading_finish() */
	struct sl__passes *passes;    /* for principal axes */
	struct sl_graphs_computers by;
	/* the results; filled on the pool */
	enum sl_kind found;
	char format[16];
	struct sl_graph *graph;       /* kind graph */
	struct sl_points *points;     /* the other kinds */
	struct sl_neighbours *neighbours;  /* kind neighbours */
	struct sl_columns *columns;   /* further labels, or NULL */
	char label_title[64];         /* title of the column of labels, "": none */
	json_t *labels_taken;         /* what was taken of a text of labels, or NULL */
	double pca_kept;
	char *coarse;                 /* of struct sl_graph_record, or NULL */
	unsigned char points_digest[SL_DIGEST_BYTES];  /* of the table alone */
	unsigned char digest[SL_DIGEST_BYTES];
	int status;
	struct sl_error err;
};

/* Reads the query parameters and the limits. cancel: as in struct sl_read_options. */
int sl__reading_init(struct sl__reading *q, const struct sl_request *r, const struct sl_config *c, const int *cancel,
		     struct sl_error *err);
/* Takes the parts of the request. */
int sl__reading_take(struct sl__reading *q, struct sl_request *r, struct sl_error *err);
/* An estimate of the bytes of memory that reading takes, from the size and the first bytes of the file. */
uint64_t sl__reading_memory(const struct sl__reading *q);
/* Parses the file, reads labels, computes the digest, and removes the input. Pool thread. */
void sl__reading_run(struct sl__reading *q);
/* Removes the input. */
void sl__reading_close(struct sl__reading *q);
/* Removes the input, and frees the results that the caller has not taken (set to NULL). */
void sl__reading_finish(struct sl__reading *q);

#endif
