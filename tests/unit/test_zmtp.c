/* The publisher's side of ZMTP, byte by byte and with random bytes: any input either ends the connection or is
 * accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/stream/zmtp.h"

struct other {
	uint8_t sent[4096];
	size_t bytes;
	int topics, ends;
	char last[64];
	size_t last_length;
};

static void send(void *arg, const void *data, size_t bytes)
{
	struct other *o = arg;
	if (bytes > sizeof o->sent - o->bytes)
		o->bytes = 0;
	memcpy(o->sent + o->bytes, data, bytes);
	o->bytes += bytes;
}

static const char *topic(void *arg, const char *prefix, size_t length, bool subscribed)
{
	struct other *o = arg;
	*(subscribed ? &o->topics : &o->ends) += 1;
	o->last_length = length;
	memcpy(o->last, prefix, length < sizeof o->last ? length : sizeof o->last);
	return NULL;
}

static const struct sl_zmtp_ops ops = {send, topic};

#define GREETING "\xff\0\0\0\0\0\0\0\1\x7f\3\1NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
	"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
#define READY "\4\x19\5READY\x0bSocket-Type\0\0\0\3SUB"
#define TALK GREETING READY "\4\x0d\x09SUBSCRIBEabc" "\0\4\1xyz" "\4\7\6CANCEL" "\0\1\0" "\4\x09\4PING\0\1hi" \
	"\2\0\0\0\0\0\0\0\2\1q"

_Static_assert(sizeof GREETING == 65, "the greeting has 64 bytes");

static void whole_and_in_pieces(void **state)
{
	for (size_t step = 1; step <= sizeof TALK; step++) {
		struct other o = {.bytes = 0};
		struct sl_zmtp z;
		sl_zmtp_init(&z, &ops, &o, NULL);
		assert_int_equal(o.bytes, 64);
		for (size_t at = 0; at < sizeof TALK - 1; at += step) {
			size_t left = sizeof TALK - 1 - at;
			assert_null(sl_zmtp_feed(&z, TALK + at, left < step ? left : step));
		}
		assert_true(sl_zmtp_ready(&z));
		assert_int_equal(o.topics, 3);
		assert_int_equal(o.ends, 2);
		assert_true(o.last_length == 1 && o.last[0] == 'q');
		assert_memory_equal(o.sent + o.bytes - 9, "\4\7\4PONGhi", 9);
		sl_zmtp_finish(&z);
	}
}

static void messages_are_not_copied(void **state)
{
	struct other o = {.bytes = 0};
	struct sl_zmtp z;
	uint8_t head[SL_ZMTP_HEAD_BYTES];
	size_t head_bytes;
	sl_zmtp_init(&z, &ops, &o, NULL);
	for (size_t bytes = 1; bytes < 100000; bytes = bytes * 3 + 1) {
		struct sl_buffer *b = sl_buffer_create(bytes), *body = sl_zmtp_wrap(&z, b, head, &head_bytes);
		assert_ptr_equal(b, body);
		uint64_t length = head[1];
		if (head_bytes == SL_ZMTP_HEAD_BYTES) {
			length = 0;
			for (int i = 1; i < SL_ZMTP_HEAD_BYTES; i++)
				length = length << 8 | head[i];
		}
		assert_int_equal(head[0], bytes < 256 ? 0 : 2);
		assert_int_equal(length, bytes);
		sl_buffer_unref(b);
		sl_buffer_unref(body);
	}
	sl_zmtp_finish(&z);
}

static uint64_t seed = 1;

static unsigned below(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

static bool anybody(void *arg, const uint8_t key[SL_ZMTP_KEY_BYTES])
{
	return true;
}

/* A valid conversation with some bytes changed. Run under the sanitizers it shows reads beyond the input. */
static void at_random(void **state)
{
	struct sl_zmtp_keys keys = {.allowed = anybody};
	for (int round = 0; round < 200000; round++) {
		struct other o = {.bytes = 0};
		struct sl_zmtp z;
		uint8_t data[sizeof TALK];
		const char *why = NULL;
		memcpy(data, TALK, sizeof data);
		bool curve = below(4) == 0;
		if (curve)
			memcpy(data + 12, "CURVE", 5);
		for (unsigned k = below(4); k > 0; k--) {
			unsigned at = below(2) ? below(sizeof data) : 64 + below(sizeof data - 64);
			data[at] = (uint8_t)(below(3) ? below(256) : below(3));
		}
		sl_zmtp_init(&z, &ops, &o, curve ? &keys : NULL);
		for (size_t at = 0; at < sizeof data && !why;) {
			size_t step = 1 + below(40), left = sizeof data - at;
			why = sl_zmtp_feed(&z, data + at, left < step ? left : step);
			at += step;
		}
		assert_true(!curve || why || !sl_zmtp_ready(&z));
		sl_zmtp_finish(&z);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_and_in_pieces),
		cmocka_unit_test(messages_are_not_copied),
		cmocka_unit_test(at_random),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
