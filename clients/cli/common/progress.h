/* progress.h -- shows the progress of an operation, on one line that is rewritten, or as plain lines.
 *
 * On a terminal: a bar, as wide as fits, redrawn at most 20 times a second. Elsewhere: a line every few seconds, and a
 * last one. With --quiet nothing; with --json only the bar, which goes to stderr. NO_COLOR and TERM=dumb are
 * respected. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "clients/cli/common/command.h"

struct progress {
	FILE *out;
	const char *title;   /* "upload", "embed" */
	const char *measure; /* the value that iterations minimise or maximise: at first "kl"; "inertia" */
	bool silent, terminal, colour, unicode;
	bool drawn;          /* the terminal shows a line that must be rewritten or ended */
	double last;         /* cli_now() when it was last drawn or printed */
};

void progress_init(struct progress *p, const struct cli *cli, const char *title);
/* Shows `done` of `total` iterations. value (of the measure), per_second, eta_s: NAN if unknown. note: the state if no
 * iterations run ("queued", "paused"), or NULL. */
void progress_iterations(struct progress *p, double done, double total, double value, double per_second, double eta_s,
			 const char *note);
void progress_bytes(struct progress *p, double done, double total);
/* Shows a phase without a measure, for example "preparing". */
void progress_phase(struct progress *p, const char *what);
/* Ends the line, so that other output can follow. erase: removes it. Idempotent. */
void progress_finish(struct progress *p, bool erase);

#endif
