/* json.h -- strict reading of what clients send: unknown fields, wrong types and duplicate
 * keys are errors that name the field and say how to correct it. Also: JSON values of numbers and times, and a fast
 * writer for replies. */
#ifndef SL_JSON_H
#define SL_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "core/error.h"

/* The memory that jansson takes for the tree of a text, at most; `[]` and `{}` take 80 times their text. Any text. */
uint64_t sl_json_tree_bytes(const char *text, size_t bytes);
/* Parses text, which must be one JSON object; an error names `file` and the line. New reference. Books the tree in
 * account (core/account.h; NULL: no limit) before it makes it: SL_TOOBIG, SL_NOMEM. The caller closes the account when
 * it has freed the tree. */
struct sl_account;
int sl_json_object(json_t **out, const char *text, size_t bytes, const char *file, struct sl_account *account,
		   struct sl_error *err);

/* Checks that `known` (NULL-terminated) has every key of the object; the error lists the known keys. */
int sl_json_known(const json_t *object, const char *const *known, struct sl_error *err);

/* A copy of the string at this key, which the caller frees; NULL: there is none, or no memory. */
char *sl_json_copy(const json_t *object, const char *key);

/* Optional members: absent leaves *out as it is. err->pointer is "/key". */
int sl_json_string(const json_t *object, const char *key, const char **out, struct sl_error *err);  /* borrowed */
int sl_json_bool(const json_t *object, const char *key, bool *out, struct sl_error *err);
int sl_json_int(const json_t *object, const char *key, int64_t min, int64_t max, int64_t *out, struct sl_error *err);

json_t *sl_json_number(double x);      /* null unless x is finite */
json_t *sl_json_text_or_null(const char *text);
json_t *sl_json_time(uint64_t ms);     /* RFC 3339; null for 0 */

/* The text of a value, without blanks, numbers with at most 15 digits: what json_dumps() writes with JSON_COMPACT and
 * JSON_REAL_PRECISION(15), in a third of the time. malloc'd; NULL: no memory, or no value. */
char *sl_json_text(const json_t *value, size_t *length);
/* The same with as many digits as float64 needs: values of users. */
char *sl_json_text_exact(const json_t *value, size_t *length);

/* Writes text as a JSON string, with its quotes, to a place of sl_json_string_bytes() bytes. Returns the end of the
 * string; writes no zero byte. */
char *sl_json_put_string(char *to, const char *text);
size_t sl_json_string_bytes(const char *text);  /* an upper bound */

/* The name of a graph or a job: UTF-8, 1 to 200 characters. sl_json_name() reads the member "name"; sl_name_check()
 * checks a name from another source; `pointer` becomes err->pointer. */
int sl_json_name(const json_t *object, const char **out, struct sl_error *err);  /* borrowed */
int sl_name_check(const char *name, const char *pointer, struct sl_error *err);
/* Copies as much of the text as fits into `bytes`, at least 1. A character of which only a part would fit is left out:
 * JSON takes no such part. */
void sl_json_copy_text(char *out, size_t bytes, const char *text);

#endif
