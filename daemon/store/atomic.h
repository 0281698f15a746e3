/* atomic.h -- the one way to write a file of the state: whole, or not at all.
 *
 * A file is written under another name, synchronised, and renamed. A full disk is SL_DISKFULL, any other failure SL_IO;
 * both name the file. What failed has no effect: a new file is removed again, an old one is back. Blocks: for pool
 * threads and the start. */
#ifndef SL_ATOMIC_H
#define SL_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* Bytes in a row. Empty ones (bytes 0) take no room in the file. */
struct sl_array {
	void *data;
	uint64_t bytes;
};

/* Writes path, which must not exist, and synchronises it. The owner renames it later, with sl_state_dir_sync(). */
int sl_atomic_create(const char *path, const struct sl_array *parts, int count, struct sl_error *err);

/* Writes PATH.tmp and renames it to path. safe: with fsync of the file and of its folder, so that it is there after a
 * power cut, too. mode: as of open(2). */
int sl_atomic_replace(const char *path, const struct sl_array *parts, int count, int mode, bool safe,
		      struct sl_error *err);

/* Renames the temporary file, which is synchronised, to path in the same folder, and synchronises the folder. On an
 * error the temporary file is removed, and path is as before (but not on file systems that cannot exchange two
 * names). */
int sl_atomic_place(const char *temporary, const char *path, struct sl_error *err);

/* Removes the file for good, also after a power cut. No error if there is none. PATH.tmp is overwritten. */
int sl_atomic_remove(const char *path, struct sl_error *err);

/* Makes renames and removals in the folder last. */
int sl_atomic_sync_folder(const char *folder, struct sl_error *err);

/* The code of an errno that write(), fsync(), close() and the like may set: SL_DISKFULL, SL_READONLY or SL_IO. */
int sl_atomic_code(int why);
/* From an errno: "PATH: cannot be WHAT: ...". */
int sl_atomic_error(const char *path, const char *what, int why, struct sl_error *err);

/* A regular file for reading; -1: errno tells why. A pipe or a device in its place is an error and does not wait. */
int sl_file_open(const char *path);

/* All bytes, however many calls it takes, from where the descriptor stands. -1: errno tells why, or the file ended. */
int sl__read_all(int fd, void *data, uint64_t bytes);
/* The same from an offset. */
int sl__read_at(int fd, void *data, uint64_t bytes, uint64_t at);

#endif
