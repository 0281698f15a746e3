/* Stored points and neighbours are read back unchanged; every flipped bit and missing end is detected. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "core/graph/graph.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/files/neighbours_file.h"
#include "daemon/files/points_file.h"

enum { N = 700, D = 9, N_USER = 703, K = 11, FROM = 31 };

static char *path_of(char path[64])
{
	snprintf(path, 64, "/tmp/spaceland-array-%d", (int)getpid());
	unlink(path);
	return path;
}

/* Points with all optional arrays, and without. */
static struct sl_points *make_points(bool all, enum sl_points_type type)
{
	struct sl_points *p = calloc(1, sizeof *p);
	size_t bytes = (size_t)N * D * (type == SL_POINTS_U8 ? 1 : sizeof(float));
	*p = (struct sl_points){.n = N, .d = D, .n_user = all ? N_USER : N, .type = type,
				.report = {.not_finite = all ? 3 : 0, .duplicates = 5, .constant_columns = 1}};
	p->value = malloc(bytes);
	for (size_t i = 0; i < (size_t)N * D; i++)
		if (type == SL_POINTS_U8)
			((uint8_t *)p->value)[i] = (uint8_t)(i * 37);
		else
			((float *)p->value)[i] = (float)i * 0.37f - 5;
	if (!all)
		return p;
	p->user = malloc(N * sizeof *p->user);
	for (uint32_t i = 0; i < N; i++)
		p->user[i] = i + (i > 10) + (i > 200) + (i > 500);
	p->name_at = malloc((N_USER + 1) * sizeof *p->name_at);
	p->name_bytes = malloc(N_USER * 16);
	p->label = malloc(N_USER * sizeof *p->label);
	p->labels = 3;
	p->label_name = calloc(3, sizeof *p->label_name);
	for (uint32_t i = 0, at = 0; i <= N_USER; i++) {
		p->name_at[i] = at;
		if (i < N_USER)
			at += (uint32_t)sprintf(p->name_bytes + at, "cell %u", i) + 1;
	}
	for (uint32_t i = 0; i < N_USER; i++)
		p->label[i] = i % 4 == 3 ? SL_UNLABELLED : i % 4;
	for (int k = 0; k < 3; k++)
		p->label_name[k] = strdup((const char *[]){"a", "b", "third"}[k]);
	return p;
}

/* Points with axes, as if they had been projected. */
static struct sl_points *make_projected(bool all, uint32_t kept)
{
	struct sl_points *p = make_points(all, SL_POINTS_F32);
	p->pca = sl_pca_create(FROM, kept, D);
	for (uint32_t k = 0; k < kept; k++)
		p->pca->mean[k] = k / 7.0;
	for (uint32_t k = 0; p->pca->column && k < kept; k++)
		p->pca->column[k] = k + FROM - kept;
	for (uint32_t k = 0; k < kept * D; k++)
		p->pca->axis[k] = 1.0 / (k + 3);
	return p;
}

static void assert_same_points(const struct sl_points *a, const struct sl_points *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->d, b->d);
	assert_int_equal(a->n_user, b->n_user);
	assert_int_equal(a->type, b->type);
	assert_memory_equal(a->value, b->value, (size_t)a->n * a->d * (a->type == SL_POINTS_U8 ? 1 : sizeof(float)));
	assert_memory_equal(&a->report, &b->report, sizeof a->report);
	assert_int_equal(a->user != NULL, b->user != NULL);
	if (a->user)
		assert_memory_equal(a->user, b->user, a->n * sizeof *a->user);
	assert_int_equal(a->name_at != NULL, b->name_at != NULL);
	for (uint32_t i = 0; a->name_at && i < a->n_user; i++)
		assert_string_equal(a->name_bytes + a->name_at[i], b->name_bytes + b->name_at[i]);
	assert_int_equal(a->label != NULL, b->label != NULL);
	assert_int_equal(a->labels, b->labels);
	if (a->label)
		assert_memory_equal(a->label, b->label, a->n_user * sizeof *a->label);
	for (uint32_t k = 0; a->label && k < a->labels; k++)
		assert_string_equal(a->label_name[k], b->label_name[k]);
	assert_int_equal(a->pca != NULL, b->pca != NULL);
	if (!a->pca)
		return;
	assert_int_equal(a->pca->from, b->pca->from);
	assert_int_equal(a->pca->to, b->pca->to);
	assert_int_equal(a->pca->kept, b->pca->kept);
	assert_memory_equal(a->pca->mean, b->pca->mean, a->pca->kept * sizeof(double));
	assert_memory_equal(a->pca->axis, b->pca->axis, a->pca->kept * a->pca->to * sizeof(double));
	assert_int_equal(a->pca->column != NULL, b->pca->column != NULL);
	if (a->pca->column)
		assert_memory_equal(a->pca->column, b->pca->column, a->pca->kept * sizeof(uint32_t));
}

