/* parts.c -- several files as one: a source that is made of others.
 *
 * Texts follow each other line by line. The titles of the first one stand for all: those of the others are compared
 * with them by name and left out; if they are the same in another order, the fields of each line are put into the first
 * file's order. A column that counts the rows of each file counts on. Arrays (.npy) of one type and one number of
 * columns follow each other by rows. Other kinds of files are refused, as are titles that differ. What was done is in
 * notes; errors of readers name the file and its line.
 *
 * Only lines whose fields must be moved or numbered on are split. The first lines of a part decide whether it has
 * titles: a title is a word above a number, or the first line is that of the first part. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/content.h"
#include "core/formats/numpy/npy.h"
#include "core/formats/source/source_internal.h"
#include "core/formats/text/fields.h"

#define CHUNK 65536u
#define LINE_MOST (4u << 20)   /* bytes of a line */
#define COUNTING_MOST 8        /* columns that may count the rows: the first ones */
#define NOTES_MOST 8

struct fields {
	struct sl__field *list;    /* with their quotes */
	uint32_t count, room;
};

struct part {
	struct sl_source *source;
	int64_t first_line;        /* of the whole, from 1: where the lines of this part begin; 0: not yet */
	int64_t skipped;           /* its lines that are left out before them */
	uint64_t rows;
};

struct sl__parts {
	struct part *part;
	int count, at;
	bool begun, array, titles;
	char *out;                 /* [out_at .. out_end) are to be read */
	size_t out_at, out_end, out_room;
	char separator;
	char *head;                /* the titles' line of the first part, or its first row */
	size_t head_length;
	struct fields titles_of;   /* its fields, in `head` */
	struct fields split;       /* of the present line */
	uint32_t *from;            /* [titles_of.count] the present part's column for each of the first's; NULL: the same */
	int64_t lines;             /* of the whole so far */
	uint64_t rows;
	bool counts[COUNTING_MOST], numbered[COUNTING_MOST], ever_numbered[COUNTING_MOST];
	uint64_t counted_from[COUNTING_MOST];
	struct sl__npy shape;
	char note[NOTES_MOST][224];
	bool changes[NOTES_MOST];
	int notes;
};

static void tell(struct sl__parts *p, bool changes, const char *text)
{
	if (p->notes == NOTES_MOST - 1)
		return;
	p->changes[p->notes] = changes;
	snprintf(p->note[p->notes++], sizeof *p->note, "%s", text);
}

const char *sl_source_join_note(const struct sl_source *s, int k, bool *changes)
{
	const struct sl__parts *p = s->parts;
	if (!p || k >= p->notes)
		return NULL;
	*changes = p->changes[k];
	return p->note[k];
}

static const char *place(const struct sl__parts *p, int64_t *line)
{
	int k = p->count - 1;
	while (k > 0 && (!p->part[k].first_line || p->part[k].first_line > *line))
		k--;
	if (*line > 0)
		*line += p->part[k].skipped - (p->part[k].first_line ? p->part[k].first_line - 1 : 0);
	return p->part[k].source->name;
}

static void destroy(struct sl__parts *p)
{
	if (!p)
		return;
	for (int k = 0; k < p->count; k++)
		sl_source_close(p->part[k].source);
	free(p->part);
	free(p->out);
	free(p->head);
	free(p->titles_of.list);
	free(p->split.list);
	free(p->from);
	free(p);
}

/* ---- lines and fields ---------------------------------------------------------------------- */

static int put(struct sl__parts *p, const char *bytes, size_t length, struct sl_error *err)
{
	if (p->out_at == p->out_end)
		p->out_at = p->out_end = 0;
	if (p->out_end + length > p->out_room) {
		size_t room = 2 * p->out_room + length + CHUNK;
		char *grown = realloc(p->out, room);
		if (!grown)
			return sl_error_memory(err, "reading %s", p->part[p->at].source->name);
		p->out = grown;
		p->out_room = room;
	}
	memcpy(p->out + p->out_end, bytes, length);
	p->out_end += length;
	return 0;
}

