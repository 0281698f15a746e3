/* The text readers on good files: numbers, MatrixMarket, edge lists in every variant. */
#include <float.h>
#include <math.h>

#include "core/formats/text/number.h"
#include "tests/unit/formats_util.h"
#include "tests/unit/seeds.h"

/* ---- numbers ---------------------------------------------------------------- */

static void check_number(const char *text)
{
	char line[512];
	const char *p = line;
	float ours = -1, theirs = strtof(text, NULL);

	snprintf(line, sizeof line, "%s\n", text);
	assert_true(sl__parse_float(&p, &ours));
	assert_int_equal(*p, '\n');
	if (memcmp(&ours, &theirs, sizeof ours))
		fail_msg("%s: %.9g instead of %.9g", text, (double)ours, (double)theirs);
	double our_wide = -1, their_wide = strtod(text, NULL);
	p = line;
	assert_true(sl__parse_double(&p, &our_wide));
	assert_int_equal(*p, '\n');
	if (memcmp(&our_wide, &their_wide, sizeof our_wide))
		fail_msg("%s: %.17g instead of %.17g", text, our_wide, their_wide);
}

static void numbers_are_the_nearest_floats(void **state)
{
	static const char *const texts[] = {
		"0", "-0", "1", "+1", "1.", ".5", "-.5e1", "1e10", "1E+10", "1e-10", "3.4028235e38", "3.4028236e38", "1e39",
				"-1e39",
		"1.17549435e-38", "1e-45", "7e-46", "7.1e-46", "1e-60", "16777217", "16777217.0000000001", "16777219",
		"0.033057851239669422", "8388608.5", "8388609.5", "1.00000005960464477539", "1.000000059604644775390625",
		"1.0000000596046447753906251", "123456789012345678901234567890", "0.00000000000000000000000000001",
		"1e99999", "1e-99999", "0e99999", "00000000000000000000000000001.5", "9007199254740993", "33554433.5",
	};
	char text[64];
	uint64_t seed = test_seed(1);

	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
		check_number(texts[k]);
	for (int k = 0; k < (test_lightest() ? 20000 : 200000); k++) {
		uint32_t bits;
		float f;
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		bits = (uint32_t)(seed >> 32) & 0x7fffffff;
		memcpy(&f, &bits, 4);
		if (!isfinite(f))
			continue;
		snprintf(text, sizeof text, "%.*g", 1 + k % 20, (double)f);
		check_number(text);
		/* half way between two floats, and next to it */
		snprintf(text, sizeof text, "%.17g", ((double)f + (double)nextafterf(f, FLT_MAX)) / 2);
		check_number(text);
		snprintf(text, sizeof text, "%.*f", k % 12, (double)(bits % 100000) / 997);
		check_number(text);
		double wide = 1.6e9 + (double)bits / 4096;  /* and between two doubles */
		snprintf(text, sizeof text, "%.*f", 1 + k % 20, wide + (k % 2 ? 0 : 0x1p-23 / 2));
		check_number(text);
	}
}

static void numbers_know_where_they_end(void **state)
{
	const char *p, *text;
	uint64_t u;
	float f;

	p = text = "12e+x";
	assert_true(sl__parse_float(&p, &f) && f == 12 && p == text + 2);
	p = text = "x";
	assert_false(sl__parse_float(&p, &f));
	assert_ptr_equal(p, text);
	p = text = ".\n";
	assert_false(sl__parse_float(&p, &f));
	p = "inf ";
	assert_true(sl__parse_float(&p, &f) && isinf(f));
	p = "-Infinity ";
	assert_true(sl__parse_float(&p, &f) && isinf(f) && f < 0 && *p == ' ');
	p = "infinit";
	assert_true(sl__parse_float(&p, &f) && isinf(f) && *p == 'i');
	p = "na";
	assert_false(sl__parse_float(&p, &f));
	p = "NaN\n";
	assert_true(sl__parse_float(&p, &f) && isnan(f));
	p = "18446744073709551615 ";
	assert_true(sl__parse_u64(&p, &u) && u == UINT64_MAX && *p == ' ');
	p = text = "18446744073709551616 ";
	assert_false(sl__parse_u64(&p, &u));
	assert_ptr_equal(p, text);
}

/* ---- MatrixMarket -------------------------------------------------------------- */

