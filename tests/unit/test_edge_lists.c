/* Edge lists as programs write them: titles, extra columns, comments, and what the reader says that it took. */
#include "tests/unit/formats_util.h"

#include "core/taken/taken.h"

static float weight(const struct sl_graph *g, const char *row, const char *column)
{
	uint32_t i = UINT32_MAX, j = UINT32_MAX;

	for (uint32_t k = 0; k < g->n; k++) {
		char number[16];
		const char *name = g->name_bytes ? sl_graph_name(g, k) : (snprintf(number, sizeof number, "%u", k), number);
		if (!strcmp(name, row))
			i = k;
		if (!strcmp(name, column))
			j = k;
	}
	assert_true(i != UINT32_MAX && j != UINT32_MAX);
	for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++)
		if (g->node[k] == i)
			return g->weight ? g->weight[k] : 1;
	return 0;
}

static struct sl_graph *read_edges(const char *text, const struct sl_read_options *options)
{
	struct sl_graph *g = graph_of(text, options, "a.csv");

	assert_non_null(g->taken);
	assert_true(sl_taken_adds_up(g->taken));
	return g;
}

static bool noted(const struct sl_graph *g, const char *part)
{
	for (uint32_t k = 0; k < g->taken->notes; k++)
		if (strstr(g->taken->note[k].text, part))
			return true;
	return false;
}

static void assert_left_out(const struct sl_graph *g, uint32_t number, const char *why)
{
	for (uint32_t k = 0; k < g->taken->listed; k++)
		if (g->taken->column[k].first == number) {
			assert_int_equal(g->taken->column[k].role, SL_TAKEN_LEFT_OUT);
			assert_string_equal(g->taken->column[k].why, why);
			return;
		}
	fail_msg("column %u is not listed", number);
}

static void rows_that_begin_with_a_mark(void **state)
{
	struct sl_graph *g = read_edges("# a comment\nsource,target,weight\n#art,#bird,2\n#art,ann,3\nann,%x,4\n# no, row\n"
					"\nbob,#art,1\n", NULL);

	assert_int_equal(g->n, 5);
	assert_int_equal(g->taken->rows, 4);
	assert_int_equal(g->taken->comment_lines, 2);
	assert_int_equal(g->taken->blank_lines, 1);
	assert_int_equal(g->taken->lines, 8);
	assert_true(weight(g, "#art", "#bird") == 2 && weight(g, "ann", "%x") == 4 && weight(g, "bob", "#art") == 1);
	assert_true(noted(g, "1 line begins below the first edge"));
	sl_graph_destroy(g);

	g = read_edges("0 1\n# between words\n# more\n1 2\n", NULL);
	assert_int_equal(g->n, 3);
	assert_int_equal(g->taken->comment_lines, 2);
	sl_graph_destroy(g);
}

static void relations_between_the_nodes(void **state)
{
	struct sl_graph *g = read_edges("a is_a b\nc is_a b\nc part_of d\nd is_a a\n", NULL);
	struct sl_read_options second = {.target_column = "2"};

	assert_int_equal(g->n, 4);
	assert_true(weight(g, "a", "b") == 1 && weight(g, "c", "d") == 1 && weight(g, "c", "b") == 1);
	assert_left_out(g, 2, "relations");
	assert_true(noted(g, "Column 2 holds relations, such as \"is_a\", so the edges join columns 1 and 3"));
	sl_graph_destroy(g);
	g = read_edges("a is_a b\nc is_a b\nc part_of d\nd is_a a\n", &second);
	assert_true(weight(g, "a", "is_a") == 1);
	sl_graph_destroy(g);
	g = read_edges("1 knows 2\n2 likes 3\n3 knows 1\n4 likes 1\n", NULL);
	assert_true(g->n == 4 && weight(g, "4", "1") == 1);
	sl_graph_destroy(g);
	/* two ends and a kind; the words between are nodes, too */
	g = read_edges("ann bob friend\ncid bob friend\ndee bob friend\n", NULL);
	assert_true(g->n == 4 && weight(g, "ann", "bob") == 1);
	assert_true(noted(g, "Column 3 holds words, which are left out"));
	sl_graph_destroy(g);
	g = read_edges("a b c\nb c d\nc d e\nd b f\n", NULL);
	assert_true(weight(g, "a", "b") == 1);
	sl_graph_destroy(g);
	g = read_edges("subject,predicate,object\na,is,b\n", NULL);
	assert_true(g->n == 2 && weight(g, "a", "b") == 1);
	sl_graph_destroy(g);
}

