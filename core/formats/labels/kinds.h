/* kinds.h -- what a column of texts holds: categories, numbers, dates, texts or links. Any thread. */
#ifndef SL_COLUMN_KINDS_H
#define SL_COLUMN_KINDS_H

#include "core/formats/labels/labels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* kind, its name for users */
#define SL_COLUMN_KINDS(X) \
	X(CATEGORY, "category")  /* words that repeat */ \
	X(NUMBER,   "number") \
	X(DATE,     "date")      /* core/formats/text/date.h */ \
	X(TEXT,     "text")      /* prose, names: hardly any text twice */ \
	X(LINK,     "link")      /* http:// or https:// */ \
	X(IMAGE,    "image")     /* no text is one; core/formats/images/images.h */

enum sl_column_kind {
#define X(kind, name) SL_COLUMN_##kind,
	SL_COLUMN_KINDS(X)
#undef X
	SL_COLUMN_KIND_COUNT
};

const char *sl_column_kind_name(enum sl_column_kind kind);
/* False: there is no such kind. */
bool sl_column_kind_parse(const char *name, enum sl_column_kind *out);

#define SL_COLUMN_CATEGORIES_MOST 65536   /* different words of a column of categories */
#define SL_COLUMN_WHY_BYTES 200

struct sl_column_guess {
	enum sl_column_kind kind;
	char why[SL_COLUMN_WHY_BYTES];  /* what was guessed, or could be meant otherwise; "": nothing to say */
	bool warns;                     /* why is a reason to look: 3 of 1,000 values are no numbers */
};

/* Recognises the kind of a column for n nodes by all of its different texts. Numbers with zeros in front, such as
 * postal codes, are words, unless wanted says that they are numbers. */
void sl_column_recognise(const struct sl_label_column *c, uint32_t n, struct sl_column_guess *out);
/* Whether all texts can be of this kind. SL_BADDATA: one can't be, which err shows. */
int sl_column_kind_check(const struct sl_label_column *c, enum sl_column_kind kind, struct sl_error *err);

/* The text as a finite number, or inf or nan; the whole of it. */
bool sl_column_number(const char *text, double *out);

#ifdef __cplusplus
}
#endif
#endif
