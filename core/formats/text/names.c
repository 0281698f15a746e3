/* Open addressing with linear probing over 32-bit hashes, in a table of a power of two that doubles. The bytes of all
 * names are one array, in the order of their numbers. */
#include "core/formats/text/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "core/account.h"
#include "core/graph/builder.h"

void sl__names_init(struct sl__names *names, struct sl_account *account)
{
	memset(names, 0, sizeof *names);
	names->account = account;
	if (getrandom(names->seed, sizeof names->seed, GRND_NONBLOCK) != (ssize_t)sizeof names->seed) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		names->seed[0] = (uint64_t)now.tv_nsec * 0x9e3779b97f4a7c15u;
		names->seed[1] = (uint64_t)(uintptr_t)names ^ (uint64_t)now.tv_sec;
	}
}

void sl__names_finish(struct sl__names *names)
{
	free(names->bytes);
	free(names->at);
	free(names->hash);
	free(names->slot);
	memset(names, 0, sizeof *names);
}

/* High and low half of the 128-bit product: one multiplication mixes 64 bits well. */
static uint64_t fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint32_t hash_of(const struct sl__names *names, const char *text, size_t length)
{
	uint64_t h = names->seed[0] ^ length, word;

	for (; length > 8; text += 8, length -= 8) {
		memcpy(&word, text, 8);
		h = fold(h ^ word, names->seed[1] | 1);
	}
	word = 0;
	memcpy(&word, text, length);
	h = fold(h ^ word, names->seed[1] | 1);
	h = fold(h ^ names->seed[0], 0x9e3779b97f4a7c15u);
	return (uint32_t)(h >> 32);
}

static uint64_t find_slot(const struct sl__names *names, const char *text, size_t length, uint32_t hash)
{
	uint64_t at = hash & (names->slots - 1);

	for (; names->slot[at]; at = (at + 1) & (names->slots - 1)) {
		uint32_t i = names->slot[at] - 1;
		if (names->hash[i] == hash && names->at[i + 1] - names->at[i] == length + 1 &&
		    !memcmp(names->bytes + names->at[i], text, length))
			break;
	}
	return at;
}

/* There are at most 2^33 slots, for 2^32 names, so hashes of 32 bits suffice. */
static int grow_slots(struct sl__names *names)
{
	uint64_t slots = names->slots ? names->slots * 2 : 1024;
	int rc = sl_account_take(names->account, SL_MEMORY, slots * sizeof(uint32_t), NULL);
	uint32_t *slot = rc ? NULL : calloc(slots, sizeof *slot);

	if (!slot)
		return rc ? rc : SL_NOMEM;
	for (uint32_t i = 0; i < names->n; i++) {
		uint64_t at = names->hash[i] & (slots - 1);
		while (slot[at])
			at = (at + 1) & (slots - 1);
		slot[at] = i + 1;
	}
	free(names->slot);
	sl_account_give(names->account, SL_MEMORY, names->slots * sizeof *slot);
	names->slot = slot;
	names->slots = slots;
	return 0;
}

static int grow_arrays(struct sl__names *names, size_t length)
{
	if (names->n == names->capacity) {
		uint64_t capacity = names->capacity ? (uint64_t)names->capacity * 3 / 2 : 256;
		if (capacity > SL__MAX_NODES)
			capacity = SL__MAX_NODES;
		uint64_t more = (capacity - names->capacity) * (sizeof *names->at + sizeof *names->hash);
		int rc = sl_account_take(names->account, SL_MEMORY, more, NULL);
		if (rc)
			return rc;
		uint64_t *at = realloc(names->at, (capacity + 1) * sizeof *at);
		if (!at)
			return SL_NOMEM;
		names->at = at;
		uint32_t *hash = realloc(names->hash, capacity * sizeof *hash);
		if (!hash)
			return SL_NOMEM;
		names->hash = hash;
		names->capacity = (uint32_t)capacity;
	}
	if (names->bytes_used + length + 1 > names->bytes_capacity) {
		uint64_t capacity = names->bytes_capacity * 3 / 2 + length + 4096;
		int rc = sl_account_take(names->account, SL_MEMORY, capacity - names->bytes_capacity, NULL);
		if (rc)
			return rc;
		char *bytes = realloc(names->bytes, capacity);
		if (!bytes)
			return SL_NOMEM;
		names->bytes = bytes;
		names->bytes_capacity = capacity;
	}
	return 0;
}

int sl__names_append(struct sl__names *names, const char *text, size_t length)
{
	int rc = names->n >= SL__MAX_NODES ? SL_TOOBIG : grow_arrays(names, length);

	if (rc)
		return rc;
	uint32_t i = names->n++;
	memcpy(names->bytes + names->bytes_used, text, length);
	names->bytes[names->bytes_used + length] = 0;
	names->at[i] = names->bytes_used;
	names->bytes_used += length + 1;
	names->at[i + 1] = names->bytes_used;
	return 0;
}

int sl__names_add(struct sl__names *names, const char *text, size_t length, uint32_t *out)
{
	uint32_t hash = hash_of(names, text, length);
	int rc = 0;

	if ((uint64_t)names->n * 3 >= names->slots * 2)
		rc = grow_slots(names);
	if (rc)
		return rc;
	uint64_t at = find_slot(names, text, length, hash);
	if (names->slot[at]) {
		*out = names->slot[at] - 1;
		return 0;
	}
	rc = sl__names_append(names, text, length);
	if (rc)
		return rc;
	*out = names->n - 1;
	names->hash[*out] = hash;
	names->slot[at] = *out + 1;
	return 0;
}

void sl__names_give(struct sl__names *names, char **bytes, uint64_t **at)
{
	/* if realloc() fails, the larger memory is kept */
	char *tight_bytes = realloc(names->bytes, names->bytes_used);
	uint64_t *tight_at = realloc(names->at, ((uint64_t)names->n + 1) * sizeof *tight_at);

	*bytes = tight_bytes ? tight_bytes : names->bytes;
	*at = tight_at ? tight_at : names->at;
	names->bytes = NULL;
	names->at = NULL;
	sl__names_finish(names);
}

uint32_t sl__names_find(const struct sl__names *names, const char *text, size_t length)
{
	if (names->n == 0 || !names->slot)  /* sl__names_append() hashes none */
		return SL__NO_NAME;
	uint32_t slot = names->slot[find_slot(names, text, length, hash_of(names, text, length))];
	return slot ? slot - 1 : SL__NO_NAME;
}

/* By RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool sl__valid_utf8(const char *text, size_t length)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + length;

	while (p < end) {
		unsigned char c = *p++, low = 0x80, high = 0xbf;
		int more;

		if (c < 0x80) {
			if (!c)
				return false;
			continue;
		}
		if (c >= 0xc2 && c <= 0xdf) {
			more = 1;
		} else if (c >= 0xe0 && c <= 0xef) {
			more = 2;
			low = c == 0xe0 ? 0xa0 : 0x80;
			high = c == 0xed ? 0x9f : 0xbf;
		} else if (c >= 0xf0 && c <= 0xf4) {
			more = 3;
			low = c == 0xf0 ? 0x90 : 0x80;
			high = c == 0xf4 ? 0x8f : 0xbf;
		} else {
			return false;
		}
		for (; more > 0; more--, low = 0x80, high = 0xbf) {
			if (p == end || *p < low || *p > high)
				return false;
			p++;
		}
	}
	return true;
}