static void gephi_and_columns_in_other_orders(void **state)
{
	struct sl_graph *g = read_edges("Source,Target,Type,Id,Label,timeset,Weight\nalice,bob,Undirected,0,,,2.5\n"
					"bob,carol,Undirected,1,,,1.0\ncarol,dave,Directed,2,,,3.0\n", NULL);

	assert_int_equal(g->n, 4);
	assert_true(weight(g, "alice", "bob") == 2.5f && weight(g, "dave", "carol") == 3);
	assert_int_equal(g->taken->by_role[SL_TAKEN_SOURCE] + g->taken->by_role[SL_TAKEN_TARGET] +
			 g->taken->by_role[SL_TAKEN_WEIGHT], 3);
	assert_left_out(g, 3, "the direction");
	assert_left_out(g, 5, "empty");
	assert_true(noted(g, "there are 1 directed and 2 undirected edges"));
	sl_graph_destroy(g);

	g = read_edges("weight;source;target\n2,5;ann;bob\n1,0;bob;cat\n", NULL);
	assert_true(weight(g, "ann", "bob") == 2.5f && weight(g, "bob", "cat") == 1 && g->n == 3);
	assert_true(noted(g, "Decimal commas"));
	sl_graph_destroy(g);

	/* pandas' row numbers, R's row names */
	g = read_edges(",source,target,weight\n0,ann,bob,2\n1,bob,cat,3\n", NULL);
	assert_true(g->n == 3 && weight(g, "cat", "bob") == 3);
	assert_left_out(g, 1, "row names");
	sl_graph_destroy(g);
	g = read_edges("\"a\" \"b\" \"w\"\n\"1\" \"ann\" \"bob\" 2\n\"2\" \"bob\" \"cat\" 3\n", NULL);
	assert_true(g->n == 3 && weight(g, "cat", "bob") == 3);
	sl_graph_destroy(g);
}

static void konect_and_snap(void **state)
{
	struct sl_graph *g = read_edges("% asym weighted\n% 3 3 3\n1\t2\t1.5\t1089000001\n2\t3\t1\t1089000002\n", NULL);

	assert_true(g->n == 3 && weight(g, "1", "2") == 1.5f);
	assert_left_out(g, 4, "time");
	assert_string_equal(g->taken->sign, "KONECT's first line");
	assert_true(noted(g, "says that its edges are directed; they were read as undirected"));
	assert_int_equal(g->taken->comment_lines, 2);
	sl_graph_destroy(g);

	/* node 1 of the left side is another than node 1 of the right side */
	g = read_edges("% bip unweighted\n1 1\n1 2\n2 1\n", NULL);
	assert_true(g->n == 4 && g->report.self_loops == 0 && weight(g, "u1", "v1") == 1);
	assert_true(noted(g, "bipartite"));
	sl_graph_destroy(g);

	g = read_edges("# Directed graph (each unordered pair of nodes is saved once)\n# FromNodeId\tToNodeId\n"
		       "3\t1\n1\t2\n", &(struct sl_read_options){.directed = true});
	assert_true(g->n == 3 && weight(g, "3", "1") == 1 && weight(g, "1", "3") == 0);
	assert_true(noted(g, "titles are from the comment in line 2") && noted(g, "directed, as the file says"));
	sl_graph_destroy(g);

	/* times are no weights */
	g = read_edges("1 2 1082040961\n3 4 1082155839\n2 3 1082414391\n", NULL);
	assert_null(g->weight);
	assert_left_out(g, 3, "time");
	assert_true(noted(g, "weight=3"));
	sl_graph_destroy(g);
	g = read_edges("1 2 1082040961\n3 4 1082155839\n", &(struct sl_read_options){.weight_column = "3"});
	assert_true(weight(g, "3", "4") == 1082155839.f);
	sl_graph_destroy(g);
}

