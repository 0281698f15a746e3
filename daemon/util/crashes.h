/* crashes.h -- remembers which jobs were being computed when the server crashed, so that the next start does not resume
 * for ever a job that crashes it. The same holds for searches of neighbours: "job" below is then a graph.
 *
 * The file STATE_DIR/crashes has a line for each crash: the number of the signal, and the ids of the jobs that the
 * crashed thread computed. A handler of SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT appends it, and then lets the
 * signal end the process, with its core dump and exit status. SIGKILL, a lack of memory, and signals that other
 * processes send (the watchdog's SIGABRT, too) leave no line. The file is a help, never a condition of the start:
 * without it, or with contents that cannot be read, all jobs are resumed.
 *
 * A program has one such file. Sanitizers keep their own handlers; then nothing is recorded. */
#ifndef SL_CRASHES_H
#define SL_CRASHES_H

#include <stdbool.h>

#define SL_CRASHES_LIMIT 2       /* a job is not resumed after so many crashes without progress in between */
#define SL_CRASHES_TOGETHER 128  /* jobs that a thread may compute together; further ones are not recorded */

/* ---- loop thread ------------------------------------------------------------------ */

/* Reads the file and installs the handlers. Problems are logged. */
void sl_crashes_open(const char *state_dir);
/* Number of recorded crashes of the job; *number: the last one's signal. 0: none. */
int sl_crashes_of(const char *job, int *number);
/* Adds a crash of a worker on another machine, where a signal ended it while it computed the job. */
void sl_crashes_add(const char *job, int number);
/* Reads the file again, in which a worker may have added a line. */
void sl_crashes_look_again(void);
/* Removes the job from the file: it has made progress, or has ended. */
void sl_crashes_forget(const char *job);
/* Removes all jobs for which unfinished() is false. */
void sl_crashes_keep(bool (*unfinished)(void *arg, const char *job), void *arg);

/* ---- any thread -------------------------------------------------------------------- */

/* Prepares the calling thread, before it computes or starts an OpenMP team, and names it KIND-NUMBER. The threads of
 * its team inherit the name, by which the handler finds the jobs when one of them crashes. */
void sl_crashes_thread(const char *kind);
/* From now on the thread computes only for this job (copied); NULL: for none. Nothing happens in a thread that was not
 * prepared. */
void sl_crashes_computes(const char *job);
/* It computes for this job, too. */
void sl_crashes_computes_also(const char *job);

#endif
