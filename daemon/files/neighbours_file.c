/* Beside the digest, reading checks what later code relies on: no index is beyond the rows, in either order. Rows with
 * fewer than k neighbours are counted. */
#include "daemon/files/neighbours_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct sl_array_kind kind = {"SLNEIGHB", "the stored neighbours"};

/* AXES is missing if the neighbours have none. */
enum { INDEX, DISTANCE, USER, AXES, ARRAYS };

struct info {
	struct sl_neighbours_summary summary;
	unsigned char reserved[SL_ARRAY_INFO_BYTES - sizeof(struct sl_neighbours_summary)];
};
_Static_assert(sizeof(struct sl_neighbours_summary) == 72, "the summary has no padding");

struct sl_neighbours_summary sl_neighbours_summary_of(const struct sl_neighbours *nb, double seconds)
{
	struct sl_neighbours_summary s = {.n = nb->n, .n_user = nb->n_user, .k = nb->k, .metric = nb->metric, .p = nb->p,
					  .recall = nb->recall, .seconds = seconds};
	memcpy(s.method, nb->method, strnlen(nb->method, sizeof nb->method - 1));
	return s;
}

/* Returns how many arrays there are. */
static int arrays_of(const struct sl_neighbours *nb, struct sl_array a[ARRAYS])
{
	uint64_t m = (uint64_t)nb->n * nb->k;
	a[INDEX] = (struct sl_array){nb->index, m * sizeof *nb->index};
	a[DISTANCE] = (struct sl_array){nb->distance, m * sizeof *nb->distance};
	a[USER] = (struct sl_array){nb->user, nb->user ? (uint64_t)nb->n * sizeof *nb->user : 0};
	a[AXES] = (struct sl_array){nb->axes, (uint64_t)nb->n * SL_AXES * sizeof *nb->axes};
	return nb->axes ? ARRAYS : AXES;
}

void sl_neighbours_digest(const struct sl_neighbours *nb, unsigned char digest[SL_DIGEST_BYTES])
{
	const struct info info = {.summary = sl_neighbours_summary_of(nb, 0)};
	struct sl_array a[ARRAYS];
	sl_array_digest(&info, a, arrays_of(nb, a), digest);
}

int sl_neighbours_file_write(const char *path, const struct sl_neighbours *nb, double seconds, uint64_t *bytes,
			     struct sl_error *err)
{
	const struct info info = {.summary = sl_neighbours_summary_of(nb, seconds)};
	struct sl_array a[ARRAYS];
	unsigned char digest[SL_DIGEST_BYTES];
	int count = arrays_of(nb, a);
	sl_array_digest(&info, a, count, digest);
	return sl_array_file_write(path, &kind, &info, a, count, digest, NULL, bytes, err);
}

static bool consistent(const struct sl_array_header *h, const struct sl_neighbours_summary *s)
{
	uint64_t m = (uint64_t)s->n * s->k;
	bool axes = h->arrays == ARRAYS && h->bytes[AXES] == (uint64_t)s->n * SL_AXES * sizeof(float);
	return (axes || h->arrays == AXES) && s->n && s->n <= s->n_user && h->bytes[INDEX] == m * sizeof(uint32_t) &&
	       h->bytes[DISTANCE] == m * sizeof(float) && memchr(s->method, 0, sizeof s->method) &&
	       (h->bytes[USER] == (uint64_t)s->n * sizeof(uint32_t) || (!h->bytes[USER] && s->n == s->n_user));
}

/* Opens a file and reads its header; returns the descriptor. */
static int open_checked(const char *path, struct sl_array_header *h, struct sl_neighbours_summary *s,
			struct sl_error *err)
{
	int fd = sl_array_file_open(path, &kind, h, err);
	if (fd < 0)
		return fd;
	memcpy(s, h->info, sizeof *s);
	if (consistent(h, s))
		return fd;
	close(fd);
	return sl_array_file_damaged(path, &kind, "its sizes contradict each other", err);
}

/* Checks all indices, since those of a damaged file must not lead outside of arrays. Counts the short rows. */
static bool examine(struct sl_neighbours *nb)
{
	uint64_t m = (uint64_t)nb->n * nb->k;
	uint32_t largest = 0, last = 0;
	for (uint64_t e = 0; e < m; e++)
		if (nb->index[e] != SL_NO_NEIGHBOUR)
			largest = nb->index[e] > largest ? nb->index[e] : largest;
	for (uint32_t i = 0; nb->k && i < nb->n; i++)
		nb->short_rows += nb->index[((uint64_t)i + 1) * nb->k - 1] == SL_NO_NEIGHBOUR;
	for (uint32_t i = 0; nb->user && i < nb->n; i++)
		last = nb->user[i] > last ? nb->user[i] : last;
	return largest < nb->n && (!nb->user || last < nb->n_user);
}

int sl_neighbours_file_read(const char *path, struct sl_neighbours **out, struct sl_error *err)
{
	struct sl_array_header h;
	struct sl_neighbours_summary s;
	struct sl_array a[ARRAYS];
	int rc = 0, fd = open_checked(path, &h, &s, err);
	if (fd < 0)
		return fd;
	struct sl_neighbours *nb = calloc(1, sizeof *nb);
	if (nb) {
		nb->index = malloc(h.bytes[INDEX] + 1);
		nb->distance = malloc(h.bytes[DISTANCE] + 1);
		nb->user = h.bytes[USER] ? malloc(h.bytes[USER]) : NULL;
		nb->axes = h.arrays == ARRAYS ? malloc(h.bytes[AXES]) : NULL;
	}
	if (!nb || !nb->index || !nb->distance || (h.bytes[USER] && !nb->user) || (h.arrays == ARRAYS && !nb->axes)) {
		rc = sl_error_memory(err, "the neighbours");
		goto out;
	}
	nb->n = s.n;
	nb->n_user = s.n_user;
	nb->k = s.k;
	nb->metric = s.metric;
	nb->p = s.p;
	nb->recall = s.recall;
	memcpy(nb->method, s.method, sizeof nb->method);
	arrays_of(nb, a);
	rc = sl_array_file_read(fd, path, &kind, &h, a, err);
	if (!rc && !examine(nb))
		rc = sl_array_file_damaged(path, &kind, "it names points that are not there", err);
out:
	close(fd);
	if (rc)
		sl_neighbours_destroy(nb);
	else
		*out = nb;
	return rc;
}

int sl_neighbours_file_check(const char *path, struct sl_neighbours_summary *out, bool *axes, uint64_t *bytes,
			     struct sl_error *err)
{
	struct sl_array_header h;
	int fd = open_checked(path, &h, out, err);
	if (fd < 0)
		return fd;
	struct stat st;
	*axes = h.arrays == ARRAYS;
	*bytes = fstat(fd, &st) ? 0 : (uint64_t)st.st_size;
	close(fd);
	return 0;
}
