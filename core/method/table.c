/* The table of methods, made from a list (list.h). It stands alone, so that a program can have another list. */
#include <stddef.h>

#include "core/method/method.h"

#ifndef SL_METHOD_LIST
#define SL_METHOD_LIST "core/method/list.h"
#endif

#define METHOD(name) extern const struct sl_method sl_method_##name;
#include SL_METHOD_LIST
#undef METHOD

#define METHOD(name) &sl_method_##name,
const struct sl_method *const sl_methods[] = {
#include SL_METHOD_LIST
	NULL,
};
