/* grow.h -- arrays that grow. */
#ifndef SL_GROW_H
#define SL_GROW_H

#include <stdint.h>
#include <stdlib.h>

#include "core/error.h"

/* *array, a pointer to elements of `size` bytes, gets room for `count` of them. SL_NOMEM: it is as it was. */
static inline int sl_grow_array(void *array, uint64_t count, size_t size)
{
	void *grown = count <= SIZE_MAX / size ? realloc(*(void **)array, count * size) : NULL;
	if (!grown)
		return SL_NOMEM;
	*(void **)array = grown;
	return 0;
}

#endif