static void mtx_variants(void **state)
{
	struct sl_graph *g = graph_of(MTX "real general\n% a comment\n\n3 3 3\n2 1 0.5\n1 2 2.5e-1\n3 1 4\n", NULL,
			"a.mtx");

	assert_sound(g);
	assert_int_equal(g->n, 3);
	assert_int_equal(g->m, 3);
	assert_true(weight_of(g, 1, 0) == .5f && weight_of(g, 0, 1) == .25f && weight_of(g, 2, 0) == 4);
	assert_false(g->symmetric);
	assert_null(g->name_bytes);
	sl_graph_destroy(g);

	static const char *const same[] = {
		MTX "integer symmetric\n3 3 2\n2 1 1\n3 2 1\n",
		MTX "pattern symmetric\n3 3 2\n2 1\n3 2\n",
		MTX "pattern symmetric\n3 3 2\n1 2\n3 2\n",
		MTX "pattern general\n3 3 4\n2 1\n3 2\n1 2\n2 3\n",
		"%%matrixmarket MATRIX Coordinate Pattern SYMMETRIC\r\n%x\r\n3 3 2\r\n2 1\r\n3 2\r\n",
		MTX "real symmetric\n3 3 2\n 2  1 1.0 \n\n\t3\t2 1e0\n% end\n\n",
		MTX "pattern symmetric\n3 3 2\n2 1\n3 2",
		MTX "real general\n3 3 6\n2 1 .5\n2 1 .5\n3 2 1\n1 2 1\n2 3 1\n3 1 0\n",
	};
	g = graph_of(same[0], NULL, "a.mtx");
	assert_true(g->symmetric);
	assert_null(g->weight);
	for (size_t k = 1; k < sizeof same / sizeof *same; k++) {
		struct sl_graph *other = graph_of(same[k], NULL, "no-ending");
		assert_same_graph(g, other);
		sl_graph_destroy(other);
	}
	sl_graph_destroy(g);
}

static void mtx_without_entries(void **state)
{
	struct sl_graph *g = graph_of(MTX "real general\n5 5 0\n", NULL, "a.mtx");

	assert_int_equal(g->n, 5);
	assert_int_equal(g->m, 0);
	assert_int_equal(g->report.isolated, 5);
	sl_graph_destroy(g);
}

/* ---- edge lists ------------------------------------------------------------------ */

static void edges_separators_and_comments(void **state)
{
	static const char *const same[] = {
		"0 1\n1 2\n2 3\n", "0\t1\n1\t2\n2\t3\n", "0,1\n1,2\n2,3\n", "0;1\n1;2\n2;3\n", "0, 1\n1 ,2\n 2 , 3 \n",
		"# a graph\n%\n\n0 1\n  # more\n1 2\n2   3", "0 1\r\n1 2\r\n2 3\r\n", "\"0\",\"1\"\n1,\"2\"\n2,3\n",
		"source,target\n0,1\n1,2\n2,3\n", "From\tTo\n0\t1\n1\t2\n2\t3\n", "apple pear\n0 1\n1 2\n2 3\n",
		"from,to,weight\n0,1,1\n1,2,1.0\n2,3,1e0\n", "\xef\xbb\xbf" "0 1\n1 2\n2 3\n", "2 3\n1 2\n1 0\n",
				"0 1\n1 2\n2 3\n2 1\n",
		" 0  1 \n1\t2\n2 3\n", "gene A,gene B,score\n0,1,1\n1,2,1\n2,3,.5\n3,2,.5\n",
	};
	struct sl_graph *g = graph_of(same[0], NULL, "a.txt");

	assert_sound(g);
	assert_int_equal(g->n, 4);
	assert_int_equal(g->m, 6);
	assert_true(g->symmetric);
	assert_null(g->name_bytes);
	assert_null(g->weight);
	for (size_t k = 1; k < sizeof same / sizeof *same; k++) {
		struct sl_graph *other = graph_of(same[k], NULL, "a.txt");
		assert_same_graph(g, other);
		sl_graph_destroy(other);
	}
	sl_graph_destroy(g);
}

static void edges_directed_and_weighted(void **state)
{
	struct sl_read_options directed = {.directed = true};
	struct sl_graph *g = graph_of("0 1 .5\n1 2 2\n2 1 3\n1 2 1\n3 3 1\n4 0 0\n", &directed, "a.txt");

	assert_sound(g);
	assert_int_equal(g->n, 5);
	assert_int_equal(g->m, 3);
	assert_false(g->symmetric);
	assert_true(weight_of(g, 0, 1) == .5f && weight_of(g, 1, 2) == 3 && weight_of(g, 2, 1) == 3);
	assert_int_equal(g->report.duplicates, 1);
	assert_int_equal(g->report.self_loops, 1);
	assert_int_equal(g->report.zero_weights, 1);
	assert_int_equal(g->report.isolated, 2);
	sl_graph_destroy(g);
}

static void assert_names(const struct sl_graph *g, const char *const *names, uint32_t n)
{
	assert_int_equal(g->n, n);
	assert_non_null(g->name_bytes);
	for (uint32_t i = 0; i < n; i++)
		assert_string_equal(sl_graph_name(g, i), names[i]);
	assert_null(sl_graph_name(g, n));
}

