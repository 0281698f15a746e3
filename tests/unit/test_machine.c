/* Tests daemon/jobs/machine.c alone, in a world of one job: the data base, workers, a device with its mailboxes, and
 * clients are a few variables, and what happens next is drawn at random. Each event that this world can bring about
 * must have a meaning in the stage in which it comes, and after each event the job's accounts must be right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/jobs/machine.h"
#include "tests/unit/seeds.h"

#define EVENTS 10000000
#define STARTED SL_JOB_EVENTS  /* of a device; the machine has no need of it */
#define QUEUE 64

enum command { ADD, PAUSE, RESUME, FINISH, CANCEL, LEAVE, VOID };

/* What one job has in the world. */
struct world {
	uint64_t random;
	struct sl_machine m;
	bool place, active, line, table, stopping;
	/* the data base: the state in its record, writes in progress with the states that they write */
	enum sl_job_state stored, puts[QUEUE];
	int put_count;
	bool first_put, end_put, result_write, removal;
	/* workers */
	bool copy, met, search, prepare, again;
	bool carries, may_go_back;  /* the state of its run, until it has started; to the device where that was */
	/* the device: commands and events on their way, the job there */
	enum command commands[QUEUE];
	int command_count, event_count;
	enum sl_job_event events[QUEUE];
	bool on_device, device_paused, device_finishes, add_paused, add_finishes, add_cancelled;
	bool held;          /* the device has paused it by itself, which the loop does not know yet */
	bool asked_pause;   /* the last request of a client that the machine has taken */
	uint64_t published, steps;
};

static uint64_t visits[SL_JOB_EVENTS][SL_STAGES];

static unsigned draw(struct world *w, unsigned below)
{
	return (unsigned)(test_random(&w->random) >> 33) % below;
}

static bool step(struct world *w, enum sl_job_event event);

static void command(struct world *w, enum command c)
{
	assert_true(w->command_count < QUEUE);
	w->commands[w->command_count++] = c == RESUME && w->held ? VOID : c;
}

static void tell(struct world *w, enum sl_job_event e)
{
	assert_true(w->event_count < QUEUE);
	w->events[w->event_count++] = e;
}

static void save(struct world *w)
{
	assert_true(w->put_count < QUEUE);
	w->puts[w->put_count++] = sl_machine_recorded(&w->m);
}

static void check(struct world *w)
{
	assert_false(w->copy);
	if (w->stopping)
		step(w, SL_ON_STOPS);
	else if (!w->met && draw(w, 3) == 0)
		step(w, SL_ON_MUST_WAIT);
	else if (!w->met && draw(w, 2) == 0)
		step(w, SL_ON_MUST_COPY);
	else if (draw(w, 40) == 0)
		step(w, SL_ON_FAIL);
	else if (draw(w, 4) == 0)
		w->search = step(w, SL_ON_MUST_SEARCH);
	else
		step(w, SL_ON_READY);
}

static void look_held(struct world *w)
{
	if (!w->met && !w->copy && draw(w, 3) == 0)
		step(w, SL_ON_MUST_COPY);
	else if (draw(w, 40) == 0)
		step(w, SL_ON_FAIL);
}

static void save_result(struct world *w)
{
	assert_false(w->result_write || w->end_put);
	if (draw(w, 3) == 0)
		step(w, SL_ON_RESULT_SAVED);  /* it has none */
	else if (draw(w, 30) == 0)
		w->again = step(w, SL_ON_NOT_SAVED);
	else
		w->result_write = true;
}

static void save_end(struct world *w)
{
	assert_false(w->end_put);
	if (draw(w, 30) == 0) {
		w->again = step(w, SL_ON_NOT_SAVED);
		return;
	}
	w->end_put = true;
	save(w);
}

static const enum command sent[] = {PAUSE, RESUME, FINISH, CANCEL, LEAVE};