static void points_come_back(void **state)
{
	for (int i = 0; i < 8; i++) {
		char path[64];
		unsigned char digest[SL_DIGEST_BYTES], again[SL_DIGEST_BYTES];
		struct sl_error err;
		struct sl_points *back, *p = i & 4 ? make_projected(i & 1, i & 2 ? D : FROM) :
						     make_points(i & 1, i & 2 ? SL_POINTS_U8 : SL_POINTS_F32);
		uint64_t bytes;
		assert_int_equal(sl_points_digest(p, digest), 0);
		assert_int_equal(sl_points_file_write(path_of(path), p, digest, NULL, &bytes, &err), 0);
		assert_int_equal(sl_points_file_check(path, &err), 0);
		assert_int_equal(sl_points_file_read(path, &back, &err), 0);
		assert_same_points(p, back);
		assert_int_equal(sl_points_digest(back, again), 0);
		assert_memory_equal(digest, again, sizeof digest);
		/* a difference in one number changes the digest */
		if (back->pca) {
			back->pca->axis[3] *= 1.5;
			assert_int_equal(sl_points_digest(back, again), 0);
			assert_memory_not_equal(digest, again, sizeof digest);
			back->pca->axis[3] = p->pca->axis[3];
		}
		((uint8_t *)back->value)[17] ^= 1;
		assert_int_equal(sl_points_digest(back, again), 0);
		assert_memory_not_equal(digest, again, sizeof digest);
		assert_int_not_equal(sl_points_file_write(path, p, digest, NULL, &bytes, &err), 0);  /* it exists */
		sl_points_destroy(p);
		sl_points_destroy(back);
		unlink(path);
	}
}

/* Axes whose sizes do not match the points. */
static void axes_that_do_not_fit_are_noticed(void **state)
{
	static const uint32_t sizes[][2] = {{FROM, D - 1}, {FROM, D + 1}, {D - 1, D}};
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		char path[64];
		unsigned char digest[SL_DIGEST_BYTES];
		struct sl_error err;
		struct sl_points *p = make_points(true, SL_POINTS_F32), *back;
		uint64_t bytes;
		p->pca = sl_pca_create(sizes[i][0], sizes[i][0], sizes[i][1]);
		assert_int_equal(sl_points_digest(p, digest), 0);
		assert_int_equal(sl_points_file_write(path_of(path), p, digest, NULL, &bytes, &err), 0);
		assert_int_equal(sl_points_file_check(path, &err), SL_BADDATA);
		assert_int_equal(sl_points_file_read(path, &back, &err), SL_BADDATA);
		assert_non_null(strstr(err.detail, "contradict"));
		sl_points_destroy(p);
		unlink(path);
	}
}

static struct sl_neighbours *make_neighbours(bool dropped)
{
	struct sl_neighbours *nb = calloc(1, sizeof *nb);
	*nb = (struct sl_neighbours){.n = N, .k = K, .n_user = dropped ? N + 1 : N, .metric = SL_LP, .p = 3,
				     .recall = 0.97};
	strcpy(nb->method, "ivf");
	nb->index = malloc((size_t)N * K * sizeof *nb->index);
	nb->distance = malloc((size_t)N * K * sizeof *nb->distance);
	nb->user = dropped ? malloc(N * sizeof *nb->user) : NULL;
	for (uint32_t i = 0; i < N; i++) {
		for (uint32_t j = 0; j < K; j++) {
			nb->index[i * K + j] = (i + 1 + j) % N;
			nb->distance[i * K + j] = (float)j * 0.5f;
		}
		if (dropped)
			nb->user[i] = i + (i > 4);
	}
	nb->axes = dropped ? malloc((size_t)N * SL_AXES * sizeof *nb->axes) : NULL;
	for (uint32_t i = 0; dropped && i < N * SL_AXES; i++)
		nb->axes[i] = (float)i * 0.25f;
	return nb;
}

