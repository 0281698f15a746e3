/* number.h -- parses numbers, fast, exactly and independently of the locale. Internal to core/formats/.
 *
 * The functions parse the number at *at and move *at to the first byte after it. A byte that is no part of a number,
 * such as the end of a line, must follow. They skip no blanks. */
#ifndef SL_NUMBER_H
#define SL_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* Parses decimal digits. False: there is no digit, or the number exceeds 2^64 - 1; *at is unchanged. */
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

/* Parses [+-]digits[.digits][e[+-]digits] to the nearest float (ties to even), and inf, infinity and nan in upper or
 * lower case. Numbers beyond FLT_MAX become infinity. False: there is no number; *at is unchanged. */
bool sl__parse_float(const char **at, float *out);
/* The same to the nearest double; numbers beyond DBL_MAX become infinity. */
bool sl__parse_double(const char **at, double *out);

#endif