/* Executes what a step requires, as daemon/jobs/steps.c does. */
static void execute(struct world *w, unsigned actions)
{
	for (unsigned i = 0; i < 5; i++)
		if (actions & 1u << i)
			command(w, sent[i]);
	if (actions & SL_DO_LEAVE_LINE) {
		assert_true(w->line);
		w->line = false;
	}
	if (actions & SL_DO_DEACTIVATE) {
		assert_true(w->active && w->place);
		w->active = false;
	}
	if (actions & SL_DO_GIVE_PLACE) {
		assert_true(w->place);
		w->place = false;
	}
	if (actions & SL_DO_TAKE_PLACE) {
		assert_false(w->place);
		w->place = true;
	}
	if (actions & SL_DO_ACTIVATE) {
		assert_false(w->active);
		w->active = true;
	}
	if (actions & SL_DO_JOIN_LINE) {
		assert_false(w->line);
		w->line = true;
		w->may_go_back = false;
	}
	if (actions & SL_DO_LEAVE_TABLE)
		w->table = false;
	if (actions & SL_DO_JOIN_TABLE)
		w->table = true;
	if (actions & SL_DO_MET)
		w->met = true;
	if (actions & (SL_DO_SAVE | SL_DO_MET))
		save(w);
	if (actions & SL_DO_TRY_AGAIN)
		w->again = true;
	if (actions & SL_DO_BEGIN_END)
		assert_false(w->place || w->line);
	if (actions & SL_DO_PUBLISH) {
		assert_int_equal(w->stored, w->m.end);  /* what clients are told is on the disk */
		w->published++;
	}
	if (actions & SL_DO_CHECK)
		check(w);
	if (actions & SL_DO_LOOK_HELD)
		look_held(w);
	if (actions & SL_DO_COPY && draw(w, 30) == 0) {
		step(w, SL_ON_COPY_FAILED);
	} else if (actions & SL_DO_COPY) {
		assert_false(w->copy);
		w->copy = true;
	}
	if (actions & SL_DO_PREPARE && draw(w, 30) == 0)
		step(w, SL_ON_FAIL);
	else if (actions & SL_DO_PREPARE)
		w->prepare = true;
	if (actions & SL_DO_SAVE_RESULT)
		save_result(w);
	if (actions & SL_DO_SAVE_END)
		save_end(w);
}

/* Where a job can be, from its birth to its end: it never goes back. */
static int age(enum sl_stage stage)
{
	return stage == SL_STAGE_GONE ? 5 : stage == SL_STAGE_DELETING || stage == SL_STAGE_ENDED ? 4 :
	       sl_stage_is_ending(stage) ? 3 : sl_stage_is_storing(stage) ? 1 : 2;
}

static bool is_about_copies(enum sl_job_event event)
{
	return event == SL_ON_COPIED || event == SL_ON_COPY_NO_ROOM || event == SL_ON_COPY_FAILED;
}

/* Only some events may lead to an action, and only some to another age. */
static void assert_allowed(const struct sl_machine *from, enum sl_job_event event, const struct sl_transition *s)
{
	unsigned a = s->actions;
	bool request = event <= SL_ON_CHANGE, look = event == SL_ON_LOOK || event == SL_ON_TAKE_UP;
	static const enum sl_job_event sender[] = {SL_ON_PAUSE, SL_ON_RESUME, SL_ON_FINISH, SL_ON_CANCEL, SL_ON_LEAVE};
	int was = age(from->stage), is = age(s->to.stage);
	assert_true(is >= was);
	for (unsigned i = 0; i < 5; i++)
		assert_true(!(a & 1u << i) || (event == sender[i] && sl_stage_is_on_device(from->stage)));
	assert_true(is < 5 || event == SL_ON_DELETED);
	assert_true(!(a & SL_DO_MET) || event == SL_ON_COPIED);
	assert_true(!(a & SL_DO_COPY) || event == SL_ON_MUST_COPY);
	assert_true(!(a & SL_DO_PREPARE) || event == SL_ON_PLACED || event == SL_ON_PLACED_CARRYING);
	assert_true(!(a & SL_DO_CHECKPOINT) || s->to.stage == SL_STAGE_PAUSED);
	assert_true(!(a & SL_DO_DROP_COPY) || (event == SL_ON_COPIED && was >= 3));
	assert_true(!(a & SL_DO_TRY_AGAIN) || event == SL_ON_COPY_NO_ROOM);
	assert_true(!(a & SL_DO_LOOK_HELD) || s->to.stage == SL_STAGE_HELD);
	if (request)  /* it takes effect at once, or is sent, or waits for its moment */
		assert_true(!(a & (SL_DO_TAKE_PLACE | SL_DO_JOIN_LINE | SL_DO_PUBLISH)));
	if (is == 3 && was < 3 && event != SL_ON_FAIL && event != SL_ON_COPY_FAILED && event != SL_ON_DONE)
		assert_true(s->to.wish == SL_WISH_CANCEL || event == SL_ON_CANCELLED);
	if (event == SL_ON_DONE || event == SL_ON_CANCELLED)
		assert_int_equal(s->to.stage, SL_STAGE_SAVING);
	if (is == 3 && was < 3)
		assert_int_equal(s->to.end, event == SL_ON_DONE ? SL_JOB_DONE : event == SL_ON_FAIL ||
				 event == SL_ON_COPY_FAILED ? SL_JOB_FAILED : SL_JOB_CANCELLED);
	if (was >= 3 && (request || look || is_about_copies(event)))
		assert_true(!(a & ~(unsigned)(SL_DO_DROP_COPY | SL_DO_SAVE)) && s->to.state == from->state);
}

