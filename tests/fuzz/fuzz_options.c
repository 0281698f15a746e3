#include "core/formats/read_points.h"
#include "tests/fuzz/fuzz.h"

/* The first two bytes choose options: columns of edges, directions, columns that are points. The rest is the file. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const columns[] = {NULL, "", "1", "2", "3", "source", "weight", "gr\xc3\xb6\xc3\x9f" "e"};
	struct sl_source *s;
	struct sl_input input;
	struct sl_error err = {0};

	if (size < 2)
		return 0;
	struct sl_input_options options = {
		.kind = bytes[0] & 1 ? SL_INPUT_POINTS : bytes[0] & 2 ? SL_INPUT_GRAPH : SL_INPUT_AUTO,
		.transpose = bytes[0] >> 2 & 1 ? SL_TRANSPOSE_YES : SL_TRANSPOSE_AUTO,
		.read = fuzz_limits,
	};
	options.read.directed = bytes[0] >> 3 & 1;
	options.read.source_column = columns[bytes[0] >> 5];
	options.read.target_column = columns[bytes[1] & 7];
	options.read.weight_column = columns[bytes[1] >> 3 & 7];
	if (sl_source_open_memory(&s, bytes + 2, size - 2, "input", &err))
		return 0;
	struct sl_account account;
	fuzz_account(&account, s);
	int rc = sl_input_read(&input, &options, s, &err);
	sl_source_close(s);
	if (rc == SL_BADPARAM)
		PROMISE(err.pointer[0] == '/' && err.detail[0]);
	else if (rc)
		check_error(rc, &err);
	if (input.graph)
		check_graph(input.graph);
	PROMISE((rc == 0) == (input.graph || input.points || input.neighbours));
	PROMISE(!input.points || !input.points->taken || sl_taken_adds_up(input.points->taken));
	sl_input_finish(&input);
	return 0;
}
