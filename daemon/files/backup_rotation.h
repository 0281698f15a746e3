/* backup_rotation.h -- removes the oldest scheduled backups.
 *
 * Scheduled backups have names of the form auto-2026-11-28T130000Z; others, which people name, are never removed, nor
 * are folders that lack a data base. Blocks: for the pool. */
#ifndef SL_BACKUP_ROTATION_H
#define SL_BACKUP_ROTATION_H

#include <stdint.h>

#define SL_BACKUP_AUTO "auto-"

/* Removes scheduled backups in dir but the newest `keep`. made: number of files of the newest one: if an older one has
 * more than twice as many, nothing is removed, since the state may have been lost, and these may be all that is left of
 * it. Returns the number of removed ones, or -1 in that case. */
int sl_backup_rotate(const char *dir, int keep, uint64_t made);

#endif