/* Returns false if a message to the device could not be sent. */
static bool step(struct world *w, enum sl_job_event event)
{
	struct sl_transition s = sl_machine_step(&w->m, event);
	if (s.refused)
		fail_msg("%s in stage %s", sl_job_event_name[event], sl_stage_name(w->m.stage));
	visits[event][w->m.stage]++;
	w->steps++;
	assert_allowed(&w->m, event, &s);
	if (s.actions & SL_ACTIONS_SENT && draw(w, 20) == 0)
		return false;
	if (w->m.state >= SL_JOB_DONE)
		assert_int_equal(s.to.state, w->m.state);  /* an end is final */
	w->m = s.to;
	execute(w, s.actions);
	return true;
}

/* ---- what can happen ------------------------------------------------------------------- */

static bool is_ending(const struct world *w)
{
	return sl_stage_is_ending(w->m.stage);
}

static void client(struct world *w)
{
	static const enum sl_job_event requests[] = {SL_ON_PAUSE, SL_ON_RESUME, SL_ON_PAUSE, SL_ON_RESUME, SL_ON_CHANGE,
						     SL_ON_FINISH, SL_ON_CANCEL, SL_ON_DELETE};
	if (!w->table || w->put_count > QUEUE - 8 || w->command_count > QUEUE - 8)
		return;
	enum sl_job_event event = requests[draw(w, draw(w, 8) == 0 ? 8 : 5)];
	if (event == SL_ON_DELETE) {
		if (w->m.stage == SL_STAGE_ENDED && !w->removal)
			w->removal = step(w, event);
		return;
	}
	step(w, event);
	if (event <= SL_ON_RESUME)
		step(w, SL_ON_CHANGE);
}

/* The oldest write of a record ends. */
static void data_base(struct world *w)
{
	if (w->first_put) {
		w->first_put = false;
		if (draw(w, 50) == 0) {
			step(w, SL_ON_UNSTORED);
			w->removal = step(w, SL_ON_DELETE);
		} else {
			step(w, SL_ON_STORED);
		}
		return;
	}
	if (w->removal && !w->put_count) {
		w->removal = false;
		if (draw(w, 3))
			step(w, SL_ON_DELETED);
		else
			step(w, SL_ON_NOT_DELETED);
		return;
	}
	if (!w->put_count)
		return;
	bool failed = draw(w, 50) == 0, last = w->put_count == 1;
	if (!failed)
		w->stored = w->puts[0];
	memmove(w->puts, w->puts + 1, (size_t)--w->put_count * sizeof *w->puts);
	if (last && w->end_put) {
		w->end_put = false;
		step(w, failed ? SL_ON_NOT_SAVED : SL_ON_RECORDED);
		w->again = w->again || failed;
	} else if (failed) {
		w->again = true;
	}
}

static void workers(struct world *w)
{
	if (w->copy && draw(w, 2)) {
		static const enum sl_job_event ends[] = {SL_ON_COPIED, SL_ON_COPY_NO_ROOM, SL_ON_COPY_FAILED};
		w->copy = false;
		step(w, ends[draw(w, 10) ? 0 : 1 + draw(w, 2)]);
	} else if (w->search) {
		w->search = false;
		if (w->m.stage == SL_STAGE_SEARCHING)
			step(w, draw(w, 20) ? SL_ON_SEARCHED : SL_ON_FAIL);
	} else if (w->result_write) {
		w->result_write = false;
		if (draw(w, 20))
			step(w, SL_ON_RESULT_SAVED);
		else if (w->m.end == SL_JOB_DONE && draw(w, 2))
			step(w, SL_ON_FAIL);
		else
			w->again = step(w, SL_ON_NOT_SAVED);
	}
}

