/* A kind is recognised only if all texts are of it: one word among a million numbers makes words of all, and the guess
 * says which one. Nothing is dropped to make a column fit. */
#include "core/formats/labels/kinds.h"

#include <string.h>
#include <strings.h>

#include "core/formats/text/date.h"
#include "core/formats/text/number.h"
#include "core/meant.h"

#define LONG_TEXT 100      /* bytes; longer texts are no categories */
#define FEW 50             /* so many different words may all be different and still be categories */

static const char *const names[] = {
#define X(kind, name) name,
	SL_COLUMN_KINDS(X)
#undef X
};

const char *sl_column_kind_name(enum sl_column_kind kind)
{
	return names[kind];
}

bool sl_column_kind_parse(const char *name, enum sl_column_kind *out)
{
	int k = sl_word_index(names, SL_COLUMN_KIND_COUNT, name);
	if (k >= 0)
		*out = (enum sl_column_kind)k;
	return k >= 0;
}

/* ---- one text ------------------------------------------------------------------------------ */

bool sl_column_number(const char *text, double *out)
{
	const char *at = text;
	return sl__parse_double(&at, out) && !*at;
}

/* 007, -01: words that look like numbers. */
static bool has_zeros(const char *text)
{
	text += *text == '-' || *text == '+';
	return *text == '0' && text[1] >= '0' && text[1] <= '9';
}

/* A whole number beyond 2^53 that float64 does not hold. */
static bool is_rounded(const char *text, double number)
{
	char back[400];
	if ((number < 9007199254740992.0 && number > -9007199254740992.0) || strspn(text, "+-0123456789") != strlen(text))
		return false;
	snprintf(back, sizeof back, "%.0f", number);
	return strcmp(back, text + (*text == '+')) != 0;
}

static bool is_link(const char *text)
{
	return (!strncasecmp(text, "https://", 8) && text[8]) || (!strncasecmp(text, "http://", 7) && text[7]);
}

static bool fits(enum sl_column_kind kind, const char *text)
{
	double number;
	int64_t ms;
	return kind == SL_COLUMN_NUMBER ? sl_column_number(text, &number) : kind == SL_COLUMN_DATE ?
	       sl_date_parse(text, &ms, NULL) : kind == SL_COLUMN_LINK ? is_link(text) : true;
}

/* ---- a column -------------------------------------------------------------------------------- */

struct seen {
	uint32_t numbers, zeros, dates, links, ambiguous;   /* different texts */
	uint32_t other_number, other_date, other_link;      /* the first text that is none; `labels`: there is none */
	uint32_t zoneless, large;
	size_t longest;
	uint64_t values;                                    /* nodes that have one */
};

static void look(const struct sl_label_column *c, uint32_t n, struct seen *s)
{
	*s = (struct seen){.other_number = c->labels, .other_date = c->labels, .other_link = c->labels};
	for (uint32_t k = 0; k < c->labels; k++) {
		const char *text = c->text[k];
		double number = 0;
		int64_t ms;
		bool zoneless = false, is_number = sl_column_number(text, &number), date = sl_date_parse(text, &ms, &zoneless);
		bool link = is_link(text);
		size_t length = strlen(text);
		s->numbers += is_number;
		s->zeros += is_number && has_zeros(text);
		s->large += is_number && is_rounded(text, number);
		s->dates += date;
		s->zoneless += zoneless;
		s->links += link;
		s->ambiguous += sl_date_is_ambiguous(text);
		s->longest = length > s->longest ? length : s->longest;
		s->other_number = !is_number && s->other_number == c->labels ? k : s->other_number;
		s->other_date = !date && s->other_date == c->labels ? k : s->other_date;
		s->other_link = !link && s->other_link == c->labels ? k : s->other_link;
	}
	for (uint32_t i = 0; i < n; i++)
		s->values += c->label[i] != SL_UNLABELLED;
}

static void warn(struct sl_column_guess *g, const char *what, uint32_t count, uint32_t all, const char *other)
{
	snprintf(g->why, sizeof g->why, "%u of %u different values are %s, but not \"%.60s\", so they are words", count,
		 all, what, other);
	g->warns = true;
}

