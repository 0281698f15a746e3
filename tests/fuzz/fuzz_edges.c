#include "tests/fuzz/fuzz.h"

/* Twice, because directed and undirected lists part ways in the builder only. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	read_one(bytes, size, SL_FORMAT_EDGES, false);
	read_one(bytes, size, SL_FORMAT_AUTO, true);
	return 0;
}
