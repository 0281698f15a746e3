#include "daemon/files/graph_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "daemon/files/array_file.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "arrays are written as they are in memory");

#define FILE_VERSION 2  /* version 1 has no seal */

enum { HAS_WEIGHTS = 1, HAS_NAMES = 2, HAS_LABELS = 4, SYMMETRIC = 8 };

struct header {
	char magic[8];
	uint32_t version, flags;
	uint64_t n, m, name_bytes, label_bytes;
	uint32_t labels, padding;
	struct sl_graph_report report;
	unsigned char digest[SL_GRAPH_DIGEST_BYTES];
	unsigned char reserved[104];
	unsigned char checksum[16];  /* of all before it */
};
_Static_assert(sizeof(struct header) == 256, "the header has no padding");

const char *const sl_graph_file_kinds[] = {"slg", "slp", "sln", "sll", NULL};

static const char magic[8] = "SLGRAPH\n";

#define SECTIONS 7

/* The arrays of g in the order of the file; names: those of the labels, one after the other. */
static void sections(const struct sl_graph *g, char *names, uint64_t name_bytes, struct sl_array s[SECTIONS])
{
	uint64_t n = g->n;
	s[0] = (struct sl_array){g->start, (n + 1) * sizeof *g->start};
	s[1] = (struct sl_array){g->node, g->m * sizeof *g->node};
	s[2] = (struct sl_array){g->weight, g->weight ? g->m * sizeof *g->weight : 0};
	s[3] = (struct sl_array){g->name_at, g->name_at ? (n + 1) * sizeof *g->name_at : 0};
	s[4] = (struct sl_array){g->name_bytes, g->name_at ? g->name_at[n] : 0};
	s[5] = (struct sl_array){g->label, g->label ? n * sizeof *g->label : 0};
	s[6] = (struct sl_array){names, name_bytes};
}

static uint64_t label_bytes(const struct sl_graph *g)
{
	uint64_t bytes = 0;
	for (uint32_t k = 0; g->label && k < g->labels; k++)
		bytes += strlen(g->label_name[k]) + 1;
	return bytes;
}

static void hash_begin(crypto_generichash_state *state, const struct header *h)
{
	uint64_t shape[] = {h->n, h->m, h->flags & (HAS_WEIGHTS | HAS_NAMES | HAS_LABELS), h->name_bytes, h->labels,
			    h->label_bytes};
	crypto_generichash_init(state, NULL, 0, SL_GRAPH_DIGEST_BYTES);
	crypto_generichash_update(state, (const unsigned char *)shape, sizeof shape);
}

static void fill(struct header *h, const struct sl_graph *g)
{
	memset(h, 0, sizeof *h);
	memcpy(h->magic, magic, sizeof magic);
	h->version = FILE_VERSION;
	h->flags = (g->weight ? HAS_WEIGHTS : 0) | (g->name_at ? HAS_NAMES : 0) | (g->label ? HAS_LABELS : 0) |
		   (g->symmetric ? SYMMETRIC : 0);
	h->n = g->n;
	h->m = g->m;
	h->name_bytes = g->name_at ? g->name_at[g->n] : 0;
	h->labels = g->label ? g->labels : 0;
	h->label_bytes = label_bytes(g);
	h->report = g->report;
}

void sl_graph_digest(const struct sl_graph *g, unsigned char digest[SL_GRAPH_DIGEST_BYTES])
{
	struct header h;
	struct sl_array s[SECTIONS];
	crypto_generichash_state state;
	fill(&h, g);
	sections(g, NULL, 0, s);
	hash_begin(&state, &h);
	for (int i = 0; i < SECTIONS - 1; i++)
		if (s[i].bytes)
			crypto_generichash_update(&state, s[i].data, s[i].bytes);
	for (uint32_t k = 0; k < h.labels; k++)
		crypto_generichash_update(&state, (const unsigned char *)g->label_name[k], strlen(g->label_name[k]) + 1);
	crypto_generichash_final(&state, digest, SL_GRAPH_DIGEST_BYTES);
}

static void checksum(const struct header *h, unsigned char out[16])
{
	crypto_generichash(out, 16, (const unsigned char *)h, offsetof(struct header, checksum), NULL, 0);
}

int sl_graph_file_write(const char *path, const struct sl_graph *g, const unsigned char digest[SL_GRAPH_DIGEST_BYTES],
			const char *record, uint64_t *bytes, struct sl_error *err)
{
	struct header h;
	struct sl_array s[SECTIONS];
	fill(&h, g);
	memcpy(h.digest, digest, sizeof h.digest);
	checksum(&h, h.checksum);
	char *names = sl__names_join(g->label_name, h.labels, &h.label_bytes);
	if (!names)
		return sl_error_set(err, SL_NOMEM, "no memory to store the graph");
	sections(g, names, h.label_bytes, s);
	int rc = sl__write_sealed(path, &h, sizeof h, s, SECTIONS, record, bytes, err);
	free(names);
	return rc;
}

