/* checks.c -- what readers of graphs check alike: weights, nodes without edges, the finished graph. */
#include <math.h>
#include <stdio.h>

#include "core/formats/graphs/readers.h"
#include "core/formats/source/source.h"

const char *sl__weight_fault(double w, const char *text)
{
	if (isnan(w))
		return "not a number";
	if (w < 0)
		return "negative";
	if (text && *text == '+')
		text++;
	return text && (*text == 'i' || *text == 'I') ? "infinite" : "too large for single precision (3.4e38)";
}

int sl__finish_graph(struct sl_graph_builder *b, uint32_t n, struct sl_source *source, struct sl_graph **out,
		     struct sl_error *err)
{
	int rc = sl_graph_builder_finish(b, n, out, err);

	if (rc && err)
		snprintf(err->file, sizeof err->file, "%s", sl__source_name(source));
	return rc;
}

/* With more nodes, most of them without entries, a small file would make a large graph. */
#define ISOLATED_FROM 65536u
#define ISOLATED_RATIO 16u

int sl__check_isolated(const struct sl_read_options *options, uint64_t n, uint64_t entries, const char *file,
		       struct sl_error *err)
{
	if (!options->few_isolated || n <= ISOLATED_FROM || n / ISOLATED_RATIO <= entries)
		return 0;
	int rc = sl_error_field(err, SL_BADGRAPH, "/isolated", "The graph has %llu nodes but only %llu entries, so "
				"most nodes have no edge. If this is intended, say "
				"isolated=true.", (unsigned long long)n, (unsigned long long)entries);
	if (err)
		snprintf(err->file, sizeof err->file, "%s", file);
	return rc;
}