/* What the texts could have been. */
static void tell_words(const struct sl_label_column *c, const struct seen *s, struct sl_column_guess *g)
{
	uint32_t all = c->labels;
	if (all && s->numbers == all && s->zeros)
		snprintf(g->why, sizeof g->why, "numbers with zeros in front, such as postal codes, are words");
	else if (s->numbers >= 3 && s->numbers < all && 10 * (uint64_t)s->numbers >= 9 * (uint64_t)all)
		warn(g, "numbers", s->numbers, all, c->text[s->other_number]);
	else if (s->dates >= 3 && s->dates < all && 10 * (uint64_t)s->dates >= 9 * (uint64_t)all)
		warn(g, "dates", s->dates, all, c->text[s->other_date]);
	else if (s->links >= 3 && s->links < all && 10 * (uint64_t)s->links >= 9 * (uint64_t)all)
		warn(g, "links", s->links, all, c->text[s->other_link]);
	else if (s->ambiguous && s->ambiguous == all) {
		snprintf(g->why, sizeof g->why, "\"%.40s\" does not tell day and month apart, so these are words; write dates "
			 "as 2024-01-31", c->text[0]);
		g->warns = true;
	}
}

void sl_column_recognise(const struct sl_label_column *c, uint32_t n, struct sl_column_guess *out)
{
	struct seen s;
	*out = (struct sl_column_guess){.kind = SL_COLUMN_CATEGORY};
	look(c, n, &s);
	if (c->labels && s.numbers == c->labels && !s.zeros && !s.large) {
		out->kind = SL_COLUMN_NUMBER;
	} else if (c->labels && s.dates == c->labels) {
		out->kind = SL_COLUMN_DATE;
		if (s.zoneless)
			snprintf(out->why, sizeof out->why, "times without a zone are read as UTC");
	} else if (c->labels && s.links == c->labels) {
		out->kind = SL_COLUMN_LINK;
	} else {
		bool many = c->labels > FEW && 2 * (uint64_t)c->labels > s.values;
		out->kind = s.longest > LONG_TEXT || many || c->labels > SL_COLUMN_CATEGORIES_MOST ? SL_COLUMN_TEXT
											       : SL_COLUMN_CATEGORY;
		tell_words(c, &s, out);
		if (s.large && s.numbers == c->labels)
			snprintf(out->why, sizeof out->why, "whole numbers beyond 2^53 are words, since float64 would change them");
	}
}

int sl_column_kind_check(const struct sl_label_column *c, enum sl_column_kind kind, struct sl_error *err)
{
	static const char *const must[] = {[SL_COLUMN_NUMBER] = "a number such as -1.5e3", [SL_COLUMN_DATE] =
			"a date such as "
					   "2024-01-31 or 2024-01-31T10:15:30Z", [SL_COLUMN_LINK] = "a link: http:// or https://"};
	uint32_t bad = 0, first = 0;
	if (kind == SL_COLUMN_IMAGE)
		return sl_error_set(err, SL_BADDATA, "column \"%.60s\": a text has no images; send an array of uint8 (n x "
				    "height x width), or a zip of image files", c->title);
	if (kind == SL_COLUMN_CATEGORY && c->labels > SL_COLUMN_CATEGORIES_MOST)
		return sl_error_set(err, SL_BADDATA, "column \"%.60s\" has %u different words; a column of categories has %d "
				    "at most; use kind=text", c->title, c->labels, SL_COLUMN_CATEGORIES_MOST);
	for (uint32_t k = 0; k < c->labels; k++)
		if (!fits(kind, c->text[k]) && !bad++)
			first = k;
	if (bad)
		return sl_error_set(err, SL_BADDATA, "column \"%.60s\": %u of %u different values are not of kind %s; the "
				    "first is \"%.60s\", but each must be %s", c->title, bad, c->labels, names[kind], c->text[first],
				    must[kind]);
	return 0;
}
