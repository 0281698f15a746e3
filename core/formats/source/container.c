/* container.c -- archives (.zip, .tar) with one file that can be read: the source becomes that member.
 *
 * A member of a zip archive is decompressed while it is read. Of a tar archive the source becomes a part; a compressed
 * one is unpacked to a temporary file first (random.c), whose bytes are booked. The names of the members choose the
 * file: SuiteSparse's archives have NAME/NAME.mtx beside further vectors, network repository's and KONECT's a
 * description, Cell Ranger's the names of genes and cells. If several files could be meant, none is read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/formats/numpy/archive.h"
#include "core/formats/source/container.h"
#include "core/formats/source/source_internal.h"
#include "core/formats/text/fields.h"

#define TAR_BLOCK 512u
#define MEMBERS_MOST 10000u
#define LISTED_MOST 4       /* names in messages */
#define PAX_MOST 65536u     /* bytes of an extended header */

/* ---- choosing a member ---------------------------------------------------------- */

struct choice {
	char name[224];            /* of the best member */
	int rank;                  /* of the best: 0: there is none */
	uint32_t equals;           /* members of the best rank */
	uint32_t members;          /* files */
	uint64_t at, size;         /* of the best: where its bytes begin (tar), or its number (zip) */
	char others[256];          /* names of the files, for messages */
	uint32_t listed;
	bool numpy;                /* a member's name ends in .npy */
	const char *foreign;       /* the program's file that the names show; NULL: none */
};

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool begins(const char *text, const char *with) { return !strncasecmp(text, with, strlen(with)); }

static bool ends_in_one_of(const char *name, const char *const *endings)
{
	for (; *endings; endings++)
		if (sl__name_ends_in(name, *endings))
			return true;
	return false;
}

/* 0: not to be read; 1: unknown; 2: a text; 3: data by its ending; 4: the matrix of the archive's name. */
static int rank_of(const char *path)
{
	static const char *const data[] = {".mtx", ".mm", ".npz", ".npy", ".edges", ".edgelist", ".edge", ".el", ".csv",
					   ".tsv", ".tab", NULL};
	static const char *const texts[] = {".txt", ".dat", ".data", NULL};
	static const char *const beside[] = {".html", ".htm", ".md", ".pdf", ".png", ".jpg", ".jpeg", ".svg", ".doc",
					     ".rtf", ".bib", ".py", ".r", ".m", ".xml", ".json", ".yaml", ".yml", ".ini", ".log", ".sh",
					     NULL};
	static const char *const words[] = {"readme", "license", "licence", "copying", "changelog", "meta.", "ent.",
					    "barcodes.", "features.", "genes.", NULL};
	const char *base = base_of(path);

	if (*base == '.' || begins(path, "__MACOSX/") || ends_in_one_of(base, beside))
		return 0;
	for (const char *const *word = words; *word; word++)
		if (begins(base, *word))
			return 0;
	if (begins(base, "out."))  /* KONECT */
		return 3;
	size_t folder = base > path ? (size_t)(base - path) - 1 : 0;
	bool matrix = sl__name_ends_in(base, ".mtx");
	if (folder && matrix && !strncmp(base, path, folder) && !strncasecmp(base + folder, ".mtx", 4))
		return 4;
	return ends_in_one_of(base, data) ? 3 : ends_in_one_of(base, texts) ? 2 : 1;
}

/* Files of other programs that are zip archives. */
static const char *foreign_by(const char *path)
{
	static const struct {
		const char *member, *advice;
	} kinds[] = {
		{"xl/workbook.xml", "This is an Excel workbook; save its sheet as .csv, or upload it with Python: "
		 "spaceland.submit(pandas.read_excel(...))."},
		{"xl/workbook.bin", "This is an Excel workbook; save its sheet as .csv."},
		{"word/document.xml", "This is a Word document; save its table as .csv."},
		{"content.xml", "This is an OpenDocument file (LibreOffice); save its sheet as .csv."},
		{".zgroup", "This is a Zarr store; save the matrix with numpy.save or scipy.sparse.save_npz."},
		{".zarray", "This is a Zarr store; save the matrix with numpy.save or scipy.sparse.save_npz."},
		{"zarr.json", "This is a Zarr store; save the matrix with numpy.save or scipy.sparse.save_npz."},
	};

	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		if (!strcmp(path, kinds[k].member))
			return kinds[k].advice;
	return !strcmp(base_of(path), "data.pkl") ? "This is a PyTorch file; save the array with numpy.save." : NULL;
}

