/* Arrays that are missing have no bytes. Reading checks that the sizes match each other and the file's length before
 * it allocates, and the digest after it. */
#include "daemon/files/points_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct sl_array_kind kind = {"SLPOINTS", "the stored points"};

/* The arrays of the file. Those from MEAN on exist only for points that were projected. */
enum { VALUE, USER, NAME_AT, NAME_BYTES, LABEL, LABEL_NAMES, MEAN, AXIS, ARRAYS };
_Static_assert(ARRAYS <= SL_ARRAYS_MAX, "the header has room for all arrays");

struct info {
	uint32_t n, d, n_user, type, labels, has_labels;
	struct sl_points_report report;
	uint32_t pca_from;  /* columns before the projection; 0: none */
	uint32_t pca_kept;  /* of these, columns with weights, whose numbers follow the means; 0: all have weights */
	uint32_t center_columns;  /* numbers of the center; 0: none */
	uint32_t merged;
	unsigned char reserved[SL_ARRAY_INFO_BYTES - 40 - sizeof(struct sl_points_report)];
};
_Static_assert(sizeof(struct info) == SL_ARRAY_INFO_BYTES, "the owner's bytes are all used");

static void fill(struct info *info, const struct sl_points *p)
{
	memset(info, 0, sizeof *info);
	info->n = p->n;
	info->d = p->d;
	info->n_user = p->n_user;
	info->type = (uint32_t)p->type;
	info->labels = p->label ? p->labels : 0;
	info->has_labels = p->label != NULL;
	info->report = p->report;
	info->pca_from = p->pca ? p->pca->from : 0;
	info->pca_kept = p->pca && p->pca->column ? p->pca->kept : 0;
	info->center_columns = p->center ? p->center_columns : 0;
	info->merged = p->merged;
}

static int arrays_in(const struct info *i)
{
	return i->pca_from ? ARRAYS : i->center_columns ? AXIS : MEAN;
}

static uint64_t mean_bytes(uint32_t from, uint32_t kept)
{
	return kept ? kept * (sizeof(double) + sizeof(uint32_t)) : from * sizeof(double);
}

static uint64_t value_bytes(const struct sl_points *p)
{
	return (uint64_t)p->n * p->d * (p->type == SL_POINTS_U8 ? 1 : sizeof(float));
}

static uint64_t center_bytes(const struct sl_points *p)
{
	return p->center ? p->center_columns * sizeof *p->center : 0;
}

/* Means, their columns and the center in one block, malloc'd; NULL: there are not both, or no memory (*rc). */
static void *join_means(const struct sl_points *p, int *rc)
{
	uint64_t means = p->pca ? mean_bytes(p->pca->from, p->pca->column ? p->pca->kept : 0) : 0;
	if (!means || !p->center)
		return NULL;
	char *out = malloc(means + center_bytes(p));
	if (!out) {
		*rc = SL_NOMEM;
		return NULL;
	}
	memcpy(out, p->pca->mean, means);
	memcpy(out + means, p->center, center_bytes(p));
	return out;
}

/* means: of join_means(). */
static void arrays_of(const struct sl_points *p, char *names, uint64_t name_bytes, void *means,
		      struct sl_array a[ARRAYS])
{
	uint64_t n_user = p->n_user;
	a[VALUE] = (struct sl_array){p->value, value_bytes(p)};
	a[USER] = (struct sl_array){p->user, p->user ? (uint64_t)p->n * sizeof *p->user : 0};
	a[NAME_AT] = (struct sl_array){p->name_at, p->name_at ? (n_user + 1) * sizeof *p->name_at : 0};
	a[NAME_BYTES] = (struct sl_array){p->name_bytes, p->name_at ? p->name_at[n_user] : 0};
	a[LABEL] = (struct sl_array){p->label, p->label ? n_user * sizeof *p->label : 0};
	a[LABEL_NAMES] = (struct sl_array){names, name_bytes};
	a[MEAN] = (struct sl_array){p->center, center_bytes(p)};
	if (p->pca) {
		const struct sl_pca *pca = p->pca;
		a[MEAN] = (struct sl_array){means ? means : pca->mean,
					    mean_bytes(pca->from, pca->column ? pca->kept : 0) + center_bytes(p)};
		a[AXIS] = (struct sl_array){pca->axis, (uint64_t)pca->kept * pca->to * sizeof *pca->axis};
	}
}

