/* The table of jobs' stages and events.
 *
 * A cell of the table names a rule: the next stage with its actions. Rules of the kind "by the wish" are for moments in
 * which a wish that had to wait has its effect. Actions that concern the place and the line are derived from the two
 * stages, so that no rule can forget or repeat them: a place is given back exactly when a stage without a place follows
 * one with a place. */

#include "daemon/jobs/machine.h"

/* ---- the stages ---------------------------------------------------------------------- */

enum { PLACE = 1, ACTIVE = 2, DEVICE = 4, STORED_LATER = 8, ENDING = 16, DELETED = 32, LINE = 64 };

static const struct {
	const char *name;
	unsigned is;
	const char *meaning;
} stages[SL_STAGES] = {
	[SL_STAGE_STORING] = {"STORING", STORED_LATER, "The data base has not confirmed its first record."},
	[SL_STAGE_STORING_OLD] = {"STORING_OLD", STORED_LATER, "The same; a change comes after that record."},
	[SL_STAGE_CHECKING] = {"CHECKING", 0, "Junction: what does it wait for?"},
	[SL_STAGE_AFTER] = {"AFTER", 0, "It waits for another job."},
	[SL_STAGE_COPYING] = {"COPYING", 0, "A worker copies the layout of that job."},
	[SL_STAGE_NO_ROOM] = {"NO_ROOM", 0, "The disk has no room for this copy; tries again each second."},
	[SL_STAGE_SEARCHING] = {"SEARCHING", 0, "A worker searches the neighbours of its points."},
	[SL_STAGE_WAITING] = {"WAITING", LINE, "It is in line for a place on a device."},
	[SL_STAGE_HELD] = {"HELD", 0, "It was paused before it had a place."},
	[SL_STAGE_HELD_COPYING] = {"HELD_COPYING", 0, "The same, while a worker copies a layout."},
	[SL_STAGE_PREPARING] = {"PREPARING", PLACE | ACTIVE, "Workers prepare its affinities and files."},
	[SL_STAGE_CARRIED] = {"CARRIED", 0, "Junction: it has left a device and has no other place yet."},
	[SL_STAGE_MOVING] = {"MOVING", PLACE | ACTIVE, "Workers prepare it for its next device."},
	[SL_STAGE_RUNNING] = {"RUNNING", PLACE | ACTIVE | DEVICE, "The device computes it."},
	[SL_STAGE_PAUSED] = {"PAUSED", PLACE | DEVICE, "The device keeps it."},
	[SL_STAGE_LEAVING] = {"LEAVING", PLACE | ACTIVE | DEVICE, "The device saves the state of its run."},
	[SL_STAGE_PARKED] = {"PARKED", 0, "The server stops or has just started."},
	[SL_STAGE_SAVING] = {"SAVING", ENDING, "A worker writes its result."},
	[SL_STAGE_RECORDING] = {"RECORDING", ENDING, "The data base writes its end."},
	[SL_STAGE_OUTDATED] = {"OUTDATED", ENDING, "The same; a change comes after that."},
	[SL_STAGE_UNSAVED] = {"UNSAVED", ENDING, "The write failed; the server tries again each second."},
	[SL_STAGE_ENDED] = {"ENDED", 0, "Nothing; clients may delete it."},
	[SL_STAGE_DELETING] = {"DELETING", DELETED, "The data base removes its record."},
	[SL_STAGE_GONE] = {"GONE", DELETED, "Nothing; its memory is freed with the last reference."},
};

/* ---- the rules ----------------------------------------------------------------------- */

/* Two letters each, for the table. */
enum rule {
	XX = 1,  /* cannot happen */
	IG,      /* changes nothing */
	KP,      /* keeps the stage; perhaps the wish changes */
	SV,      /* keeps the stage, writes the record */
	/* requests, sent to the device */
	SP, SR, RR, SF, SC,
	/* to a stage */
	SO, CK, AF, CP, CR, NR, SE, WA, HE, HB, HC, HT, PR, CA, MO, RU, PD, PE, LE, PK, OU, RE, AG, UN, EN, RF, DE, BA, GO,
	/* with other work */
	LK, HL, MT, MH, DC,
	/* to SAVING */
	ED, EF, EC,
	/* by the wish */
	JS, JO, JL, JB, JT, JP, JH, JI, JK,
	RULES
};

