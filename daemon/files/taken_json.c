/* What a reader took of a file (core/taken/taken.h) as JSON, for clients and for the data base. */
#include "daemon/files/taken_json.h"

#include <inttypes.h>
#include <stdio.h>

static json_t *columns_json(const struct sl_taken *t)
{
	json_t *list = json_array();
	for (uint32_t k = 0; k < t->listed; k++) {
		const struct sl_taken_columns *c = &t->column[k];
		json_array_append_new(list, json_pack("{s:I, s:I, s:s, s:s, s:s}", "first", (json_int_t)c->first, "last",
						      (json_int_t)c->last, "role", sl_taken_role_name(c->role), "title",
						      c->title, "why", c->why));
	}
	return list;
}

static json_t *notes_json(const struct sl_taken *t)
{
	json_t *list = json_array();
	for (uint32_t k = 0; k < t->notes; k++)
		json_array_append_new(list, json_pack("{s:b, s:s}", "changes", t->note[k].changes, "text", t->note[k].text));
	return list;
}

json_t *sl_taken_json(const struct sl_taken *t)
{
	char text[1024];
	if (!t)
		return json_null();
	json_t *roles = json_object();
	for (int k = 0; k < SL_TAKEN_ROLE_COUNT; k++)
		if (t->by_role[k])
			json_object_set_new(roles, sl_taken_role_name((enum sl_taken_role)k),
					    json_integer((json_int_t)t->by_role[k]));
	char titles[40] = "";
	if (t->titles)
		snprintf(titles, sizeof titles, "%016" PRIx64 "%016" PRIx64, t->titles, t->titles_any);
	return json_pack("{s:s, s:s, s:s, s:{s:I, s:I, s:I, s:I}, s:{s:I, s:I, s:I}, s:I, s:o, s:o, s:b, s:b, s:o, s:I}",
			 "text", sl_taken_text(t, text, sizeof text), "sign", t->sign, "titles", titles,
			 "lines", "all", (json_int_t)t->lines, "header", (json_int_t)t->header_lines, "blank",
			 (json_int_t)t->blank_lines, "comments", (json_int_t)t->comment_lines,
			 "rows", "all", (json_int_t)t->rows, "used", (json_int_t)t->rows_used, "left_out",
			 (json_int_t)t->rows_left_out, "columns", (json_int_t)t->columns, "roles", roles, "listed",
			 columns_json(t), "directed", t->directed, "transposed", t->transposed, "notes", notes_json(t),
			 "notes_lost", (json_int_t)t->notes_lost);
}

static uint64_t number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));
	return value > 0 ? (uint64_t)value : 0;
}

static void read_columns(const json_t *list, struct sl_taken *t)
{
	size_t k;
	json_t *one;
	json_array_foreach(list, k, one) {
		enum sl_taken_role role;
		const char *name = json_string_value(json_object_get(one, "role"));
		const char *title = json_string_value(json_object_get(one, "title"));
		const char *why = json_string_value(json_object_get(one, "why"));
		if (t->listed == SL_TAKEN_LISTED || !name || !sl_taken_role_parse(name, &role))
			continue;
		struct sl_taken_columns *c = &t->column[t->listed++];
		c->first = (uint32_t)number(one, "first");
		c->last = (uint32_t)number(one, "last");
		c->role = role;
		snprintf(c->title, sizeof c->title, "%s", title ? title : "");
		snprintf(c->why, sizeof c->why, "%s", why ? why : "");
	}
}

struct sl_taken *sl_taken_read(const json_t *from)
{
	struct sl_taken *t = json_is_object(from) ? sl_taken_create() : NULL;
	const json_t *lines = json_object_get(from, "lines"), *rows = json_object_get(from, "rows");
	const char *sign = json_string_value(json_object_get(from, "sign"));
	size_t k;
	json_t *note;
	if (!t)
		return NULL;
	snprintf(t->sign, sizeof t->sign, "%s", sign ? sign : "");
	t->lines = number(lines, "all");
	t->header_lines = number(lines, "header");
	t->blank_lines = number(lines, "blank");
	t->comment_lines = number(lines, "comments");
	t->rows = number(rows, "all");
	t->rows_used = number(rows, "used");
	t->rows_left_out = number(rows, "left_out");
	t->columns = number(from, "columns");
	for (int role = 0; role < SL_TAKEN_ROLE_COUNT; role++)
		t->by_role[role] = number(json_object_get(from, "roles"), sl_taken_role_name((enum sl_taken_role)role));
	const char *titles = json_string_value(json_object_get(from, "titles"));
	if (!titles || sscanf(titles, "%16" SCNx64 "%16" SCNx64, &t->titles, &t->titles_any) != 2)
		t->titles = t->titles_any = 0;
	t->directed = json_is_true(json_object_get(from, "directed"));
	t->transposed = json_is_true(json_object_get(from, "transposed"));
	t->notes_lost = (uint32_t)number(from, "notes_lost");
	read_columns(json_object_get(from, "listed"), t);
	json_array_foreach(json_object_get(from, "notes"), k, note) {
		const char *text = json_string_value(json_object_get(note, "text"));
		sl_taken_add_note(t, json_is_true(json_object_get(note, "changes")), "%s", text ? text : "");
	}
	return t;
}
