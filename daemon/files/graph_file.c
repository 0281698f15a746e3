/* A graph is written once and never changed. Reading checks, before it allocates: the header's checksum, that the
 * sizes of arrays match each other and the file's length; and after it: the digest. */
#include "daemon/files/graph_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/files/array_file.h"
#include "daemon/store/atomic.h"

enum { HAS_WEIGHTS = 1, HAS_NAMES = 2, HAS_LABELS = 4, SYMMETRIC = 8 };

static const struct sl_array_kind kind = {"SLGRAPHS", "the stored graph"};

struct info {
	uint64_t n, m;
	uint32_t flags, labels;
	struct sl_graph_report report;
	unsigned char digest[SL_GRAPH_DIGEST_BYTES];  /* digest of the graph, not of the file */
	unsigned char reserved[SL_ARRAY_INFO_BYTES - 24 - SL_GRAPH_DIGEST_BYTES - sizeof(struct sl_graph_report)];
};
_Static_assert(sizeof(struct info) == SL_ARRAY_INFO_BYTES, "the owner's bytes are all used");

const char *const sl_graph_file_kinds[] = {
	"slg", "slp", "sln", "sll",
	/* values of columns, SL_COLUMNS_PLACES */
	"c00", "c01", "c02", "c03", "c04", "c05", "c06", "c07", "c08", "c09", "c10", "c11", "c12", "c13", "c14", "c15",
	"c16", "c17", "c18", "c19", "c20", "c21", "c22", "c23", "c24", "c25", "c26", "c27", "c28", "c29", "c30", "c31",
	"c32", "c33", "c34", "c35", "c36", "c37", "c38", "c39", "c40", "c41", "c42", "c43", "c44", "c45", "c46", "c47",
	"c48", "c49", "c50", "c51", "c52", "c53", "c54", "c55", "c56", "c57", "c58", "c59", "c60", "c61", "c62", "c63",
			NULL};

enum { START, NODE, WEIGHT, NAME_AT, NAME_BYTES, LABEL, LABEL_NAMES, ARRAYS };
_Static_assert(ARRAYS <= SL_ARRAYS_MAX, "the header has room for all arrays");

/* Lists the arrays of g in the order of the file. names: the concatenated names of labels. */
static void arrays_of(const struct sl_graph *g, char *names, uint64_t name_bytes, struct sl_array a[ARRAYS])
{
	uint64_t n = g->n;
	a[START] = (struct sl_array){g->start, (n + 1) * sizeof *g->start};
	a[NODE] = (struct sl_array){g->node, g->m * sizeof *g->node};
	a[WEIGHT] = (struct sl_array){g->weight, g->weight ? g->m * sizeof *g->weight : 0};
	a[NAME_AT] = (struct sl_array){g->name_at, g->name_at ? (n + 1) * sizeof *g->name_at : 0};
	a[NAME_BYTES] = (struct sl_array){g->name_bytes, g->name_at ? g->name_at[n] : 0};
	a[LABEL] = (struct sl_array){g->label, g->label ? n * sizeof *g->label : 0};
	a[LABEL_NAMES] = (struct sl_array){names, name_bytes};
}

static void fill(struct info *info, const struct sl_graph *g)
{
	memset(info, 0, sizeof *info);
	info->n = g->n;
	info->m = g->m;
	info->flags = (g->weight ? HAS_WEIGHTS : 0) | (g->name_at ? HAS_NAMES : 0) | (g->label ? HAS_LABELS : 0) |
		      (g->symmetric ? SYMMETRIC : 0);
	info->labels = g->label ? g->labels : 0;
	info->report = g->report;
}

void sl_graph_digest(const struct sl_graph *g, unsigned char digest[SL_GRAPH_DIGEST_BYTES])
{
	struct info i;
	struct sl_array a[ARRAYS];
	crypto_generichash_state state;
	uint64_t label_bytes = 0;
	fill(&i, g);
	arrays_of(g, NULL, 0, a);
	for (uint32_t k = 0; k < i.labels; k++)
		label_bytes += strlen(g->label_name[k]) + 1;
	uint64_t shape[] = {i.n, i.m, i.flags & (HAS_WEIGHTS | HAS_NAMES | HAS_LABELS), a[NAME_BYTES].bytes, i.labels,
			    label_bytes};
	crypto_generichash_init(&state, NULL, 0, SL_GRAPH_DIGEST_BYTES);
	crypto_generichash_update(&state, (const unsigned char *)shape, sizeof shape);
	for (int k = 0; k < LABEL_NAMES; k++)
		if (a[k].bytes)
			crypto_generichash_update(&state, a[k].data, a[k].bytes);
	for (uint32_t k = 0; k < i.labels; k++)
		crypto_generichash_update(&state, (const unsigned char *)g->label_name[k], strlen(g->label_name[k]) + 1);
	crypto_generichash_final(&state, digest, SL_GRAPH_DIGEST_BYTES);
}

