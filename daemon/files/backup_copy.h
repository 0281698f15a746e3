/* backup_copy.h -- the files of a backup, on the pool.
 *
 * A backup is a state folder. Files of the state never change after they are written, so hard links keep their content:
 *
 *   1. FOLDER.part is made.                                            sl_backup_begin()
 *   2. While no record is written, all files of the state are linked to STATE_DIR/backup.tmp/, and the data base is
 *      copied.                                                         sl_backup_link(), sl_db_copy()
 *   3. Links of files that no record in the copy names are removed.   sl_backup_prune()
 *   4. The links move to FOLDER.part; on another disk, the files are copied there and synchronised.
 *   5. FOLDER.part becomes FOLDER.                                     sl_backup_finish()
 *
 * After an error sl_backup_abandon() removes what was made. */
#ifndef SL_BACKUP_COPY_H
#define SL_BACKUP_COPY_H

#include <stdint.h>

#include "core/error.h"

struct sl_backup_copy {
	const char *state_dir, *folder;  /* absolute paths, borrowed */
	char part[4096];                 /* FOLDER.part if it was made; else "" */
	uint64_t files, bytes;           /* of the backup; these and the fields below are atomic */
	uint64_t files_done, bytes_done;
	int cancel;                      /* set by another thread */
};

/* SL_CONFLICT: a file or folder of that name exists. */
int sl_backup_begin(struct sl_backup_copy *b, struct sl_error *err);
int sl_backup_link(struct sl_backup_copy *b, struct sl_error *err);
int sl_backup_prune(struct sl_backup_copy *b, struct sl_error *err);
int sl_backup_finish(struct sl_backup_copy *b, struct sl_error *err);
void sl_backup_abandon(struct sl_backup_copy *b);

/* Removes a finished backup: the files that it has, then its folders. Others stay, with their folder. */
void sl_backup_remove(const char *folder);
/* Removes files that a crash has left in STATE_DIR/backup.tmp/. */
void sl_backup_clean(const char *state_dir);

#endif
