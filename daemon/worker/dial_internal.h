/* dial_internal.h -- what a worker on another machine was started with (dial.h). */
#ifndef SL_DIAL_INTERNAL_H
#define SL_DIAL_INTERNAL_H

#include <limits.h>

#include "daemon/network/tls.h"

#define SL_DIAL_TOKEN_BYTES 256

struct sl_dial_options {
	char host[256], port[16];     /* of the daemon */
	char token[SL_DIAL_TOKEN_BYTES];
	const char *name;             /* NULL: the host's */
	const char *engine;           /* a name, not "auto" */
	long index, threads;
	double leave_s;
	char folder[PATH_MAX];        /* of this process, within the cache */
	struct sl_tls_keys *keys;
};

/* Reads the arguments and the files that they name, and makes the folders. Returns the exit status, or -1: go on. */
int sl__dial_options(struct sl_dial_options *o, int argc, char **argv);

#endif
