/* preview.c -- previews the beginning of a file. The last line is nearly always incomplete, so it is left out if there
 * are others. The beginning of a compressed file is decoded as far as it goes. */
#include "core/account.h"
#include "core/formats/preview.h"

#include <stdlib.h>
#include <string.h>

#include "core/formats/content.h"
#include "core/formats/points/text_internal.h"
#include "core/formats/text/encoding.h"
#include "core/taken/taken.h"

#define LONG_LINE 32768   /* bytes */

const char *sl_column_role_name(enum sl_column_role role)
{
	static const char *const names[] = {"coordinate", "name", "label", "ignored"};
	return names[role];
}

void sl_preview_finish(struct sl_preview *p)
{
	free(p->column);
	p->column = NULL;
	sl_taken_destroy(p->taken);
	p->taken = NULL;
}

/* ---- tables of text ---------------------------------------------------------------------- */

static int list_columns(struct sl_preview *out, const struct sl__text *f, struct sl_error *err)
{
	static const enum sl_column_role roles[] = {
		[SL__COORDINATE] = SL_ROLE_COORDINATE, [SL__NAME] = SL_ROLE_NAME, [SL__LABEL] = SL_ROLE_LABEL,
		[SL__WORDS] = SL_ROLE_LABEL, [SL__IGNORED] = SL_ROLE_IGNORED, [SL__NUMBERING] = SL_ROLE_IGNORED,
		[SL__LEFT_OUT] = SL_ROLE_IGNORED, [SL__EMPTY] = SL_ROLE_IGNORED,
	};
	out->columns = f->columns;
	out->header = f->titles;
	out->column = sl_account_zeros(f->t->account, (size_t)f->columns + 1, sizeof *out->column);
	if (!out->column)
		return sl_error_memory(err, "a preview of %u columns", f->columns);
	for (uint32_t c = 0; c < f->columns; c++) {
		enum sl_column_role role = roles[f->column[c].use];
		out->coordinates += role == SL_ROLE_COORDINATE;
		if (role == SL_ROLE_COORDINATE && out->coordinates > SL_PREVIEW_COORDINATES)
			continue;
		struct sl_preview_column *to = &out->column[out->listed++];
		to->number = c + 1;
		to->role = role;
		if (f->titles && sl__valid_utf8(f->column[c].title, strlen(f->column[c].title)))
			snprintf(to->title, sizeof to->title, "%s", f->column[c].title);
	}
	uint32_t main = sl__text_main_labels(f);
	out->main_label = main < f->word_columns ? f->words[main].column + 1 : 0;
	return 0;
}

/* Adds the fields of the first lines. f: its separator is known, and its source is the text from the beginning. */
static void add_examples(struct sl_preview *out, struct sl__text *f)
{
	struct sl__line line;
	int skipped = (f->marker != 0) + (f->titles && !f->comment_titles);
	f->started = false;
	f->head.at = f->head.size;   /* what an error left of the head lies behind the first lines */
	for (int rows = 0; rows < SL_PREVIEW_EXAMPLES && sl__text_next_line(f, &line) > 0;) {
		struct sl__field *list = NULL;
		uint32_t count = 0;
		int rc = sl__text_split(f, &line, &list, &count);
		f->started = true;
		for (uint32_t k = 0; k < out->listed && !rc && skipped <= 0; k++) {
			struct sl_preview_column *to = &out->column[k];
			if (to->number > count || !sl__valid_utf8(list[to->number - 1].text, list[to->number - 1].length))
				continue;
			sl__field_show(&list[to->number - 1], to->example[to->examples], sizeof to->example[0]);
			to->examples += sl__valid_utf8(to->example[to->examples], strlen(to->example[to->examples]));
		}
		free(list);
		rows += skipped-- <= 0;
	}
}

static int preview_table(struct sl_preview *out, const struct sl_input_options *options, const char *name,
			 const char *text, size_t size, struct sl_account *account, struct sl_error *err)
{
	struct sl_source *source, *again;
	struct sl__table table;
	int rc = sl_source_open_memory(&source, text, size, name, err);
	if (rc)
		return rc;
	sl_source_set_account(source, account);
	sl__source_set_options(source, &options->read);
	sl__table_init(&table, options, source, &out->problem);
	struct sl__text f = {.t = &table};
	bool fine = !sl__text_read(&f);
	if (fine)
		out->problem.code = 0;
	if (f.column)
		rc = list_columns(out, &f, err);
	if (!rc && out->column && !sl_source_open_memory(&again, text, size, name, err)) {
		sl_source_set_account(again, account);
		table.source = again;
		add_examples(out, &f);
		sl_source_close(again);
	}
	if (fine && !rc) {
		sl__text_tell(&f);
		out->taken = table.taken;
		out->taken->rows = table.n;
		out->taken->rows_used = table.n - table.dropped;
		out->taken->rows_left_out = table.dropped;
		table.taken = NULL;
	}
	sl__text_finish(&f);
	sl__table_finish(&table);
	sl_source_close(source);
	return rc;
}

