#include "tests/fuzz/fuzz.h"

/* For a graph with names and for one without. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const graphs[] = {"a,b\nb,c\nc,\"d,e\"\n", "0 1\n1 2\n2 3\n"};

	for (int k = 0; k < 2; k++) {
		struct sl_source *s;
		struct sl_graph *g;
		struct sl_error err = {0};

		if (sl_source_open_memory(&s, graphs[k], strlen(graphs[k]), "graph", &err))
			return 0;
		PROMISE(sl_graph_read(&g, NULL, s, &err) == 0);
		sl_source_close(s);
		if (sl_source_open_memory(&s, bytes, size, "input", &err)) {
			sl_graph_destroy(g);
			return 0;
		}
		int rc = sl_graph_read_labels(g, &fuzz_limits, s, &err);
		sl_source_close(s);
		if (rc)
			check_error(rc, &err);
		PROMISE(!g->label == !g->labels && !(rc && g->label));
		check_graph(g);
		sl_graph_destroy(g);
	}
	return 0;
}
