/* The tree of subscriptions against a plain list of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/stream/topics.h"

#define OWNERS 7
#define PREFIXES 60

static uint64_t seed = 1;

static unsigned below(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* Few different characters, so that prefixes have much in common. */
static size_t random_text(char text[SL_TOPIC_BYTES + 1], size_t length)
{
	for (size_t i = 0; i < length; i++)
		text[i] = "0123ABC"[below(i < 3 ? 3 : 7) % 7];
	text[length] = '\0';
	return length;
}

struct seen {
	struct sl_topic_owner *owner;
	int count[OWNERS];
};

static void give(void *arg, struct sl_topic_owner *owner)
{
	struct seen *seen = arg;
	seen->count[owner - seen->owner]++;
}

static bool wants(const char *prefix, const char *id)
{
	return !strncmp(prefix, id, strlen(prefix));
}

static void like_a_list(void **state)
{
	struct sl_topics t;
	struct sl_topic_owner owner[OWNERS] = {0};
	static char prefix[PREFIXES][SL_TOPIC_BYTES + 1];
	static uint64_t stamp[OWNERS][PREFIXES];  /* 0: not subscribed */
	sl_topics_init(&t);
	for (int i = 0; i < PREFIXES; i++) {
		random_text(prefix[i], i ? below(9) : 0);
		for (int k = 0; k < i; k++)
			if (!strcmp(prefix[i], prefix[k]))
				random_text(prefix[i], SL_TOPIC_BYTES);
	}
	for (int step = 0; step < 60000; step++) {
		unsigned o = below(OWNERS), p = below(PREFIXES), what = below(1000);
		if (what < 500) {
			assert_int_equal(sl_topics_add(&t, &owner[o], prefix[p], strlen(prefix[p])), 0);
			stamp[o][p] = t.stamp;
		} else if (what < 997) {
			assert_int_equal(sl_topics_remove(&t, &owner[o], prefix[p], strlen(prefix[p])), stamp[o][p] != 0);
			stamp[o][p] = 0;
		} else {
			sl_topics_drop(&t, &owner[o]);
			memset(stamp[o], 0, sizeof stamp[o]);
		}
		char id[SL_TOPIC_BYTES + 1];
		random_text(id, SL_TOPIC_BYTES);
		if (below(3) == 0)
			memcpy(id, prefix[p], strlen(prefix[p]));
		uint64_t after = below(2) ? 0 : t.stamp - below(20), newest = 0;
		struct seen seen = {.owner = owner};
		sl_topics_match(&t, id, after, give, &seen);
		for (int i = 0; i < OWNERS; i++) {
			uint64_t own = 0;
			for (int k = 0; k < PREFIXES; k++)
				if (wants(prefix[k], id) && stamp[i][k] > own)
					own = stamp[i][k];
			newest = own > newest ? own : newest;
			assert_int_equal(seen.count[i], own > after);
		}
		assert_int_equal(sl_topics_newest(&t, id), newest);
	}
	for (int i = 0; i < OWNERS; i++)
		sl_topics_drop(&t, &owner[i]);
	assert_null(t.root);
}

/* A look-up does not depend on how many prefixes there are. */
static void many(void **state)
{
	enum { COUNT = 100000, LOOKUPS = 100000 };
	struct sl_topics t;
	static struct sl_topic_owner owner;
	char text[32];
	struct timespec a, b;
	sl_topics_init(&t);
	for (int i = 0; i < COUNT; i++) {
		int length = snprintf(text, sizeof text, "01%024d", i);
		assert_int_equal(sl_topics_add(&t, &owner, text, (size_t)length), 0);
	}
	assert_int_equal(owner.subscriptions.count, COUNT);
	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < LOOKUPS; i++) {
		snprintf(text, sizeof text, "01%024d", i * 2);
		assert_int_equal(sl_topics_newest(&t, text) != 0, i * 2 < COUNT);
	}
	clock_gettime(CLOCK_MONOTONIC, &b);
	double s = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
	assert_true(s < 5);  /* a list would take 10^10 comparisons */
	sl_topics_finish(&t);
	assert_null(t.root);
	assert_int_equal(owner.subscriptions.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(like_a_list), cmocka_unit_test(many)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
