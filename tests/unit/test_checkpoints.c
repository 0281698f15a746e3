/* Tests the machine of checkpoints of daemon/jobs/machine.c alone: a device that answers, a worker that writes, and a
 * job that leaves and comes back, at random. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/jobs/machine.h"
#include "tests/unit/seeds.h"

/* A job on a device, one after the other; the time counts events. */
struct keeping {
	uint64_t random, now;
	enum sl_checkpoint_stage stage;
	bool on_device, stopping, carries, write;
	int asked;                  /* requests on their way to the device, or answers from it */
	uint64_t made, writes;      /* when the checkpoint was made that comes, that is being written */
	uint64_t needed;            /* time of the last request for a newer one; 0: met, or in vain */
};

static void keeping_step(struct keeping *k, enum sl_checkpoint_event event)
{
	struct sl_checkpoint_transition t = sl_checkpoint_step(k->stage, event);
	assert_false(t.refused);
	bool fails = t.action == SL_CHECKPOINT_ASK && (!k->on_device || (test_random(&k->random) >> 40) % 10 == 0);
	k->stage = fails ? t.else_to : t.to;
	if (fails && event != SL_CHECKPOINT_ON_DUE)
		k->needed = 0;
	if (t.action == SL_CHECKPOINT_ASK && !fails) {
		k->asked++;
		k->made = k->now;
	}
	if (t.action == SL_CHECKPOINT_WRITE || t.action == SL_CHECKPOINT_WRITE_CARRIED) {
		assert_false(k->write);  /* two writes of one file */
		k->write = true;
		k->writes = t.action == SL_CHECKPOINT_WRITE ? k->made : k->now;
	}
	assert_true(k->asked <= 1);
}

static void keeping_event(struct keeping *k)
{
	switch ((test_random(&k->random) >> 33) % 8) {
	case 0:
		if (k->on_device)
			keeping_step(k, SL_CHECKPOINT_ON_DUE);
		break;
	case 1:
		if (k->on_device) {
			k->needed = k->now;
			keeping_step(k, SL_CHECKPOINT_ON_NEWER);
		}
		break;
	case 2:
	case 3:
		if (k->asked) {
			k->asked--;
			bool none = (test_random(&k->random) >> 40) % 8 == 0;
			if (none && k->made >= k->needed)
				k->needed = 0;
			keeping_step(k, none ? SL_CHECKPOINT_ON_NO_ANSWER : SL_CHECKPOINT_ON_ANSWER);
		}
		break;
	case 4:
	case 5:
		if (k->write) {
			k->write = false;
			if (k->writes >= k->needed)
				k->needed = 0;
			keeping_step(k, SL_CHECKPOINT_ON_WRITTEN);
		}
		break;
	case 6:
		if (k->on_device) {
			k->on_device = false;
			k->asked = 0;
			k->needed = 0;
			keeping_step(k, SL_CHECKPOINT_ON_GONE);
			if (k->stopping)
				keeping_step(k, SL_CHECKPOINT_ON_KEEP);
		}
		break;
	default:
		k->on_device = k->on_device || !k->stopping;
		k->stopping = k->stopping || (test_random(&k->random) >> 40) % 20 == 0;
		if (!k->on_device && k->stage == SL_CHECKPOINT_IDLE)
			k->stopping = false;  /* the next start */
	}
}

/* One checkpoint is on its way at most, its file has one writer, and a request for a newer one is met. */
static void test_checkpoints(void **state)
{
	struct keeping k = {.random = fresh_seed()};
	uint64_t seen[SL_CHECKPOINT_STAGES] = {0};
	(void)state;
	for (k.now = 1; k.now < 1000000; k.now++) {
		keeping_event(&k);
		seen[k.stage]++;
		assert_int_equal(k.write, sl_checkpoint_is_writing(k.stage));
		assert_int_equal(k.asked, k.stage == SL_CHECKPOINT_ASKED || k.stage == SL_CHECKPOINT_ASKED_MORE);
		if (k.needed)  /* it comes, or another one will be asked for */
			assert_true(k.stage == SL_CHECKPOINT_ASKED_MORE || k.stage == SL_CHECKPOINT_WRITING_MORE ||
				    (k.asked && k.made >= k.needed) || (k.write && k.writes >= k.needed));
	}
	for (int s = 0; s < SL_CHECKPOINT_STAGES; s++)
		assert_true(seen[s] > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checkpoints),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
