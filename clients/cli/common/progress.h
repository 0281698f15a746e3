/* progress.h -- progress of an operation, on one line that is rewritten, or as plain lines.
 *
 * On a terminal: a bar, as wide as fits, redrawn at most 20 times a second. Anywhere
 * else: a line every few seconds, and the last. With --quiet nothing; with --json only
 * the bar, as it goes to stderr. NO_COLOR and TERM=dumb are honoured. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "clients/cli/common/command.h"

struct progress {
	FILE *out;
	const char *title;   /* "upload", "embed" */
	const char *measure; /* what iterations lower or raise: "kl" from the start, "inertia" */
	bool silent, terminal, colour, unicode;
	bool drawn;          /* there is a line on the terminal to be rewritten or ended */
	double last;         /* when it was last drawn or printed, cli_now() */
};

void progress_init(struct progress *p, const struct cli *cli, const char *title);
/* done of total iterations; value (of the measure), per_second, eta_s: NAN, not known. note: what is going on when
 * it is not iterating ("queued", "paused"), or NULL. */
void progress_iterations(struct progress *p, double done, double total, double value, double per_second, double eta_s,
			 const char *note);
void progress_bytes(struct progress *p, double done, double total);
/* A phase without measure: "preparing". */
void progress_phase(struct progress *p, const char *what);
/* Ends the line, so that other output can follow. Idempotent. */
void progress_finish(struct progress *p, bool erase);

#endif