static void nodes_of_two_kinds(void **state)
{
	static const char ratings[] = "userId,movieId,rating,timestamp\n1,1,4.0,964982703\n1,3,4.5,964981247\n"
				      "2,1,3.5,964982224\n";
	struct sl_read_options one = {.bipartite = SL_SIDES_ONE}, two = {.bipartite = SL_SIDES_TWO};
	struct sl_graph *g = read_edges(ratings, NULL);
	assert_true(g->n == 4 && weight(g, "user 1", "movie 1") == 4 && weight(g, "user 2", "movie 1") == 3.5f);
	assert_true(noted(g, "named user 1, ..., those of column 2 movie 1, ...; bipartite=false"));
	sl_graph_destroy(g);

	g = read_edges(ratings, &one);
	assert_true(g->n == 3 && weight(g, "1", "3") == 4.5f && noted(g, "1 edge from a node to itself"));
	sl_graph_destroy(g);

	/* other titles, or none, do not say so, which is hinted */
	g = read_edges("a,b\n1,1\n1,3\n2,1\n", NULL);
	assert_true(g->n == 3 && noted(g, "bipartite=true keeps them apart"));
	sl_graph_destroy(g);
	g = read_edges("1::1193::5::978300760\n1::661::3::978302109\n2::1193::4::978298413\n", NULL);
	assert_true(g->n == 4 && noted(g, "bipartite=true keeps them apart") && noted(g, "separated by double colons"));
	sl_graph_destroy(g);
	g = read_edges("1 1\n1 3\n2 1\n", &two);
	assert_true(g->n == 4 && weight(g, "u1", "v3") == 1);
	sl_graph_destroy(g);
	g = read_edges("a,b\n1,1\n1,3\n2,1\n", &two);
	assert_true(g->n == 4 && weight(g, "a 1", "b 3") == 1);
	sl_graph_destroy(g);
	g = read_edges("source,target\n1,2\n2,3\n", NULL);
	assert_true(g->n == 3 && !noted(g, "bipartite"));
	sl_graph_destroy(g);

	/* names need no sides unless one is in both columns, however long they are */
	g = read_edges("author,paper\nann,x\nbob,y\n", NULL);
	assert_true(g->n == 4 && weight(g, "ann", "x") == 1 && noted(g, "no name is in both columns"));
	sl_graph_destroy(g);
	g = read_edges("author,paper\nthe same name of more than thirty bytes,the same name of more than thirty bytes\n"
		       "ann,x\n", NULL);
	assert_true(g->n == 4 && weight(g, "author ann", "paper x") == 1);
	sl_graph_destroy(g);
}

static void bars_separate(void **state)
{
	struct sl_graph *g = read_edges("source|target|weight\na|b, c|2\n\"x|y\"|b, c|3\n", NULL);
	assert_true(g->n == 3 && weight(g, "x|y", "b, c") == 3 && noted(g, "The fields are separated by bars"));
	sl_graph_destroy(g);
	g = read_edges("std::a std::b 0.5\nstd::b std::c 1.5\n", NULL);  /* names */
	assert_true(g->n == 3 && weight(g, "std::b", "std::c") == 1.5f);
	sl_graph_destroy(g);
	g = read_edges("sp|P1|A sp|P2|B 0.5\nsp|P2|B sp|P3|C 1.5\n", NULL);
	assert_true(g->n == 3 && weight(g, "sp|P2|B", "sp|P3|C") == 1.5f);
	sl_graph_destroy(g);
	g = read_edges("sp|P1|A,sp|P2|B\nsp|P2|B,sp|P3|C\n", NULL);
	assert_true(g->n == 3 && weight(g, "sp|P2|B", "sp|P3|C") == 1);
	sl_graph_destroy(g);

	/* the bars beyond the first bytes, and one "::" that is cut by their end */
	for (int shift = 0; shift < 2; shift++) {
		char *text = malloc(700000), *p = text;
		p += sprintf(p, "%s", shift ? "10::0::5\n" : "1::0::5\n");
		for (int k = 1; k < 30000; k++)
			p += sprintf(p, "%d::%d::%d\n", k, k + 1, k % 5 + 1);
		g = read_edges(text, NULL);
		assert_true(g->n == 30001 && weight(g, "29998", "29999") == 29998 % 5 + 1);
		sl_graph_destroy(g);
		free(text);
	}
	struct sl_error err;
	char lines[60 * 8 + 8] = "";
	for (int k = 0; k < 60; k++)
		sprintf(lines + strlen(lines), "a|b%d|1\n", k);
	strcat(lines, "a|c\n");
	assert_int_equal(read_memory(&g, NULL, lines, strlen(lines), "a.txt", &err), SL_BADDATA);
	assert_true(err.line == 61);
}

