/* number.h -- numbers out of text, fast, exact and the same in every locale. Internal.
 *
 * Both parse at *at, which must be followed somewhere by a byte that is no part of a
 * number (a line's end is), and move *at behind what they took. They skip no blanks. */
#ifndef SL_NUMBER_H
#define SL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Decimal digits. False, *at unmoved: no digit there, or more than 2^64 - 1. */
static inline bool sl__parse_u64(const char **at, uint64_t *out)
{
	const char *p = *at;
	uint64_t value = 0;
	unsigned digit;

	while ((digit = (unsigned)(unsigned char)*p - '0') < 10) {
		if (value > (UINT64_MAX - 9) / 10 && (value > UINT64_MAX / 10 || value * 10 > UINT64_MAX - digit))
			return false;
		value = value * 10 + digit;
		p++;
	}
	if (p == *at)
		return false;
	*at = p;
	*out = value;
	return true;
}

/* The nearest float (ties to even) to [+-]digits[.digits][e[+-]digits], or to inf, infinity,
 * nan in any case. Beyond FLT_MAX: infinity. False, *at unmoved: nothing of that kind. */
bool sl__parse_float(const char **at, float *out);

#endif