/* Splits a line at the separators outside quotes; at most `most` fields, 0: all. */
static int split(struct sl__parts *p, const char *at, const char *end, uint32_t most, struct fields *f,
		struct sl_error *err)
{
	f->count = 0;
	for (;;) {
		bool quoted = false;
		if (p->separator == ' ')
			while (at < end && (*at == ' ' || *at == '\t'))
				at++;
		if (p->separator == ' ' && at == end && f->count)
			return 0;
		const char *from = at;
		for (; at < end; at++) {
			quoted ^= *at == '"';
			if (!quoted && (*at == p->separator || (p->separator == ' ' && *at == '\t')))
				break;
		}
		if (f->count == f->room) {
			uint32_t room = 2 * f->room + 64;
			struct sl__field *grown = realloc(f->list, room * sizeof *grown);
			if (!grown)
				return sl_error_memory(err, "reading %s", p->part[p->at].source->name);
			f->list = grown;
			f->room = room;
		}
		f->list[f->count++] = (struct sl__field){from, (size_t)(at - from)};
		if (at >= end || f->count == most)
			return 0;
		at++;
	}
}

/* The field without quotes and blanks around it. */
static struct sl__field bare(struct sl__field f)
{
	for (int round = 0; round < 2; round++) {
		while (f.length && (*f.text == ' ' || *f.text == '\t')) {
			f.text++;
			f.length--;
		}
		while (f.length && (f.text[f.length - 1] == ' ' || f.text[f.length - 1] == '\t'))
			f.length--;
		if (f.length < 2 || *f.text != '"' || f.text[f.length - 1] != '"')
			return f;
		f.text++;
		f.length -= 2;
	}
	return f;
}

static bool same(struct sl__field a, struct sl__field b)
{
	a = bare(a);
	b = bare(b);
	return a.length == b.length && !memcmp(a.text, b.text, a.length);
}

/* Numbers, also formatted ones, and nothing. */
static bool is_number(struct sl__field f)
{
	double x;
	f = bare(f);
	if (!f.length || sl__field_double(&f, &x))
		return true;
	size_t marks = strspn(f.text, "+-($ ");
	return marks < f.length && f.text[marks] >= '0' && f.text[marks] <= '9';
}

static bool whole_number(struct sl__field f, uint64_t *out)
{
	f = bare(f);
	*out = 0;
	for (size_t i = 0; i < f.length; i++) {
		if (f.text[i] < '0' || f.text[i] > '9' || i > 17)
			return false;
		*out = *out * 10 + (uint64_t)(f.text[i] - '0');
	}
	return f.length > 0;
}

/* True if the titles are words above numbers, or count. */
static bool are_titles(const struct fields *titles, const struct fields *row)
{
	uint64_t x, before = 0;
	bool count = titles->count > 1;
	for (uint32_t c = 0; c < titles->count; c++) {
		bool word = !is_number(titles->list[c]);
		if (word && c < row->count && bare(row->list[c]).length && is_number(row->list[c]))
			return true;
		count &= whole_number(titles->list[c], &x) && (c ? x == before + 1 : x <= 1);
		before = x;
	}
	return count;
}

static bool has_word(const struct fields *f)
{
	for (uint32_t c = 0; c < f->count; c++)
		if (!is_number(f->list[c]))
			return true;
	return false;
}

static bool equal_lines(const struct fields *a, const struct fields *b)
{
	if (a->count != b->count)
		return false;
	for (uint32_t c = 0; c < a->count; c++)
		if (!same(a->list[c], b->list[c]))
			return false;
	return true;
}

static const char *shown(struct sl__field f, char out[48])
{
	f = bare(f);
	return sl__field_show(&f, out, 48);
}

/* ---- the head of a part ------------------------------------------------------------------------ */