#define SAME SL_STAGES  /* as `next` */
#define BY_WISH (SL_STAGES + 1)

struct outcome {
	int next;                   /* enum sl_stage, SAME, BY_WISH */
	unsigned actions;
	enum sl_job_state end;      /* of rules to SAVING, and RF */
	enum rule by[SL_WISHES];    /* BY_WISH */
};

static const struct outcome outcomes[RULES] = {
	[KP] = {SAME, 0},
	[SV] = {SAME, SL_DO_SAVE},
	[SP] = {SAME, SL_DO_SEND_PAUSE},
	[SR] = {SAME, SL_DO_SEND_RESUME | SL_DO_WATCH},
	[RR] = {SL_STAGE_RUNNING, SL_DO_SEND_RESUME | SL_DO_WATCH},
	[SF] = {SAME, SL_DO_SEND_FINISH},
	[SC] = {SAME, SL_DO_SEND_CANCEL},
	[SO] = {SL_STAGE_STORING_OLD, 0},
	[CK] = {SL_STAGE_CHECKING, SL_DO_CHECK},
	[AF] = {SL_STAGE_AFTER, 0},
	[CP] = {SL_STAGE_COPYING, SL_DO_COPY},
	[CR] = {SL_STAGE_COPYING, 0},
	[NR] = {SL_STAGE_NO_ROOM, SL_DO_TRY_AGAIN},
	[SE] = {SL_STAGE_SEARCHING, 0},
	[WA] = {SL_STAGE_WAITING, 0},
	[HE] = {SL_STAGE_HELD, 0},
	[HB] = {SL_STAGE_HELD, SL_DO_LOOK_HELD},
	[HC] = {SL_STAGE_HELD_COPYING, 0},
	[HT] = {SL_STAGE_HELD, SL_DO_TRY_AGAIN},
	[PR] = {SL_STAGE_PREPARING, SL_DO_PREPARE},
	[CA] = {SL_STAGE_CARRIED, 0},
	[MO] = {SL_STAGE_MOVING, SL_DO_PREPARE},
	[RU] = {SL_STAGE_RUNNING, 0},
	[PD] = {SL_STAGE_PAUSED, 0},
	[PE] = {SL_STAGE_PAUSED, SL_DO_SAVE | SL_DO_CHECKPOINT | SL_DO_WATCH},
	[PK] = {SL_STAGE_PARKED, 0},
	[LE] = {SL_STAGE_LEAVING, SL_DO_SEND_LEAVE},
	[OU] = {SL_STAGE_OUTDATED, 0},
	[RE] = {SL_STAGE_RECORDING, SL_DO_SAVE_END},
	[AG] = {SL_STAGE_SAVING, SL_DO_SAVE_RESULT},
	[UN] = {SL_STAGE_UNSAVED, 0},
	[EN] = {SL_STAGE_ENDED, SL_DO_PUBLISH | SL_DO_TELL_AFTER},
	[RF] = {SL_STAGE_ENDED, 0, SL_JOB_FAILED},
	[DE] = {SL_STAGE_DELETING, SL_DO_LEAVE_TABLE},
	[BA] = {SL_STAGE_ENDED, SL_DO_JOIN_TABLE},
	[GO] = {SL_STAGE_GONE, 0},
	[LK] = {SAME, SL_DO_LOOK_HELD},
	[HL] = {SL_STAGE_HELD_COPYING, SL_DO_COPY},
	[MT] = {SL_STAGE_CHECKING, SL_DO_MET | SL_DO_CHECK},
	[MH] = {SL_STAGE_HELD, SL_DO_MET},
	[DC] = {SAME, SL_DO_DROP_COPY},
	[ED] = {SL_STAGE_SAVING, SL_DO_BEGIN_END | SL_DO_SAVE_RESULT, SL_JOB_DONE},
	[EF] = {SL_STAGE_SAVING, SL_DO_BEGIN_END | SL_DO_SAVE_RESULT, SL_JOB_FAILED},
	[EC] = {SL_STAGE_SAVING, SL_DO_BEGIN_END | SL_DO_SAVE_RESULT, SL_JOB_CANCELLED},
	/* it is stored, or has given its place back: what now? */
	[JS] = {BY_WISH, 0, 0, {CK, HB, CK, EC}},
	[JO] = {BY_WISH, SL_DO_SAVE, 0, {CK, HB, CK, EC}},
	/* the same, and it waits for nothing but a place */
	[JL] = {BY_WISH, 0, 0, {WA, HE, WA, EC}},
	/* a cancelled job ends before its preparation does */
	[JB] = {BY_WISH, 0, 0, {IG, IG, IG, EC}},
	/* the device has got it with its wish */
	[JT] = {BY_WISH, SL_DO_WATCH, 0, {RU, PD, RU, RU}},
	/* the device has paused it; it may have been resumed since */
	[JP] = {BY_WISH, 0, 0, {IG, PE, IG, IG}},
	/* it has paused by itself; requests to go on that were sent before do not end that */
	[JH] = {BY_WISH, 0, 0, {PE, PE, IG, IG}},
	/* it stays on its device, and has paused by itself, or will be paused */
	[JI] = {BY_WISH, 0, 0, {RU, PE, RU, RU}},
	/* the server stops */
	[JK] = {BY_WISH, 0, 0, {PK, HE, PK, PK}},
};