int sl_points_digest(const struct sl_points *p, unsigned char digest[SL_DIGEST_BYTES])
{
	struct info info;
	struct sl_array a[ARRAYS];
	uint64_t bytes;
	int rc = 0;
	void *means = join_means(p, &rc);
	char *names = sl__names_join(p->label_name, p->label ? p->labels : 0, &bytes);
	if (names && !rc) {
		fill(&info, p);
		arrays_of(p, names, bytes, means, a);
		sl_array_digest(&info, a, arrays_in(&info), digest);
	}
	rc = names ? rc : SL_NOMEM;
	free(names);
	free(means);
	return rc;
}

int sl_points_file_write(const char *path, const struct sl_points *p, const unsigned char digest[SL_DIGEST_BYTES],
			 const char *record, uint64_t *bytes, struct sl_error *err)
{
	struct info info;
	struct sl_array a[ARRAYS];
	uint64_t label_bytes;
	int rc = 0;
	void *means = join_means(p, &rc);
	char *names = sl__names_join(p->label_name, p->label ? p->labels : 0, &label_bytes);
	if (!names || rc) {
		rc = sl_error_memory(err, "storing the points");
	} else {
		fill(&info, p);
		arrays_of(p, names, label_bytes, means, a);
		rc = sl_array_file_write(path, &kind, &info, a, arrays_in(&info), digest, record, bytes, err);
	}
	free(names);
	free(means);
	return rc;
}

/* Checks the center, and the arrays of the projection: axes have d numbers for each of the columns before it. */
static bool consistent_pca(const struct sl_array_header *h, const struct info *i)
{
	uint64_t kept = i->pca_kept ? i->pca_kept : i->pca_from, center = i->center_columns * sizeof(double);
	if (i->center_columns && i->center_columns != (i->pca_from ? i->pca_from : i->d))
		return false;
	if (!i->pca_from)
		return !center || h->bytes[MEAN] == center;
	return i->d && i->d <= kept && i->pca_kept < i->pca_from &&
	       h->bytes[MEAN] == mean_bytes(i->pca_from, i->pca_kept) + center &&
	       h->bytes[AXIS] % (kept * sizeof(double)) == 0 && h->bytes[AXIS] / (kept * sizeof(double)) == i->d;
}

static bool ascending(const struct sl_pca *pca)
{
	for (uint32_t k = 0; pca->column && k < pca->kept; k++)
		if (pca->column[k] >= pca->from || (k && pca->column[k] <= pca->column[k - 1]))
			return false;
	return true;
}

/* Returns true if the arrays' sizes agree with the counts. */
static bool consistent(const struct sl_array_header *h, const struct info *i)
{
	uint64_t n_user = i->n_user;
	return h->arrays == (uint32_t)arrays_in(i) && consistent_pca(h, i) && i->type <= SL_POINTS_U8 &&
	       i->n <= i->n_user &&
	       h->bytes[VALUE] == (uint64_t)i->n * i->d * (i->type == SL_POINTS_U8 ? 1 : sizeof(float)) &&
	       (h->bytes[USER] == (uint64_t)i->n * sizeof(uint32_t) || (!h->bytes[USER] && i->n == i->n_user)) &&
	       (!h->bytes[NAME_AT] || h->bytes[NAME_AT] == (n_user + 1) * sizeof(uint64_t)) &&
	       h->bytes[LABEL] == (i->has_labels ? n_user * sizeof(uint32_t) : 0);
}

static void *room(uint64_t bytes, bool *ok)
{
	void *out = bytes ? malloc(bytes) : NULL;
	*ok = *ok && (out || !bytes);
	return out;
}

