/* edge_columns.h -- finds the columns of an edge list from its titles and first lines. Internal to core/formats/.
 *
 * The source and the target are found by usual titles (source, target; from, to; ...), in a header or in the last
 * comment above the edges; without such titles they are the first two columns, or the first and the third if relations
 * are between them ("a is_a b", as Cytoscape's SIF and lists of triples have them). The weight is the column with that
 * title, or the third column if it holds numbers. All other columns are left out.
 *
 * Programs that are recognised: Gephi (its column Type tells the direction), KONECT ("% asym weighted"), SNAP
 * ("# Directed graph", times in the last column), networkx and pandas (a column of row numbers), R (a header without a
 * title over the row names), Excel ("sep=;"). */
#ifndef SL_EDGE_COLUMNS_H
#define SL_EDGE_COLUMNS_H

#include "core/formats/read.h"
#include "core/formats/text/fields.h"
#include "core/formats/text/names.h"
#include "core/taken/taken.h"

enum sl__edge_direction { SL__DIRECTION_UNKNOWN, SL__DIRECTED, SL__UNDIRECTED };

/* What the first rows have in a column. */
#define SL__SEEN 1       /* some row has something here */
#define SL__SEEN_NUMBER 32
#define SL__SEEN_WORD 2  /* no number */
#define SL__SEEN_COMMA 4 /* a number with a decimal comma */
#define SL__SEEN_DICT 8  /* {... */
#define SL__SEEN_TIME 16 /* all numbers may be seconds or milliseconds since 1970 */

struct sl__edge_columns {
	char separator;
	uint32_t count;                    /* columns; 0: the text has no line with content */
	int source, target, weight, type;  /* from 0; -1: none */
	bool relation;                     /* column 1 holds relations, such as "is_a"; the nodes are in 0 and 2 */
	char example[40];                  /* one of them */
	bool pair;                         /* usual titles name source and target */
	bool chosen;                       /* options name source or target */
	bool shifted;                      /* the first column holds row names, and the header has no title for it */
	int64_t marker, header, first;     /* lines from 1 on: "sep=;", titles, the first edge; 0: none */
	int64_t lines;                     /* complete lines, if count is 0 */
	int64_t comment_header;            /* the comment that holds the titles; 0: none */
	int bad_title;                     /* the number of a title that is no UTF-8; 0: none */
	bool titled;                       /* title[] was read */
	char (*title)[64];                 /* [count] */
	uint8_t *seen;                     /* [count] bits SL__SEEN... */
	enum sl__edge_direction direction; /* as comments tell it */
	bool konect, bipartite;            /* a KONECT file; of two kinds of nodes */
	bool kinds;                        /* the titles of source and target name two kinds of things */
	bool ratings;                      /* without titles: small numbers and times stand behind numbers of nodes */
	char side[2][40];                  /* with bipartite: what precedes names of the source and of the target */
	bool commented;                    /* there are comments above */
	struct sl_account *account;        /* books the memory, borrowed; NULL: no limit */
	int64_t comment_rows;              /* those with as many fields as the edges, which may be edges */
};

/* Looks at the beginning of a text. whole: bytes are all of it. account: books the
 * memory (core/account.h), NULL: no limit. 0, SL_NOMEM, or SL_BADPARAM at /source, /target or
 * /weight: options name a column that does not exist. The caller calls sl__edge_columns_finish(), also after an
 * error. */
int sl__edge_columns_find(struct sl__edge_columns *c, const unsigned char *bytes, size_t size, bool whole,
			  const struct sl_read_options *options, const char *file, struct sl_account *account,
			  struct sl_error *err);
void sl__edge_columns_finish(struct sl__edge_columns *c);

/* The title in lower case, without blanks and punctuation, cut to 39 bytes. */
void sl__plain_title(const struct sl__field *title, char out[40]);
/* Finds usual titles of source and target; weak ones, such as start and end, only as the first two of at most three
 * columns. False: there are none. */
bool sl__edge_titles(const struct sl__fields *titles, int *source, int *target);

/* True if both titles name things of different kinds, such as userId and movieId. side: "user ", "movie ". */
bool sl__two_kinds(const char *source, const char *target, char side[2][40]);
/* Finds two columns whose titles do so, of a table that has nothing but weights and times besides. */
bool sl__kinds_of_titles(const struct sl__fields *titles, int *source, int *target);

/* Decides whether equal names of the source and of the target are two nodes, and what tells them apart. */
void sl__edge_sides(struct sl__edge_columns *c, const struct sl_read_options *options);
/* names: each behind a letter, u for the source's side, v for the target's. Gives them back without it, and if one is
 * on both sides, or `always`, with what precedes names of its side. *both: it does so. 0, SL_NOMEM or SL_TOOBIG. */
int sl__sides_name(struct sl__names *names, char side[2][40], bool always, bool *both);

/* The words of the rows of three columns, to find relations in the second. */
struct sl__triples {
	struct sl__names words[3];
	uint32_t rows;
};

void sl__triples_init(struct sl__triples *t, struct sl_account *account);
void sl__triples_finish(struct sl__triples *t);
/* row: of three fields. 0, SL_NOMEM or SL_TOOBIG. */
int sl__triples_add(struct sl__triples *t, const struct sl__fields *row);
bool sl__triples_have_relations(const struct sl__triples *t);

/* True if a line with the marks of a comment is a row: it has as many fields as the others. */
bool sl__edge_row(const struct sl__edge_columns *c, const struct sl__fields *fields);

/* Adds the columns, and the reasons why some are left out. */
void sl__edge_columns_tell(const struct sl__edge_columns *c, const struct sl_read_options *options,
			   struct sl_taken *taken);

#endif
