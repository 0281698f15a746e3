/* cells.c -- guesses what separates the fields of a text of labels, and reads its lines.
 *
 * Labels contain blanks and commas ("T cell, CD8"), so a separator must earn its name: it divides all lines into the
 * same number of fields, or most of them, or it stands behind the names of nodes. Then a line with another number of
 * fields is an error, not a label. */
#include "core/formats/labels/cells.h"

#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/text/fields.h"
#include "core/formats/text/numbering.h"

/* ---- keys ------------------------------------------------------------------------- */

bool sl__keys_number(const char *text, size_t length, uint64_t *out)
{
	while (length > 2 && text[length - 1] == '0' && memchr(text, '.', length - 1))
		length--;  /* 7.00 becomes 7.0 and then 7. below */
	if (length > 1 && text[length - 1] == '.')
		length--;
	else if (length > 2 && !memcmp(text + length - 2, ".0", 2))
		length -= 2;
	return sl__whole_number(text, length, out);
}

uint32_t sl__keys_find(const struct sl__keys *keys, const char *text, size_t length)
{
	uint64_t number;
	uint32_t node = keys->named ? sl__names_find(&keys->names, text, length) : SL__NO_NAME;
	if (node != SL__NO_NAME || !keys->named || !memchr(text, '.', length) || !sl__keys_number(text, length, &number))
		return node;
	char digits[24];
	return sl__names_find(&keys->names, digits, (size_t)snprintf(digits, sizeof digits, "%llu",
								     (unsigned long long)number));
}

/* ---- fields ----------------------------------------------------------------------- */

/* One line, which is taken apart from left to right. */
struct cutter {
	char separator;   /* ' ': runs of blanks and tabs */
	bool rest;        /* the second field is the rest of the line */
	const char *at, *end;
	uint32_t count;   /* fields so far */
	bool quoted;      /* the last one was */
	char *scratch;    /* of the length of the line, for quotes inside quotes; NULL: texts are not needed */
	const char *text;
	size_t length;
};

enum cut { CUT_END, CUT_FIELD, CUT_BAD };

static bool blank(char c) { return c == ' ' || c == '\t'; }

static void skip(struct cutter *k)
{
	while (k->at < k->end && (*k->at == ' ' || (*k->at == '\t' && k->separator != '\t')))
		k->at++;
}

static enum cut cut_quoted(struct cutter *k)
{
	const char *from = ++k->at;
	char *to = k->scratch;
	size_t length = 0;
	for (; k->at < k->end; k->at++) {
		if (*k->at == '"' && (k->at + 1 == k->end || k->at[1] != '"'))
			break;
		k->at += *k->at == '"';
		if (to)
			to[length] = *k->at;
		length++;
	}
	if (k->at >= k->end)
		return CUT_BAD;
	k->at++;
	k->text = to ? to : from;
	k->length = length;
	k->quoted = true;
	if (to)
		k->scratch += length;
	skip(k);
	bool ends = k->at == k->end || *k->at == k->separator || (k->separator == ' ' && blank(k->at[-1]));
	return ends ? CUT_FIELD : CUT_BAD;
}

static enum cut cut_plain(struct cutter *k)
{
	k->text = k->at;
	k->quoted = false;
	if (k->rest && k->count == 1)
		k->at = k->end;
	while (k->at < k->end && (k->separator == ' ' ? !blank(*k->at) : *k->at != k->separator))
		k->at++;
	k->length = (size_t)(k->at - k->text);
	while (k->length && blank(k->text[k->length - 1]))
		k->length--;
	return CUT_FIELD;
}

/* Takes the next field. */
static enum cut cut(struct cutter *k)
{
	if (k->count && k->separator != ' ') {
		if (k->at >= k->end)
			return CUT_END;
		k->at++;  /* the separator; a field follows, perhaps an empty one */
	}
	skip(k);
	if (k->separator == ' ' && k->at >= k->end)
		return CUT_END;
	enum cut result = k->at < k->end && *k->at == '"' ? cut_quoted(k) : cut_plain(k);
	k->count++;
	return result;
}

static int count_fields(char separator, const char *at, const char *end)
{
	struct cutter k = {.separator = separator, .at = at, .end = end};
	enum cut last;
	while ((last = cut(&k)) == CUT_FIELD && k.count < SL__CELL_COLUMNS)
		;
	return last == CUT_BAD ? -1 : (int)k.count;
}

/* ---- the guess -------------------------------------------------------------------- */

#define LINES_MOST 4096

struct guess {
	const struct sl__keys *keys;
	struct sl__line line[LINES_MOST];  /* lines that are neither blank nor comments */
	int lines;
	bool comments;     /* lines at the beginning that start with # are comments */
	char declared;     /* by a line "sep=;", as Excel writes it; or 0 */
	char separator;
	bool rest;
	uint32_t columns;
};

