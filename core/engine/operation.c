/* Finds the operations of engines by name. The lists have a few entries, and a run looks once. */
#include "core/engine/engine.h"

#include <stddef.h>
#include <string.h>

#include "core/method/method.h"

sl_operation_function sl_engine_operation(const struct sl_engine *engine, const char *name)
{
	for (const struct sl_operation *o = engine->operations; o && o->name; o++)
		if (!strcmp(o->name, name))
			return o->function;
	return NULL;
}

bool sl_engine_supports(const struct sl_engine *engine, const struct sl_method *method, bool edges)
{
	return sl_method_operates(method, edges) && sl_engine_operation(engine, method->operation);
}

bool sl_engine_makes_graph(const struct sl_engine *engine, uint64_t entries)
{
	return engine->graph_make && entries >= engine->graph_make_least;
}