static void prepared(struct world *w)
{
	if (!w->prepare)
		return;
	if (w->stopping) {
		w->prepare = false;
		step(w, SL_ON_STOPS);
		return;
	}
	step(w, SL_ON_BETWEEN);
	if (w->m.stage != SL_STAGE_PREPARING && w->m.stage != SL_STAGE_MOVING) {
		w->prepare = false;
		return;
	}
	if (draw(w, 2))
		return;  /* the next part of its preparation */
	w->prepare = false;
	if (draw(w, 40) == 0) {
		step(w, draw(w, 2) ? SL_ON_FAIL : SL_ON_UNPLACED);
		return;
	}
	w->command_count = 0;  /* those for its former key are ignored */
	w->add_paused = w->m.wish == SL_WISH_PAUSE;
	w->add_finishes = w->m.wish == SL_WISH_FINISH;
	w->add_cancelled = w->m.wish == SL_WISH_CANCEL;
	command(w, ADD);
	step(w, SL_ON_SENT);
}

static void leave_device(struct world *w, enum sl_job_event event)
{
	w->on_device = false;
	tell(w, event);
}

static void device_add(struct world *w)
{
	static const enum sl_job_event refusals[] = {SL_ON_FAIL, SL_ON_NO_MEMORY, SL_ON_LOST, SL_ON_BACK};
	if (draw(w, 8) == 0) {
		tell(w, refusals[draw(w, w->may_go_back ? 4 : 3)]);
		return;
	}
	w->on_device = true;
	w->device_paused = w->add_paused;
	w->device_finishes = w->add_finishes;
	tell(w, STARTED);
	if (w->add_cancelled)
		leave_device(w, SL_ON_CANCELLED);
}

static void device(struct world *w)
{
	if (w->on_device && draw(w, 30) == 0) {
		leave_device(w, draw(w, 4) ? SL_ON_DONE : draw(w, 3) ? SL_ON_LOST : SL_ON_FAIL);
		return;
	}
	if (w->on_device && !w->device_paused && !w->device_finishes && w->event_count < QUEUE - 8 && draw(w, 30) == 0) {
		w->device_paused = w->held = true;
		tell(w, SL_ON_HELD);
	}
	for (int i = 0; i < w->command_count && w->held; i++)
		w->commands[i] = w->commands[i] == RESUME ? VOID : w->commands[i];
	if (!w->command_count || w->event_count > QUEUE - 8)
		return;
	enum command c = w->commands[0];
	memmove(w->commands, w->commands + 1, (size_t)--w->command_count * sizeof *w->commands);
	if (c == ADD)
		device_add(w);
	if (!w->on_device)
		return;
	if (c == PAUSE) {
		w->device_paused = true;
		tell(w, SL_ON_PAUSED);
	} else if (c == RESUME) {
		w->device_paused = false;
	} else if (c == FINISH) {
		w->device_finishes = true;
		w->device_paused = false;
	} else if (c == CANCEL) {
		leave_device(w, SL_ON_CANCELLED);
	} else if (c == LEAVE && draw(w, 3)) {
		leave_device(w, SL_ON_LEFT);
	} else if (c == LEAVE) {
		tell(w, SL_ON_STAYED);
	}
}

/* It was taken from a device with the state of its run: it gets another place, or none. */
static void carry(struct world *w, bool may_go_back)
{
	w->carries = true;
	w->may_go_back = may_go_back;
	if (w->stopping)
		step(w, SL_ON_STOPS);
	else
		step(w, draw(w, 4) ? SL_ON_PLACED_CARRYING : SL_ON_READY);
}

static void loop(struct world *w)
{
	if (!w->event_count)
		return;
	enum sl_job_event e = w->events[0];
	memmove(w->events, w->events + 1, (size_t)--w->event_count * sizeof *w->events);
	if (e == STARTED) {
		w->carries = w->may_go_back = false;
		return;
	}
	w->held = w->held && e != SL_ON_HELD;
	step(w, e);
	if (e == SL_ON_LEFT || e == SL_ON_BACK)
		carry(w, e == SL_ON_LEFT);
}

