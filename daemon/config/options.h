/* options.h -- the command line of spacelandd: the configuration file, and the options that override it. */
#ifndef SL_OPTIONS_H
#define SL_OPTIONS_H

#include <stdbool.h>

#include "daemon/config/config.h"

struct sl_options {
	const char *file;          /* --config, or NULL */
	bool check, dump;
	bool reload;               /* --check-reload: the check, and whether the server that runs would read it again */
	bool verify, repair;       /* --verify-state, --repair-state: check or repair, then exit */
	bool accept_lost_records;  /* --accept-lost-records: start with a data base that lacks records */
	int count;                 /* options set on the command line, in order */
	struct {
		const char *name, *value;
	} set[64];
};

/* Returns -1 to continue, else the exit status (after --help, --version or a wrong option; the text is printed). */
int sl_options_parse(struct sl_options *o, int argc, char **argv);

/* The option of the command line for this one, "state-dir" for "state_dir"; NULL: there is only --set. */
const char *sl_options_spelling(const char *option);
/* Defaults, file, command line, in this order, and the checks. */
int sl_options_config(const struct sl_options *o, struct sl_config *c, struct sl_error *err);

#endif
