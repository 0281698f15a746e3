#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	read_one(bytes, size, SL_FORMAT_MTX, false);
	return 0;
}