/* ---- all files --------------------------------------------------------------------------- */

static bool ends_line(char c) { return c == '\n' || c == '\r'; }

/* The size of the complete lines. */
static size_t whole_lines(const char *text, size_t size)
{
	size_t end = size;
	const char *rest = text;
	struct sl__line first;
	while (end && !ends_line(text[end - 1]))
		end--;
	sl__next_line(&rest, text + size, &first);
	return rest < text + end ? end : size;
}

/* False if a long beginning has no complete line after the first, so that the columns are unknown. */
static bool shows_columns(const char *text, size_t size)
{
	const char *rest = text;
	struct sl__line line;
	sl__next_line(&rest, text + size, &line);
	return size < LONG_LINE || (sl__next_line(&rest, text + size, &line) && line.end < text + size);
}

static int look_at_text(struct sl_preview *out, const struct sl_input_options *options,
			struct sl_source *whole, const char *text, size_t size, struct sl_error *err)
{
	const char *name = sl__source_name(whole);
	struct sl_account *account = sl__source_account(whole);
	const unsigned char *bytes = (const unsigned char *)text;
	bool points = options->kind == SL_INPUT_POINTS;
	if (options->kind == SL_INPUT_AUTO &&
	    sl__looks_like_points(&points, bytes, (int64_t)size, name, account, out->sign, err))
		return SL_NOMEM;
	out->kind = points ? SL_INPUT_POINTS : options->kind == SL_INPUT_AUTO ? SL_INPUT_GRAPH : options->kind;
	snprintf(out->format, sizeof out->format, "%s", points ? "csv" : "edges");
	return points && shows_columns(text, size) ?
		preview_table(out, options, name, text, whole_lines(text, size), account, err) : 0;
}

/* True if the first member of a zip archive is an array, or its name is not in the bytes. */
static bool begins_with_array(const unsigned char *bytes, size_t size)
{
	size_t length = size >= 30 ? bytes[26] + 256u * bytes[27] : 0;
	return !length || 30 + length > size || (length > 4 && !memcmp(bytes + 26 + length, ".npy", 4));
}

static int look_at(struct sl_preview *out, const struct sl_input_options *options, struct sl_source *source,
		   enum sl__content content, const char *text, size_t size, struct sl_error *err)
{
	bool zip = content == SL__ARCHIVE && !begins_with_array((const unsigned char *)text, size);
	if (content == SL__TEXT)
		return look_at_text(out, options, source, text, size, err);
	snprintf(out->format, sizeof out->format, "%s", zip ? "zip" : sl__content_name(content));
	if (content == SL__ARRAY)
		out->kind = SL_INPUT_POINTS;
	else if (content == SL__MATRIX && out->kind == SL_INPUT_AUTO)
		out->kind = sl__is_square(source) ? SL_INPUT_GRAPH : SL_INPUT_POINTS;
	return 0;
}

int sl_preview_make(struct sl_preview *out, const struct sl_input_options *options, const char *name,
		    const void *bytes, size_t size, struct sl_account *account, struct sl_error *err)
{
	struct sl_source *source;
	const unsigned char *head;
	*out = (struct sl_preview){.kind = options->kind};
	int rc = sl_source_open_memory(&source, bytes, size, name, err);
	if (rc)
		return rc;
	sl_source_set_account(source, account);
	sl__source_set_options(source, &options->read);
	size_t count = sl__source_beginning(source, &head), mark = sl_text_mark(head, count);
	sl__source_find_bars(source);
	const char *encoding = sl_text_encoding(head, count), *text = (const char *)(head += mark);
	enum sl__content content;
	count -= mark;
	if (encoding)
		sl_error_at(&out->problem, SL_BADFORMAT, name, 1, "This is a %s text; convert it (iconv -f %s -t UTF-8).",
			    encoding, encoding);
	else if (sl__is_tar(head, count))
		snprintf(out->format, sizeof out->format, "tar");
	else if (!sl__content_of(head, (int64_t)count, name, &content, &out->problem))
		rc = look_at(out, options, source, content, text, count, err);
	sl__tell_container(source, out->taken);
	sl_source_close(source);
	return rc;
}