static void neighbours_come_back(void **state)
{
	for (int i = 0; i < 2; i++) {
		char path[64];
		struct sl_error err;
		struct sl_neighbours *nb = make_neighbours(i), *back;
		struct sl_neighbours_summary s;
		uint64_t bytes, checked;
		bool axes = !i;
		if (i) {  /* a row that ends early */
			nb->index[5 * K + K - 1] = SL_NO_NEIGHBOUR;
			nb->short_rows = 1;
		}
		assert_int_equal(sl_neighbours_file_write(path_of(path), nb, 1.25, &bytes, &err), 0);
		assert_int_equal(sl_neighbours_file_check(path, &s, &axes, &checked, &err), 0);
		assert_int_equal(axes, i);
		assert_int_equal(bytes, checked);
		assert_int_equal(s.k, K);
		assert_int_equal(s.metric, SL_LP);
		assert_string_equal(s.method, "ivf");
		assert_true(s.seconds == 1.25 && s.recall == 0.97 && s.p == 3);
		assert_int_equal(sl_neighbours_file_read(path, &back, &err), 0);
		assert_memory_equal(nb->index, back->index, (size_t)N * K * sizeof *nb->index);
		assert_memory_equal(nb->distance, back->distance, (size_t)N * K * sizeof *nb->distance);
		assert_int_equal(back->short_rows, i);
		assert_int_equal(nb->n_user, back->n_user);
		assert_int_equal(nb->user != NULL, back->user != NULL);
		assert_int_equal(nb->axes != NULL, back->axes != NULL);
		if (i)
			assert_memory_equal(nb->axes, back->axes, (size_t)N * SL_AXES * sizeof *nb->axes);
		sl_neighbours_destroy(nb);
		sl_neighbours_destroy(back);
		unlink(path);
	}
}

/* An index outside the table must be refused, even with a correct digest. */
static void indices_are_checked(void **state)
{
	char path[64];
	struct sl_error err;
	struct sl_neighbours *nb = make_neighbours(false), *back;
	uint64_t bytes;
	nb->index[3 * K + 2] = N;
	assert_int_equal(sl_neighbours_file_write(path_of(path), nb, 0, &bytes, &err), 0);
	assert_int_equal(sl_neighbours_file_read(path, &back, &err), SL_BADDATA);
	sl_neighbours_destroy(nb);
	unlink(path);
}

static void corrupt(const char *path, long at)
{
	FILE *f = fopen(path, "r+b");
	int c;
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	c = fgetc(f);
	assert_int_equal(fseek(f, at, SEEK_SET), 0);
	fputc(c ^ 0x40, f);
	fclose(f);
}

static void damage_is_noticed(void **state)
{
	char path[64];
	unsigned char digest[SL_DIGEST_BYTES];
	struct sl_error err;
	struct sl_points *p = make_projected(true, FROM), *back;
	uint64_t bytes;
	assert_int_equal(sl_points_digest(p, digest), 0);
	assert_int_equal(sl_points_file_write(path_of(path), p, digest, NULL, &bytes, &err), 0);
	for (long at = 0; at < (long)bytes; at += at < 256 ? 3 : 997) {
		corrupt(path, at);
		assert_int_equal(sl_points_file_read(path, &back, &err), SL_BADDATA);
		assert_non_null(strstr(err.detail, "damaged"));
		if (at < 256)
			assert_int_equal(sl_points_file_check(path, &err), SL_BADDATA);
		corrupt(path, at);
	}
	assert_int_equal(truncate(path, (off_t)bytes - 1), 0);
	assert_int_equal(sl_points_file_read(path, &back, &err), SL_BADDATA);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(sl_points_file_read(path, &back, &err), SL_BADDATA);
	unlink(path);
	assert_int_equal(sl_points_file_read(path, &back, &err), SL_BADDATA);
	sl_points_destroy(p);
}

/* Large arrays have one digest per piece; number and order of the pieces matter. */
static void digests_of_large_arrays(void **state)
{
	enum { BYTES = (9 << 20) + 5 };
	unsigned char info[SL_ARRAY_INFO_BYTES] = {1}, a[SL_DIGEST_BYTES], b[SL_DIGEST_BYTES];
	char *data = malloc(BYTES);
	for (size_t i = 0; i < BYTES; i++)
		data[i] = (char)(i * 2654435761u >> 13);
	struct sl_array array = {data, BYTES}, two[] = {{data, 4 << 20}, {data + (4 << 20), BYTES - (4 << 20)}};
	sl_array_digest(info, &array, 1, a);
	sl_array_digest(info, &array, 1, b);
	assert_memory_equal(a, b, sizeof a);
	sl_array_digest(info, two, 2, b);
	assert_memory_not_equal(a, b, sizeof a);
	data[BYTES - 1] ^= 1;
	sl_array_digest(info, &array, 1, b);
	assert_memory_not_equal(a, b, sizeof a);
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(points_come_back), cmocka_unit_test(axes_that_do_not_fit_are_noticed),
		cmocka_unit_test(neighbours_come_back),
		cmocka_unit_test(indices_are_checked), cmocka_unit_test(damage_is_noticed),
		cmocka_unit_test(digests_of_large_arrays),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