/* As random files had it: columns of whole numbers may be METIS by their count, but neighbours are mutual. */
static void edges_that_count_as_metis(void **state)
{
	struct sl_graph *g = read_edges("% asym unweighted\n% 3 2 2\n2\t2 \n1\t2\n1\t1\n", NULL);
	assert_true(g->taken->rows == 3 && g->n == 2);
	sl_graph_destroy(g);
	g = read_edges("4 4\n3 2\n2 3\n1 3\n4 1\n", NULL);
	assert_true(g->taken->rows == 5 && weight(g, "1", "4") == 1);
	sl_graph_destroy(g);
	g = read_edges("gene1 pp gene2\ngene3 pd gene1\ngene2 pp gene4\ngene5 pp gene1\n", NULL);
	assert_true(noted(g, "taken for a header, but its words are also nodes"));
	sl_graph_destroy(g);
	struct sl_error err;
	assert_int_equal(read_memory(&g, NULL, "source,target,gr\xf6\xdf" "e\na,b,1\n", 25, "a.csv", &err), SL_BADDATA);
	assert_true(err.line == 1 && strstr(err.detail, "The title of column 3 is not valid UTF-8"));
	struct sl_read_options columns = {.source_column = "1"};
	const char *matrix = "%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n";
	assert_int_equal(read_memory(&g, &columns, matrix, strlen(matrix), "a.mtx", &err), SL_BADPARAM);
	assert_string_equal(err.pointer, "/source");
}

static void names_over_several_lines(void **state)
{
	struct sl_graph *g = read_edges("source,target,note\na,b,\"one\ntwo\"\nb,c,x\n\"c\r\n d\",a,\n", NULL);
	assert_true(g->n == 4 && weight(g, "b", "c") == 1 && g->taken->rows == 3 && g->taken->lines == 4);
	assert_true(noted(g, "2 line breaks inside of quoted fields are read as blanks; the first is in line 2"));
	sl_graph_destroy(g);
}

static void options_name_columns(void **state)
{
	static const char text[] = "time,user,item,stars\n5,ann,tea,2\n6,bob,tea,4\n7,bob,soup,1\n";
	struct sl_read_options by_title = {.source_column = "user", .target_column = "item", .weight_column = "stars"};
	struct sl_read_options by_number = {.source_column = "2", .target_column = "3", .weight_column = "4"};
	struct sl_read_options bare = {.source_column = "user", .target_column = "item", .weight_column = ""};
	struct sl_graph *g = read_edges(text, &by_title), *other = read_edges(text, &by_number);
	struct sl_graph *plain = read_edges(text, &bare);

	assert_true(g->n == 4 && weight(g, "tea", "bob") == 4);
	assert_true(other->n == 4 && weight(other, "tea", "bob") == 4);
	assert_true(plain->n == 4 && !plain->weight);
	sl_graph_destroy(g);
	sl_graph_destroy(other);
	sl_graph_destroy(plain);

	static const struct {
		struct sl_read_options options;
		const char *pointer, *text;
	} bad[] = {
		{{.source_column = "from"}, "/source", "no such column"}, {{.target_column = "5"}, "/target", "from 1 to 4"},
		{{.source_column = "2", .target_column = "user"}, "/target", "same column"},
		{{.weight_column = "2"}, "/weight", "source, too"},
	};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		struct sl_error err;
		assert_int_equal(read_memory(&g, &bad[k].options, text, sizeof text - 1, "a.csv", &err), SL_BADPARAM);
		assert_string_equal(err.pointer, bad[k].pointer);
		assert_non_null(strstr(err.detail, bad[k].text));
	}
}

