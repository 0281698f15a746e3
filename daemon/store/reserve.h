/* reserve.h -- a file that reserves disk space for records.
 *
 * On a full disk the file is removed, so that ends of jobs and deletions can still be recorded. When there is space
 * again, the file is made again. Any thread; the file system orders the calls. */
#ifndef SL_RESERVE_H
#define SL_RESERVE_H

#include <stdbool.h>

/* Makes STATE_DIR/reserve unless it exists; only if the disk has room for several such files. */
void sl_reserve_keep(const char *state_dir);
/* Removes the file. False: there was none. */
bool sl_reserve_give_up(const char *state_dir);
/* True if the disk is full. */
bool sl_reserve_is_needed(const char *state_dir);
/* True if the file was removed and there is no room for a new one. */
bool sl_reserve_is_used(const char *state_dir);

#endif
