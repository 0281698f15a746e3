/* backup.h -- backups made while the server runs: one at a time, each in a folder below the option backup_dir.
 *
 * A backup is a state folder as it would be if the server was killed at one moment (backup_copy.h). A server that
 * starts on a copy of it continues from that moment. All functions: loop thread. The pool does the work. */
#ifndef SL_BACKUP_H
#define SL_BACKUP_H

#include <jansson.h>

#include "core/error.h"

struct sl_daemon;
struct sl_backups;

/* backup_dir must be a folder in which this process can make files, and neither in the state folder nor around it.
 * state: the state folder, or NULL if it is not known. Blocks. */
int sl_backups_check(const char *backup_dir, const char *state, struct sl_error *err);
/* Checks the option in that way first. */
int sl_backups_create(struct sl_backups **out, struct sl_daemon *d, struct sl_error *err);
/* Abandons a backup in progress, then runs closed and frees. */
void sl_backups_close(struct sl_backups *b, void (*closed)(void *arg), void *arg);

/* Begins a backup. body: the request's; *name: name of the backup, borrowed from body. */
int sl_backups_make(struct sl_backups *b, const json_t *body, const char **name, struct sl_error *err);

/* The record of a backup that was made since the start of the server, or NULL. */
json_t *sl_backups_json(const struct sl_backups *b, const char *name);
/* All of them, the last one first. */
json_t *sl_backups_list(const struct sl_backups *b);

#endif
