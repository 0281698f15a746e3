/* Forecasts of jobs' memory and time. The engine forecasts seconds for the machine on which its rates were measured.
 * The ratio of measured time to this forecast is the engine's pace on this machine. There is a pace for each number of
 * dimensions of embeddings, and one for each method that the engine helps. Loop thread. */
#include <math.h>

#include "core/grid/grid.h"
#include "daemon/engines/engines_internal.h"

#define ITERATIONS_LEAST 50  /* fewest iterations from which a pace is measured */
#define WEIGHT 0.3           /* weight of the newest job in the mean */
#define PACE_MOST 100.0
#define METHOD_PACE_MOST 1e4
#define GIVEN_EXTENT 1e6     /* for any extent: wider than the largest grid at its usual spacing */

static double forecast(const struct sl_server_engine *e, const struct sl_settings *settings, uint32_t nodes,
		       uint64_t entries)
{
	return e->functions->iteration_seconds(settings, nodes, entries, (int)e->device->engines->d->config.threads);
}

/* Corrects a pace by the time that one more job took, compared with its forecast. */
static void learn(double *pace, double seen, double most)
{
	seen = fmin(fmax(seen, 1 / most), most);
	*pace = *pace > 0 ? exp((1 - WEIGHT) * log(*pace) + WEIGHT * log(seen)) : seen;
}

double sl_server_engine_seconds(const struct sl_server_engine *e, const struct sl_settings *settings, uint32_t nodes,
				uint64_t entries)
{
	double pace = e->pace[settings->dims];
	return e->functions ? forecast(e, settings, nodes, entries) * (pace > 0 ? pace : 1) : NAN;
}

void sl_server_engine_learn(struct sl_server_engine *e, const struct sl_settings *settings, uint32_t nodes,
			    uint64_t entries, int iterations, double seconds)
{
	if (e->functions && iterations >= ITERATIONS_LEAST && seconds > 0)
		learn(&e->pace[settings->dims], seconds / iterations / forecast(e, settings, nodes, entries), PACE_MOST);
}

static int place_of(const struct sl_method *method)
{
	int i = 0;
	while (sl_methods[i] && sl_methods[i] != method)
		i++;
	return i < SL_METHODS_MOST ? i : SL_METHODS_MOST - 1;
}

double sl_server_engine_pace(const struct sl_server_engine *e, const struct sl_method *method)
{
	double pace = e->method_pace[place_of(method)];
	return pace > 0 ? pace : 1;
}

void sl_server_engine_learn_method(struct sl_server_engine *e, const struct sl_method *method, double seconds_forecast,
				   double seconds)
{
	if (seconds_forecast > 0 && seconds > 0)
		learn(&e->method_pace[place_of(method)], seconds / seconds_forecast, METHOD_PACE_MOST);
}

/* A layout becomes as wide as usual for so many nodes, unless it begins wider. */
uint64_t sl_server_engine_bytes(const struct sl_server_engine *e, const struct sl_settings *settings, uint32_t nodes,
				double widest)
{
	if (!e->functions)
		return 0;
	double extent = fmax(sl_grid_usual_extent(settings->dims, nodes), fmin(widest, GIVEN_EXTENT));
	uint64_t bytes = e->functions->embedding_bytes(nodes, settings);
	if (e->functions->grid_bytes)
		bytes += e->functions->grid_bytes(nodes, settings, extent);
	return bytes;
}