static void consider(struct choice *c, const char *path, uint64_t at, uint64_t size)
{
	int rank = size ? rank_of(path) : 0;
	size_t used = strlen(c->others);

	c->members++;
	c->numpy |= sl__name_ends_in(path, ".npy");
	if (!c->foreign)
		c->foreign = foreign_by(path);
	if (c->listed < LISTED_MOST && used + strlen(path) + 8 < sizeof c->others) {
		char shown[200];
		struct sl__field field = {path, strlen(path)};
		snprintf(c->others + used, sizeof c->others - used, "%s%s", used ? ", " : "",
			 sl__field_title(&field, shown, sizeof shown));
		c->listed++;
	}
	if (rank < c->rank || !rank)
		return;
	c->equals = rank == c->rank ? c->equals + 1 : 1;
	if (rank == c->rank)
		return;
	c->rank = rank;
	c->at = at;
	c->size = size;
	snprintf(c->name, sizeof c->name, "%s", path);
}

static int settle(const struct choice *c, const char *kind, struct sl_source *s, struct sl_error *err)
{
	const char *more = c->listed < c->members ? ", ..." : "";

	if (c->foreign)
		return sl_error_at(err, SL_BADFORMAT, s->name, 0, "%s", c->foreign);
	if (!c->rank)
		return sl_error_at(err, SL_BADFORMAT, s->name, 0, "This is a %s archive without a file that can be read (.mtx, "
				   ".csv, .tsv, .txt, .edges, .npy, .npz). It holds %s%s.", kind,
				   c->members ? c->others : "nothing", more);
	if (c->equals > 1)
		return sl_error_at(err, SL_BADFORMAT, s->name, 0, "This is a %s archive with several files that can be read: "
				   "%s%s. Unpack it and use one of them.", kind, c->others, more);
	return 0;
}

/* ---- the source becomes the member ----------------------------------------------- */

/* Forgets what was read; the next bytes are stored bytes of the member. */
static void begin_again(struct sl_source *s)
{
	if (s->z_open)
		inflateEnd(&s->z);
	ZSTD_freeDStream(s->zstd);
	s->zstd = NULL;
	s->z_open = s->member_open = s->in_eof = s->eof = false;
	s->compression = SL__UNKNOWN;
	s->in = s->in_buffer;
	s->in_at = s->in_end = s->at = s->end = 0;
	s->stored = s->produced = 0;
}

static void take_name(struct sl_source *s, const struct choice *c)
{
	char whole[sizeof s->name], shown[160];
	struct sl__field field = {c->name, strlen(c->name)};

	sl__field_title(&field, shown, sizeof shown);
	snprintf(whole, sizeof whole, "%.*s: %s", (int)(sizeof whole - strlen(shown) - 3), s->name, shown);
	memcpy(s->name, whole, sizeof whole);
	if (c->members > 1)
		snprintf(s->note, sizeof s->note, "Read %s of the archive; %u other file%s left out", shown, c->members - 1,
			 c->members > 2 ? "s are" : " is");
	else
		snprintf(s->note, sizeof s->note, "Read %s of the archive", shown);
}

/* ---- zip -------------------------------------------------------------------------- */

