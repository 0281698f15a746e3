/* exponentials.h -- exp and log in double precision, for loops that the compiler vectorises; the C library computes one
 * at a time. The relative error is below 1e-11. Kernels of gpu/ compile them for the device: they define SL_EXPONENTIAL
 * before they include this. */
#ifndef SL_EXPONENTIALS_H
#define SL_EXPONENTIALS_H

#include <stdint.h>
#include <string.h>

#ifndef SL_EXPONENTIAL
#define SL_EXPONENTIAL static inline __attribute__((always_inline))
#endif

SL_EXPONENTIAL uint64_t sl__bits_of(double x)
{
	uint64_t b;
	memcpy(&b, &x, sizeof b);
	return b;
}

SL_EXPONENTIAL double sl__double_of(uint64_t b)
{
	double x;
	memcpy(&x, &b, sizeof x);
	return x;
}

/* x = n log 2 + r with |r| <= 0.35: 2^n from its bits, e^r by its series to r^10. Arguments beyond +-708 count as
 * +-708. */
SL_EXPONENTIAL double sl__exp_of(double x)
{
	const double magic = 0x1.8p52;  /* adding it leaves the nearest integer in the low bits */
	x = x < -708 ? -708 : x;
	x = x > 708 ? 708 : x;
	double shifted = x * 0x1.71547652b82fep0 + magic, n = shifted - magic;
	double r = x - n * 0x1.62e42fefa39efp-1, s = 1.0 / 3628800;
	s = s * r + 1.0 / 362880;
	s = s * r + 1.0 / 40320;
	s = s * r + 1.0 / 5040;
	s = s * r + 1.0 / 720;
	s = s * r + 1.0 / 120;
	s = s * r + 1.0 / 24;
	s = s * r + 1.0 / 6;
	s = s * r + 0.5;
	s = s * r + 1;
	s = s * r + 1;
	return s * sl__double_of((sl__bits_of(shifted) + 1023) << 52);
}

/* x = 2^e m with m in [0.7, 1.4): e from the bits, log m = 2 atanh((m - 1) / (m + 1)) by its series. x is a positive
 * normal number, as is every positive float converted to double. */
SL_EXPONENTIAL double sl__log_of(double x)
{
	const uint64_t one = 0x3ff0000000000000, low = 0x3fe6a09e00000000;
	uint64_t b = sl__bits_of(x), biased = (b + (one - low)) >> 52;
	double m = sl__double_of(b - (biased << 52) + one);
	/* the integer as a double, without an instruction that older processors lack */
	double e = sl__double_of(biased | 0x4330000000000000) - (0x1p52 + 1023);
	double s = (m - 1) / (m + 1), q = s * s, t = 1.0 / 13;
	t = t * q + 1.0 / 11;
	t = t * q + 1.0 / 9;
	t = t * q + 1.0 / 7;
	t = t * q + 1.0 / 5;
	t = t * q + 1.0 / 3;
	t = t * q + 1;
	return e * 0x1.62e42fefa39efp-1 + 2 * s * t;
}

#endif