static void headers_and_first_edges(void **state)
{
	/* a word in the third column of all lines is no title */
	struct sl_graph *g = read_edges("ann,bob,friend\nbob,cat,foe\n", NULL);

	assert_true(g->n == 3 && g->m == 4 && !g->weight);
	assert_left_out(g, 3, "words");
	sl_graph_destroy(g);

	g = read_edges("person,friend\nann,bob\nbob,cat\n", NULL);
	assert_int_equal(g->n, 5);
	assert_true(noted(g, "source=person, target=friend"));
	sl_graph_destroy(g);
	g = read_edges("person,friend\nann,bob\nbob,cat\n",
		       &(struct sl_read_options){.source_column = "person", .target_column = "friend"});
	assert_int_equal(g->n, 3);
	assert_int_equal(g->taken->header_lines, 1);
	sl_graph_destroy(g);

	g = read_edges("sep=;\nsource;target\na;b\n", NULL);
	assert_int_equal(g->n, 2);
	assert_int_equal(g->taken->header_lines, 2);
	assert_true(noted(g, "of Excel"));
	sl_graph_destroy(g);
}

/* What random graphs showed. */
static void guesses_are_told(void **state)
{
	/* names in later rows: the first line is no header */
	struct sl_graph *g = read_edges("n0\tn5\t{}\n1008\t1001\t{}\nn2\tn9\t{}\n", NULL);

	assert_true(g->n == 6 && weight(g, "n0", "n5") == 1);
	sl_graph_destroy(g);

	g = read_edges("x;y,12 kg,29.5\nann,x;y,0.5\n", NULL);
	assert_true(g->n == 3 && weight(g, "x;y", "12 kg") == 29.5f);
	sl_graph_destroy(g);
	g = read_edges("ann;bob;2,5\nbob;cat;3,5\n", NULL);
	assert_true(g->n == 3 && weight(g, "bob", "cat") == 3.5f);
	sl_graph_destroy(g);

	g = read_edges("#art,ann\nann,bob\n", NULL);
	assert_true(g->n == 2 && noted(g, "1 line begins above the first edge"));
	sl_graph_destroy(g);
	g = read_edges("a,b\n1,2\n2,a\n", NULL);
	assert_true(noted(g, "words are also nodes") || g->n == 4);
	sl_graph_destroy(g);
}

static void messages_name_the_remedy(void **state)
{
	static const struct {
		const char *text, *part;
		int line;
	} bad[] = {
		{"0 1 {'weight': 2.5}\n1 2 {}\n", "data=[\"weight\"]", 1},
		{"0 1 {}\n1 2 {'weight': 2}\n", "data=[\"weight\"]", 2},
		{"% sym signed\n1 2 1\n2 3 -1\n", "For a signed network", 3},
		{"SOURCE,TARGET,RATING,TIME\n6,2,4,1289241911.7\n6,5,-2,1289241941.5\n", "RATING", 3},
		{"# FromNodeId\tToNodeId\tSign\n0\t1\t-1\n", "Sign", 2}, {"\n \n", "blank", 0},
		{"# nothing\n", "comments but no edge", 0},
	};
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
		struct sl_graph *g;
		struct sl_error err;
		assert_true(read_memory(&g, NULL, bad[k].text, strlen(bad[k].text), "a.txt", &err) < 0);
		if (!strstr(err.detail, bad[k].part))
			fail_msg("%s", err.detail);
		assert_int_equal(err.line, bad[k].line);
	}
}

/* Comments longer than the part that is looked at. */
static void long_comments(void **state)
{
	enum { LINES = 20000 };
	char *text = malloc(LINES * 40), *at = text;

	for (int k = 0; k < LINES; k++)
		at += sprintf(at, "# comment number %d of many\n", k);
	sprintf(at, "source target\n1 2\n2 3\n");
	struct sl_graph *g = read_edges(text, NULL);
	assert_int_equal(g->n, 3);
	assert_int_equal(g->taken->comment_lines, LINES);
	assert_int_equal(g->taken->header_lines, 1);
	sl_graph_destroy(g);
	free(text);
}

