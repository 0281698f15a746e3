/* number.c -- the parsers of floats and doubles.
 *
 * Up to 19 significant digits fit a 64-bit integer w, and 10^k with k <= 27 fits the 64-bit significand of an x87 long
 * double (113 bits elsewhere), so w * 10^k or w / 10^k is correctly rounded to long double. Rounding this to float or
 * double is correct, too, unless it lies exactly half way between two of them. In this case, and for unusual numbers,
 * strtof() or strtod() in the C locale decides. */
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

/* The same for double. */
static bool round_once_wide(long double value, double *out)
{
	double f = (double)value;
	uint64_t bits;

	if (LDBL_MANT_DIG < 64 || !(f >= 1e-200 && f <= 1e200))
		return false;
	memcpy(&bits, &f, sizeof bits);
	uint64_t half_bits = ((bits >> 52) - 53) << 52;
	double half;
	memcpy(&half, &half_bits, sizeof half);
	long double off = fabsl(value - (long double)f);
	if (off == (long double)half || ((bits & 0xfffffffffffff) == 0 && off == (long double)half / 2))
		return false;
	*out = f;
	return true;
}

/* Copies the number to a token that strtof() and strtod() take. False: it is too large; it is infinite then. */
static bool make_token(const char *from, const char *to, char token[MAX_TOKEN])
{
	size_t length = (size_t)(to - from);

	/* Cuts off digits, but not the exponent. Digits this far out decide only if the first 2047 characters are exactly
	 * half way between two floats, which does not occur in data. */
	if (length >= MAX_TOKEN) {
		const char *e = from;
		while (e < to && *e != 'e' && *e != 'E')
			e++;
		size_t tail = (size_t)(to - e), head = (size_t)(e - from);
		if (tail > 32)
			tail = 32;
		if (head > MAX_TOKEN - 1 - tail) {
			const char *dot = memchr(from, '.', head);
			head = MAX_TOKEN - 1 - tail;
			if (!dot || (size_t)(dot - from) > head)
				return false;
		}
		memcpy(token, from, head);
		memcpy(token + head, e, tail);
		length = head + tail;
	} else {
		memcpy(token, from, length);
	}
	token[length] = 0;
	pthread_once(&c_locale_once, make_c_locale);
	return true;
}

static float parse_slowly(const char *from, const char *to)
{
	char token[MAX_TOKEN];
	if (!make_token(from, to, token))
		return *from == '-' ? -INFINITY : INFINITY;
	return c_locale ? strtof_l(token, NULL, c_locale) : strtof(token, NULL);
}

static double parse_wide_slowly(const char *from, const char *to)
{
	char token[MAX_TOKEN];
	if (!make_token(from, to, token))
		return *from == '-' ? -INFINITY : INFINITY;
	return c_locale ? strtod_l(token, NULL, c_locale) : strtod(token, NULL);
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

/* A decimal number: +- w * 10^exponent, if it has at most 19 significant digits. */
struct decimal {
	uint64_t w;
	int significant, exponent;
	bool negative;
	float word;      /* what a word means */
};

enum scanned { NOTHING, WORD, DECIMAL };

/* Scans the number at *at, and moves *at behind it. */
static inline enum scanned scan(const char **at, struct decimal *out)
{
	const char *p = *at;
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
		return parse_word(at, first, negative, &out->word) ? WORD : NOTHING;
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
	*out = (struct decimal){.w = w, .significant = significant, .exponent = exponent, .negative = negative};
	return DECIMAL;
}

/* The value without its sign; false: it does not fit. */
static inline bool value_of(const struct decimal *x, long double *value)
{
	if (x->significant > 19 || x->exponent < -27 || x->exponent > 27)
		return false;
	*value = x->exponent < 0 ? (long double)x->w / powers[-x->exponent] : (long double)x->w * powers[x->exponent];
	return true;
}

/* round: gives the nearest number of the type, or false near the middle of two; slowly: by the C library. */
#define PARSER(name, type, round, slowly) \
bool name(const char **at, type *out) \
{ \
	const char *from = *at; \
	struct decimal x; \
	long double value; \
	type f; \
	enum scanned what = scan(at, &x); \
	if (what != DECIMAL) { \
		if (what == WORD) \
			*out = (type)x.word; \
		return what == WORD; \
	} \
	if (x.w == 0 && x.significant == 0) \
		*out = x.negative ? -(type)0 : (type)0; \
	else if (value_of(&x, &value) && round(value, &f)) \
		*out = x.negative ? -f : f; \
	else \
		*out = slowly(from, *at); \
	return true; \
}

PARSER(sl__parse_float, float, round_once, parse_slowly)
PARSER(sl__parse_double, double, round_once_wide, parse_wide_slowly)
