/* child.h -- runs another program and collects what it prints.
 *
 * The program gets a text as its input, and no terminal. What it prints is kept up to a limit; a program that prints
 * more, or runs longer than its time, is killed with the processes that it started. SIGPIPE must be ignored. Loop
 * thread. */
#ifndef SL_CHILD_H
#define SL_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

struct sl_child_spec {
	const char *const *argv;        /* NULL-terminated; argv[0] is a path, or is searched in PATH */
	const char *const *environment; /* NULL-terminated: "NAME=VALUE", added to that of the server; or NULL */
	const char *input;              /* "" or the text of its standard input */
	size_t most_bytes;              /* of each of its two outputs; more than that of errors is left out */
	int limit_ms;
};

/* How it ended. The texts are zero-terminated, and valid during the call. */
struct sl_child_result {
	int started;                    /* 0; or an errno: it could not be started */
	bool timed_out, too_long;       /* it was killed for its time, for its output */
	int status, signal;             /* as it ended by itself */
	const char *out;
	size_t out_bytes;
	const char *errors;
};

struct sl_child;

/* fn runs once, never before sl_child_run() has returned. All of spec is copied. NULL: no memory; then fn never runs.
 */
typedef void (*sl_child_fn)(void *arg, const struct sl_child_result *r);
struct sl_child *sl_child_run(uv_loop_t *loop, const struct sl_child_spec *spec, sl_child_fn fn, void *arg);
/* Kills it; fn does not run any more. The memory is freed by the loop. */
void sl_child_drop(struct sl_child *c);
/* True if it ended with status 0 in its time. */
bool sl_child_succeeded(const struct sl_child_result *r);
/* Why it did not succeed: "sbatch: ended with status 1: <its first line of errors>". Returns out. */
char *sl_child_problem(const struct sl_child_result *r, const char *program, char *out, size_t bytes);

#endif