/* ---- the formats of other programs ---------------------------------------------- */

static void networks_of_other_programs(void **state)
{
	static const struct {
		const char *text;
		uint32_t n;
		uint64_t entries;
		const char *sign;
		const char *edge[2];
		float weight;
		const char *told;
	} files[] = {
		{"% a comment\n4 2\n2\n1 3\n2\n\n", 4, 4, "METIS", {"2", "3"}, 1, NULL},  /* node 4 is alone */
		{"3 3\n2 3\n1 3\n1 2\n", 3, 6, "METIS", {"1", "3"}, 1, "source=1 reads them so"},
		{"3 2 001\n2 5\n1 5 3 7\n2 7\n", 3, 4, "METIS", {"2", "3"}, 7, NULL},
		{"3 2 111 2\n1 0 9 2 5\n4 1 9 1 5 3 7\n1 1 9 2 7\n", 3, 4, "METIS", {"1", "2"}, 5, NULL},
		{"c roads\np sp 4 3\na 1 2 10\na 2 1 10\na 3 4 5\n", 4, 4, "DIMACS", {"1", "2"}, 1, "lengths of the arcs"},
		{"p max 3 2\nn 1 s\nn 3 t\na 1 2 10\na 2 3 4\n", 3, 4, "DIMACS", {"2", "3"}, 4, "arcs are directed"},
		{"p edge 3 2\ne 1 2\ne 3 2\n", 3, 4, "DIMACS", {"2", "3"}, 1, NULL},
		{"*Vertices 4\n1 \"ann b\" 0.1 0.2 ellipse\n2 bob\n4 \"dee\"\n*Arcs\n1 2 2.5\n*Edges\n3 4\n",
		 4, 4, "Pajek", {"ann b", "bob"}, 2.5f, "arcs are directed"},
		{"*vertices 3\r\n*edgeslist\r\n1 2 3\r\n*partition a\r\n1\r\n", 3, 4, "Pajek", {"1", "3"}, 1,
		 "which are left out"},
		{"a first\nb\nc third one\n#\na b 2\nb c 4\n", 3, 4, "TGF", {"b", "third one"}, 4, NULL},
		{"a: b c\nb: a\nc:\nd:\n", 4, 4, "list of neighbours", {"a", "c"}, 1, NULL},
		{"a : b, c\nb : a\nc : a\n", 3, 4, "list of neighbours", {"a", "c"}, 1, NULL},
		{"#x.py\n# GMT Fri Nov 28 11:37:08 2026\n# \n0 1 2 3\n1 2\n2\n3\n", 4, 8, "networkx", {"0", "3"}, 1, NULL},
		{"#x.py\n# GMT Fri Nov 28 11:37:08 2026\n# \na 2\nb {}\nc {'weight': 2.5}\nb 0\nc 0\n", 3, 4, "networkx",
		 {"a", "c"}, 2.5f, NULL},
		{"1 one\n2 two\n#\n2 1 is near\n", 2, 2, "TGF", {"one", "two"}, 1, NULL},
	};
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		struct sl_graph *g = read_edges(files[k].text, NULL);
		if (g->n != files[k].n || g->m != files[k].entries || !strstr(g->taken->sign, files[k].sign))
			fail_msg("%s: %u nodes, %llu entries, %s", files[k].text, g->n, (unsigned long long)g->m, g->taken->sign);
		assert_true(weight(g, files[k].edge[0], files[k].edge[1]) == files[k].weight);
		assert_true(weight(g, files[k].edge[1], files[k].edge[0]) == files[k].weight);
		assert_true(files[k].told ? noted(g, files[k].told) : g->taken->notes == 0);
		sl_graph_destroy(g);
	}
}

