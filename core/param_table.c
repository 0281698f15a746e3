/* Functions that work on any table of parameters. */
#include "core/param_table.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct sl_param_info *sl_param_find(const struct sl_param_table *table, const char *name)
{
	for (int i = 0; i < table->count; i++)
		if (!strcmp(table->param[i].name, name))
			return &table->param[i];
	return NULL;
}

/* ---- values ------------------------------------------------------------------------- */

static void *field(const struct sl_param_info *info, const void *record)
{
	return (char *)record + info->offset;
}

static void store_list(const struct sl_param_info *info, void *record, const double *values, int count)
{
	struct sl_param_list *list = field(info, record);
	*list = (struct sl_param_list){.count = count};
	for (int i = 0; i < count; i++)
		list->value[i] = values[i];
}

static void store(const struct sl_param_info *info, void *record, double value)
{
	bool automatic = info->automatic && value == info->automatic_value;
	void *at = field(info, record);
	switch (info->type) {
	case SL_TYPE_BOOL: *(bool *)at = value != 0; break;
	case SL_TYPE_INT:
	case SL_TYPE_ENUM: *(int *)at = (int)value; break;
	case SL_TYPE_UINT64: *(uint64_t *)at = (uint64_t)value; break;
	case SL_TYPE_DOUBLE: *(double *)at = value; break;
	case SL_TYPE_LIST: store_list(info, record, &value, automatic ? 0 : 1); break;
	case SL_TYPE_TEXT: *(const char **)at = NULL; break;
	}
}

void sl_param_defaults(const struct sl_param_table *table, void *record)
{
	for (int i = 0; i < table->count; i++)
		store(&table->param[i], record, table->param[i].normal);
	if (table->given >= 0)
		*(uint64_t *)(void *)((char *)record + table->given) = 0;
}

void sl_param_copy(const struct sl_param_info *info, void *to, const void *from)
{
	static const size_t bytes[] = {
		[SL_TYPE_BOOL] = sizeof(bool), [SL_TYPE_INT] = sizeof(int), [SL_TYPE_UINT64] = sizeof(uint64_t),
		[SL_TYPE_DOUBLE] = sizeof(double), [SL_TYPE_ENUM] = sizeof(int), [SL_TYPE_LIST] = sizeof(struct sl_param_list),
		[SL_TYPE_TEXT] = sizeof(const char *),
	};
	memcpy(field(info, to), field(info, from), bytes[info->type]);
}

static bool same_list(const struct sl_param_list *a, const struct sl_param_list *b)
{
	int i = 0;
	while (i < a->count && i < b->count && a->value[i] == b->value[i])
		i++;
	return a->count == b->count && i == a->count;
}

bool sl_param_same(const struct sl_param_info *info, const void *a, const void *b)
{
	double x, y;
	if (info->type == SL_TYPE_LIST)
		return same_list(field(info, a), field(info, b));
	if (info->type == SL_TYPE_TEXT)
		return *(const char *const *)field(info, a) == *(const char *const *)field(info, b);
	sl_param_number(info, a, &x);
	sl_param_number(info, b, &y);
	return x == y;
}

void sl_param_copy_all(const struct sl_param_table *table, void *to, const void *from)
{
	for (int i = 0; i < table->count; i++)
		sl_param_copy(&table->param[i], to, from);
}

bool sl_param_same_run(const struct sl_param_table *table, const void *a, const void *b)
{
	for (int i = 0; i < table->count; i++)
		if (!table->param[i].steerable && !sl_param_same(&table->param[i], a, b))
			return false;
	return true;
}

void sl_param_lead(const struct sl_param_table *table, const struct sl_param_info *info, void *record)
{
	if (table->leader && !strcmp(info->name, table->leader))
		table->lead(record);
}

int sl_param_steer(const struct sl_param_table *table, void *record, const void *from, struct sl_error *err)
{
	for (int i = 0; i < table->count; i++) {
		const struct sl_param_info *info = &table->param[i];
		char pointer[96];
		if (info->steerable || sl_param_same(info, record, from))
			continue;
		snprintf(pointer, sizeof pointer, "/%s", info->name);
		return sl_error_field(err, SL_CONFLICT, pointer, "%s cannot be changed once a job has been submitted; submit a "
				      "new job.", info->name);
	}
	for (int i = 0; i < table->count; i++)
		if (table->param[i].steerable)
			sl_param_copy(&table->param[i], record, from);
	return 0;
}

const struct sl_param_list *sl_param_list(const struct sl_param_info *info, const void *record)
{
	return info->type == SL_TYPE_LIST ? field(info, record) : NULL;
}