static void edges_with_names(void **state)
{
	static const char *const fruit[] = {"pear", "apple, red", "the \"fig\"", "p\xc3\xa4"};
	struct sl_graph *g = graph_of("source,target,weight\npear,\"apple, red\",2\n\"the \"\"fig\"\"\",pear,1\n"
				      "p\xc3\xa4,p\xc3\xa4,1\n", NULL, "a.csv");

	assert_sound(g);
	assert_names(g, fruit, 4);
	assert_true(weight_of(g, 0, 1) == 2 && weight_of(g, 0, 2) == 1);
	assert_int_equal(g->report.isolated, 1);
	sl_graph_destroy(g);

	/* numbers followed by a name: nodes are in order of appearance, and the numbers' texts are names */
	static const char *const mixed[] = {"7", "3", "x", "12", "007"};
	g = graph_of("7 3\n3 x\n12 7\n007 7\n", NULL, "a.txt");
	assert_sound(g);
	assert_names(g, mixed, 5);
	assert_true(weight_of(g, 0, 1) == 1 && weight_of(g, 1, 2) == 1 && weight_of(g, 3, 0) == 1 && weight_of(g, 4,
			0) == 1);
	sl_graph_destroy(g);
}

static void edges_with_numbers_that_are_names(void **state)
{
	static const char *const gaps[] = {"3", "7", "100"};
	static const char *const one[] = {"1", "2", "3"};
	static const char *const large[] = {"5", "4000000000", "123456789012345678"};
	struct sl_graph *g = graph_of("100 3\n7 100\n", NULL, "a.txt");

	assert_names(g, gaps, 3);
	assert_true(weight_of(g, 0, 2) == 1 && weight_of(g, 1, 2) == 1 && weight_of(g, 0, 1) == 0);
	sl_graph_destroy(g);

	g = graph_of("3 1\n1 2\n", NULL, "a.txt");
	assert_names(g, one, 3);
	assert_true(weight_of(g, 0, 2) == 1 && weight_of(g, 0, 1) == 1 && weight_of(g, 1, 2) == 0);
	sl_graph_destroy(g);

	/* beyond the bitmap, and beyond 32 bits: still in numeric order */
	for (int k = 0; k < 2; k++) {
		g = graph_of(k ? "123456789012345678 5\n4000000000 5\n" : "4000000000 5\n5 123456789012345678\n", NULL,
				"a.txt");
		assert_names(g, large, 3);
		assert_true(weight_of(g, 0, 1) == 1 && weight_of(g, 0, 2) == 1 && weight_of(g, 1, 2) == 0);
		sl_graph_destroy(g);
	}
	g = graph_of("4000000000 5\n", NULL, "a.txt");
	assert_names(g, (const char *const[]){"5", "4000000000"}, 2);
	sl_graph_destroy(g);
}

/* Ranks across many words of the bitmap: node i is named 3 i + 1000. */
static void edges_with_many_gaps(void **state)
{
	enum { N = 5000 };
	char *text = malloc(N * 32), *at = text, name[16];
	struct sl_graph *g;

	for (int i = 1; i < N; i++)
		at += sprintf(at, "%d\t%d\n", 3 * ((i * 7) % N) + 1000, 3 * ((i * 7 + 1) % N) + 1000);
	g = graph_of(text, NULL, "a.tsv");
	assert_sound(g);
	assert_int_equal(g->n, N);
	for (uint32_t i = 0; i < N; i++) {
		sprintf(name, "%u", 3 * i + 1000);
		assert_string_equal(sl_graph_name(g, i), name);
		if (i > 0 && i < N - 1)
			assert_true(weight_of(g, i, i + 1) == 1);
	}
	sl_graph_destroy(g);
	free(text);
}

/* A hundred thousand names: the table grows, the order stays. */
static void edges_with_many_names(void **state)
{
	enum { N = 100000 };
	char *text = malloc(N * 40), *at = text, name[32];
	struct sl_graph *g;

	for (uint32_t i = 0; i < N; i++)
		at += sprintf(at, "node-%u\tnode-%u\n", i, i + 1);
	g = graph_of(text, NULL, "a.tsv");
	assert_int_equal(g->n, N + 1);
	assert_int_equal(g->m, 2 * N);
	for (uint32_t i = 0; i <= N; i++) {
		sprintf(name, "node-%u", i);
		assert_string_equal(sl_graph_name(g, i), name);
	}
	assert_int_equal(g->report.leaves, 2);
	assert_int_equal(g->report.components, 1);
	sl_graph_destroy(g);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_the_nearest_floats),
		cmocka_unit_test(numbers_know_where_they_end),
		cmocka_unit_test(mtx_variants),
		cmocka_unit_test(mtx_without_entries),
		cmocka_unit_test(edges_separators_and_comments),
		cmocka_unit_test(edges_directed_and_weighted),
		cmocka_unit_test(edges_with_names),
		cmocka_unit_test(edges_with_numbers_that_are_names),
		cmocka_unit_test(edges_with_many_gaps),
		cmocka_unit_test(edges_with_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
