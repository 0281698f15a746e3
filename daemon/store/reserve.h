/* reserve.h -- a file that keeps some room on the disk for records.
 *
 * On a full disk the file is removed, so that the ends of jobs and deletions can still be recorded. When there is room
 * again, it is made again. Any thread; the file system orders the calls. */
#ifndef SL_RESERVE_H
#define SL_RESERVE_H

#include <stdbool.h>

/* Makes STATE_DIR/reserve unless it is there. Only when the disk has room for several of it. */
void sl_reserve_keep(const char *state_dir);
/* False: there was none. */
bool sl_reserve_give_up(const char *state_dir);
/* The disk is full. */
bool sl_reserve_is_needed(const char *state_dir);
/* The reserve is gone, and there is no room for a new one. */
bool sl_reserve_is_used(const char *state_dir);

#endif
