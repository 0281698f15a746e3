/* source_internal.h -- the fields of struct sl_source, which source.c (opening, lines), decode.c (decompression) and
 * random.c (random access) share. */
#ifndef SL_SOURCE_INTERNAL_H
#define SL_SOURCE_INTERNAL_H

#include <zlib.h>
#include <zstd.h>

#include "core/formats/source/source.h"

#define SL__IN_BYTES (128 * 1024)

enum sl__compression { SL__UNKNOWN, SL__NONE, SL__GZIP, SL__ZSTD };

struct sl_source {
	char name[224];
	int fd;                    /* -1: memory */
	const unsigned char *memory;
	uint64_t memory_size, memory_at;

	unsigned char *in_buffer;  /* [SL__IN_BYTES], NULL for memory */
	const unsigned char *in;   /* stored bytes not used yet: in[in_at .. in_end) */
	size_t in_at, in_end;
	bool in_eof;

	enum sl__compression compression;
	z_stream z;
	bool z_open;
	ZSTD_DStream *zstd;
	uint64_t window;           /* bytes that are booked for it */
	bool member_open;          /* inside a compressed member: an end of the file here is an error */
	uint64_t stored;           /* bytes read from the descriptor so far */
	uint64_t produced;         /* decoded bytes so far */

	size_t room;               /* SL__LINE_BUFFER or more */
	char *buffer;              /* [room + 1]; [at .. end) are decoded bytes that nobody has read yet */
	size_t at, end;
	bool eof;
	int64_t line;

	bool looked_for_bars;
	char bars;                 /* '|', or ':' for "::": replaced by tabs (bars.c); 0: there are none */
	bool in_quotes, field_begins;
	uint64_t joined;           /* line breaks inside of quoted fields so far (records.c) */
	int64_t first_joined;      /* the line of the first one */

	uint64_t max_bytes;
	struct sl_account *account;
	const char *temporary_folder;
	const int *cancel;
	enum sl_graph_format format;

	/* container.c */
	bool unpacked;             /* the source was looked at for members */
	bool part;                 /* the source is a part of fd: */
	uint64_t left;             /* its bytes that are not read yet */
	struct sl__archive *archive;   /* the source is a member of this zip archive; owned */
	struct zip_file *zip_member;
	uint64_t packed;           /* bytes of the member in the archive */
	char note[224];            /* which member was chosen */

	/* parts.c: the source is made of others; else NULL. Owned. Functions, since parts.c itself reads sources. */
	struct sl__parts *parts;
	const struct sl__whole {
		int64_t (*produce)(struct sl_source *s, void *out, size_t want, struct sl_error *err);
		/* the file and its line that line number `line` of the whole comes from; *line becomes that of the file */
		const char *(*place)(const struct sl__parts *p, int64_t *line);
		void (*destroy)(struct sl__parts *p);
	} *whole;
};

/* False: stored bytes come from fd or from a member, by way of in_buffer. */
static inline bool sl__in_memory(const struct sl_source *s) { return s->fd < 0 && !s->zip_member && !s->parts; }

/* Decodes up to `want` bytes. Returns their number, 0 at the end, or a negative code. */
int64_t sl__source_produce(struct sl_source *s, void *out, size_t want, struct sl_error *err);
/* Fills s->buffer with decoded bytes. */
int sl__source_fill(struct sl_source *s, struct sl_error *err);
/* Replaces the separators that s->bars names in the bytes from s->buffer + from on. */
void sl__source_replace_bars(struct sl_source *s, size_t from);

/* The end of the line of which `at` is a part: a line feed, a carriage return, or both; old Macintosh programs and some
 * instruments end lines by carriage returns alone. *next: where the next line begins. NULL: the line does not end
 * before `end`, or a line feed may follow its carriage return there. whole: nothing follows `end`. */
char *sl__line_end(char *at, char *end, bool whole, char **next);

#endif
