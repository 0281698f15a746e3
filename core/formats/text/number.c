/* number.c -- the float parser.
 *
 * Up to 19 significant digits fit a 64-bit integer w, and 10^k with k <= 27 fits the 64-bit significand of an x87 long
 * double (113 bits elsewhere), so w * 10^k or w / 10^k is correctly rounded to long double. Rounding this to float is
 * correct, too, unless it lies exactly half way between two floats. In this case, and for unusual numbers, strtof() in
 * the C locale decides. */
#include "core/formats/text/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TOKEN 2048

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

static const long double powers[] = {
	1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L, 1e10L, 1e11L, 1e12L, 1e13L,
	1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L,
};

/* Rounds value to float. False: it is half way between floats, or outside the range where this can be decided. */
static bool round_once(long double value, float *out)
{
	float f = (float)value;
	uint32_t bits;

	if (LDBL_MANT_DIG < 64 || !(f >= 1e-30f && f <= FLT_MAX))
		return false;
	memcpy(&bits, &f, sizeof bits);
	uint32_t half_bits = ((bits >> 23) - 24) << 23;  /* half a unit in the last place of f */
	float half;
	memcpy(&half, &half_bits, sizeof half);
	long double off = fabsl(value - (long double)f);
	/* floats are twice as dense below a power of two */
	if (off == half || ((bits & 0x7fffff) == 0 && off == half / 2))
		return false;
	*out = f;
	return true;
}

static float parse_slowly(const char *from, const char *to)
{
	char token[MAX_TOKEN];
	size_t length = (size_t)(to - from);

	pthread_once(&c_locale_once, make_c_locale);
	/* Cuts off digits, but not the exponent. Digits this far out decide only if the first 2047 characters are exactly
	 * half way between two floats, which does not occur in data. */
	if (length >= sizeof token) {
		const char *e = from;
		while (e < to && *e != 'e' && *e != 'E')
			e++;
		size_t tail = (size_t)(to - e), head = (size_t)(e - from);
		if (tail > 32)
			tail = 32;
		if (head > sizeof token - 1 - tail) {
			const char *dot = memchr(from, '.', head);
			head = sizeof token - 1 - tail;
			if (!dot || (size_t)(dot - from) > head)
				return *from == '-' ? -INFINITY : INFINITY;
		}
		memcpy(token, from, head);
		memcpy(token + head, e, tail);
		length = head + tail;
	} else {
		memcpy(token, from, length);
	}
	token[length] = 0;
	return c_locale ? strtof_l(token, NULL, c_locale) : strtof(token, NULL);
}

/* Does the text begin with the word, which is in lower case? Independent of the locale; reads no byte after the first
 * difference. */
static bool begins_with(const char *p, const char *word)
{
	for (; *word; p++, word++)
		if ((*p | 0x20) != *word)
			return false;
	return true;
}

static bool parse_word(const char **at, const char *p, bool negative, float *out)
{
	if (begins_with(p, "inf")) {
		*at = p + (begins_with(p, "infinity") ? 8 : 3);
		*out = negative ? -INFINITY : INFINITY;
		return true;
	}
	if (begins_with(p, "nan")) {
		*at = p + 3;
		*out = NAN;
		return true;
	}
	return false;
}

bool sl__parse_float(const char **at, float *out)
{
	const char *from = *at, *p = from;
	uint64_t w = 0;
	int significant = 0, exponent = 0, digits = 0;
	unsigned digit;
	bool negative = *p == '-';

	if (*p == '-' || *p == '+')
		p++;
	const char *first = p;
	for (; (digit = (unsigned)(unsigned char)*p - '0') < 10; p++) {
		w = w * 10 + digit;
		significant += w != 0;
	}
	digits = p != first;
	if (*p == '.') {
		const char *point = ++p;
		for (; (digit = (unsigned)(unsigned char)*p - '0') < 10; p++) {
			w = w * 10 + digit;
			significant += w != 0;
		}
		digits += p != point;
		exponent = p - point > 10000 ? -10000 : -(int)(p - point);
	}
	if (!digits)
		return parse_word(at, first, negative, out);
	if (*p == 'e' || *p == 'E') {
		const char *q = p + 1;
		bool minus = *q == '-';
		int value = 0;

		if (*q == '-' || *q == '+')
			q++;
		if ((unsigned)(unsigned char)*q - '0' < 10) {
			for (; (digit = (unsigned)(unsigned char)*q - '0') < 10; q++)
				value = value > 99999 ? value : value * 10 + (int)digit;
			exponent += minus ? -value : value;
			p = q;
		}
	}
	*at = p;
	if (w == 0 && significant == 0) {
		*out = negative ? -0.f : 0.f;
		return true;
	}
	if (significant <= 19 && exponent >= -27 && exponent <= 27) {
		long double value = exponent < 0 ? (long double)w / powers[-exponent] : (long double)w * powers[exponent];
		float f;
		if (round_once(value, &f)) {
			*out = negative ? -f : f;
			return true;
		}
	}
	*out = parse_slowly(from, p);
	return true;
}
