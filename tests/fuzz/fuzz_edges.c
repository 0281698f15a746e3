#include "tests/fuzz/fuzz.h"

/* Runs both, since directed and undirected lists differ only in the builder. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	read_one(bytes, size, SL_FORMAT_EDGES, false);
	read_one(bytes, size, SL_FORMAT_AUTO, true);
	return 0;
}