static bool is_blank(const struct sl__line *l)
{
	for (const char *p = l->at; p < l->end; p++)
		if (!blank(*p))
			return false;
	return true;
}

static char declared_separator(const struct sl__line *l)
{
	return l->end - l->at == 5 && !memcmp(l->at, "sep=", 4) ? l->at[4] : 0;
}

/* The lines of the first bytes; the last one may be cut, and then does not count. */
static void take_lines(struct guess *g, const char *at, const char *end, bool whole)
{
	int comments = 0;
	while (at < end && g->lines < LINES_MOST) {
		struct sl__line l;
		if (!sl__next_record(&at, end, &l) || (at == end && !whole && g->lines))
			break;
		if (is_blank(&l))
			continue;
		if (!g->lines && !g->declared && (g->declared = declared_separator(&l)))
			continue;
		comments += comments == g->lines && *l.at == '#';
		g->line[g->lines++] = l;
	}
	g->comments = comments && comments < g->lines;
	if (g->comments && comments < LINES_MOST) {
		memmove(g->line, g->line + comments, (size_t)(g->lines - comments) * sizeof *g->line);
		g->lines -= comments;
	}
}

/* How often each number of fields occurs, for one separator. The first line does not count if it may be a header. */
struct shape {
	uint32_t columns;     /* the most frequent number of fields */
	int same, others;     /* lines with that many, and with another number */
	int keyed;            /* lines with that many whose first field names a node */
	int blanks;           /* lines in which a blank follows each separator */
	bool fits;            /* the first line has that many, or one less */
	bool quoted;          /* the first field of the first line is quoted */
};

static bool blanks_follow(char separator, const struct sl__line *l)
{
	for (const char *p = l->at; p < l->end; p++)
		if (*p == separator && (p + 1 == l->end || !blank(p[1])))
			return false;
	return true;
}

static bool is_key(const struct guess *g, char separator, const struct sl__line *l)
{
	char scratch[256];
	struct cutter k = {.separator = separator, .at = l->at, .end = l->end, .scratch = scratch};
	uint64_t number;
	if (l->end - l->at > (ptrdiff_t)sizeof scratch)
		k.scratch = NULL;
	if (cut(&k) != CUT_FIELD)
		return false;
	if (g->keys->named)
		return sl__keys_find(g->keys, k.text, k.length) != SL__NO_NAME;
	return sl__keys_number(k.text, k.length, &number) && number <= g->keys->n;
}

static void measure(const struct guess *g, char separator, struct shape *s)
{
	uint32_t counted[SL__CELL_COLUMNS + 1] = {0};
	int first = g->lines > 1 && !is_key(g, separator, &g->line[0]);
	*s = (struct shape){0};
	for (int i = first; i < g->lines; i++) {
		int count = count_fields(separator, g->line[i].at, g->line[i].end);
		if (count > 0 && (++counted[count] > counted[s->columns] ||
				  (counted[count] == counted[s->columns] && (uint32_t)count > s->columns)))
			s->columns = (uint32_t)count;
	}
	for (int i = first; i < g->lines; i++) {
		bool same = count_fields(separator, g->line[i].at, g->line[i].end) == (int)s->columns;
		s->same += same;
		s->others += !same;
		s->keyed += same && is_key(g, separator, &g->line[i]);
		s->blanks += blanks_follow(separator, &g->line[i]);
	}
	if (!g->lines)
		return;
	int head = count_fields(separator, g->line[0].at, g->line[0].end);
	s->fits = head == (int)s->columns || head + 1 == (int)s->columns;
	s->quoted = *g->line[0].at == '"';
}

/* Whether a tab, comma, semicolon or bar separates fields. */
static bool separates(const struct shape *s, char separator)
{
	int lines = s->same + s->others;
	if (s->columns < 2 || !lines)
		return false;
	if (4 * s->keyed >= 3 * s->same && 2 * s->same > lines)
		return true;
	if (separator == '|' || (separator != '\t' && s->blanks == lines))
		return false;  /* several classes: "Comedy|Drama"; prose: "T cell, CD8" */
	return (!s->others && s->fits) || (4 * s->same >= 3 * lines && lines > 3);
}

/* Blanks separate fields only behind names of nodes, or if fields are quoted. */
static void guess_blanks(struct guess *g)
{
	struct shape s;
	measure(g, ' ', &s);
	int lines = s.same + s.others, keyed = 0;
	if (s.columns >= 2 && !s.others && s.fits && (s.keyed == s.same || s.quoted)) {
		g->separator = ' ';
		g->columns = s.columns;
		return;
	}
	for (int i = g->lines > 1 ? 1 : 0; i < g->lines; i++)
		keyed += count_fields(' ', g->line[i].at, g->line[i].end) >= 2 && is_key(g, ' ', &g->line[i]);
	if (!lines || keyed < lines)
		return;
	g->separator = ' ';
	g->columns = 2;
	g->rest = true;
}

