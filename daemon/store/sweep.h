/* sweep.h -- at the start, removes files of the state folder that have no record.
 *
 * A file belongs to the daemon if it is a regular file and its name is ID.KIND, with a valid id and a kind of the list.
 * All other files stay unchanged. For a file of the daemon, the caller decides:
 *
 *   SL_FATE_KEPT     it has a record: stays
 *   SL_FATE_DELETED  its record was deleted, but a crash came before the file was removed: it is removed
 *   SL_FATE_LOST     it has no record: it is moved to STATE_DIR/lost+found/, and named in the log
 *
 * A file ID.KIND.tmp was never complete, and a file ID.KIND.gone was being removed: both are removed. Functions block:
 * only for the start. */
#ifndef SL_SWEEP_H
#define SL_SWEEP_H

#include <stdbool.h>

enum sl_fate { SL_FATE_KEPT, SL_FATE_DELETED, SL_FATE_LOST };

/* kinds ends with NULL. Calls fate() for each file of the daemon. Returns how many were moved to lost+found/. */
int sl_sweep(const char *state_dir, const char *folder, const char *const *kinds,
	     enum sl_fate (*fate)(void *arg, const char *id, const char *kind), void *arg);

enum sl_name {
	SL_NAME_FOREIGN,    /* not of the daemon */
	SL_NAME_WHOLE,      /* ID.KIND, a regular file */
	SL_NAME_TEMPORARY,  /* ID.KIND.tmp */
	SL_NAME_GONE,       /* ID.KIND.gone */
	SL_NAME_LINK,       /* ID.KIND, a symbolic link to a regular file; the daemon makes none, but reads them */
};

/* Calls fn for each such file in STATE_DIR/FOLDER; name: its name within the folder. fn may be NULL. Returns the number
 * of these files. */
int sl_sweep_each(const char *state_dir, const char *folder, const char *const *kinds, enum sl_name wanted,
		  void (*fn)(void *arg, const char *folder, const char *name, const char *id), void *arg);

/* Removes PREFIX-ID and PREFIX-ID.ENDING with any of the prefixes (the list ends with NULL) from STATE_DIR/FOLDER. */
void sl_sweep_temporary(const char *state_dir, const char *folder, const char *const *prefixes);

#endif
