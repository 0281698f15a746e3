/* state_dir.h -- finds or makes the state folder, and locks it.
 *
 *   graphs/  jobs/  spacelandd.db  spacelandd.db.generation  spacelandd.addr  reserve  crashes
 *   tmp/         the daemon's own files in it are removed at the start
 *   lost+found/  files without a record (sweep.h) */
#ifndef SL_STATE_DIR_H
#define SL_STATE_DIR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* Opens the folder of the configuration ("": that of the environment) and locks it (flock). make: makes it if
 * necessary; otherwise a folder that no daemon has used is an error, and root takes the rights of the folder's owner.
 * *out: its absolute path, malloc'd; *lock_fd: the descriptor of the folder. */
int sl_state_dir_open(const char *configured, bool make, char **out, int *lock_fd, struct sl_error *err);

/* Removes files that uploads have left in tmp/. */
void sl_state_dir_clean(const char *dir);

/* Publishes the address of the server in the file spacelandd.addr ("127.0.0.1:7070"; with TLS "https://..."), which is
 * replaced atomically. */
int sl_state_dir_announce(const char *dir, const char *address, struct sl_error *err);
/* The same, as the server has written it that runs on the folder of the configuration; without a lock. False: none. */
bool sl_state_dir_address(const char *configured, char *out, size_t bytes);

#endif
