/* How many GPUs should compute a layout together: by forecasts of time and memory. What they exchange was measured
 * on two H100 by NVLink, 2026-11-28 (docs/performance.md): an iteration takes 60 us more, and 3 ps for each byte of
 * the positions. In 3-D each GPU transforms the whole grid. Layouts are the same for any number, so only time
 * depends on this. */
#include "core/engine/gpus.h"

#define EXCHANGE_S 60e-6
#define EXCHANGE_BYTE_S 3e-12
#define CUBE_NODE_S 0.45e-9      /* the grid of a node in 3-D */
#define GRIDS_BYTES 6e8          /* grids and plans */
#define SAVED 0.85               /* another GPU must lower the time of an iteration to this share */

/* Seconds of an iteration on so many GPUs, each of them with its share of P and the nodes: from the engine's forecast
 * for one, and the time of what they exchange. */
static double iteration_on(const struct sl_engine *engine, const struct sl_settings *s, uint32_t n, uint64_t entries,
			   int gpus)
{
	double one = engine->iteration_seconds(s, n, entries, 0), bytes = (s->dims == 3 ? 8.0 : 4.0) * n;
	double whole = s->dims == 3 && CUBE_NODE_S * n < one ? CUBE_NODE_S * n : 0;
	double exchange = EXCHANGE_S + EXCHANGE_BYTE_S * bytes * (gpus - 1) / gpus;
	return gpus < 2 ? one : whole + (one - whole) / gpus + exchange;
}

/* Bytes on each of so many GPUs: the embedding, which has all nodes on each, and a share of P; without grids and
 * plans. */
static uint64_t bytes_on(const struct sl_engine *engine, const struct sl_settings *s, uint32_t n, uint64_t entries,
			 int gpus)
{
	uint64_t entry = n > 1u << 24 ? 8 : 4;
	return engine->embedding_bytes(n, s) + entry * entries / (uint64_t)gpus + 16ull * n / (uint64_t)gpus;
}

int sl_engine_gpus(const struct sl_engine *engine, const struct sl_settings *s, uint32_t n, uint64_t entries,
		   int iterations, int most, uint64_t memory, double start_s)
{
	int gpus = 1;
	while (memory && gpus < most &&
	       (double)bytes_on(engine, s, n, entries, gpus) + GRIDS_BYTES > (double)memory)
		gpus++;
	double first = iteration_on(engine, s, n, entries, gpus), now = first;
	for (int more = gpus + 1; more <= most; more++) {
		double next = iteration_on(engine, s, n, entries, more);
		if (next > SAVED * now || (first - next) * iterations < start_s)
			continue;
		gpus = more;
		now = next;
	}
	return gpus;
}
