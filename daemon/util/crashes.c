/* What the handler reads is prepared before a crash: the descriptor, and a slot for each computing thread. The handler
 * itself makes only calls that are safe in one (signal-safety(7)), on a stack of its own, since an overflow of the
 * stack is one of the crashes.
 *
 * The file is rewritten in place, not replaced, so that the descriptor stays valid. If a crash or kill interrupts that,
 * a count may be lost; the job is then resumed once more. */
#include "daemon/util/crashes.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "daemon/util/log.h"
#include "daemon/util/ulid.h"

#define SLOTS 64             /* threads; further ones are not recorded */
#define STACK (64 << 10)     /* bytes; processors with wide registers store several KiB in a signal's frame */
#define LARGEST (256 << 10)  /* bytes of a file that is read */
#define NAME 16              /* bytes of a thread's name on Linux */

#ifdef __SANITIZE_THREAD__   /* sigaction() does not show its handlers */
#define HIDDEN_HANDLERS true
#else
#define HIDDEN_HANDLERS false
#endif

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
#define SIGNALS (sizeof crash_signals / sizeof *crash_signals)

/* Written by its thread. In a crash its thread or one of its team reads it, while the thread waits for the team. */
struct slot {
	char thread[NAME];
	_Atomic int jobs;
	char job[SL_CRASHES_TOGETHER][SL_ULID_BYTES];
	char stack[STACK];  /* for the handler */
};

static struct slot slots[SLOTS];
static _Atomic int slots_used;
static _Thread_local struct slot *own;  /* or NULL */
static _Atomic int file = -1;           /* opened for appending; -1: nothing is recorded */

/* Loop thread. */
static struct crashed {
	char job[SL_ULID_BYTES];
	int count, number;
} *crashed;
static size_t crashed_count;

/* ---- a crash -------------------------------------------------------------------------- */

static const struct slot *slot_of_team(void)
{
	char name[NAME] = "";
	int used = atomic_load(&slots_used);
	prctl(PR_GET_NAME, name);
	for (int i = 0; i < used && i < SLOTS; i++)
		if (!strcmp(slots[i].thread, name))
			return &slots[i];
	return NULL;
}

static void record(int number)
{
	static char line[4 + SL_CRASHES_TOGETHER * SL_ULID_BYTES];
	const struct slot *s = own ? own : slot_of_team();
	int jobs = s ? atomic_load(&s->jobs) : 0, fd = atomic_load(&file);
	size_t at = 0;
	if (!jobs || fd < 0)
		return;
	line[at++] = (char)('0' + number / 10);
	line[at++] = (char)('0' + number % 10);
	for (int i = 0; i < jobs; i++) {
		line[at++] = ' ';
		memcpy(line + at, s->job[i], SL_ULID_BYTES - 1);
		at += SL_ULID_BYTES - 1;
	}
	line[at++] = '\n';
	while (write(fd, line, at) < 0 && errno == EINTR)
		;
}

/* Several threads of a team may crash at the same time: one records it, the others wait for the end of the process. The
 * mask has all signals of this handler, so that a fault in it ends the process at once. After the return, a faulty
 * instruction is executed again and faults again; other signals are raised again. */
static void on_crash(int number, siginfo_t *info, void *context)
{
	static atomic_flag crashing = ATOMIC_FLAG_INIT;
	if (info->si_code > 0 || info->si_pid == getpid()) {
		while (atomic_flag_test_and_set(&crashing))
			pause();
		record(number);
	}
	signal(number, SIG_DFL);
	if (info->si_code <= 0)
		raise(number);
}

/* Leaves a signal alone that a sanitizer handles. */
static void install(void)
{
	struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK}, before;
	for (size_t i = 0; i < SIGNALS; i++)
		sigaddset(&action.sa_mask, crash_signals[i]);
	for (size_t i = 0; i < SIGNALS; i++)
		if (!HIDDEN_HANDLERS && !sigaction(crash_signals[i], NULL, &before) && before.sa_handler == SIG_DFL)
			sigaction(crash_signals[i], &action, NULL);
}

/* ---- computing threads ------------------------------------------------------------------ */

void sl_crashes_thread(const char *kind)
{
	int number = atomic_load(&slots_used);
	stack_t before;
	while (number < SLOTS && !atomic_compare_exchange_weak(&slots_used, &number, number + 1))
		;
	if (number == SLOTS)
		return;
	own = &slots[number];
	snprintf(own->thread, sizeof own->thread, "%.10s-%d", kind, number);
	pthread_setname_np(pthread_self(), own->thread);
	if (!sigaltstack(NULL, &before) && before.ss_flags & SS_DISABLE)  /* a sanitizer's stays */
		sigaltstack(&(stack_t){.ss_sp = own->stack, .ss_size = sizeof own->stack}, NULL);
}

