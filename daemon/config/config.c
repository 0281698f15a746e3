/* The table of options; sets them from text, and writes their values as text. */
#include "daemon/config/config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/engine/load.h"
#include "core/meant.h"
#include "core/param_table.h"

static const char *const request_logs[] = {"off", "problems", "all", NULL};
static const char *const new_users[] = {"refuse", "reader", "user", NULL};
static const char *const workers[] = {"gpus", "all", "off", "remote", NULL};
static const char *const slurm_engines[] = {"cuda", "hybrid", "hybrid-double", "cpu", NULL};
static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};

#define KIB 1024.0
#define MIB (1024.0 * KIB)
#define GIB (1024.0 * MIB)
#define TIB (1024.0 * GIB)

const struct sl_option_info sl_config_table[] = {
#define OPTION(field, type, min, max, words, initial, unit, runtime, doc) \
	{#field, SL_OPTION_##type, offsetof(struct sl_config, field), min, max, words, initial, unit, runtime, doc},
#define TEXT(field, initial, runtime, doc) OPTION(field, TEXT, 0, 0, NULL, initial, "", runtime, doc)
#define WORD(field, words, initial, runtime, doc) OPTION(field, WORD, 0, 0, words, initial, "", runtime, doc)
#define INT(field, min, max, initial, unit, runtime, doc) \
	OPTION(field, INT, min, max, NULL, initial, unit, runtime, doc)
#define BYTES(field, min, max, initial, runtime, doc) \
	OPTION(field, BYTES, min, max, NULL, initial, "bytes", runtime, doc)
#define NUMBER(field, min, max, initial, unit, runtime, doc) \
	OPTION(field, NUMBER, min, max, NULL, initial, unit, runtime, doc)
#include "daemon/config/list.h"
};
const int sl_config_count = sizeof sl_config_table / sizeof *sl_config_table;

static char **text_at(const struct sl_config *c, const struct sl_option_info *o)
{
	return (char **)((char *)c + o->offset);
}

static int64_t *int_at(const struct sl_config *c, const struct sl_option_info *o)
{
	return (int64_t *)((char *)c + o->offset);
}

static double *number_at(const struct sl_config *c, const struct sl_option_info *o)
{
	return (double *)((char *)c + o->offset);
}

static bool is_text(const struct sl_option_info *o)
{
	return o->type == SL_OPTION_TEXT || o->type == SL_OPTION_WORD;
}

const struct sl_option_info *sl_config_find(const char *name)
{
	for (int i = 0; i < sl_config_count; i++)
		if (!strcmp(sl_config_table[i].name, name))
			return &sl_config_table[i];
	return NULL;
}

static const struct {
	const char *suffix;
	double factor;
} units[] = {
	{"TiB", 1099511627776.0}, {"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {"", 1},
};

/* Writes a size with the largest unit that divides it exactly, else in bytes. */
static char *bytes_text(double bytes, char *out, size_t room)
{
	for (int i = 0; i < 4; i++) {
		if (bytes >= units[i].factor && fmod(bytes, units[i].factor) == 0) {
			snprintf(out, room, "%.0f %s", bytes / units[i].factor, units[i].suffix);
			return out;
		}
	}
	snprintf(out, room, "%.0f", bytes);
	return out;
}

static int range_error(const struct sl_option_info *o, const char *text, struct sl_error *err)
{
	char pointer[96], low[64], high[64];
	snprintf(pointer, sizeof pointer, "/%s", o->name);
	if (o->type == SL_OPTION_BYTES) {
		bytes_text(o->min, low, sizeof low);
		bytes_text(o->max, high, sizeof high);
		return sl_error_field(err, SL_BADPARAM, pointer,
				      "%s must be a size from %s to %s (units: KiB, MiB, GiB, TiB), not '%.64s'", o->name, low,
				      high, text);
	}
	snprintf(low, sizeof low, "%.15g", o->min);
	snprintf(high, sizeof high, "%.15g", o->max);
	return sl_error_field(err, SL_BADPARAM, pointer, "%s must be %s from %s to %s%s%s, not '%.64s'", o->name,
			      o->type == SL_OPTION_INT ? "an integer" : "a number", low, high, o->unit[0] ? " " : "",
			      o->unit, text);
}

static int set_number(struct sl_config *c, const struct sl_option_info *o, const char *text, struct sl_error *err)
{
	char *end;
	errno = 0;
	double value = sl_decimal(text, &end);
	if (end == text || errno || !isfinite(value))
		return range_error(o, text, err);
	end += strspn(end, " ");
	if (o->type == SL_OPTION_BYTES) {
		size_t i = 0, count = sizeof units / sizeof *units;
		while (i < count && strcmp(end, units[i].suffix))
			i++;
		if (i == count)
			return range_error(o, text, err);
		value *= units[i].factor;
	} else if (*end) {
		return range_error(o, text, err);
	}
	if (value < o->min || value > o->max || (o->type != SL_OPTION_NUMBER && value != floor(value)))
		return range_error(o, text, err);
	if (o->type == SL_OPTION_NUMBER)
		*number_at(c, o) = value;
	else
		*int_at(c, o) = (int64_t)value;
	return 0;
}

static int set_text(struct sl_config *c, const struct sl_option_info *o, const char *text, struct sl_error *err)
{
	if (o->type == SL_OPTION_WORD) {
		if (!sl_word_in(o->words, text)) {
			char pointer[96], list[128] = "";
			snprintf(pointer, sizeof pointer, "/%s", o->name);
			for (int i = 0; o->words[i]; i++) {
				size_t used = strlen(list);
				snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", o->words[i]);
			}
			return sl_error_field(err, SL_BADPARAM, pointer, "%s must be one of %s, not '%.64s'", o->name, list,
					      text);
		}
	}
	char *copy = strdup(text);
	if (!copy)
		return sl_error_memory(err, "the configuration");
	free(*text_at(c, o));
	*text_at(c, o) = copy;
	return 0;
}

static int set_option(struct sl_config *c, const struct sl_option_info *o, const char *text, struct sl_error *err)
{
	return is_text(o) ? set_text(c, o, text, err) : set_number(c, o, text, err);
}

int sl_config_set(struct sl_config *c, const char *name, const char *text, struct sl_error *err)
{
	const struct sl_option_info *o = sl_config_find(name);
	if (o)
		return set_option(c, o, text, err);
	struct sl_meant meant;
	char pointer[96];
	sl_meant_init(&meant, name);
	for (int i = 0; i < sl_config_count; i++)
		sl_meant_try(&meant, sl_config_table[i].name);
	snprintf(pointer, sizeof pointer, "/%.64s", name);
	if (sl_meant_word(&meant))
		return sl_error_field(err, SL_BADPARAM, pointer, "there is no option '%.64s'; did you mean %s?", name,
				      sl_meant_word(&meant));
	return sl_error_field(err, SL_BADPARAM, pointer, "there is no option '%.64s'; --dump-config lists them all", name);
}

int sl_config_init(struct sl_config *c, struct sl_error *err)
{
	memset(c, 0, sizeof *c);
	for (int i = 0; i < sl_config_count; i++) {
		int rc = set_option(c, &sl_config_table[i], sl_config_table[i].initial, err);
		if (rc) {
			sl_config_finish(c);
			return rc;
		}
	}
	return 0;
}

void sl_config_finish(struct sl_config *c)
{
	for (int i = 0; i < sl_config_count; i++)
		if (is_text(&sl_config_table[i]))
			free(*text_at(c, &sl_config_table[i]));
	memset(c, 0, sizeof *c);
}

bool sl_config_same(const struct sl_config *a, const struct sl_config *b, const struct sl_option_info *o)
{
	if (is_text(o))
		return !strcmp(*text_at(a, o), *text_at(b, o));
	return o->type == SL_OPTION_NUMBER ? *number_at(a, o) == *number_at(b, o) : *int_at(a, o) == *int_at(b, o);
}

void sl_config_swap(struct sl_config *a, struct sl_config *b, const struct sl_option_info *o)
{
	char *at[] = {(char *)a + o->offset, (char *)b + o->offset}, value[sizeof(int64_t)];
	static_assert(sizeof(char *) == sizeof value && sizeof(double) == sizeof value, "all options have 8 bytes");
	memcpy(value, at[0], sizeof value);
	memcpy(at[0], at[1], sizeof value);
	memcpy(at[1], value, sizeof value);
}

char *sl_config_text(const struct sl_config *c, const struct sl_option_info *o, char *out, size_t bytes)
{
	switch (o->type) {
	case SL_OPTION_TEXT:
		snprintf(out, bytes, "\"%s\"", *text_at(c, o));
		break;
	case SL_OPTION_WORD:
		snprintf(out, bytes, "%s", *text_at(c, o));
		break;
	case SL_OPTION_INT:
		snprintf(out, bytes, "%" PRId64, *int_at(c, o));
		break;
	case SL_OPTION_BYTES:
		bytes_text((double)*int_at(c, o), out, bytes);
		break;
	case SL_OPTION_NUMBER:
		snprintf(out, bytes, "%.15g", *number_at(c, o));
		break;
	}
	return out;
}

/* Writes an option's description as comment lines of at most 90 columns. */
static void dump_doc(const char *doc, FILE *out)
{
	while (*doc) {
		size_t length = strlen(doc), take = length;
		if (length > 88) {
			take = 88;
			while (take && doc[take] != ' ')
				take--;
		}
		fprintf(out, "# %.*s\n", (int)take, doc);
		doc += take;
		doc += strspn(doc, " ");
	}
}

static void dump_range(const struct sl_option_info *o, FILE *out)
{
	char low[64], high[64];
	switch (o->type) {
	case SL_OPTION_TEXT:
		break;
	case SL_OPTION_WORD:
		fputs("# One of:", out);
		for (int i = 0; o->words[i]; i++)
			fprintf(out, "%s %s", i ? "," : "", o->words[i]);
		fputc('\n', out);
		break;
	case SL_OPTION_BYTES:
		fprintf(out, "# From %s to %s.\n", bytes_text(o->min, low, sizeof low), bytes_text(o->max, high, sizeof high));
		break;
	default:
		fprintf(out, "# From %.15g to %.15g%s%s.\n", o->min, o->max, o->unit[0] ? " " : "", o->unit);
	}
}

void sl_config_dump(const struct sl_config *c, FILE *out)
{
	struct sl_config initial;
	if (sl_config_init(&initial, NULL))
		return;
	fputs("# Configuration of spacelandd. Every option is here; a commented-out line shows the default.\n"
	      "# name = value; sizes may carry KiB, MiB, GiB or TiB; text with spaces or # stands in \"quotes\".\n"
	      "# Files of the folder FILE.d whose names end with .conf are read after this file, and override it.\n"
	      "# Options marked [reload] are taken over by `systemctl reload spacelandd` (SIGHUP).\n", out);
	for (int i = 0; i < sl_config_count; i++) {
		const struct sl_option_info *o = &sl_config_table[i];
		char value[64];
		fputc('\n', out);
		dump_doc(o->doc, out);
		dump_range(o, out);
		if (o->runtime)
			fputs("# [reload]\n", out);
		fprintf(out, "%s%s = ", sl_config_same(c, &initial, o) ? "#" : "", o->name);
		if (o->type == SL_OPTION_TEXT)  /* of any length */
			fprintf(out, "\"%s\"\n", *text_at(c, o));
		else
			fprintf(out, "%s\n", sl_config_text(c, o, value, sizeof value));
	}
	sl_config_finish(&initial);
}