int sl_graph_file_write(const char *path, const struct sl_graph *g, const unsigned char digest[SL_GRAPH_DIGEST_BYTES],
			const char *record, uint64_t *bytes, struct sl_error *err)
{
	struct info info;
	struct sl_array a[ARRAYS];
	unsigned char of_file[SL_DIGEST_BYTES];
	uint64_t label_bytes;
	char *names = sl__names_join(g->label_name, g->label ? g->labels : 0, &label_bytes);
	if (!names)
		return sl_error_memory(err, "storing the graph");
	fill(&info, g);
	memcpy(info.digest, digest, sizeof info.digest);
	arrays_of(g, names, label_bytes, a);
	sl_array_digest(&info, a, ARRAYS, of_file);
	int rc = sl_array_file_write(path, &kind, &info, a, ARRAYS, of_file, record, bytes, err);
	free(names);
	return rc;
}

/* ---- reading ---------------------------------------------------------------------------- */

/* Returns true if the arrays' sizes agree with the counts. */
static bool consistent(const struct sl_array_header *h, const struct info *i)
{
	uint64_t n = i->n, m = i->m;
	return h->arrays == ARRAYS && n <= UINT32_MAX && m <= (uint64_t)1 << 46 &&
	       h->bytes[START] == (n + 1) * sizeof(uint64_t) && h->bytes[NODE] == m * sizeof(uint32_t) &&
	       h->bytes[WEIGHT] == (i->flags & HAS_WEIGHTS ? m * sizeof(float) : 0) &&
	       h->bytes[NAME_AT] == (i->flags & HAS_NAMES ? (n + 1) * sizeof(uint64_t) : 0) &&
	       (i->flags & HAS_NAMES || !h->bytes[NAME_BYTES]) &&
	       h->bytes[LABEL] == (i->flags & HAS_LABELS ? n * sizeof(uint32_t) : 0);
}

/* Opens a file and checks its header. */
static int open_checked(const char *path, struct sl_array_header *h, struct info *info, struct sl_error *err)
{
	int fd = sl_array_file_open(path, &kind, h, err);
	if (fd < 0)
		return fd;
	memcpy(info, h->info, sizeof *info);
	if (consistent(h, info))
		return fd;
	close(fd);
	return sl_array_file_damaged(path, &kind, "its sizes contradict each other", err);
}

int sl_graph_file_check(const char *path, const unsigned char digest[SL_GRAPH_DIGEST_BYTES], struct sl_error *err)
{
	struct sl_array_header h;
	struct info info;
	int fd = open_checked(path, &h, &info, err);
	if (fd < 0)
		return fd;
	close(fd);
	return memcmp(info.digest, digest, sizeof info.digest) ?
	       sl_array_file_damaged(path, &kind, "it is another graph", err) : 0;
}

static int allocate(struct sl_graph *g, const struct sl_array_header *h, const struct info *i)
{
	g->n = (uint32_t)i->n;
	g->m = i->m;
	g->symmetric = (i->flags & SYMMETRIC) != 0;
	g->report = i->report;
	g->start = malloc(h->bytes[START]);
	g->node = malloc(h->bytes[NODE] + 1);
	bool ok = g->start && g->node;
	if (i->flags & HAS_WEIGHTS)
		ok &= (g->weight = malloc(h->bytes[WEIGHT] + 1)) != NULL;
	if (i->flags & HAS_NAMES) {
		ok &= (g->name_at = malloc(h->bytes[NAME_AT])) != NULL;
		ok &= (g->name_bytes = malloc(h->bytes[NAME_BYTES] + 1)) != NULL;
	}
	if (i->flags & HAS_LABELS) {
		ok &= (g->label = malloc(h->bytes[LABEL] + 1)) != NULL;
		ok &= (g->label_name = calloc((size_t)i->labels + 1, sizeof *g->label_name)) != NULL;
		g->labels = g->label_name ? i->labels : 0;
	}
	return ok ? 0 : SL_NOMEM;
}

int sl_graph_file_read(const char *path, struct sl_graph **out, struct sl_error *err)
{
	struct sl_array_header h;
	struct info info;
	struct sl_array a[ARRAYS];
	int rc = 0, fd = open_checked(path, &h, &info, err);
	if (fd < 0)
		return fd;
	struct sl_graph *g = calloc(1, sizeof *g);
	char *names = malloc(h.bytes[LABEL_NAMES] + 1);
	if (!g || !names || allocate(g, &h, &info)) {
		rc = sl_error_memory(err, "the graph");
		goto out;
	}
	void *into[ARRAYS] = {g->start, g->node, g->weight, g->name_at, g->name_bytes, g->label, names};
	for (int i = 0; i < ARRAYS; i++)
		a[i] = (struct sl_array){into[i], h.bytes[i]};
	rc = sl_array_file_read(fd, path, &kind, &h, a, err);
	if (!rc && g->name_at && g->name_at[g->n] != h.bytes[NAME_BYTES])
		rc = sl_array_file_damaged(path, &kind, "its names end too early or too late", err);
	if (!rc && (rc = sl__names_split(g->label_name, g->labels, names, h.bytes[LABEL_NAMES])))
		rc = rc == SL_NOMEM ? sl_error_set(err, rc, SL_NO_MEMORY "the graph.")
				    : sl_array_file_damaged(path, &kind, "its labels end too early", err);
out:
	close(fd);
	free(names);
	if (rc)
		sl_graph_destroy(g);
	else
		*out = g;
	return rc;
}
