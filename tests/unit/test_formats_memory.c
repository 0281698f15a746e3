/* Every allocation of the readers and of the builder fails once: the result is SL_NOMEM, unless the allocation was
 * optional, and nothing leaks or is freed twice, which the sanitizers check. The linker replaces malloc() and similar
 * functions by those here. In the same way an account refuses each reservation of a reader once. */
#include <stdlib.h>

#include "core/account.h"
#include "core/formats/layout.h"
#include "core/formats/numpy/npy.h"
#include "core/formats/read_points.h"
#include "tests/unit/formats_util.h"

static long allocations, failing = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static bool fails(void) { return allocations++ == failing; }
void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }
void *__wrap_realloc(void *old, size_t size) { return fails() ? NULL : __real_realloc(old, size); }

static long reservations, refusing = -1;

static int take(struct sl_account *account, enum sl_resource what, uint64_t bytes, struct sl_error *err)
{
	return reservations++ == refusing ? sl_error_set(err, SL_TOOBIG, "too much") : 0;
}

static void give(struct sl_account *account, enum sl_resource what, uint64_t bytes)
{
}

/* The account of the next sources; NULL: none. */
static struct sl_account *account;

struct job {
	const char *text;     /* zero-terminated, unless size is given */
	size_t size;
	int (*run)(const struct job *job, struct sl_error *err);
};

static int run_graph(const struct job *job, struct sl_error *err)
{
	struct sl_source *s;
	struct sl_graph *g;
	int rc = sl_source_open_memory(&s, job->text, job->size ? job->size : strlen(job->text), "input", err);

	if (rc)
		return rc;
	sl_source_set_account(s, account);
	rc = sl_graph_read(&g, NULL, s, err);
	sl_source_close(s);
	assert_true(rc == 0 ? g != NULL : g == NULL);
	sl_graph_destroy(g);
	return rc;
}

static int run_labels(const struct job *job, struct sl_error *err)
{
	struct sl_source *s;
	struct sl_graph *g;
	long keep = failing;

	failing = -1;
	g = graph_of("a,b\nb,c\nc,d\n", NULL, "a.csv");
	failing = keep;
	allocations = 0;
	int rc = sl_source_open_memory(&s, job->text, strlen(job->text), "input", err);
	if (!rc) {
		sl_source_set_account(s, account);
		rc = sl_graph_read_labels(g, NULL, s, err);
		sl_source_close(s);
		assert_true(rc == 0 ? g->label != NULL : g->label == NULL);
	}
	sl_graph_destroy(g);
	return rc;
}

static int run_input(const struct job *job, struct sl_error *err)
{
	bool neighbours = strstr(job->text, "MatrixMarket");
	struct sl_input_options options = {.kind = neighbours ? SL_INPUT_NEIGHBOURS : SL_INPUT_POINTS,
					   .drop_not_finite = true};
	struct sl_source *s;
	struct sl_input input;
	int rc = sl_source_open_memory(&s, job->text, strlen(job->text), "input", err);

	if (rc)
		return rc;
	sl_source_set_account(s, account);
	rc = sl_input_read(&input, &options, s, err);
	sl_source_close(s);
	assert_int_equal(rc == 0, input.points || input.neighbours);
	sl_input_finish(&input);
	return rc;
}

/* The kind is recognised: what the file holds does not depend on the memory that there is. */
static int run_any(const struct job *job, struct sl_error *err)
{
	enum sl_input_kind kind = strstr(job->text, "from") ? SL_INPUT_GRAPH : SL_INPUT_POINTS;
	struct sl_source *s;
	struct sl_input input;
	int rc = sl_source_open_memory(&s, job->text, strlen(job->text), "input", err);

	if (rc)
		return rc;
	sl_source_set_account(s, account);
	rc = sl_input_read(&input, NULL, s, err);
	sl_source_close(s);
	if (!rc)
		assert_int_equal(input.kind, kind);
	if (!rc && input.points)
		assert_int_equal(input.points->n, 3);
	sl_input_finish(&input);
	return rc;
}