void sl_crashes_computes(const char *job)
{
	if (own)
		atomic_store(&own->jobs, 0);
	if (job)
		sl_crashes_computes_also(job);
}

void sl_crashes_computes_also(const char *job)
{
	int jobs = own ? atomic_load(&own->jobs) : SL_CRASHES_TOGETHER;
	if (jobs == SL_CRASHES_TOGETHER)
		return;
	memcpy(own->job[jobs], job, SL_ULID_BYTES);
	atomic_store(&own->jobs, jobs + 1);
}

/* ---- the file --------------------------------------------------------------------------- */

static struct crashed *find(const char *job)
{
	for (size_t i = 0; i < crashed_count; i++)
		if (!strcmp(crashed[i].job, job))
			return &crashed[i];
	return NULL;
}

static bool count(const char *job, int number)
{
	struct crashed *c = find(job), *more;
	if (!c) {
		more = realloc(crashed, (crashed_count + 1) * sizeof *crashed);
		if (!more)
			return false;
		crashed = more;
		c = &crashed[crashed_count++];
		*c = (struct crashed){.count = 0};
		memcpy(c->job, job, sizeof c->job);
	}
	c->count++;
	c->number = number;
	return true;
}

/* Returns false if a part of it was passed over. */
static bool parse(char *text)
{
	bool good = true;
	char *line, *word;
	while ((line = strsep(&text, "\n"))) {
		const char *first = strsep(&line, " ");
		int number = atoi(first);
		bool valid = number > 0 && number < NSIG;
		good = good && (valid ? line != NULL : !*first && !line);  /* an empty line is no fault */
		while (valid && (word = strsep(&line, " ")))
			good = sl_ulid_valid(word) && count(word, number) && good;
	}
	return good;
}

static void save(void)
{
	int fd = atomic_load(&file);
	bool failed = fd >= 0 && ftruncate(fd, 0);
	for (size_t i = 0; fd >= 0 && i < crashed_count; i++)
		for (int k = 0; k < crashed[i].count; k++)
			failed = dprintf(fd, "%02d %s\n", crashed[i].number, crashed[i].job) < 0 || failed;
	if (failed)
		sl_log_warning("crashes", "the crashes of jobs cannot be recorded: %s", strerror(errno));
}

void sl_crashes_open(const char *state_dir)
{
	char *path = NULL, *text = calloc(1, LARGEST + 1);
	int fd = -1;
	if (!text || asprintf(&path, "%s/crashes", state_dir) < 0)
		path = NULL;
	if (path)
		fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
	ssize_t bytes = fd < 0 ? -1 : pread(fd, text, LARGEST + 1, 0);
	if (bytes < 0) {
		sl_log_warning("crashes", "%s/crashes cannot be used: %s; jobs that crash the server are resumed at each "
			       "start", state_dir, strerror(errno));
		if (fd >= 0)
			close(fd);
	} else {
		atomic_store(&file, fd);
		bool whole = bytes <= LARGEST && !memchr(text, 0, (size_t)bytes);
		text[bytes <= LARGEST ? bytes : 0] = 0;
		if (!parse(text) || !whole) {
			sl_log_warning("crashes", "%s has parts that are no records of crashes; they are ignored", path);
			save();
		}
		install();
	}
	free(path);
	free(text);
}

void sl_crashes_add(const char *job, int number)
{
	int fd = atomic_load(&file);
	if (fd >= 0 && number > 0 && number < NSIG && sl_ulid_valid(job))
		dprintf(fd, "%02d %s\n", number, job);
}

void sl_crashes_look_again(void)
{
	int fd = atomic_load(&file);
	char *text = fd >= 0 ? calloc(1, LARGEST + 1) : NULL;
	if (text && pread(fd, text, LARGEST, 0) >= 0) {
		crashed_count = 0;
		parse(text);
	}
	free(text);
}

int sl_crashes_of(const char *job, int *number)
{
	const struct crashed *c = find(job);
	if (c)
		*number = c->number;
	return c ? c->count : 0;
}

void sl_crashes_forget(const char *job)
{
	struct crashed *c = find(job);
	if (!c)
		return;
	sl_crashes_look_again();  /* save() would lose what a worker has added */
	if (!(c = find(job)))
		return;
	*c = crashed[--crashed_count];
	save();
}

void sl_crashes_keep(bool (*unfinished)(void *arg, const char *job), void *arg)
{
	for (size_t i = crashed_count; i > 0; i--)
		if (!unfinished(arg, crashed[i - 1].job))
			sl_crashes_forget(crashed[i - 1].job);
}
