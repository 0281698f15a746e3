/* sweep.h -- a folder of the state, brought in line with the records at the start.
 *
 * A file is ours if it is a regular file and its name is ID.KIND, with an id as we make them and a kind of the list.
 * Whatever else is in the folder belongs to somebody else and stays as it is. Of ours:
 *
 *   SL_FATE_KEPT     has a record: stays
 *   SL_FATE_DELETED  its record was deleted, and a crash came before the file was removed: removed
 *   SL_FATE_LOST     nobody knows: moved to STATE_DIR/lost+found/, and named in the log
 *
 * ID.KIND.tmp was never complete, and is removed. Blocks: for the start only. */
#ifndef SL_SWEEP_H
#define SL_SWEEP_H

#include <stdbool.h>

enum sl_fate { SL_FATE_KEPT, SL_FATE_DELETED, SL_FATE_LOST };

/* kinds ends with NULL. fate is asked for each of our files. Returns how many were moved to lost+found/. */
int sl_sweep(const char *state_dir, const char *folder, const char *const *kinds,
	     enum sl_fate (*fate)(void *arg, const char *id, const char *kind), void *arg);

/* Calls fn for each file in STATE_DIR/FOLDER that is ours; name is that below the folder. fn may be NULL. Returns their
 * number. */
int sl_sweep_each(const char *state_dir, const char *folder, const char *const *kinds,
		  void (*fn)(void *arg, const char *folder, const char *name, const char *id), void *arg);

/* The same for the files ID.KIND.tmp. */
int sl_sweep_each_unfinished(const char *state_dir, const char *folder, const char *const *kinds,
			     void (*fn)(void *arg, const char *folder, const char *name, const char *id), void *arg);

/* Removes PREFIX-ID and PREFIX-ID.ENDING of the prefixes (the list ends with NULL) from STATE_DIR/FOLDER. */
void sl_sweep_temporary(const char *state_dir, const char *folder, const char *const *prefixes);

#endif