/* ---- the table ----------------------------------------------------------------------- */

/* Columns: the stages, in the order of enum sl_stage. */
static const unsigned char table[SL_JOB_EVENTS][SL_STAGES] = {
	/*                        ST SO CK AF CP NR SE WA HE HC PR CA MO RU PA LE PK SA RE OU UN EN DE GO */
	[SL_ON_PAUSE]          = {KP,KP,XX,HE,HC,HE,HE,HE,IG,IG,KP,XX,KP,SP,IG,SP,HE,IG,IG,IG,IG,IG,IG,IG},
	[SL_ON_RESUME]         = {KP,KP,XX,IG,IG,IG,IG,IG,CK,CR,KP,XX,KP,SR,RR,SR,IG,IG,IG,IG,IG,IG,IG,IG},
	[SL_ON_FINISH]         = {IG,IG,XX,IG,IG,IG,KP,KP,CK,IG,KP,XX,KP,SF,SF,SF,KP,IG,IG,IG,IG,IG,IG,IG},
	[SL_ON_CANCEL]         = {KP,KP,XX,EC,EC,EC,EC,EC,EC,EC,KP,XX,KP,SC,SC,SC,EC,IG,IG,IG,IG,IG,IG,IG},
	[SL_ON_CHANGE]         = {SO,KP,XX,SV,SV,SV,SV,SV,SV,SV,SV,XX,SV,SV,SV,SV,SV,IG,OU,IG,IG,SV,IG,IG},
	/*                        ST SO CK AF CP NR SE WA HE HC PR CA MO RU PA LE PK SA RE OU UN EN DE GO */
	[SL_ON_STORED]         = {JS,JO,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_UNSTORED]       = {RF,RF,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_TAKE_UP]        = {XX,XX,XX,XX,XX,XX,XX,XX,LK,XX,XX,XX,XX,XX,XX,XX,CK,XX,XX,XX,XX,XX,XX,XX},
	/*                        ST SO CK AF CP NR SE WA HE HC PR CA MO RU PA LE PK SA RE OU UN EN DE GO */
	[SL_ON_MUST_WAIT]      = {XX,XX,AF,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_MUST_COPY]      = {XX,XX,CP,XX,XX,XX,XX,XX,HL,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_MUST_SEARCH]    = {XX,XX,SE,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_READY]          = {XX,XX,WA,XX,XX,XX,XX,XX,XX,XX,XX,JL,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_LOOK]           = {IG,IG,XX,CK,IG,CK,IG,IG,LK,IG,IG,XX,IG,IG,IG,IG,IG,IG,IG,IG,IG,IG,IG,IG},
	[SL_ON_COPIED]         = {XX,XX,XX,XX,MT,XX,XX,XX,XX,MH,XX,XX,XX,XX,XX,XX,XX,DC,DC,DC,DC,DC,DC,DC},
	[SL_ON_COPY_NO_ROOM]   = {XX,XX,XX,XX,NR,XX,XX,XX,XX,HT,XX,XX,XX,XX,XX,XX,XX,IG,IG,IG,IG,IG,IG,IG},
	[SL_ON_COPY_FAILED]    = {XX,XX,XX,XX,EF,XX,XX,XX,XX,EF,XX,XX,XX,XX,XX,XX,XX,IG,IG,IG,IG,IG,IG,IG},
	[SL_ON_SEARCHED]       = {XX,XX,XX,XX,XX,XX,CK,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_ENGINE_GONE]    = {XX,XX,XX,XX,XX,XX,XX,CK,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	/*                        ST SO CK AF CP NR SE WA HE HC PR CA MO RU PA LE PK SA RE OU UN EN DE GO */
	[SL_ON_PLACED]         = {XX,XX,XX,XX,XX,XX,XX,PR,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_PLACED_CARRYING]= {XX,XX,XX,XX,XX,XX,XX,MO,XX,XX,XX,MO,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_BETWEEN]        = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,JB,XX,IG,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_UNPLACED]       = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,JS,XX,JS,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_SENT]           = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,JT,XX,JT,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_STOPS]          = {XX,XX,PK,XX,XX,XX,XX,XX,XX,XX,JK,JK,JK,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	/*                        ST SO CK AF CP NR SE WA HE HC PR CA MO RU PA LE PK SA RE OU UN EN DE GO */
	[SL_ON_PAUSED]         = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,JP,IG,IG,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_DONE]           = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,ED,ED,ED,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_CANCELLED]      = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,EC,EC,EC,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_LOST]           = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,JL,JL,JL,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_HELD]           = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,JH,IG,SV,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_NO_MEMORY]      = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,JL,JL,JL,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_LEAVE]          = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,LE,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_LEFT]           = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,CA,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_STAYED]         = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,JI,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_BACK]           = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,CA,CA,XX,XX,XX,XX,XX,XX,XX,XX,XX},
	[SL_ON_FAIL]           = {XX,XX,EF,XX,XX,XX,EF,EF,EF,XX,EF,XX,EF,EF,EF,EF,EF,EF,XX,XX,XX,XX,XX,XX},
	/*                        ST SO CK AF CP NR SE WA HE HC PR CA MO RU PA LE PK SA RE OU UN EN DE GO */
	[SL_ON_RESULT_SAVED]   = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,RE,XX,XX,XX,XX,XX,XX},
	[SL_ON_RECORDED]       = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,EN,AG,XX,XX,XX,XX},
	[SL_ON_NOT_SAVED]      = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,UN,UN,UN,XX,XX,XX,XX},
	[SL_ON_RETRY]          = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,AG,XX,XX,XX},
	[SL_ON_DELETE]         = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,DE,XX,XX},
	[SL_ON_DELETED]        = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,GO,XX},
	[SL_ON_NOT_DELETED]    = {XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,XX,BA,XX},
};

