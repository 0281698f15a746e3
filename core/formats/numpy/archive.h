/* archive.h -- ZIP archives of NumPy arrays (.npz), member by member. Internal. */
#ifndef SL_ARCHIVE_H
#define SL_ARCHIVE_H

#include <stdio.h>
#include <zip.h>

#include "core/formats/numpy/npy.h"
#include "core/formats/text/names.h"

#define SL__BLOCK 8192  /* elements that sl__member_block() reads at most */

/* All zero before sl__member_open(). */
struct sl__member {
	zip_file_t *file;
	struct sl_source *source;  /* of the archive; borrowed */
	char name[288];          /* "graph.npz: indices.npy" */
	struct sl__npy array;
	uint64_t left;           /* elements not read yet */
	unsigned char *block;    /* [SL__BLOCK * array.size] */
};

struct sl__archive {
	struct sl_source *source;   /* borrowed */
	uint64_t stored;            /* compressed bytes of the members opened so far */
	uint64_t max_bytes;         /* limit of `bytes`; 0: no limit */
	uint64_t bytes;             /* uncompressed bytes of the members opened so far */
	zip_t *zip;
	FILE *file;
	struct sl_error *err;       /* borrowed; NULL is fine */
};

/* Consumes the source. The caller closes the archive also after an error. */
int sl__archive_open(struct sl__archive *f, struct sl_source *source, uint64_t max_bytes, struct sl_error *err);
/* The same for archives of many files, such as images: up to SL__ARCHIVE_FILES_MOST members. */
#define SL__ARCHIVE_FILES_MOST 2000000
int sl__archive_open_files(struct sl__archive *f, struct sl_source *source, uint64_t max_bytes, struct sl_error *err);
void sl__archive_close(struct sl__archive *f);

/* directory.c: if there is an account (core/account.h), reserves the memory that the list of members takes, and refuses
 * one that no .npz needs: SL_TOOBIG, SL_BADDATA. files: it may have SL__ARCHIVE_FILES_MOST members. memory NULL: the
 * archive is in file, which is at its start afterwards. */
int sl__archive_check_directory(const char *name, const void *memory, FILE *file, uint64_t size, bool files,
				struct sl_account *account, struct sl_error *err);

/* Counts the member's bytes, and refuses what is encrypted, compressed otherwise, or too large. m->name: for messages.
 * */
int sl__member_check(struct sl__archive *f, struct sl__member *m, const zip_stat_t *st);

/* Whether there is a member NAME.npy. */
bool sl__archive_has(const struct sl__archive *f, const char *name);

/* Opens NAME.npy and reads its header. A missing member is no error: *found is false. The caller closes the member also
 * after an error. */
int sl__member_open(struct sl__archive *f, struct sl__member *m, const char *name, bool *found);
void sl__member_close(struct sl__member *m);

/* Reads the next count elements, as stored. The last read checks the checksum. */
int sl__member_read(struct sl__archive *f, struct sl__member *m, uint64_t count, void *out);
/* Reads the next count <= SL__BLOCK elements, as stored, into m->block. */
int sl__member_block(struct sl__archive *f, struct sl__member *m, uint64_t count);

/* Reads NAME.npy, which must have one string or integer for each of n rows (`of`: "points" or "nodes", for errors),
 * into names. If value [n] is given, names gets each distinct text once, and value the index of each row's text. */
int sl__archive_texts(struct sl__archive *f, const char *name, uint64_t n, const char *of, struct sl__names *names,
		      uint32_t *value);

#endif