bool sl_param_number(const struct sl_param_info *info, const void *record, double *value)
{
	const void *at = field(info, record);
	*value = 0;
	switch (info->type) {
	case SL_TYPE_BOOL: *value = *(const bool *)at; break;
	case SL_TYPE_INT:
	case SL_TYPE_ENUM: *value = *(const int *)at; break;
	case SL_TYPE_UINT64: *value = (double)*(const uint64_t *)at; break;
	case SL_TYPE_DOUBLE: *value = *(const double *)at; break;
	case SL_TYPE_LIST: *value = sl_param_list(info, record)->value[0]; return !sl_param_list(info, record)->count;
	case SL_TYPE_TEXT: return false;
	}
	return info->automatic && *value == info->automatic_value;
}

/* ---- texts -------------------------------------------------------------------------- */

/* Writes the shortest text that reads back as value, whole numbers without an exponent, to out[32]. */
static char *shortest(double value, char *out)
{
	if (value == floor(value) && fabs(value) < 1e16) {
		snprintf(out, 32, "%.0f", value);
		return out;
	}
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(out, 32, "%.*g", digits, value);
		if (strtod(out, NULL) == value)
			break;
	}
	return out;
}

static char *value_text(const struct sl_param_info *info, double value, char *out)
{
	if (info->type == SL_TYPE_BOOL)
		return strcpy(out, value != 0 ? "true" : "false");
	if (info->words)
		return strcpy(out, info->words[(int)value]);
	return shortest(value, out);
}

char *sl_param_text(const struct sl_param_info *info, const void *record, char out[SL_PARAM_TEXT_BYTES])
{
	double value;
	if (info->type == SL_TYPE_TEXT)
		return strcpy(out, "");
	if (sl_param_number(info, record, &value))
		return strcpy(out, info->automatic);
	if (info->type != SL_TYPE_LIST)
		return value_text(info, value, out);
	const struct sl_param_list *list = sl_param_list(info, record);
	char number[32];
	int at = 0;
	for (int i = 0; i < list->count; i++)
		at += snprintf(out + at, SL_PARAM_TEXT_BYTES - (size_t)at, i ? ",%s" : "%s", shortest(list->value[i], number));
	return out;
}

char *sl_param_normal_text(const struct sl_param_info *info, char out[SL_PARAM_TEXT_BYTES])
{
	if (info->automatic && info->normal == info->automatic_value)
		return strcpy(out, info->automatic);
	if (info->type == SL_TYPE_TEXT || !(info->normal >= info->min && info->normal <= info->max))
		return strcpy(out, "");
	return value_text(info, info->normal, out);
}

/* Writes which values are allowed: "one of draft, normal, fine, auto" or "a number from 1 to 3, or auto". */
static char *range_text(const struct sl_param_info *info, char *out, size_t bytes)
{
	static const char *const kinds[] = {
		[SL_TYPE_INT] = "a whole number", [SL_TYPE_UINT64] = "a whole number", [SL_TYPE_DOUBLE] = "a number",
		[SL_TYPE_LIST] = "one or several numbers",
	};
	char min[32], max[32], most[24] = "";
	size_t at = 0;
	if (info->type == SL_TYPE_BOOL || info->type == SL_TYPE_TEXT) {
		snprintf(out, bytes, info->type == SL_TYPE_BOOL ? "true or false" : "a text");
	} else if (info->words) {
		at += (size_t)snprintf(out, bytes, "one of ");
		for (int i = 0; info->words[i] && at < bytes; i++)
			at += (size_t)snprintf(out + at, bytes - at, "%s%s", i ? ", " : "", info->words[i]);
	} else {
		if (info->type == SL_TYPE_LIST)
			snprintf(most, sizeof most, ", at most %d", SL_PARAM_LIST_MAX);
		const char *kind = info->whole ? "one or several whole numbers" : kinds[info->type];
		snprintf(out, bytes, "%s from %s to %s%s%s%s", kind, shortest(info->min, min),
			 shortest(info->max, max), most, info->automatic ? ", or " : "", info->automatic ? info->automatic : "");
	}
	return out;
}

/* ---- setting ------------------------------------------------------------------------ */

static int refuse(const struct sl_param_info *info, const char *given, struct sl_error *err)
{
	char pointer[96], right[256];
	snprintf(pointer, sizeof pointer, "/%s", info->name);
	return sl_error_field(err, SL_BADPARAM, pointer, "%s must be %s, not %.64s.", info->name,
			      range_text(info, right, sizeof right), given[0] ? given : "empty");
}

int sl_param_set_number(const struct sl_param_info *info, void *record, double value, struct sl_error *err)
{
	char given[32];
	bool whole = info->type == SL_TYPE_INT || info->type == SL_TYPE_UINT64 || info->whole;
	shortest(value, given);
	if ((!whole && info->type != SL_TYPE_DOUBLE && info->type != SL_TYPE_LIST) || (whole && value != floor(value)))
		return refuse(info, given, err);
	if (!(value >= info->min && value <= info->max))
		return refuse(info, given, err);
	store(info, record, value);
	return 0;
}

