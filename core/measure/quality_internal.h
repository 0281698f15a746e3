/* quality_internal.h -- functions that the files of core/measure/ share. */
#ifndef SL_QUALITY_INTERNAL_H
#define SL_QUALITY_INTERNAL_H

#include <stdint.h>

#include "core/error.h"

/* Checks dims, and that all of y [n * dims] is finite. user [n]: node numbers for the message, or NULL. */
int sl__quality_check(uint32_t n, const uint32_t *user, int dims, const float *y, struct sl_error *err);

/* The node, of n, that is query q of `queries`; the queries are evenly spread. */
static inline uint32_t sl__quality_query(uint32_t q, uint32_t queries, uint32_t n)
{
	return (uint32_t)((uint64_t)q * n / queries);
}

#endif