/* A row or titles: neither blank nor a comment, nor Excel's first line "sep=;". */
static bool says_something(const struct sl__line *line)
{
	const char *p = line->at;
	while (p < line->end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	const char *q = p + (p < line->end && *p == '"');
	bool marker = line->end - q >= 5 && line->end - q <= 7 && !strncmp(q, "sep=", 4);
	return p < line->end && !marker && !sl__marks_comment(line->at, line->end);
}

/* Shows the first two lines of a part that are neither blank nor comments, without consuming anything. *before: the
 * number of lines above them. */
static int look(struct sl_source *s, struct sl__line line[2], int64_t *before, int *found, struct sl_error *err)
{
	const unsigned char *bytes;
	int64_t size = sl__source_peek_text(s, &bytes, err);
	const char *at = (const char *)bytes, *end = at + size;
	struct sl__line one;
	*found = 0;
	*before = 0;
	if (size < 0)
		return (int)size;
	while (*found < 2 && sl__next_line(&at, end, &one)) {
		if (says_something(&one))
			line[(*found)++] = one;
		else if (!*found)
			++*before;
	}
	return 0;
}

static int wrong_titles(struct sl__parts *p, const struct fields *theirs, struct sl_error *err)
{
	const struct fields *first = &p->titles_of;
	const struct sl_source *s = p->part[p->at].source;
	char a[48], b[48];
	for (uint32_t c = 0; c < first->count; c++) {
		bool found = false;
		for (uint32_t k = 0; k < theirs->count; k++)
			found |= same(first->list[c], theirs->list[k]);
		if (!found)
			return sl_error_at(err, SL_BADDATA, s->name, 1, "There is no column \"%s\", which %s has; files that are "
					   "read as one must have the same columns.", shown(first->list[c], a), p->part[0].source->name);
	}
	for (uint32_t k = 0; k < theirs->count; k++) {
		uint32_t times = 0;
		for (uint32_t c = 0; c < first->count; c++)
			times += same(first->list[c], theirs->list[k]);
		if (times != 1)
			return sl_error_at(err, SL_BADDATA, s->name, 1, times ?
					"There are several columns \"%s\" in %s, and the order of "
					   "the columns differs." : "The column \"%s\" is not in %s; files that are read as one must have "
					   "the same columns.", shown(theirs->list[k], b), p->part[0].source->name);
	}
	return sl_error_at(err, SL_BADDATA, s->name, 1, "Its columns are not those of %s.", p->part[0].source->name);
}

/* Maps the columns of a part to those of the first. */
static int match(struct sl__parts *p, const struct fields *theirs, struct sl_error *err)
{
	char note[224];
	uint32_t n = p->titles_of.count;
	if (theirs->count != n)
		return wrong_titles(p, theirs, err);
	uint32_t *from = malloc((n + 1) * sizeof *from);
	if (!from)
		return sl_error_memory(err, "reading %s", p->part[p->at].source->name);
	p->from = from;
	for (uint32_t c = 0; c < n; c++) {
		uint32_t times = 0, twins = 0;
		for (uint32_t k = 0; k < n; k++) {
			twins += same(p->titles_of.list[c], p->titles_of.list[k]);
			if (!same(p->titles_of.list[c], theirs->list[k]))
				continue;
			from[c] = k;
			times++;
		}
		if (times != 1 || twins != 1)
			return wrong_titles(p, theirs, err);
	}
	snprintf(note, sizeof note, "The columns of %.60s have another order than those of %.60s; they are found by their "
		 "titles", p->part[p->at].source->name, p->part[0].source->name);
	tell(p, false, note);
	return 0;
}

/* Decides what the first lines of a part are, and consumes its titles. The first part passes on as it is. */
static int begin_text(struct sl__parts *p, struct sl_error *err)
{
	struct part *part = &p->part[p->at];
	struct sl__line line[2], gone;
	struct fields one = {0}, two = {0};
	int64_t before;
	int found, rc = sl__source_widen(part->source, LINE_MOST, err);
	free(p->from);
	p->from = NULL;
	memset(p->numbered, 0, sizeof p->numbered);
	if (!rc)
		rc = look(part->source, line, &before, &found, err);
	part->first_line = p->lines + 1;
	if (rc || !found)
		return rc ? rc : sl_error_at(err, SL_BADDATA, part->source->name, 0, "The file has no rows.");
	if (!p->at) {
		p->separator = sl__guess_separator(line[0].at, line[0].end);
		p->head_length = (size_t)(line[0].end - line[0].at);
		p->head = malloc(p->head_length + 1);
		if (!p->head)
			return sl_error_memory(err, "reading %s", part->source->name);
		memcpy(p->head, line[0].at, p->head_length);
		p->head[p->head_length] = '\n';
		rc = split(p, p->head, p->head + p->head_length, 0, &p->titles_of, err);
	} else {
		rc = split(p, line[0].at, line[0].end, 0, &one, err);
	}
	if (!rc && found > 1)
		rc = split(p, line[1].at, line[1].end, 0, &two, err);
	if (rc)
		goto out;
	if (!p->at) {
		p->titles = are_titles(&p->titles_of, &two);
		for (int c = 0; c < COUNTING_MOST; c++)
			p->counts[c] = (uint32_t)c < p->titles_of.count;
		goto out;
	}
	char note[224];
	bool repeats = equal_lines(&p->titles_of, &one) && (p->titles || has_word(&one));
	bool titled = repeats || are_titles(&one, &two);
	if (titled && !repeats && !p->titles) {
		rc = sl_error_at(err, SL_BADDATA, part->source->name, before + 1, "The file has titles, but %s has none; files "
				 "that are read as one must have the same columns.", p->part[0].source->name);
	} else if (titled && !repeats) {
		rc = match(p, &one, err);
	} else if (!titled && p->titles) {
		snprintf(note, sizeof note, "%.60s has no titles; its columns are taken as those of %.60s", part->source->name,
			 p->part[0].source->name);
		tell(p, true, note);
	} else if (repeats && !p->titles) {
		snprintf(note, sizeof note, "The first line of %.60s repeats that of %.60s; it is taken for titles",
			 part->source->name, p->part[0].source->name);
		tell(p, false, note);
	}
	if (!rc && one.count != p->titles_of.count)
		rc = sl_error_at(err, SL_BADDATA, part->source->name, before + 1, "The line has %u fields; those of %s have "
				 "%u.", one.count, p->part[0].source->name, p->titles_of.count);
	for (int64_t k = before + titled; !rc && k > 0; k--, part->skipped++) {
		int got = sl__source_line(part->source, &gone, err);
		rc = got < 0 ? got : 0;
	}
out:
	free(one.list);
	free(two.list);
	return rc;
}

/* ---- rows -------------------------------------------------------------------------------------- */

/* Follows the columns that may count the rows, and says whether the row of a later part must be numbered on. */
static int count_row(struct sl__parts *p, bool *number, struct sl_error *err)
{
	struct part *part = &p->part[p->at];
	char which[48];
	*number = false;
	for (uint32_t c = 0; c < COUNTING_MOST; c++) {
		uint32_t at = p->from && c < p->titles_of.count ? p->from[c] : c;
		uint64_t x = 0;
		bool whole = at < p->split.count && whole_number(p->split.list[at], &x);
		if (!p->counts[c])
			continue;
		if (!p->rows && whole && x <= 1)
			p->counted_from[c] = x;
		else if (!p->rows)
			p->counts[c] = false;
		if (p->at && !part->rows && p->rows > 1)
			p->numbered[c] = whole && x == p->counted_from[c];
		uint64_t due = p->counted_from[c] + (p->numbered[c] ? part->rows : p->rows);
		if (p->counts[c] && !(whole && x == due)) {
			if (p->numbered[c])
				return sl_error_at(err, SL_BADDATA, part->source->name, part->source->line,
						"Column %u counts the rows above, "
						   "but has \"%s\" here.", at + 1, at < p->split.count ?
						   shown(p->split.list[at], which) : "");
			p->counts[c] = false;
		}
		*number |= p->numbered[c];
		p->ever_numbered[c] |= p->numbered[c];
	}
	return 0;
}

/* The row with its fields in the first part's order, and with the numbers that go on. */
static int put_fields(struct sl__parts *p, struct sl_error *err)
{
	int rc = 0;
	for (uint32_t c = 0; c < p->split.count && !rc; c++) {
		uint32_t at = p->from ? p->from[c] : c;
		char number[24];
		struct sl__field f = p->split.list[at];
		if (c < COUNTING_MOST && p->numbered[c]) {
			f.length = (size_t)snprintf(number, sizeof number, "%llu",
					(unsigned long long)(p->counted_from[c] + p->rows));
			f.text = number;
		}
		if (c)
			rc = put(p, &p->separator, 1, err);
		if (!rc)
			rc = put(p, f.text, f.length, err);
	}
	return rc;
}

static bool may_count(const struct sl__parts *p)
{
	for (int c = 0; c < COUNTING_MOST; c++)
		if (p->counts[c])
			return true;
	return false;
}

/* Passes on a line of the present part. Returns 1, 0 at its end, or a negative code. */
static int pass_line(struct sl__parts *p, struct sl_error *err)
{
	struct part *part = &p->part[p->at];
	struct sl__line line;
	bool number = false;
	int rc = sl__source_line(part->source, &line, err);
	if (rc <= 0)
		return rc;
	bool row = says_something(&line);
	bool head = !p->at && row && p->titles && !p->rows && !part->rows &&
			p->head_length == (size_t)(line.end - line.at) &&
		    !memcmp(p->head, line.at, p->head_length);
	rc = 0;
	if (row && head && !p->begun) {
		p->begun = true;
		row = false;
	}
	if (row && (p->from || may_count(p))) {
		rc = sl__source_join(part->source, &line, err);
		rc = rc < 0 ? rc : split(p, line.at, line.end, p->from || p->at ? 0 : COUNTING_MOST, &p->split, err);
		if (!rc && p->from && p->split.count != p->titles_of.count)
			rc = sl_error_at(err, SL_BADDATA, part->source->name, part->source->line, "The line has %u fields; the "
					 "titles are %u.", p->split.count, p->titles_of.count);
		if (!rc)
			rc = count_row(p, &number, err);
	}
	if (!rc)
		rc = row && (p->from || number) ? put_fields(p, err) : put(p, line.at, (size_t)(line.end - line.at), err);
	if (!rc)
		rc = put(p, "\n", 1, err);
	p->lines++;
	p->rows += row;
	part->rows += row;
	return rc ? rc : 1;
}

/* ---- arrays ----------------------------------------------------------------------------------------- */

static int begin_array(struct sl__parts *p, struct sl_error *err)
{
	uint64_t rows = 0;
	char head[SL_NPY_HEADER_BYTES];
	for (int k = 0; k < p->count; k++) {
		struct sl_source *s = p->part[k].source;
		struct sl__npy a, *first = &p->shape;
		int rc = sl__npy_read_header(&a, sl__source_read_for, s, s->name, err);
		if (rc)
			return rc;
		if (!k)
			*first = a;
		if (a.dims < 1 || a.dims > 2 || (a.fortran && a.dims > 1) || strcmp(a.descr, first->descr) != 0 ||
		    a.dims != first->dims || (a.dims > 1 && a.shape[1] != first->shape[1]))
			return sl_error_at(err, SL_BADDATA, s->name, 0, "The array has %llu columns of type %s%s, that of %s has "
					"%llu of type "
					   "%s; arrays that are read as one must have the same columns and type, in C order.",
					   (unsigned long long)(a.dims > 1 ? a.shape[1] : 1), a.descr, a.fortran ? " in Fortran order" : "",
					   p->part[0].source->name, (unsigned long long)(first->dims > 1 ? first->shape[1] : 1),
					   first->descr);
		p->part[k].rows = a.shape[0];
		rows += a.shape[0];
	}
	int used = p->shape.dims > 1 ?
		snprintf(head + 10, sizeof head - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%llu, %llu), }",
				p->shape.descr,
			 (unsigned long long)rows, (unsigned long long)p->shape.shape[1]) :
		snprintf(head + 10, sizeof head - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%llu,), }",
			 p->shape.descr, (unsigned long long)rows);
	memcpy(head, "\x93NUMPY\1\0\x76\0", 10);
	memset(head + 10 + used, ' ', sizeof head - 10 - (size_t)used);
	head[sizeof head - 1] = '\n';
	return put(p, head, sizeof head, err);
}

