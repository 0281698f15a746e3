/* grow.h -- arrays that grow. */
#ifndef SL_GROW_H
#define SL_GROW_H

#include <stdint.h>
#include <stdlib.h>

#include "core/error.h"

/* Reallocates *array for `count` elements of `size` bytes. array: the address of the pointer to the elements. After
 * SL_NOMEM the array is unchanged. */
static inline int sl_grow_array(void *array, uint64_t count, size_t size)
{
	void *grown = count <= SIZE_MAX / size ? realloc(*(void **)array, count * size) : NULL;
	if (!grown)
		return SL_NOMEM;
	*(void **)array = grown;
	return 0;
}

#endif