static void others(struct world *w)
{
	switch (draw(w, 6)) {
	case 0:
		if (w->line && !w->stopping)
			step(w, w->carries ? SL_ON_PLACED_CARRYING : SL_ON_PLACED);
		break;
	case 1:
		w->met = w->met || draw(w, 2);
		step(w, SL_ON_LOOK);
		break;
	case 2:
		if (w->again) {
			w->again = false;
			if (w->m.stage == SL_STAGE_UNSAVED) {
				step(w, SL_ON_RETRY);
			} else if (!is_ending(w) && w->table) {
				if (!sl_stage_is_storing(w->m.stage) && w->put_count < QUEUE - 8)
					save(w);
				step(w, SL_ON_LOOK);
			}
		}
		break;
	case 3:
		if (w->m.stage == SL_STAGE_RUNNING && w->m.wish == SL_WISH_RUN && !w->may_go_back && draw(w, 4) == 0)
			step(w, SL_ON_LEAVE);
		break;
	case 4:
		if (w->line && draw(w, 8) == 0)
			step(w, draw(w, 4) ? SL_ON_ENGINE_GONE : SL_ON_FAIL);
		break;
	default:
		w->stopping = w->stopping || draw(w, 1000) == 0;
	}
}

/* ---- what must hold -------------------------------------------------------------------- */

/* e: -1: none */
static bool comes(const struct world *w, enum command c, int e)
{
	for (int i = 0; i < w->command_count; i++)
		if (w->commands[i] == c)
			return true;
	for (int i = 0; i < w->event_count; i++)
		if ((int)w->events[i] == e)
			return true;
	return false;
}

/* True if an event on its way ends the job's stay on the device. */
static bool leaves(const struct world *w)
{
	for (int i = 0; i < w->event_count; i++)
		if (w->events[i] != SL_ON_PAUSED && w->events[i] != SL_ON_HELD && w->events[i] != SL_ON_STAYED &&
		    w->events[i] != STARTED)
			return true;
	return false;
}

/* The device has the job, will get it, or has given it back; and it knows the job's wish, or will. */
static bool device_is_right(const struct world *w)
{
	bool adds = comes(w, ADD, -1);
	if (leaves(w))
		return true;
	if (!w->on_device && !adds)
		return false;
	switch (w->m.wish) {
	case SL_WISH_CANCEL:
		return (adds && w->add_cancelled) || comes(w, CANCEL, SL_ON_CANCELLED);
	case SL_WISH_FINISH:
		return (adds && w->add_finishes) || comes(w, FINISH, -1) || (w->device_finishes && !w->device_paused);
	case SL_WISH_PAUSE:
		if (w->m.stage == SL_STAGE_PAUSED)
			return (adds && w->add_paused) || comes(w, PAUSE, -1) || w->device_paused;
		return comes(w, PAUSE, SL_ON_PAUSED);
	default:
		return (adds && !w->add_paused) || comes(w, RESUME, SL_ON_HELD) || !w->device_paused;
	}
}

/* Nothing waits for what cannot come. */
static bool will_go_on(const struct world *w)
{
	switch (w->m.stage) {
	case SL_STAGE_STORING:
	case SL_STAGE_STORING_OLD:
		return w->first_put;
	case SL_STAGE_AFTER:
		return true;  /* the other job ends, and tells it */
	case SL_STAGE_COPYING:
		return w->copy;
	case SL_STAGE_HELD_COPYING:
		return w->copy && w->m.wish == SL_WISH_PAUSE;
	case SL_STAGE_NO_ROOM:
	case SL_STAGE_UNSAVED:
		return w->again;
	case SL_STAGE_SEARCHING:
		return w->search;
	case SL_STAGE_WAITING:
		return w->line;
	case SL_STAGE_HELD:
		return w->m.wish == SL_WISH_PAUSE;
	case SL_STAGE_PREPARING:
	case SL_STAGE_MOVING:
		return w->prepare;
	case SL_STAGE_RUNNING:
	case SL_STAGE_PAUSED:
		return device_is_right(w);
	case SL_STAGE_LEAVING:
		return leaves(w) || comes(w, LEAVE, SL_ON_STAYED);
	case SL_STAGE_PARKED:
		return w->stopping;
	case SL_STAGE_SAVING:
		return w->result_write;
	case SL_STAGE_RECORDING:
	case SL_STAGE_OUTDATED:
		return w->end_put;
	case SL_STAGE_DELETING:
		return w->removal;
	case SL_STAGE_ENDED:
	case SL_STAGE_GONE:
		return true;
	default:
		return false;  /* a junction */
	}
}