static int damaged(const char *path, const char *how, struct sl_error *err)
{
	const char *slash = strrchr(path, '/');
	return sl_error_at(err, SL_BADDATA, slash ? slash + 1 : path, 0, "the stored graph is damaged: %s", how);
}

static uint64_t content_bytes(const struct header *h)
{
	return sizeof *h + (h->n + 1) * 8 + h->m * 4 + (h->flags & HAS_WEIGHTS ? h->m * 4 : 0) +
	       (h->flags & HAS_NAMES ? (h->n + 1) * 8 + h->name_bytes : 0) +
	       (h->flags & HAS_LABELS ? h->n * 4 + h->label_bytes : 0);
}

/* Opens the file and checks all that the header says. */
static int open_checked(const char *path, struct header *h, struct sl_error *err)
{
	unsigned char sum[16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return damaged(path, strerror(errno), err);
	const char *how;
	if (sl__read_all(fd, h, sizeof *h) || memcmp(h->magic, magic, sizeof magic))
		how = "it has no header";
	else if (checksum(h, sum), memcmp(sum, h->checksum, sizeof sum))
		how = "its header does not match the checksum";
	else if (h->version < 1 || h->version > FILE_VERSION)
		how = "it is of another version";
	else if (h->n > UINT32_MAX || h->m > (uint64_t)1 << 48 || h->name_bytes > (uint64_t)1 << 48 ||
		 h->label_bytes > (uint64_t)1 << 48)
		how = "its sizes are out of range";
	else
		how = sl__sealed_length(fd, path, content_bytes(h), h->version > 1);
	if (!how)
		return fd;
	close(fd);
	return damaged(path, how, err);
}

int sl_graph_file_check(const char *path, const unsigned char digest[SL_GRAPH_DIGEST_BYTES], struct sl_error *err)
{
	struct header h;
	int fd = open_checked(path, &h, err);
	if (fd < 0)
		return fd;
	close(fd);
	return memcmp(h.digest, digest, sizeof h.digest) ? damaged(path, "it is another graph", err) : 0;
}

static int allocate(struct sl_graph *g, const struct header *h)
{
	uint64_t n = h->n, m = h->m;
	g->start = malloc((n + 1) * sizeof *g->start);
	g->node = malloc(m * sizeof *g->node + 1);
	bool ok = g->start && g->node;
	if (h->flags & HAS_WEIGHTS)
		ok &= (g->weight = malloc(m * sizeof *g->weight + 1)) != NULL;
	if (h->flags & HAS_NAMES) {
		ok &= (g->name_at = malloc((n + 1) * sizeof *g->name_at)) != NULL;
		ok &= (g->name_bytes = malloc(h->name_bytes + 1)) != NULL;
	}
	if (h->flags & HAS_LABELS) {
		ok &= (g->label = malloc(n * sizeof *g->label + 1)) != NULL;
		ok &= (g->label_name = calloc((size_t)h->labels + 1, sizeof *g->label_name)) != NULL;
		g->labels = g->label_name ? h->labels : 0;
	}
	return ok ? 0 : SL_NOMEM;
}

int sl_graph_file_read(const char *path, struct sl_graph **out, struct sl_error *err)
{
	struct header h;
	struct sl_array s[SECTIONS];
	unsigned char digest[SL_GRAPH_DIGEST_BYTES];
	crypto_generichash_state state;
	int rc = 0, fd = open_checked(path, &h, err);
	if (fd < 0)
		return fd;
	struct sl_graph *g = calloc(1, sizeof *g);
	char *names = malloc(h.label_bytes + 1);
	if (!g || !names || allocate(g, &h)) {
		rc = sl_error_set(err, SL_NOMEM, "no memory for the graph");
		goto out;
	}
	g->n = (uint32_t)h.n;
	g->m = h.m;
	g->symmetric = (h.flags & SYMMETRIC) != 0;
	g->report = h.report;
	if (g->name_at)
		g->name_at[g->n] = h.name_bytes;  /* for the size; read over presently */
	sections(g, names, h.label_bytes, s);
	hash_begin(&state, &h);
	for (int i = 0; i < SECTIONS && !rc; i++) {
		if (!s[i].bytes)
			continue;
		if (sl__read_all(fd, s[i].data, s[i].bytes))
			rc = damaged(path, "it cannot be read to its end", err);
		else
			crypto_generichash_update(&state, s[i].data, s[i].bytes);
	}
	crypto_generichash_final(&state, digest, sizeof digest);
	if (!rc && memcmp(digest, h.digest, sizeof digest))
		rc = damaged(path, "its content does not match the digest", err);
	if (!rc && (rc = sl__names_split(g->label_name, g->labels, names, h.label_bytes)))
		rc = rc == SL_NOMEM ? sl_error_set(err, rc, "no memory for the graph") : damaged(path, "labels", err);
out:
	close(fd);
	free(names);
	if (rc)
		sl_graph_destroy(g);
	else
		*out = g;
	return rc;
}
