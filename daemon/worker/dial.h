/* dial.h -- a worker on another machine than its daemon: spacelandd --worker --connect HOST:PORT ...
 *
 * This process dials the daemon's port for workers (door.h), keeps the connection, and has a child, which is a worker
 * as on the daemon's own machine (worker.h): it knows nothing of the network. If the connection breaks, the child
 * computes on while this process dials again; if the child ends, the daemon is told, and the next one comes with a new
 * session. */
#ifndef SL_DIAL_H
#define SL_DIAL_H

/* Runs until the daemon lets the worker go, refuses it, or a signal ends it. argv: --worker and what follows. Exit
 * status: 0 after it was let go or asked to end; 2 if another start would fail in the same way; 1 for other errors. */
int sl_dial_main(int argc, char **argv);

/* What the child finds in its environment; not set: it is on the daemon's machine. */
#define SL_WORKER_DIR "SPACELAND_WORKER_DIR"          /* a folder of its own, for the record of crashes */
#define SL_WORKER_CACHE "SPACELAND_WORKER_CACHE"      /* a folder for graphs and points, shared by workers */
#define SL_WORKER_CACHE_BYTES "SPACELAND_WORKER_CACHE_BYTES"

#endif
