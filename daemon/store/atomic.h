/* atomic.h -- writes files of the state folder so that a crash leaves the whole file or none.
 *
 * A file is written under another name, synchronised, and renamed. Errors: SL_DISKFULL, or SL_IO for all other
 * failures; err names the file. A failed call has no effect: a new file is removed, an old one is restored. Functions
 * block: for pool threads and the start. */
#ifndef SL_ATOMIC_H
#define SL_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* An array of bytes. With bytes 0 it takes no room in the file. */
struct sl_array {
	void *data;
	uint64_t bytes;
};

/* Writes path, which must not exist, and synchronises it. The caller renames it later, and then calls
 * sl_atomic_sync_folder(). */
int sl_atomic_create(const char *path, const struct sl_array *parts, int count, struct sl_error *err);

/* Writes PATH.tmp and renames it to path. safe: with fsync of the file and of its folder, so that it survives a power
 * cut. mode: as in open(2). */
int sl_atomic_replace(const char *path, const struct sl_array *parts, int count, int mode, bool safe,
		      struct sl_error *err);

/* Renames the temporary file, which is synchronised, to path in the same folder, and synchronises the folder. After an
 * error the temporary file is removed and path is unchanged (except on file systems that cannot exchange two names). */
int sl_atomic_place(const char *temporary, const char *path, struct sl_error *err);

/* Removes the file so that the removal survives a power cut. No error if there is none. Overwrites PATH.gone. */
int sl_atomic_remove(const char *path, struct sl_error *err);

/* Synchronises a folder, so that renames and removals in it survive a power cut. */
int sl_atomic_sync_folder(const char *folder, struct sl_error *err);

/* The code for an errno of write(), fsync(), close() and the like: SL_DISKFULL, SL_READONLY or SL_IO. */
int sl_atomic_code(int why);
/* Sets the error for an errno (why): "PATH: cannot be WHAT: ...". Returns its code. */
int sl_atomic_error(const char *path, const char *what, int why, struct sl_error *err);

/* Opens a regular file for reading; -1: see errno. Fails without waiting if path is a pipe or a device. */
int sl_file_open(const char *path);

/* Writes all `bytes`, with as many calls as that needs. -1: see errno. */
int sl__write_all(int fd, const void *data, uint64_t bytes);
/* Reads all `bytes` from the present position of the descriptor, with as many calls as that needs. -1: see errno, or
 * the file ended. */
int sl__read_all(int fd, void *data, uint64_t bytes);
/* The same from an offset. */
int sl__read_at(int fd, void *data, uint64_t bytes, uint64_t at);

#endif
