/* The random part of the last id is kept; in the same millisecond, or if the clock went back, it counts up. */
#include "daemon/util/ulid.h"

#include <string.h>

#include <sodium.h>

#include "daemon/util/time_text.h"

static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

static void encode(uint64_t ms, const unsigned char random[10], char out[SL_ULID_BYTES])
{
	for (int i = 9; i >= 0; i--, ms >>= 5)
		out[i] = alphabet[ms & 31];
	/* 80 bits are 16 characters: two groups of 5 bytes, 8 characters each */
	for (int group = 0; group < 2; group++) {
		uint64_t bits = 0;
		for (int i = 0; i < 5; i++)
			bits = bits << 8 | random[5 * group + i];
		for (int i = 7; i >= 0; i--, bits >>= 5)
			out[10 + 8 * group + i] = alphabet[bits & 31];
	}
	out[26] = '\0';
}

char *sl_ulid_make(char out[SL_ULID_BYTES])
{
	static uint64_t last_ms;
	static unsigned char random[10];
	uint64_t ms = sl_time_now_ms();
	if (ms > last_ms) {
		last_ms = ms;
		randombytes_buf(random, sizeof random);
	} else {
		/* In the same millisecond, or if the clock went back, keep the time and increment the random part. */
		int i = 9;
		while (i >= 0 && ++random[i] == 0)
			i--;
		if (i < 0)
			last_ms++;
	}
	encode(last_ms, random, out);
	return out;
}

static int value(char c)
{
	const char *at = c ? strchr(alphabet, c) : NULL;
	return at ? (int)(at - alphabet) : -1;
}

bool sl_ulid_begins(const char *text, size_t length)
{
	if (length > SL_ULID_BYTES - 1)
		return false;
	for (size_t i = 0; i < length; i++)
		if (value(text[i]) < 0)
			return false;
	return true;
}

bool sl_ulid_valid(const char *text)
{
	if (!text || text[0] > '7')
		return false;
	for (int i = 0; i < SL_ULID_BYTES - 1; i++)
		if (value(text[i]) < 0)
			return false;
	return text[SL_ULID_BYTES - 1] == '\0';
}

uint64_t sl_ulid_time_ms(const char *text)
{
	uint64_t ms = 0;
	for (int i = 0; i < 10; i++)
		ms = ms << 5 | (uint64_t)value(text[i]);
	return ms;
}

int64_t sl_version_next(void)
{
	static int64_t last;
	int64_t now = (int64_t)sl_time_now_us();
	last = now > last ? now : last + 1;
	return last;
}