static int run_layout(const struct job *job, struct sl_error *err)
{
	static const float y[12] = {1, 2, 3};
	struct sl_source *s;
	void *file = NULL;
	float *back = NULL;
	size_t size;
	uint64_t n, d;
	int rc = sl_layout_npy(&file, &size, y, 6, 2, err);

	if (!rc)
		rc = sl_source_open_memory(&s, file, size, "input", err);
	if (!rc) {
		sl_source_set_account(s, account);
		rc = sl_npy_read(&back, &n, &d, NULL, s, err);
		sl_source_close(s);
		assert_true(rc == 0 ? back != NULL : back == NULL);
	}
	free(back);
	free(file);
	return rc;
}

/* More entries and names than the initial sizes of their tables. */
static char *long_text(const char *first, const char *line)
{
	char *text = malloc(200000), *at = text + sprintf(text, "%s", first);

	assert_non_null(text);
	for (int k = 0; k < 3000; k++)
		at += sprintf(at, line, k + 1, (k * 7) % 3000 + 1);
	return text;
}

static void every_allocation_fails_once(const struct job *job)
{
	struct sl_error err;
	int refused = 0;

	for (failing = 0;; failing++) {
		allocations = 0;
		int rc = job->run(job, &err);
		long made = allocations;
		if (rc) {
			assert_int_equal(rc, SL_NOMEM);
			assert_int_equal(err.code, SL_NOMEM);
			refused++;
		}
		if (made <= failing) {
			assert_int_equal(rc, 0);
			break;
		}
	}
	failing = -1;
	assert_true(refused >= 3);
}

/* The readers stop at a refusal, and the account has its reason. */
static void every_reservation_is_refused_once(const struct job *job)
{
	struct sl_error err;

	for (refusing = 0;; refusing++) {
		struct sl_account purse = {.take = take, .give = give};
		account = &purse;
		reservations = 0;
		int rc = job->run(job, &err);
		if (reservations <= refusing) {
			assert_int_equal(rc, 0);
			assert_int_equal(purse.refusal.code, 0);
			break;
		}
		assert_true(rc == SL_TOOBIG || rc == SL_NOMEM);
		assert_int_equal(purse.refusal.code, SL_TOOBIG);
	}
	assert_true(refusing >= 1);
	account = NULL;
	refusing = -1;
	reservations = 0;
	assert_int_equal(job->run(job, &err), 0);
	assert_int_equal(reservations, 0);  /* what has no account is not booked in another's */
}

static void readers(void **state)
{
	char *mtx = long_text("%%MatrixMarket matrix coordinate real general\n3000 3000 3000\n", "%d %d .5\n");
	char *numbers = long_text("", "%d\t1%d\n"), *names = long_text("", "node-%d,node-%d,2\n");
	size_t packed_size, zst_size;
	unsigned char *packed = gzipped(names, strlen(names), &packed_size), *zst = zstandard(mtx, strlen(mtx), &zst_size);
	const struct job jobs[] = {
		{mtx, 0, run_graph},
		{numbers, 0, run_graph},
		{names, 0, run_graph},
		{"a,b\n\"c \"\"d\"\"\",b\n1,2\n", 0, run_graph},
		{"x y\n1 2\n1 2\n", 0, run_graph},
		{"4000000000 5\n123456789012345678 5\n", 0, run_graph},
		{(const char *)packed, packed_size, run_graph},
		{(const char *)zst, zst_size, run_graph},
		{"red\nblue\nred\ngreen\n", 0, run_labels},
		{"a,red\nb,blue\nc,red\n", 0, run_labels},
		{NULL, 0, run_layout},
		{numbers, 0, run_input},
		{"name,\"x\",y,class\na,1,2,u\na,nan,3,v\n\"c\",5,6,u\n", 0, run_input},
		{mtx, 0, run_input},
		{"x,y\n1,2.5\n-3,4\n5,6\n", 0, run_any},
		{"name,x,y,class\na,1,2,u\nb,7,3,v\nc,5,6,u\n", 0, run_any},
		{"from,to\na,b\nb,c\n", 0, run_any},
		{"from to 2 4\nb c 5 6\n", 0, run_any},
	};

	for (size_t k = 0; k < sizeof jobs / sizeof *jobs; k++) {
		every_allocation_fails_once(&jobs[k]);
		every_reservation_is_refused_once(&jobs[k]);
	}
	free(mtx);
	free(numbers);
	free(names);
	free(packed);
	free(zst);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(readers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
