/* Converts elements of NumPy arrays, of any type and byte order, to C numbers and texts. */
#include "core/formats/numpy/npy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool sl__npy_is_integer(const struct sl__npy *a)
{
	bool size = a->size == 1 || a->size == 2 || a->size == 4 || a->size == 8;

	return (a->kind == 'b' && a->size == 1) || ((a->kind == 'i' || a->kind == 'u') && size);
}

bool sl__npy_is_number(const struct sl__npy *a)
{
	return sl__npy_is_integer(a) || (a->kind == 'f' && (a->size == 4 || a->size == 8));
}

bool sl__npy_is_real(const struct sl__npy *a)
{
	return sl__npy_is_number(a) || (a->kind == 'f' && a->size == 2);
}

/* IEEE half precision: 1 bit of sign, 5 of exponent, 10 of fraction. As a float its bits stand for a number 2^112 times
 * too small, also where it is subnormal. */
static inline double half_to_double(uint32_t bits)
{
	uint32_t moved = (bits & 0x7fff) << 13, finite = (bits & 0x7c00) != 0x7c00;
	float small;

	memcpy(&small, &moved, 4);
	double value = finite ? (double)small * 0x1p112 : bits & 1023 ? NAN : INFINITY;
	return bits & 0x8000 ? -value : value;
}

static inline uint64_t load_bits(const unsigned char *p, int size, bool swapped)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	switch (size) {
	case 1:
		return *p;
	case 2:
		memcpy(&two, p, 2);
		return swapped ? __builtin_bswap16(two) : two;
	case 4:
		memcpy(&four, p, 4);
		return swapped ? __builtin_bswap32(four) : four;
	default:
		memcpy(&eight, p, 8);
		return swapped ? __builtin_bswap64(eight) : eight;
	}
}

static inline int64_t extend_sign(uint64_t bits, int size)
{
	switch (size) {
	case 1:
		return (int8_t)bits;
	case 2:
		return (int16_t)bits;
	case 4:
		return (int32_t)bits;
	default:
		return (int64_t)bits;
	}
}

static inline double element_to_double(const struct sl__npy *a, uint64_t bits)
{
	uint32_t low = (uint32_t)bits;
	float f;
	double d;

	if (a->kind == 'f' && a->size == 4) {
		memcpy(&f, &low, 4);
		return (double)f;
	}
	if (a->kind == 'f' && a->size == 2)
		return half_to_double(low);
	if (a->kind == 'f') {
		memcpy(&d, &bits, 8);
		return d;
	}
	if (a->kind == 'i')
		return (double)extend_sign(bits, a->size);
	return a->kind == 'b' ? (double)(bits != 0) : (double)bits;
}

void sl__npy_to_double(const struct sl__npy *a, const void *in, uint64_t count, double *out)
{
	const unsigned char *p = in;

	for (uint64_t k = 0; k < count; k++)
		out[k] = element_to_double(a, load_bits(p + k * (uint64_t)a->size, a->size, a->swapped));
}

void sl__npy_to_i64(const struct sl__npy *a, const void *in, uint64_t count, int64_t *out)
{
	const unsigned char *p = in;

	for (uint64_t k = 0; k < count; k++) {
		uint64_t bits = load_bits(p + k * (uint64_t)a->size, a->size, a->swapped);

		if (a->kind == 'i')
			out[k] = extend_sign(bits, a->size);
		else if (a->kind == 'b')
			out[k] = bits != 0;
		else
			out[k] = bits > (uint64_t)INT64_MAX ? -1 : (int64_t)bits;
	}
}

/* Appends code point c as UTF-8. */
static size_t put_utf8(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

bool sl__npy_is_text(const struct sl__npy *a)
{
	return a->kind == 'S' || a->kind == 'U' || sl__npy_is_integer(a);
}

size_t sl__npy_to_text(const struct sl__npy *a, const unsigned char *in, char *to)
{
	size_t length = 0;
	if (a->kind == 'S') {
		while (length < (size_t)a->size && in[length]) {
			to[length] = (char)in[length];
			length++;
		}
	} else if (a->kind == 'U') {
		for (int k = 0; k + 4 <= a->size; k += 4) {
			uint32_t c;
			memcpy(&c, in + k, 4);
			c = a->swapped ? __builtin_bswap32(c) : c;
			if (!c)
				break;
			length += put_utf8(to + length, c <= 0x10ffff ? c : 0xfffd);
		}
	} else {
		int64_t value;
		sl__npy_to_i64(a, in, 1, &value);
		length = (size_t)snprintf(to, 24, "%" PRId64, value);
	}
	return length;
}
