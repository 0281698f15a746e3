/* directory.c -- bounds the central directory of a ZIP archive before libzip reads it. libzip keeps some hundred bytes
 * for each entry, and 70 for each extra field of 4 bytes, so a file of 2 MB could take gigabytes and minutes.
 *
 * An archive ends with a record that has the number of entries and the size of the directory (PK\5\6); with ZIP64 that
 * record is preceded by a locator (PK\6\7) of another one (PK\6\6), which has both as 64-bit numbers. A comment may
 * follow, which may hold what looks like another end. libzip tries all of them; so each must keep the bounds. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/numpy/archive.h"

#define ENTRIES_MOST 10000
#define DIRECTORY_MOST (1u << 20)   /* bytes */
#define FILES_MOST SL__ARCHIVE_FILES_MOST
#define FILES_DIRECTORY_MOST (256u << 20)
#define ENDS_MOST 16                /* ends that libzip would try */
#define END_BYTES 22
#define LOCATOR_BYTES 20
#define END64_BYTES 56
#define TAIL_BYTES (END_BYTES + LOCATOR_BYTES + 65536)
#define ENTRY_BYTES 46              /* of the directory, at least */
#define MEMORY_PER_BYTE 32          /* of libzip, for a byte of the directory, at most */

struct tail {
	const char *name;
	const unsigned char *memory;    /* the whole archive, or NULL: */
	FILE *file;
	uint64_t size;                  /* of the archive */
	bool files;                     /* of any kind, and many */
	struct sl_account *account;
	struct sl_error *err;
};

static uint64_t number(const unsigned char *at, int bytes)
{
	uint64_t value = 0;
	for (int i = bytes - 1; i >= 0; i--)
		value = value << 8 | at[i];
	return value;
}

static int read_at(const struct tail *t, uint64_t at, void *out, size_t bytes)
{
	if (at > t->size || bytes > t->size - at)
		return sl_error_at(t->err, SL_BADDATA, t->name, 0, "The ZIP archive cannot be opened: its end refers to a "
				   "place beyond it.");
	if (t->memory)
		memcpy(out, t->memory + at, bytes);
	else if (fseeko(t->file, (off_t)at, SEEK_SET) || fread(out, 1, bytes, t->file) != bytes)
		return sl_error_at(t->err, SL_IO, t->name, 0, "The ZIP archive cannot be read: %s.", strerror(errno));
	return 0;
}

static int check(const struct tail *t, uint64_t entries, uint64_t bytes)
{
	const char *what = t->files ? "one of images" : "an .npz";
	int entries_most = t->files ? FILES_MOST : ENTRIES_MOST;
	unsigned bytes_most = t->files ? FILES_DIRECTORY_MOST : DIRECTORY_MOST;
	if (entries > (uint64_t)entries_most)
		return sl_error_at(t->err, SL_TOOBIG, t->name, 0, "The archive has %" PRIu64 " members; %s may have at "
				   "most %d.", entries, what, entries_most);
	if (bytes > bytes_most)
		return sl_error_at(t->err, SL_TOOBIG, t->name, 0, "The archive's list of members has %" PRIu64 " bytes; that "
				   "of %s may have at most %u.", bytes, what, bytes_most);
	if (entries * ENTRY_BYTES > bytes)
		return sl_error_at(t->err, SL_BADDATA, t->name, 0, "The ZIP archive cannot be opened: its list of %" PRIu64
				   " members has only %" PRIu64 " bytes.", entries, bytes);
	return 0;
}

/* Checks the end at `end`, which is at `at` of the archive; adds the bytes of its directory to *bytes. */
static int check_end(const struct tail *t, const unsigned char *end, uint64_t at, bool locator, uint64_t *bytes)
{
	unsigned char end64[END64_BYTES];
	uint64_t entries = number(end + 10, 2), size = number(end + 12, 4);
	int rc = locator ? read_at(t, number(end - LOCATOR_BYTES + 8, 8), end64, sizeof end64) : 0;
	if (rc)
		return rc;
	if (locator && !memcmp(end64, "PK\6\6", 4)) {
		entries = number(end64 + 32, 8);
		size = number(end64 + 40, 8);
	}
	*bytes += size;
	return size > at ? sl_error_at(t->err, SL_BADDATA, t->name, 0, "The ZIP archive cannot be opened: its list of "
				       "members is longer than the file.") : check(t, entries, size);
}

static int check_tail(const struct tail *t, const unsigned char *tail, size_t held)
{
	uint64_t bytes = 0, start = t->size - held;
	int ends = 0, rc = 0;
	for (const unsigned char *at = tail; !rc && (at = memmem(at, (size_t)(tail + held - at), "PK\5\6", 4)); at++) {
		size_t before = (size_t)(at - tail);
		if (held - before < END_BYTES)
			break;
		bool locator = before >= LOCATOR_BYTES && !memcmp(at - LOCATOR_BYTES, "PK\6\7", 4);
		rc = ++ends > ENDS_MOST ? sl_error_at(t->err, SL_BADDATA, t->name, 0, "The ZIP archive cannot be opened: its "
						      "end is ambiguous.") : check_end(t, at, start + before, locator, &bytes);
	}
	return rc ? rc : sl_account_take(t->account, SL_MEMORY, bytes * MEMORY_PER_BYTE + TAIL_BYTES, t->err);
}

int sl__archive_check_directory(const char *name, const void *memory, FILE *file, uint64_t size, bool files,
				struct sl_account *account, struct sl_error *err)
{
	struct tail t = {.name = name, .memory = memory, .file = file, .size = size, .files = files, .account = account,
			.err = err};
	size_t held = size < TAIL_BYTES ? (size_t)size : TAIL_BYTES;
	if (!account)  /* the user's own file */
		return 0;
	unsigned char *tail = malloc(held + 1);
	int rc = tail ? read_at(&t, size - held, tail, held) : sl_error_memory_at(err, name, "reading");
	if (!rc)
		rc = check_tail(&t, tail, held);
	if (file)
		rewind(file);
	free(tail);
	return rc;
}
