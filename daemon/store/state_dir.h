/* state_dir.h -- the folder that holds everything: found, made, locked.
 *
 *   graphs/  jobs/  spacelandd.db  spacelandd.db.generation  spacelandd.addr  reserve
 *   tmp/         the daemon's own files in it are removed at the start
 *   lost+found/  files without a record (sweep.h) */
#ifndef SL_STATE_DIR_H
#define SL_STATE_DIR_H

#include "core/error.h"

/* The folder for what the configuration says ("": by the environment): an absolute path,
 * malloc'd, and the descriptor of the folder, which is locked (flock). */
int sl_state_dir_open(const char *configured, char **out, int *lock_fd, struct sl_error *err);

/* Removes what uploads have left in tmp/. */
void sl_state_dir_clean(const char *dir);

/* Tells others where we listen, by the file spacelandd.addr ("127.0.0.1:7070", with TLS "https://..."); replaced in
 * one step. */
int sl_state_dir_announce(const char *dir, const char *address, struct sl_error *err);

#endif
