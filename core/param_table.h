/* param_table.h -- parameters as data: of jobs, of uploads, of new points.
 *
 * A line of a table gives a parameter its name, type, range, default and text, and says where its value is in a record
 * (a struct). All that reads, checks, prints or documents parameters does so by the table: the daemon reads JSON and
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

/* The field that each needs in the record:
 * BOOL bool; INT and ENUM int; UINT64 uint64_t; DOUBLE double;
 * LIST struct sl_param_list: text "30" or "30,100", JSON a number or an array of numbers; none: automatic;
 * TEXT const char *, which belongs to whoever set it; NULL: not given. */
enum sl_type { SL_TYPE_BOOL, SL_TYPE_INT, SL_TYPE_UINT64, SL_TYPE_DOUBLE, SL_TYPE_ENUM, SL_TYPE_LIST, SL_TYPE_TEXT };

struct sl_param_info {
	const char *name;          /* "learning_rate"; the client's option is --learning-rate */
	enum sl_type type;
	size_t offset;             /* of the field in the record */
	double min, max;           /* inclusive; ENUM: 0 and number of words - 1 */
	double normal;             /* the default; out of the range: there is none */
	const char *const *words;  /* ENUM: the words by value, NULL-terminated; else NULL */
	/* ENUM that knows more words than those: its value into *out, or an error. NULL: just these words. */
	int (*parse)(const char *text, int *out, struct sl_error *err);
	/* Word that stands for automatic_value ("auto", "off"), or NULL. The number itself is refused, unless it is in the
	 * range. */
	const char *automatic;
	double automatic_value;
	bool whole;                /* LIST: of whole numbers */
	bool steerable;            /* jobs: may be changed while the job runs */
	bool points;               /* uploads: makes sense for points only */
	const char *doc;           /* one sentence, with unit */
};

struct sl_param_table {
	const struct sl_param_info *param;
	int count;
	ptrdiff_t given;           /* of a uint64_t in the record, whose bit i says that param[i] was set; -1: none */
};

/* Enough for any value's text, TEXT apart. */
#define SL_PARAM_TEXT_BYTES 224

/* NULL when there is none of that name. */
const struct sl_param_info *sl_param_find(const struct sl_param_table *table, const char *name);

/* All fields that the table knows get their defaults. */
void sl_param_defaults(const struct sl_param_table *table, void *record);

/* Sets one by text ("2", "0.5", "auto", "fine", "true"), range-checked; err->pointer is "/name". */
int sl_param_set(const struct sl_param_table *table, void *record, const char *name, const char *text,
		 struct sl_error *err);
/* Was it set since the defaults were? The table must have `given`, here and below. */
bool sl_param_given(const struct sl_param_table *table, const void *record, const char *name);
/* As strtod(), but decimal numbers only: no hexadecimal ones, no "inf" and "nan", no blank before. *end: behind the
 * number, or text if there is none. */
double sl_decimal(const char *text, char **end);

/* The first parameter of points that was set, or NULL. */
const struct sl_param_info *sl_param_of_points(const struct sl_param_table *table, const void *record);

/* The same for a parameter that has been found already. */
int sl_param_set_text(const struct sl_param_info *info, void *record, const char *text, struct sl_error *err);
/* A JSON number: no fractions where an integer is due, and no automatic value. ENUM, BOOL and TEXT take none. */
int sl_param_set_number(const struct sl_param_info *info, void *record, double value, struct sl_error *err);
/* A LIST. */
int sl_param_set_list(const struct sl_param_info *info, void *record, const double *values, int count,
		      struct sl_error *err);

/* Takes one value over as it is. */
void sl_param_copy(const struct sl_param_info *info, void *to, const void *from);

/* Is the number that the record has in range? For records that were not filled by the functions above. */
int sl_param_check(const struct sl_param_table *table, const void *record, struct sl_error *err);

/* Text of one value: automatic word, enum word, or the shortest numbers that read back; "" for TEXT. */
char *sl_param_text(const struct sl_param_info *info, const void *record, char out[SL_PARAM_TEXT_BYTES]);
/* ... of the default; "" if there is none. */
char *sl_param_normal_text(const struct sl_param_info *info, char out[SL_PARAM_TEXT_BYTES]);
/* "one of draft, normal, fine, auto" or "a number from 1 to 3, or auto", into out */
char *sl_param_range_text(const struct sl_param_info *info, char *out, size_t bytes);

/* The values of a LIST, or NULL for parameters of other types. */
const struct sl_param_list *sl_param_list(const struct sl_param_info *info, const void *record);
/* The value as a number (0 / 1 for bool, ordinal for enum, the first of a list); true when it is the automatic one. */
bool sl_param_number(const struct sl_param_info *info, const void *record, double *value);

#ifdef __cplusplus
}
#endif
#endif