static int check_member(struct sl_source *s, const zip_stat_t *st, struct sl_error *err)
{
	if ((st->valid & ZIP_STAT_ENCRYPTION_METHOD) && st->encryption_method != ZIP_EM_NONE)
		return sl_error_at(err, SL_BADFORMAT, s->name, 0, "The member is encrypted; unpack the archive first.");
	if ((st->valid & ZIP_STAT_COMP_METHOD) && st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
		return sl_error_at(err, SL_BADFORMAT, s->name, 0, "The member is compressed by method %d, which is not read; "
				   "unpack the archive first.", st->comp_method);
	s->packed = st->valid & ZIP_STAT_COMP_SIZE ? st->comp_size : 0;
	return 0;
}

static void list_zip(const struct sl__archive *f, struct choice *c)
{
	zip_int64_t entries = zip_get_num_entries(f->zip, 0);

	for (zip_int64_t k = 0; k < entries && c->members < MEMBERS_MOST; k++) {
		const char *name = zip_get_name(f->zip, (zip_uint64_t)k, 0);
		zip_stat_t st;
		if (!name || !*name || name[strlen(name) - 1] == '/' || zip_stat_index(f->zip, (zip_uint64_t)k, 0, &st))
			continue;
		consider(c, name, (uint64_t)k, st.valid & ZIP_STAT_SIZE ? st.size : 1);
	}
}

static int open_zip_member(struct sl_source *s, struct sl__archive *f, const struct choice *c, struct sl_error *err)
{
	zip_stat_t st;

	take_name(s, c);
	zip_stat_index(f->zip, c->at, 0, &st);
	int rc = check_member(s, &st, err);
	if (rc)
		return rc;
	if (!s->in_buffer && !(s->in_buffer = malloc(SL__IN_BYTES)))
		return sl_error_memory_at(err, s->name, "reading");
	s->zip_member = zip_fopen_index(f->zip, c->at, 0);
	if (!s->zip_member)
		return sl_error_at(err, SL_BADDATA, s->name, 0, "The member cannot be read: %s.", zip_strerror(f->zip));
	begin_again(s);
	return 0;
}

/* An archive that cannot be opened, or holds arrays, is left to its reader. */
static int unpack_zip(struct sl_source *s, struct sl_error *err)
{
	struct sl__archive *f = calloc(1, sizeof *f);
	struct choice c = {0};

	if (!f)
		return sl_error_memory_at(err, s->name, "reading");
	if (sl__archive_open(f, s, s->max_bytes, NULL)) {
		free(f);
		return 0;
	}
	list_zip(f, &c);
	int rc = 0;
	bool arrays = c.numpy || !c.members;
	if (!arrays)
		rc = settle(&c, "zip", s, err);
	if (arrays || rc) {
		sl__archive_close(f);
		free(f);
		return rc;
	}
	s->archive = f;
	return open_zip_member(s, f, &c, err);
}

/* ---- tar -------------------------------------------------------------------------- */

struct tar {
	struct sl_source *s;
	const unsigned char *memory;  /* the whole archive, or NULL: */
	FILE *file;
	uint64_t size;
	struct sl_error *err;
};

static uint64_t octal(const unsigned char *at, int length)
{
	uint64_t value = 0;

	if (*at & 0x80) {  /* GNU: a binary number */
		for (int k = 1; k < length; k++)
			value = value << 8 | at[k];
		return value;
	}
	while (length && *at == ' ') {
		at++;
		length--;
	}
	for (; length && *at >= '0' && *at <= '7'; at++, length--)
		value = value * 8 + (uint64_t)(*at - '0');
	return value;
}

bool sl__is_tar(const unsigned char *bytes, size_t size)
{
	uint64_t sum = 0;

	if (size < TAR_BLOCK || !bytes[0] || bytes[TAR_BLOCK - 1])
		return false;
	for (unsigned k = 0; k < TAR_BLOCK; k++)
		sum += k >= 148 && k < 156 ? ' ' : bytes[k];
	return sum == octal(bytes + 148, 8);
}

static bool read_at(const struct tar *t, uint64_t at, void *out, size_t bytes)
{
	if (at > t->size || bytes > t->size - at)
		return false;
	if (t->memory) {
		memcpy(out, t->memory + at, bytes);
		return true;
	}
	return !fseeko(t->file, (off_t)at, SEEK_SET) && fread(out, 1, bytes, t->file) == bytes;
}

/* Reads "12 path=NAME\n" records of an extended header. */
static void read_pax(const struct tar *t, uint64_t at, uint64_t size, char *name, size_t room, uint64_t *length,
		     bool *long_size)
{
	char *text = size <= PAX_MOST ? malloc(size + 1) : NULL;

	if (text && read_at(t, at, text, size)) {
		text[size] = 0;
		for (char *p = text; p < text + size;) {
			char *blank = NULL;
			unsigned long long record = strtoull(p, &blank, 10);
			if (blank == p || *blank != ' ' || record < 5 || record > (size_t)(text + size - p))
				break;
			p[record - 1] = 0;
			if (!strncmp(blank + 1, "path=", 5))
				snprintf(name, room, "%s", blank + 6);
			if (!strncmp(blank + 1, "size=", 5)) {
				*length = strtoull(blank + 6, NULL, 10);
				*long_size = true;
			}
			p += record;
		}
	}
	free(text);
}

static void name_of(const unsigned char *header, char *out, size_t room)
{
	bool prefix = !memcmp(header + 257, "ustar", 6) && header[345];

	snprintf(out, room, "%.*s%s%.*s", prefix ? 155 : 0, (const char *)header + 345, prefix ? "/" : "", 100,
		 (const char *)header);
}

static int cut(const struct tar *t)
{
	return sl_error_at(t->err, SL_BADDATA, t->s->name, 0, "The tar archive ends too early; the file is incomplete.");
}

/* Considers the files of the archive. */
static int list_tar(const struct tar *t, struct choice *c)
{
	unsigned char header[TAR_BLOCK];
	char name[512], long_name[512] = "";
	uint64_t at = 0, long_size = 0;
	bool sized = false;

	for (uint32_t entries = 0; read_at(t, at, header, sizeof header) && header[0]; entries++) {
		int rc = sl__source_check(t->s, t->err);
		if (rc)
			return rc;
		if (!sl__is_tar(header, sizeof header))
			return sl_error_at(t->err, SL_BADDATA, t->s->name, 0, "The tar archive is damaged after %llu bytes.",
					   (unsigned long long)at);
		if (entries == MEMBERS_MOST)
			return sl_error_at(t->err, SL_TOOBIG, t->s->name, 0, "The tar archive has more than %u members.",
					   MEMBERS_MOST);
		char type = (char)header[156];
		uint64_t size = sized && type != 'x' && type != 'g' ? long_size : octal(header + 124, 12);
		at += TAR_BLOCK;
		if (size > t->size || at > t->size - size)
			return cut(t);
		if (type == 'x') {
			read_pax(t, at, size, long_name, sizeof long_name, &long_size, &sized);
		} else if (type == 'L') {
			size_t want = size < sizeof long_name - 1 ? (size_t)size : sizeof long_name - 1;
			if (!read_at(t, at, long_name, want))
				return cut(t);
			long_name[want] = 0;
		} else if (type != 'g' && type != 'K') {
			name_of(header, name, sizeof name);
			if (type == '0' || type == 0 || type == '7')
				consider(c, *long_name ? long_name : name, at, size);
			*long_name = 0;
			sized = false;
		}
		at += (size + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;
	}
	return 0;
}

static int open_tar_member(const struct tar *t, const struct choice *c)
{
	struct sl_source *s = t->s;

	take_name(s, c);
	begin_again(s);
	if (t->memory) {
		s->memory = t->memory + c->at;
		s->memory_size = c->size;
		s->memory_at = 0;
		return 0;
	}
	s->part = true;
	s->left = c->size;
	return lseek(s->fd, (off_t)c->at, SEEK_SET) >= 0 ? 0 :
	       sl_error_at(t->err, SL_IO, s->name, 0, "The file cannot be read again: %s.", strerror(errno));
}

static int unpack_tar(struct sl_source *s, struct sl_error *err)
{
	struct tar t = {.s = s, .err = err};
	struct choice c = {0};
	const void *bytes;
	struct stat st;
	int rc = sl__source_random(s, &bytes, &t.size, &t.file, err);

	if (rc)
		return rc;
	t.memory = bytes;
	if (t.file && !fstat(fileno(t.file), &st))
		t.size = (uint64_t)st.st_size;
	rc = list_tar(&t, &c);
	if (!rc)
		rc = settle(&c, "tar", s, err);
	if (!rc)
		rc = open_tar_member(&t, &c);
	if (t.file)
		fclose(t.file);
	return rc;
}

/* ---- both ------------------------------------------------------------------------- */

static bool is_zip(const unsigned char *bytes, size_t size)
{
	return size >= 4 && (!memcmp(bytes, "PK\003\004", 4) || !memcmp(bytes, "PK\005\006", 4));
}

int sl__source_unpack(struct sl_source *s, struct sl_error *err)
{
	const unsigned char *bytes;
	int64_t size;
	int rc = 0;

	if (s->unpacked)
		return 0;
	s->unpacked = true;
	size = sl__source_peek(s, &bytes, err);
	if (size < 0)
		return (int)size;
	if (is_zip(bytes, (size_t)size))
		rc = unpack_zip(s, err);
	else if (sl__is_tar(bytes, (size_t)size))
		rc = unpack_tar(s, err);
	if (rc || !*s->note)
		return rc;
	size = sl__source_peek(s, &bytes, err);
	return size < 0 ? (int)size : !sl__is_tar(bytes, (size_t)size) ? 0 :
	       sl_error_at(err, SL_BADFORMAT, s->name, 0, "The member is a tar archive, too; unpack the outer archive "
			   "first.");
}

const char *sl__source_note(const struct sl_source *s) { return s->note; }

bool sl__name_ends_in(const char *name, const char *ending)
{
	size_t length = strlen(name), want = strlen(ending);

	if (length > 3 && !strcasecmp(name + length - 3, ".gz"))
		length -= 3;
	else if (length > 4 && !strcasecmp(name + length - 4, ".zst"))
		length -= 4;
	return length > want && !strncasecmp(name + length - want, ending, want);
}