static int allocate(struct sl_points *p, const struct sl_array_header *h, const struct info *i)
{
	bool ok = true;
	p->n = i->n;
	p->d = i->d;
	p->n_user = i->n_user;
	p->type = (enum sl_points_type)i->type;
	p->report = i->report;
	p->merged = i->merged;
	p->center_columns = i->center_columns;
	p->center = room(i->center_columns * sizeof *p->center, &ok);
	p->value = room(h->bytes[VALUE], &ok);
	p->user = room(h->bytes[USER], &ok);
	p->name_at = room(h->bytes[NAME_AT], &ok);
	if (p->name_at)
		p->name_bytes = room(h->bytes[NAME_BYTES] + 1, &ok);
	p->label = room(h->bytes[LABEL], &ok);
	if (p->label && (p->label_name = calloc((size_t)i->labels + 1, sizeof *p->label_name)))
		p->labels = i->labels;
	p->pca = i->pca_from ? sl_pca_create(i->pca_from, i->pca_kept ? i->pca_kept : i->pca_from, i->d) : NULL;
	ok = ok && (p->pca || !i->pca_from);
	return ok && (!p->label || p->label_name) ? 0 : SL_NOMEM;
}

/* Distributes the block that join_means() made. */
static void split_means(struct sl_points *p, const char *means, uint64_t bytes)
{
	memcpy(p->pca->mean, means, bytes - center_bytes(p));
	memcpy(p->center, means + bytes - center_bytes(p), center_bytes(p));
}

int sl_points_file_read(const char *path, struct sl_points **out, struct sl_error *err)
{
	struct sl_array_header h;
	struct info info;
	struct sl_array a[ARRAYS];
	struct sl_points *p = NULL;
	char *names = NULL, *means = NULL;
	int rc = 0, fd = sl_array_file_open(path, &kind, &h, err);
	if (fd < 0)
		return fd;
	memcpy(&info, h.info, sizeof info);
	if (!consistent(&h, &info)) {
		rc = sl_array_file_damaged(path, &kind, "its sizes contradict each other", err);
		goto out;
	}
	p = calloc(1, sizeof *p);
	names = malloc(h.bytes[LABEL_NAMES] + 1);
	if (!p || !names || allocate(p, &h, &info)) {
		rc = sl_error_memory(err, "the points");
		goto out;
	}
	if (p->pca && p->center && !(means = malloc(h.bytes[MEAN]))) {
		rc = sl_error_memory(err, "the points");
		goto out;
	}
	void *into[ARRAYS] = {p->value, p->user, p->name_at, p->name_bytes, p->label, names,
			      means ? (void *)means : p->pca ? (void *)p->pca->mean : (void *)p->center,
			      p->pca ? p->pca->axis : NULL};
	for (uint32_t i = 0; i < h.arrays; i++)
		a[i] = (struct sl_array){into[i], h.bytes[i]};
	rc = sl_array_file_read(fd, path, &kind, &h, a, err);
	if (!rc && means)
		split_means(p, means, h.bytes[MEAN]);
	if (!rc && p->pca && !ascending(p->pca))
		rc = sl_array_file_damaged(path, &kind, "its columns are not in order", err);
	if (!rc && (rc = sl__names_split(p->label_name, p->labels, names, h.bytes[LABEL_NAMES])))
		rc = rc == SL_NOMEM ? sl_error_set(err, rc, SL_NO_MEMORY "the points.")
				    : sl_array_file_damaged(path, &kind, "its labels end too early", err);
out:
	close(fd);
	free(names);
	free(means);
	if (rc)
		sl_points_destroy(p);
	else
		*out = p;
	return rc;
}

int sl_points_file_check(const char *path, struct sl_error *err)
{
	struct sl_array_header h;
	struct info info;
	int fd = sl_array_file_open(path, &kind, &h, err);
	if (fd < 0)
		return fd;
	close(fd);
	memcpy(&info, h.info, sizeof info);
	return consistent(&h, &info) ? 0
				     : sl_array_file_damaged(path, &kind, "its sizes contradict each other", err);
}