/* Passes on a block of the present array. */
static int pass_block(struct sl__parts *p, struct sl_error *err)
{
	char block[CHUNK];
	int64_t got = sl__source_read(p->part[p->at].source, block, sizeof block, err);
	int rc = got > 0 ? put(p, block, (size_t)got, err) : 0;
	return got < 0 ? (int)got : rc ? rc : got > 0;
}

/* ---- all ------------------------------------------------------------------------------------------------ */

/* Which rows are of which file, as far as there is room for it. */
static void tell_rows(struct sl__parts *p)
{
	char *note = p->note[p->notes];
	size_t room = sizeof p->note[0];
	int used = snprintf(note, room, "%d files are read as one:", p->count);
	uint64_t from = 1;
	for (int k = 0; k < p->count; k++) {
		char one[160];
		int length = snprintf(one, sizeof one, "%s rows %llu to %llu are of %.60s", k ? "," : "",
				(unsigned long long)from,
				      (unsigned long long)(from + p->part[k].rows - 1), p->part[k].source->name);
		if ((size_t)(used + length) + 6 > room) {
			snprintf(note + used, room - (size_t)used, ", ...");
			break;
		}
		used += snprintf(note + used, room - (size_t)used, "%s", one);
		from += p->part[k].rows;
	}
	p->changes[p->notes++] = false;
	for (int c = 0; c < COUNTING_MOST; c++)
		if (p->ever_numbered[c] && p->notes < NOTES_MOST) {
			p->changes[p->notes] = true;
			snprintf(p->note[p->notes++], sizeof *p->note, "Column %d counts the rows of each file; it is numbered on",
					c + 1);
		}
}