static void guess(struct guess *g)
{
	static const char separators[] = "\t,;|";
	struct shape s;
	g->separator = '\n';
	g->columns = 1;
	for (int pass = 0; pass < 2 && g->separator == '\n'; pass++)
		for (const char *sep = separators; *sep && g->separator == '\n'; sep++) {
			char one = g->declared ? g->declared : *sep;
			measure(g, one, &s);
			/* first one that divides all lines alike */
			if ((pass || !s.others) && (separates(&s, one) || (g->declared && s.columns > 1))) {
				g->separator = one;
				g->columns = s.columns;
			}
		}
	if (g->separator == '\n')
		guess_blanks(g);
}

/* ---- reading ---------------------------------------------------------------------- */

struct reading {
	struct sl__cells *c;
	const struct sl__keys *keys;
	struct sl_source *source;
	struct guess *guess;
	char *scratch;           /* SL__LINE_BUFFER */
	struct sl_error *err;
};

static int memory_error(const struct reading *r)
{
	return sl_error_memory_at(r->err, sl__source_name(r->source), "the labels");
}

static int room_for_row(struct reading *r)
{
	struct sl__cells *c = r->c;
	if (c->rows < c->row_capacity)
		return 0;
	uint64_t capacity = c->row_capacity ? c->row_capacity * 3 / 2 : 1024;
	uint64_t row = (uint64_t)c->columns * sizeof *c->code + sizeof *c->line;
	int rc = sl_account_take(sl__source_account(r->source), SL_MEMORY, (capacity - c->row_capacity) * row, r->err);
	if (rc)
		return rc;
	uint32_t *code = realloc(c->code, capacity * c->columns * sizeof *code);
	if (!code)
		return memory_error(r);
	c->code = code;
	uint32_t *line = realloc(c->line, capacity * sizeof *line);
	if (!line)
		return memory_error(r);
	c->line = line;
	c->row_capacity = capacity;
	return 0;
}

static bool stands_for_none(const char *text, size_t length)
{
	return (length == 2 && !memcmp(text, "NA", 2)) || (length == 3 && (!memcmp(text, "NaN", 3) || !memcmp(text,
			"nan", 3))) ||
	       (length == 4 && !memcmp(text, "<NA>", 4));
}

static int add_cell(struct reading *r, uint32_t column, const char *text, size_t length, bool quoted)
{
	struct sl__cells *c = r->c;
	char marked[8] = {SL__CELL_MISSING};
	uint32_t *code = &c->code[c->rows * c->columns + column];
	if (!sl__valid_utf8(text, length))
		return sl__source_fail(r->source, SL_BADDATA, r->err, "The label is not valid UTF-8; convert the file "
				       "(iconv -t UTF-8).");
	if (length > 1 && *text == SL__CELL_MISSING)
		return sl__source_fail(r->source, SL_BADDATA, r->err, "The label begins with a control character.");
	if (!quoted && stands_for_none(text, length)) {
		memcpy(marked + 1, text, length);
		text = marked;
		length++;
	}
	int rc = sl__names_add(&c->text[column], text, length, code);
	return rc == SL_NOMEM ? memory_error(r) : rc;
}

static int fields_error(const struct reading *r, uint32_t found)
{
	const struct sl__cells *c = r->c;
	return sl__source_fail(r->source, SL_BADDATA, r->err,
			"The line has %u %s, separated by %s, but other lines have %u. "
			       "Quote labels that contain separators.", found, found == 1 ? "field" : "fields",
			       sl__separator_name(c->separator), c->columns);
}

static int add_fields(struct reading *r, const struct sl__line *line)
{
	struct sl__cells *c = r->c;
	struct cutter k = {.separator = c->separator, .rest = r->guess->rest, .at = line->at, .end = line->end,
			   .scratch = r->scratch};
	uint32_t first = 0;
	int rc = 0;
	if (!c->rows && !r->guess->rest)
		c->short_header = count_fields(c->separator, line->at, line->end) + 1 == (int)c->columns;
	if (c->short_header && !c->rows) {
		first = 1;
		rc = add_cell(r, 0, "", 0, true);
	}
	for (enum cut one; !rc && (one = cut(&k)) != CUT_END;) {
		if (one == CUT_BAD)
			return sl__source_fail(r->source, SL_BADDATA, r->err, "A quoted field is not closed, or something other "
					       "than a separator follows its closing quote.");
		if (first + k.count > c->columns)
			return fields_error(r, (uint32_t)count_fields(c->separator, line->at, line->end));
		rc = add_cell(r, first + k.count - 1, k.text, k.length, k.quoted);
	}
	return rc ? rc : first + k.count < c->columns ? fields_error(r, k.count) : 0;
}