static void assert_right(const struct world *w)
{
	enum sl_stage stage = w->m.stage;
	assert_int_equal(w->place, sl_stage_has_place(stage));
	assert_int_equal(w->active, sl_stage_is_active(stage));
	assert_int_equal(w->line, stage == SL_STAGE_WAITING);
	assert_true(w->published <= 1);
	bool placed = sl_stage_has_place(stage), waits = age(stage) == 2 && !placed;
	if (waits && stage != SL_STAGE_PARKED)  /* without a place, each wish has its effect at once */
		assert_true(w->m.wish == SL_WISH_PAUSE ? w->m.state == SL_JOB_PAUSED :
			    w->m.wish != SL_WISH_CANCEL && w->m.state == SL_JOB_QUEUED);
	if (stage == SL_STAGE_NO_ROOM || stage == SL_STAGE_AFTER)
		assert_false(w->copy);
	if (!will_go_on(w))
		fail_msg("%s waits for something that cannot come (wish %d)", sl_stage_name(stage), w->m.wish);
	/* What was acknowledged is recorded: a client whose request was taken gets its answer when no write is in
	 * progress. */
	if (w->put_count || w->again || sl_stage_is_storing(stage) || is_ending(w) || sl_stage_is_deleted(stage))
		return;
	if (w->m.state == SL_JOB_PAUSED && w->m.wish == SL_WISH_PAUSE)
		assert_int_equal(w->stored, SL_JOB_PAUSED);
	if (w->m.state < SL_JOB_DONE && w->m.wish == SL_WISH_RUN)
		assert_true(w->stored == SL_JOB_QUEUED || w->stored == SL_JOB_RUNNING);
	if (w->published)
		assert_int_equal(w->stored, w->m.state);
}

static void be_born(struct world *w)
{
	uint64_t random = w->random;
	enum sl_job_state stored = (enum sl_job_state)draw(w, 3);
	*w = (struct world){.random = random, .m = sl_machine_new(), .table = true, .first_put = true};
	w->random = random * 6364136223846793005ull + 1442695040888963407ull;
	if (draw(w, 4) == 0) {
		w->first_put = false;
		w->stored = stored;
		w->m = sl_machine_loaded(stored);
		step(w, SL_ON_TAKE_UP);
	}
	w->met = draw(w, 2);
}

static void test_walks(void **state)
{
	static void (*const parts[])(struct world *w) = {data_base, workers, prepared, device, loop, others, device, loop};
	struct world w = {.random = fresh_seed()};
	uint64_t events = test_light() ? EVENTS / 50 : EVENTS, steps = 0, lives = 0;
	(void)state;
	memset(visits, 0, sizeof visits);
	be_born(&w);
	while (steps + w.steps < events) {
		if (draw(&w, 8) == 0)
			client(&w);
		else
			parts[draw(&w, 8)](&w);
		assert_right(&w);
		if (w.m.stage == SL_STAGE_GONE || (w.stopping && draw(&w, 100) == 0)) {
			steps += w.steps;
			lives++;
			be_born(&w);
		}
	}
	assert_true(lives > events / 10000);
	for (int stage = 0; stage < SL_STAGES; stage++) {
		uint64_t sum = 0;
		for (int event = 0; event < SL_JOB_EVENTS; event++) {
			sum += visits[event][stage];
			if (!visits[event][stage] && sl_stage_takes(stage, event) && getenv("SPACELAND_TEST_VERBOSE"))
				fprintf(stderr, "never: %s in %s\n", sl_job_event_name[event], sl_stage_name(stage));
		}
		if (!sum && stage != SL_STAGE_GONE)
			fail_msg("no event in stage %s", sl_stage_name(stage));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