static int begin(struct sl__parts *p, struct sl_source *s, struct sl_error *err)
{
	enum sl__content content;
	for (int k = 0; k < p->count; k++) {
		struct sl_source *part = p->part[k].source;
		sl__source_set_options(part, &(struct sl_read_options){.cancel = s->cancel,
					.temporary_folder = s->temporary_folder});
		part->account = s->account;
		int rc = sl__content_find(part, &content, err);
		if (rc)
			return rc;
		if (!k)
			p->array = content == SL__ARRAY;
		if ((content != SL__TEXT && content != SL__ARRAY) || p->array != (content == SL__ARRAY))
			return sl_error_at(err, SL_BADFORMAT, part->name, 0,
					"Several files are read as one if all are texts, or all are "
					   "arrays (.npy); this is %s.", content == SL__TEXT ? "a text" : content == SL__ARRAY ?
					   		"an array" :
					   content == SL__MATRIX ? "a MatrixMarket file" : "an archive");
	}
	return p->array ? begin_array(p, err) : begin_text(p, err);
}

static int64_t produce(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	struct sl__parts *p = s->parts;
	int rc = 0;
	if (!p->head && !p->array)
		rc = begin(p, s, err);
	while (!rc && p->at < p->count && p->out_end - p->out_at < (want < CHUNK ? want : CHUNK)) {
		rc = p->array ? pass_block(p, err) : pass_line(p, err);
		if (rc < 0)
			return rc;
		if (rc == 1) {
			rc = 0;
			continue;
		}
		if (++p->at < p->count)
			rc = p->array ? 0 : begin_text(p, err);
		else
			tell_rows(p);
	}
	if (rc)
		return rc;
	size_t got = p->out_end - p->out_at < want ? p->out_end - p->out_at : want;
	if (got)
		memcpy(out, p->out + p->out_at, got);
	p->out_at += got;
	return (int64_t)got;
}

static const struct sl__whole whole = {produce, place, destroy};

int sl_source_join(struct sl_source **out, struct sl_source **source, int count, struct sl_error *err)
{
	struct sl__parts *p = calloc(1, sizeof *p);
	char name[sizeof (*out)->name];
	*out = NULL;
	if (p)
		p->part = calloc((size_t)count + 1, sizeof *p->part);
	snprintf(name, sizeof name, "%.160s and %d other%s", source[0]->name, count - 1, count > 2 ? "s" : "");
	if (!p || !p->part || sl_source_open_memory(out, NULL, 0, name, err)) {
		if (p)
			free(p->part);
		free(p);
		return sl_error_memory(err, "reading %s", name);
	}
	for (int k = 0; k < count; k++)
		p->part[k].source = source[k];
	p->count = count;
	(*out)->parts = p;
	(*out)->whole = &whole;
	sl_source_set_account(*out, source[0]->account);
	return 0;
}