/* The wish after a request; the same as before: the request changes nothing. */
static const enum sl_wish wishes[4][SL_WISHES] = {
	[SL_ON_PAUSE] = {SL_WISH_PAUSE, SL_WISH_PAUSE, SL_WISH_FINISH, SL_WISH_CANCEL},
	[SL_ON_RESUME] = {SL_WISH_RUN, SL_WISH_RUN, SL_WISH_FINISH, SL_WISH_CANCEL},
	[SL_ON_FINISH] = {SL_WISH_FINISH, SL_WISH_FINISH, SL_WISH_FINISH, SL_WISH_CANCEL},
	[SL_ON_CANCEL] = {SL_WISH_CANCEL, SL_WISH_CANCEL, SL_WISH_CANCEL, SL_WISH_CANCEL},
};

/* ---- a step -------------------------------------------------------------------------- */

/* What clients see in this stage. */
static enum sl_job_state shown(const struct sl_machine *m, enum sl_job_state before)
{
	switch (m->stage) {
	case SL_STAGE_STORING:
	case SL_STAGE_STORING_OLD:
	case SL_STAGE_PREPARING:
		return m->wish == SL_WISH_PAUSE ? SL_JOB_PAUSED : m->wish == SL_WISH_CANCEL ? before : SL_JOB_QUEUED;
	case SL_STAGE_MOVING:  /* a run that moves goes on running for clients */
		return m->wish == SL_WISH_PAUSE ? SL_JOB_PAUSED :
		       m->wish == SL_WISH_RUN && before == SL_JOB_PAUSED ? SL_JOB_QUEUED : before;
	case SL_STAGE_HELD:
	case SL_STAGE_HELD_COPYING:
	case SL_STAGE_PAUSED:
		return SL_JOB_PAUSED;
	case SL_STAGE_RUNNING:
		return SL_JOB_RUNNING;
	case SL_STAGE_CHECKING:
	case SL_STAGE_AFTER:
	case SL_STAGE_COPYING:
	case SL_STAGE_NO_ROOM:
	case SL_STAGE_SEARCHING:
	case SL_STAGE_WAITING:
	case SL_STAGE_PARKED:
		return SL_JOB_QUEUED;
	case SL_STAGE_ENDED:
		return m->end;
	default:
		return before;
	}
}