int sl_param_set_list(const struct sl_param_info *info, void *record, const double *values, int count,
		      struct sl_error *err)
{
	char given[40];
	if (info->type != SL_TYPE_LIST)
		return refuse(info, "a list", err);
	if (count < 1 || count > SL_PARAM_LIST_MAX) {
		if (count < 1)
			return refuse(info, "an empty list", err);
		snprintf(given, sizeof given, "a list of more than %d numbers", SL_PARAM_LIST_MAX);  /* not all are read */
		return refuse(info, given, err);
	}
	for (int i = 0; i < count; i++)
		if (!(values[i] >= info->min && values[i] <= info->max) || (info->whole && values[i] != floor(values[i])))
			return refuse(info, shortest(values[i], given), err);
	store_list(info, record, values, count);
	return 0;
}

double sl_decimal(const char *text, char **end)
{
	const char *digits = text + (*text == '-' || *text == '+');
	bool decimal = isdigit((unsigned char)digits[*digits == '.']) && tolower((unsigned char)digits[1]) != 'x';
	*end = (char *)(uintptr_t)text;
	return decimal ? strtod(text, end) : NAN;
}

/* "30" or "30,100" */
static int set_list_text(const struct sl_param_info *info, void *record, const char *text, struct sl_error *err)
{
	double values[SL_PARAM_LIST_MAX];
	int count = 0;
	for (const char *at = text;; at++) {
		char *end;
		double value = sl_decimal(at, &end);
		if (end == at || (*end && *end != ',') || !isfinite(value) || count == SL_PARAM_LIST_MAX)
			return refuse(info, text, err);
		values[count++] = value;
		at = end;
		if (!*end)
			return sl_param_set_list(info, record, values, count, err);
	}
}

static int set_word(const struct sl_param_info *info, void *record, const char *text, struct sl_error *err)
{
	int value = 0;
	if (info->parse) {
		int code = info->parse(text, &value, err);
		if (code)
			return code;
	} else {
		while (info->words[value] && strcmp(text, info->words[value]))
			value++;
		if (!info->words[value])
			return refuse(info, text, err);
	}
	store(info, record, value);
	return 0;
}

int sl_param_set_text(const struct sl_param_info *info, void *record, const char *text, struct sl_error *err)
{
	if (info->automatic && !strcmp(text, info->automatic)) {
		store(info, record, info->automatic_value);
		return 0;
	}
	if (info->type == SL_TYPE_TEXT) {
		*(const char **)field(info, record) = text;
		return 0;
	}
	if (info->type == SL_TYPE_BOOL) {
		bool yes = !strcmp(text, "true");
		if (!yes && strcmp(text, "false"))
			return refuse(info, text, err);
		store(info, record, yes);
		return 0;
	}
	if (info->words)
		return set_word(info, record, text, err);
	if (info->type == SL_TYPE_LIST)
		return set_list_text(info, record, text, err);
	char *end;
	double value = sl_decimal(text, &end);
	if (end == text || *end || !isfinite(value))
		return refuse(info, text, err);
	return sl_param_set_number(info, record, value, err);
}

int sl_param_set(const struct sl_param_table *table, void *record, const char *name, const char *text,
		 struct sl_error *err)
{
	const struct sl_param_info *info = sl_param_find(table, name);
	if (!info)
		return sl_error_field(err, SL_BADPARAM, "", "There is no parameter \"%.64s\".", name);
	int code = sl_param_set_text(info, record, text, err);
	if (!code && table->given >= 0)
		*(uint64_t *)(void *)((char *)record + table->given) |= 1ull << (info - table->param);
	if (!code)
		sl_param_lead(table, info, record);
	return code;
}

static bool was_set(const struct sl_param_table *table, const void *record, const struct sl_param_info *info)
{
	uint64_t given = *(const uint64_t *)(const void *)((const char *)record + table->given);
	return given >> (info - table->param) & 1;
}

bool sl_param_given(const struct sl_param_table *table, const void *record, const char *name)
{
	return was_set(table, record, sl_param_find(table, name));
}

const struct sl_param_info *sl_param_of_points(const struct sl_param_table *table, const void *record)
{
	for (int i = 0; i < table->count; i++)
		if (table->param[i].points && was_set(table, record, &table->param[i]))
			return &table->param[i];
	return NULL;
}

const struct sl_param_info *sl_param_of_graphs(const struct sl_param_table *table, const void *record)
{
	for (int i = 0; i < table->count; i++)
		if (table->param[i].graphs && was_set(table, record, &table->param[i]))
			return &table->param[i];
	return NULL;
}

int sl_param_check(const struct sl_param_table *table, const void *record, struct sl_error *err)
{
	for (int i = 0; i < table->count; i++) {
		const struct sl_param_info *info = &table->param[i];
		char text[32];
		double value;
		bool set = !sl_param_number(info, record, &value) && value != info->normal;
		if (set && !(value >= info->min && value <= info->max))
			return refuse(info, shortest(value, text), err);
	}
	return 0;
}
