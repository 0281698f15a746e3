#include "core/formats/read_points.h"
#include "tests/fuzz/fuzz.h"

/* Archives (.zip, .tar) with one file, of any kind. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct sl_input_options options = {.read = fuzz_limits};
	struct sl_source *s;
	struct sl_input input;
	struct sl_error err = {0};

	if (sl_source_open_memory(&s, bytes, size, "input.tar", &err))
		return 0;
	struct sl_account account;
	fuzz_account(&account, s);
	int rc = sl_input_read(&input, &options, s, &err);
	sl_source_close(s);
	if (rc)
		check_error(rc, &err);
	if (input.graph)
		check_graph(input.graph);
	PROMISE((rc == 0) == (input.graph || input.points || input.neighbours));
	sl_input_finish(&input);
	return 0;
}