/* A line that is one cell. Only quotes around the whole of it are quotes. */
static int add_line(struct reading *r, const struct sl__line *line)
{
	struct cutter k = {.separator = '\n', .at = line->at, .end = line->end, .scratch = r->scratch};
	enum cut one = cut(&k);
	if (one == CUT_BAD || k.at < k.end) {
		k = (struct cutter){.separator = '\n', .at = line->at, .end = line->end};
		skip(&k);
		cut_plain(&k);
	}
	if (!k.length && !k.quoted)  /* a blank line: perhaps no row, other than "" */
		return add_cell(r, 0, (const char[]){SL__CELL_MISSING}, 1, true);
	return add_cell(r, 0, k.text, k.length, k.quoted);
}

/* "#id<tab>label" is a header, and "#tag<tab>label" may be a row; other lines of the first ones are comments. */
static bool is_comment(const struct reading *r, const struct sl__line *line)
{
	const struct sl__cells *c = r->c;
	if (!r->guess->comments || c->rows || line->at == line->end || *line->at != '#')
		return false;
	if (c->separator == '\n' || count_fields(c->separator, line->at, line->end) != (int)c->columns)
		return true;
	return line->at + 1 < line->end && blank(line->at[1]);
}

static int add_row(struct reading *r, struct sl__line *line)
{
	struct sl__cells *c = r->c;
	if (is_comment(r, line)) {
		c->comment_lines++;
		return 0;
	}
	if (c->rows >= UINT32_MAX)
		return sl__source_fail(r->source, SL_TOOBIG, r->err, "The file has more than %u rows.", UINT32_MAX);
	int rc = room_for_row(r);
	if (!rc)
		rc = c->separator == '\n' ? add_line(r, line) : add_fields(r, line);
	if (!rc)
		c->line[c->rows++] = (uint32_t)sl__source_line_number(r->source);
	return rc;
}

static int read_lines(struct reading *r)
{
	struct sl__cells *c = r->c;
	struct sl__line line;
	int rc;
	while ((rc = sl__source_line(r->source, &line, r->err)) > 0) {
		rc = sl__source_join(r->source, &line, r->err);
		if (rc < 0)
			return rc;
		c->lines++;
		bool none = is_blank(&line);
		if (!c->rows && r->guess->declared && declared_separator(&line) == r->guess->declared) {
			c->comment_lines++;
			continue;
		}
		if (none && c->separator != '\n') {
			c->blank_lines++;
			continue;
		}
		rc = add_row(r, &line);
		if (rc)
			return rc;
	}
	return rc;
}

int sl__cells_read(struct sl__cells *c, const struct sl__keys *keys, struct sl_source *source, struct sl_error *err)
{
	const unsigned char *bytes;
	struct reading r = {.c = c, .keys = keys, .source = source, .err = err};
	int64_t size = sl__source_peek_text(source, &bytes, err);
	struct sl_account *account = sl__source_account(source);
	int rc = size < 0 ? (int)size :
		 sl_account_take(account, SL_MEMORY, sizeof *r.guess + SL__LINE_BUFFER, err);
	if (rc)
		return rc;
	r.guess = calloc(1, sizeof *r.guess);
	r.scratch = malloc(SL__LINE_BUFFER);
	if (!r.guess || !r.scratch) {
		rc = memory_error(&r);
	} else {
		r.guess->keys = keys;
		take_lines(r.guess, (const char *)bytes, (const char *)bytes + size, size < SL__LINE_BUFFER);
		guess(r.guess);
		c->separator = r.guess->separator;
		c->columns = r.guess->columns;
		c->text = malloc(c->columns * sizeof *c->text);
		if (!c->text)
			rc = memory_error(&r);
		for (uint32_t k = 0; c->text && k < c->columns; k++)
			sl__names_init(&c->text[k], account);
	}
	if (!rc)
		rc = read_lines(&r);
	free(r.guess);
	free(r.scratch);
	return rc;
}

void sl__cells_finish(struct sl__cells *c)
{
	for (uint32_t k = 0; c->text && k < c->columns; k++)
		sl__names_finish(&c->text[k]);
	free(c->text);
	free(c->code);
	free(c->line);
	memset(c, 0, sizeof *c);
}

const char *sl__cell(const struct sl__cells *c, uint64_t row, uint32_t column)
{
	const struct sl__names *t = &c->text[column];
	return t->bytes + t->at[c->code[row * c->columns + column]];
}
