#include <math.h>

#include "core/formats/numpy/npy.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sl_source *s;
	struct sl_error err = {0};
	uint64_t n, d;
	float *y;

	if (sl_source_open_memory(&s, bytes, size, "input", &err))
		return 0;
	int rc = sl_npy_read(&y, &n, &d, &fuzz_limits, s, &err);
	sl_source_close(s);
	if (rc) {
		check_error(rc, &err);
		PROMISE(!y);
		return 0;
	}
	PROMISE(n > 0 && n <= fuzz_limits.max_nodes && d > 0 && d <= 1024);
	for (uint64_t k = 0; k < n * d; k++)
		PROMISE(isfinite(y[k]));
	free(y);
	return 0;
}