static void networks_by_options(void **state)
{
	static const char roads[] = "p sp 3 2\na 1 2 10\na 3 2 5\n", columns[] = "3 3\n2 3\n1 3\n1 2\n";
	struct sl_read_options directed = {.directed = true}, lengths = {.weight_column = "4"};
	struct sl_read_options none = {.weight_column = ""};
	struct sl_read_options source = {.source_column = "1"};
	struct sl_graph *g = read_edges(roads, &directed);
	assert_true(g->m == 2 && weight(g, "1", "2") == 1 && weight(g, "2", "1") == 0 && g->taken->directed);
	sl_graph_destroy(g);
	g = read_edges(roads, &lengths);
	assert_true(weight(g, "1", "2") == 10 && weight(g, "2", "3") == 5 && !noted(g, "lengths"));
	sl_graph_destroy(g);
	g = read_edges("*Vertices 2\n*Edges\n1 2 5\n", &none);
	assert_true(weight(g, "1", "2") == 1);
	sl_graph_destroy(g);
	g = read_edges("*Vertices 2\n*Edges\n1 2 5\n", &directed);
	assert_true(g->m == 2 && weight(g, "1", "2") == 5 && weight(g, "2", "1") == 5);
	sl_graph_destroy(g);
	g = read_edges(columns, &source);  /* an option of edge lists */
	assert_true(strstr(g->taken->sign, "METIS") == NULL && g->taken->rows == 4);
	sl_graph_destroy(g);
}

static void malformed_networks(void **state)
{
	static const struct {
		const char *text, *name, *part;
		int64_t line;
	} files[] = {
		{"4 2\n2\n1\n", "a.graph", "promises 4 nodes, but the file ends after 2", 0},
		{"2 1\n2\n1\n3\n", "a.graph", "this line is one more", 4},
		{"3 2\n2 3\n1\n2\n", "a.graph", "listed at both ends", 0},
		{"2 1 1\n2 5\n1 6\n", "a.graph", "same weight", 0},
		{"2 1\n2\nx\n", "a.metis", "numbers of a node's neighbours", 3},
		{"2 1 1\n2\n1 1\n", "a.graph", "a weight after each neighbour", 2},
		{"2 1\n5\n1\n", "a.graph", "joins nodes 1 and 5", 2},
		{"p edge 3 2\ne 1 4\n", "a.col", "joins nodes 1 and 4", 2},
		{"p edge 3 2\nedge 1 2\n", "a.col", "\"a\" or \"e\"", 2},
		{"p max 3 1\na 1 2 -4\n", "a.max", "negative", 2},
		{"*Vertices 2\n*Matrix\n0 1\n1 0\n", "a.net", "*Matrix of Pajek is not read", 2},
		{"*Vertices 2\n2 \"b\"\n1 \"a\"\n", "a.net", "the number of the next node", 3},
		{"*Vertices 2\n1 \"b\n", "a.net", "a quote after", 2},
		{"*Vertices 4000000000\n", "a.net", "most nodes have no edge", 0},
		{"1 a\n2 b\n1 c\n#\n1 2\n", "a.tgf", "not on a line above", 3},
		{"1 a\n2 b\n#\n1 2\n1 3\n", "a.tgf", "above the line", 5},
	};
	struct sl_read_options few = {.few_isolated = true};
	for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
		struct sl_graph *g;
		struct sl_error err;
		int rc = read_memory(&g, &few, files[k].text, strlen(files[k].text), files[k].name, &err);
		if (!rc || !strstr(err.detail, files[k].part) || err.line != files[k].line)
			fail_msg("%s: %d, line %lld, %s", files[k].text, rc, (long long)err.line, err.detail);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_that_begin_with_a_mark),
		cmocka_unit_test(relations_between_the_nodes),
		cmocka_unit_test(networks_of_other_programs),
		cmocka_unit_test(networks_by_options),
		cmocka_unit_test(malformed_networks),
		cmocka_unit_test(gephi_and_columns_in_other_orders),
		cmocka_unit_test(konect_and_snap),
		cmocka_unit_test(nodes_of_two_kinds),
		cmocka_unit_test(bars_separate),
		cmocka_unit_test(edges_that_count_as_metis),
		cmocka_unit_test(names_over_several_lines),
		cmocka_unit_test(options_name_columns),
		cmocka_unit_test(headers_and_first_edges),
		cmocka_unit_test(guesses_are_told),
		cmocka_unit_test(messages_name_the_remedy),
		cmocka_unit_test(long_comments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
