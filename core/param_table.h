/* param_table.h -- tables of parameters: those of jobs, of uploads, and of placing new points.
 *
 * A line of a table gives a parameter its name, type, range, default and text, and the offset of its value in a record
 * (a struct). All code that reads, checks, prints or documents parameters uses the table: the daemon reads JSON and
 * queries with it, the client makes its options and help from it, and a test compares it with proto/openapi.yaml. A new
 * parameter is one line in a table and one field in its record. Tables: sl_params_table (core/params.h),
 * sl_input_params_table (core/formats/input_params.h), sl_transform_table (core/embedding/transform.h),
 * sl_kmeans_table (core/kmeans/kmeans.h), sl_gmm_table (core/gmm/gmm.h),
 * sl_signal_table (core/signal/signal.h). */
#ifndef SL_PARAM_TABLE_H
#define SL_PARAM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SL_PARAM_LIST_MAX 8

struct sl_param_list {
	int count;
	double value[SL_PARAM_LIST_MAX];  /* 0 beyond count */
};

/* The C type of the field that holds the value:
 *   BOOL      bool
 *   INT, ENUM int
 *   UINT64    uint64_t
 *   DOUBLE    double
 *   LIST      struct sl_param_list; as text "30" or "30,100", in JSON a number or an array of numbers; an empty list
 *             stands for the automatic value
 *   TEXT      const char *, borrowed from the caller who set it; NULL: not given */
enum sl_type { SL_TYPE_BOOL, SL_TYPE_INT, SL_TYPE_UINT64, SL_TYPE_DOUBLE, SL_TYPE_ENUM, SL_TYPE_LIST, SL_TYPE_TEXT };

struct sl_param_info {
	const char *name;          /* "learning_rate"; the client's option is --learning-rate */
	enum sl_type type;
	size_t offset;             /* of the field in the record */
	double min, max;           /* inclusive; ENUM: 0 and number of words - 1 */
	double normal;             /* the default; a value out of the range means that there is no default */
	const char *const *words;  /* ENUM: the word of each value, NULL-terminated; else NULL */
	/* ENUM that accepts more words than `words`: parses any of them into *out. NULL: only `words` are accepted. */
	int (*parse)(const char *text, int *out, struct sl_error *err);
	/* The word that stands for automatic_value ("auto", "off"), or NULL. automatic_value itself is refused as a number,
	 * unless it is in the range. */
	const char *automatic;
	double automatic_value;
	bool whole;                /* LIST: only whole numbers */
	bool steerable;            /* jobs: may be changed while the job runs */
	bool points;               /* uploads: makes sense for points only */
	bool graphs;               /* uploads: makes sense for edge lists only */
	const char *doc;           /* one sentence, with the unit */
};

/* The beginning of a line of a table of a record: its field, name, type, range and default. Each table has its own:
 *   #define PARAM(...) SL_PARAM(struct sl_kmeans_params, __VA_ARGS__) */
#define SL_PARAM(record, field, type_, min_, max_, normal_) .name = #field, .type = SL_TYPE_##type_, \
	.offset = offsetof(record, field), .min = min_, .max = max_, .normal = normal_

struct sl_param_table {
	const struct sl_param_info *param;
	int count;
	ptrdiff_t given;           /* offset of a uint64_t in the record: bit i is 1 if param[i] was set; -1: none */
	/* The parameter whose value chooses the defaults of all others ("preset"), or NULL; and a function that sets all
	 * fields to the defaults that the record's value of it chooses. Set it before the others. */
	const char *leader;
	void (*lead)(void *record);
};

/* Room for the text of any value, except of type TEXT. */
#define SL_PARAM_TEXT_BYTES 224

/* The parameter of this name; NULL: there is none. */
const struct sl_param_info *sl_param_find(const struct sl_param_table *table, const char *name);

/* Sets every field that the table lists to its default. */
void sl_param_defaults(const struct sl_param_table *table, void *record);

/* Parses text ("2", "0.5", "auto", "fine", "true"), checks the range and sets the parameter; err->pointer is
 * "/name". */
int sl_param_set(const struct sl_param_table *table, void *record, const char *name, const char *text,
		 struct sl_error *err);
/* True if the parameter was set after sl_param_defaults(). Needs a table with `given`. */
bool sl_param_given(const struct sl_param_table *table, const void *record, const char *name);
/* Like strtod(), but accepts decimal numbers only: no hexadecimal ones, no "inf" or "nan", no leading blank. *end: the
 * first character after the number, or `text` if it begins with no number. */
double sl_decimal(const char *text, char **end);

/* The first parameter that was set and makes sense for points only, or NULL. Needs a table with `given`. */
const struct sl_param_info *sl_param_of_points(const struct sl_param_table *table, const void *record);
/* The same for edge lists. */
const struct sl_param_info *sl_param_of_graphs(const struct sl_param_table *table, const void *record);

/* The same as sl_param_set() for a parameter that was found already. */
int sl_param_set_text(const struct sl_param_info *info, void *record, const char *text, struct sl_error *err);
/* Sets a parameter to a JSON number. Refused: a fraction for an integer, the automatic value, any number for ENUM, BOOL
 * and TEXT. */
int sl_param_set_number(const struct sl_param_info *info, void *record, double value, struct sl_error *err);
/* Sets a parameter of type LIST. */
int sl_param_set_list(const struct sl_param_info *info, void *record, const double *values, int count,
		      struct sl_error *err);

/* Copies the parameter's value from one record to another, unchecked. */
void sl_param_copy(const struct sl_param_info *info, void *to, const void *from);
/* True if both records have the same value of the parameter. */
bool sl_param_same(const struct sl_param_info *info, const void *a, const void *b);
/* The same for all parameters of the table; bytes between them stay as they are. */
void sl_param_copy_all(const struct sl_param_table *table, void *to, const void *from);
/* True if both records have the same values, except of steerable parameters: a state that a run with one of them saved
 * continues in a run with the other. */
bool sl_param_same_run(const struct sl_param_table *table, const void *a, const void *b);
/* If `info` is the table's leader, and was just set in the record, resets all other parameters. */
void sl_param_lead(const struct sl_param_table *table, const struct sl_param_info *info, void *record);
/* Copies the steerable values of `from` that differ. SL_CONFLICT: another value differs; err names the first, and the
 * record is unchanged. */
int sl_param_steer(const struct sl_param_table *table, void *record, const void *from, struct sl_error *err);

/* Checks that all numbers in the record are in range. For records that the functions above did not fill. */
int sl_param_check(const struct sl_param_table *table, const void *record, struct sl_error *err);

/* Writes the value as text: the automatic word, the enum's word, or the shortest digits that parse to the same number;
 * "" for TEXT. Returns out. */
char *sl_param_text(const struct sl_param_info *info, const void *record, char out[SL_PARAM_TEXT_BYTES]);
/* The same for the default value; "" if there is none. */
char *sl_param_normal_text(const struct sl_param_info *info, char out[SL_PARAM_TEXT_BYTES]);

/* The values of a LIST, or NULL for parameters of other types. */
const struct sl_param_list *sl_param_list(const struct sl_param_info *info, const void *record);
/* The value as a number: 0 or 1 for BOOL, the ordinal for ENUM, the first of a LIST. True if it is the automatic
 * value. */
bool sl_param_number(const struct sl_param_info *info, const void *record, double *value);

#ifdef __cplusplus
}
#endif
#endif