/* The actions that follow from the two stages, whatever the event was. */
static unsigned derived(const struct sl_machine *from, const struct sl_machine *to)
{
	unsigned was = stages[from->stage].is, is = stages[to->stage].is, actions = 0;
	if (was & LINE & ~is)
		actions |= SL_DO_LEAVE_LINE;
	if (is & LINE & ~was)
		actions |= SL_DO_JOIN_LINE;
	if (was & ACTIVE & ~is)
		actions |= SL_DO_DEACTIVATE;
	if (is & ACTIVE & ~was)
		actions |= SL_DO_ACTIVATE;
	if (was & PLACE & ~is)
		actions |= SL_DO_GIVE_PLACE;
	if (is & PLACE & ~was)
		actions |= SL_DO_TAKE_PLACE;
	if (from->state != to->state)
		actions |= SL_DO_SHOW;
	/* a job that is CARRIED takes its next place first */
	if (actions & (SL_DO_JOIN_LINE | SL_DO_DEACTIVATE | SL_DO_GIVE_PLACE) && to->stage != SL_STAGE_CARRIED)
		actions |= SL_DO_PUMP;
	return actions;
}

struct sl_transition sl_machine_step(const struct sl_machine *from, enum sl_job_event event)
{
	struct sl_transition step = {.to = *from};
	const struct outcome *o = &outcomes[table[event][from->stage]];
	if (o == &outcomes[XX] || o == &outcomes[IG]) {
		step.refused = o == &outcomes[XX];
		return step;
	}
	if (event <= SL_ON_CANCEL) {
		step.to.wish = wishes[event][from->wish];
		if (step.to.wish == from->wish)
			return step;
	}
	if (event == SL_ON_HELD && from->wish == SL_WISH_RUN)
		step.to.wish = SL_WISH_PAUSE;
	if (o->next == BY_WISH) {
		const struct outcome *by = &outcomes[o->by[from->wish]];
		if (by == &outcomes[IG])
			return step;
		step.actions = o->actions;
		o = by;
	}
	step.actions |= o->actions;
	if (o->next != SAME)
		step.to.stage = (enum sl_stage)o->next;
	if (o->end)
		step.to.end = o->end;
	step.to.state = shown(&step.to, from->state);
	step.actions |= derived(from, &step.to);
	return step;
}

/* ---- beginnings ---------------------------------------------------------------------- */

struct sl_machine sl_machine_new(void)
{
	return (struct sl_machine){SL_STAGE_STORING, SL_WISH_RUN, SL_JOB_QUEUED, SL_JOB_QUEUED};
}

struct sl_machine sl_machine_loaded(enum sl_job_state state)
{
	if (state >= SL_JOB_DONE)
		return (struct sl_machine){SL_STAGE_ENDED, SL_WISH_RUN, state, state};
	if (state == SL_JOB_PAUSED)
		return (struct sl_machine){SL_STAGE_HELD, SL_WISH_PAUSE, SL_JOB_PAUSED, SL_JOB_QUEUED};
	return (struct sl_machine){SL_STAGE_PARKED, SL_WISH_RUN, SL_JOB_QUEUED, SL_JOB_QUEUED};
}

enum sl_job_state sl_machine_recorded(const struct sl_machine *m)
{
	if (stages[m->stage].is & ENDING)
		return m->end;
	return m->state < SL_JOB_DONE && m->wish == SL_WISH_PAUSE ? SL_JOB_PAUSED : m->state;
}

/* ---- checkpoints ----------------------------------------------------------------------- */

#define TO(stage) {SL_CHECKPOINT_##stage, SL_CHECKPOINT_##stage, SL_CHECKPOINT_NOTHING, false}
#define WRITE_TO(stage) {SL_CHECKPOINT_##stage, SL_CHECKPOINT_##stage, SL_CHECKPOINT_WRITE, false}
#define ASK {SL_CHECKPOINT_ASKED, SL_CHECKPOINT_IDLE, SL_CHECKPOINT_ASK, false}
#define CARRIED {SL_CHECKPOINT_WRITING, SL_CHECKPOINT_WRITING, SL_CHECKPOINT_WRITE_CARRIED, false}
#define NEVER {0, 0, SL_CHECKPOINT_NOTHING, true}

