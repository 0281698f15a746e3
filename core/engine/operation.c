/* Finds the operations of engines by name. The lists have a few entries, and a run looks once. */
#include "core/engine/engine.h"

#include <stddef.h>
#include <string.h>

sl_operation_function sl_engine_operation(const struct sl_engine *engine, const char *name)
{
	for (const struct sl_operation *o = engine->operations; o && o->name; o++)
		if (!strcmp(o->name, name))
			return o->function;
	return NULL;
}
