/* fetch.h -- how a worker on another machine gets the stored files of its daemon.
 *
 * The worker asks which file stands behind a path: its length, and a digest of its header, which holds one of its
 * content. Then it takes the file of the same path, if a shared folder has that one; else the one in its cache; else it
 * gets the file in pieces over the connection, into the cache. Readers compare the content with the header's digest, so
 * a file that is damaged on the way or in the cache is noticed; sl_fetch_forget() then removes it, and it is got anew.
 * The files that were used least recently are removed when the cache has too many bytes. Loop thread. */
#ifndef SL_FETCH_H
#define SL_FETCH_H

#include "core/error.h"
#include "daemon/worker/wire.h"

#define SL_FETCH_HEADER 256              /* bytes at the beginning of a file that identify it (files/array_file.h) */
#define SL_FETCH_PIECE (4u << 20)        /* most bytes in a message */
#define SL_FETCH_DIGEST (2 * 32 + 1)     /* in hexadecimal digits, with the 0 */

/* ---- the worker's side ---- */

struct sl_fetch;

/* cache: a folder. NULL: no memory. */
struct sl_fetch *sl_fetch_create(struct sl_wire *wire, const char *cache, uint64_t cache_bytes);
/* done runs, later, with the path of a file of this machine, borrowed, or with an error. */
typedef void (*sl_fetch_fn)(void *arg, const char *local, const struct sl_error *err);
void sl_fetch_get(struct sl_fetch *f, const char *path, sl_fetch_fn done, void *arg);
/* Takes what the daemon answers. */
void sl_fetch_arrived(struct sl_fetch *f, struct sl_wire_message *m);
/* The file at this local path cannot be used. False: it is not one of the cache. */
bool sl_fetch_forget(struct sl_fetch *f, const char *local);

/* ---- the daemon's side: pool ---- */

/* Reads a piece of the file, or with bytes 0 nothing but its identity. The answer's message; NULL: no memory. */
struct sl_wire_message *sl_fetch_answer(const char *path, uint64_t offset, uint64_t bytes);

#endif