/* Columns: the stages, in the order of enum sl_checkpoint_stage. */
static const struct sl_checkpoint_transition checkpoints[SL_CHECKPOINT_EVENTS][SL_CHECKPOINT_STAGES] = {
	[SL_CHECKPOINT_ON_DUE] = {ASK, TO(ASKED), TO(WRITING), TO(ASKED_MORE), TO(WRITING_MORE), TO(WRITING_KEEP)},
	[SL_CHECKPOINT_ON_NEWER] = {ASK, TO(ASKED_MORE), TO(WRITING_MORE), TO(ASKED_MORE), TO(WRITING_MORE), NEVER},
	[SL_CHECKPOINT_ON_ANSWER] = {NEVER, WRITE_TO(WRITING), NEVER, WRITE_TO(WRITING_MORE), NEVER, NEVER},
	[SL_CHECKPOINT_ON_NO_ANSWER] = {NEVER, TO(IDLE), NEVER, ASK, NEVER, NEVER},
	[SL_CHECKPOINT_ON_WRITTEN] = {NEVER, NEVER, TO(IDLE), NEVER, ASK, CARRIED},
	[SL_CHECKPOINT_ON_GONE] = {TO(IDLE), TO(IDLE), TO(WRITING), TO(IDLE), TO(WRITING), TO(WRITING_KEEP)},
	[SL_CHECKPOINT_ON_KEEP] = {CARRIED, NEVER, TO(WRITING_KEEP), NEVER, NEVER, TO(WRITING_KEEP)},
};

struct sl_checkpoint_transition sl_checkpoint_step(enum sl_checkpoint_stage from, enum sl_checkpoint_event event)
{
	return checkpoints[event][from];
}

bool sl_checkpoint_is_writing(enum sl_checkpoint_stage stage)
{
	return stage == SL_CHECKPOINT_WRITING || stage == SL_CHECKPOINT_WRITING_MORE || stage == SL_CHECKPOINT_WRITING_KEEP;
}

/* ---- what the stages are ----------------------------------------------------------------- */

bool sl_stage_has_place(enum sl_stage stage) { return stages[stage].is & PLACE; }
bool sl_stage_is_active(enum sl_stage stage) { return stages[stage].is & ACTIVE; }
bool sl_stage_is_on_device(enum sl_stage stage) { return stages[stage].is & DEVICE; }
bool sl_stage_is_storing(enum sl_stage stage) { return stages[stage].is & STORED_LATER; }
bool sl_stage_is_ending(enum sl_stage stage) { return stages[stage].is & ENDING; }
bool sl_stage_is_deleted(enum sl_stage stage) { return stages[stage].is & DELETED; }
const char *sl_stage_name(enum sl_stage stage) { return stages[stage].name; }
const char *sl_stage_meaning(enum sl_stage stage) { return stages[stage].meaning; }
bool sl_stage_takes(enum sl_stage stage, enum sl_job_event event) { return table[event][stage] != XX; }

const char *const sl_job_state_name[] = {"queued", "running", "paused", "done", "failed", "cancelled"};

const char *const sl_job_event_name[] = {
	"PAUSE", "RESUME", "FINISH", "CANCEL", "CHANGE", "STORED", "UNSTORED", "TAKE_UP", "MUST_WAIT", "MUST_COPY",
	"MUST_SEARCH", "READY", "LOOK", "COPIED", "COPY_NO_ROOM", "COPY_FAILED", "SEARCHED", "ENGINE_GONE", "PLACED",
	"PLACED_CARRYING", "BETWEEN", "UNPLACED", "SENT", "STOPS", "PAUSED", "DONE", "CANCELLED", "LOST", "HELD",
	"NO_MEMORY",
	"LEAVE", "LEFT", "STAYED", "BACK", "FAIL", "RESULT_SAVED", "RECORDED", "NOT_SAVED", "RETRY", "DELETE", "DELETED",
	"NOT_DELETED",
};

#define SL__ACTION_TEXT(name) #name,
const char *const sl_action_name[] = {SL_ACTIONS(SL__ACTION_TEXT)};
