/* recognise.c -- tells tables of points from lists of edges.
 *
 * Titles decide: those of two ends (source and target, ...) are of edges, others are of a table, unless both of the
 * first two columns hold words (and hardly any number). Without titles, four columns or more are a table; so are two or
 * three if the first two have a decimal or a negative number. What is left may be either, and is taken for edges. */
#include <stdio.h>
#include <string.h>

#include "core/formats/graphs/adjacency.h"
#include "core/formats/graphs/edge_columns.h"
#include "core/formats/graphs/network.h"
#include "core/formats/points/text_internal.h"

#define LINES 1000   /* that are looked at */
#define NUMBERS_IN_NAMES 9   /* a column of names has so many times more names than numbers */

/* What the first two columns hold. */
struct ends {
	bool decimal, negative;
	bool shifted;            /* rows have a field more than the first line: names, as R writes them */
	uint32_t word[2], number[2];  /* rows that have one */
	uint32_t rows, truths;   /* rows, and those that begin with two words such as true, no */
};

static bool is_negative(const struct sl__field *field)
{
	return field->length > 1 && *field->text == '-';
}

static bool is_truth(const struct sl__field *field)
{
	char word[16];  /* with room for the dots of a longer one */
	return field->length < 8 && sl__text_is_truth(sl__field_show(field, word, sizeof word));
}

/* Looks at the rows below the header. */
static void see_ends(struct ends *out, const struct sl__edge_columns *c, const char *at, const char *end)
{
	struct sl__fields fields;
	struct sl__line line;
	sl__fields_init(&fields);
	fields.separator = c->separator;
	for (int64_t number = 1; number < c->header + LINES && sl__next_record(&at, end, &line); number++) {
		if (number <= c->header || number <= c->marker || (at >= end && number > c->first + 1))
			continue;  /* the last line may be incomplete */
		if (sl__fields_split(&fields, line.at, line.end))
			continue;
		out->shifted |= number > c->first && (uint32_t)fields.count == c->count + 1 && c->count > 1 && !c->titled;
		if ((uint32_t)fields.count != c->count)
			continue;
		out->rows++;
		out->truths += fields.count > 1 && is_truth(&fields.field[0]) && is_truth(&fields.field[1]);
		for (int k = 0; k < 2 && k < fields.count; k++) {
			const struct sl__field *field = &fields.field[k];
			struct sl__formatted number_there;
			if (sl__text_is_missing(field))
				continue;
			bool numeric = sl__formatted_parse(field, &number_there) || sl__text_is_number(field);
			out->word[k] += !numeric;
			out->number[k] += numeric;
			for (size_t i = 0; i < field->length && numeric; i++)
				out->decimal |= strchr(".,e", field->text[i]) != NULL;
			out->negative |= numeric && is_negative(field);
		}
	}
	sl__fields_finish(&fields);
}

/* True for a column of names, a few of which may be numbers. "12" and "7-" are no names. */
static bool holds_words(const struct ends *ends, int column)
{
	return ends->word[column] > NUMBERS_IN_NAMES * ends->number[column];
}

static bool decide(const struct sl__edge_columns *c, const struct ends *ends, char sign[160])
{
	const char *why = "";
	bool points = true, words = holds_words(ends, 0) && holds_words(ends, 1);
	bool numbers = ends->number[0] || ends->number[1];
	if (c->count >= 4)
		snprintf(sign, 160, "%u columns", c->count);
	else if (ends->truths > 1 && ends->truths + 1 >= ends->rows)  /* the first row may be a header */
		why = "words such as true and false";
	else if (ends->shifted)
		why = "names of rows without a title";
	else if (c->count == 1 && ends->number[0])
		why = "one column of numbers";
	else if (c->count < 2)
		points = false;
	else if (ends->decimal && numbers)
		why = "numbers with decimals";
	else if (ends->negative)
		why = "negative numbers";
	else if (c->titled && numbers && !words)
		why = "titles, but none of source and target";
	else {
		points = false;
		why = words ? (c->titled && !c->pair ? "two columns of names below other titles" : "two columns of names") :
		      ends->word[0] || ends->word[1] ? "names and whole numbers, without titles" :
		      "whole numbers, without titles";
	}
	if (c->count < 4)
		snprintf(sign, 160, "%s", why);
	return points;
}

/* Whether the beginning of a text shows that it is an edge list, however many columns it has. sign: the reason. 0, or
 * the code of a refused reservation or allocation: nothing is known then. */
static int surely_edges(bool *sure, const unsigned char *bytes, size_t size, bool whole, struct sl_account *account,
			char sign[160])
{
	static const struct sl_read_options none;
	struct sl__edge_columns c;
	const char *reason = "";
	int rc = sl__edge_columns_find(&c, bytes, size, whole, &none, "", account, NULL);

	if (!rc && c.count > 1) {
		bool numbers = !((c.seen[0] | c.seen[1]) & (SL__SEEN_WORD | SL__SEEN_COMMA));
		reason = c.pair ? "the titles of its columns" : c.konect ? "KONECT's first line" :
			 c.count > 2 && c.seen[2] & SL__SEEN_DICT ? "networkx's dictionaries" :
			 c.count == 4 && !c.titled && numbers && c.seen[3] & SL__SEEN_TIME ? "times in the fourth column" : "";
	}
	*sure = *reason;
	snprintf(sign, 160, "%s", reason);
	sl__edge_columns_finish(&c);
	return rc;
}

/* True for word2vec's "40 4", and GCT's below "#1.2". */
static bool has_sizes(const char *at, const char *end)
{
	uint64_t told[2];
	struct sl__line line;
	const char *from = at;
	while (sl__next_line(&at, end, &line) && line.at < line.end && *line.at == '#')
		from = at;
	return sl__text_sizes(from, end, told);
}

int sl__looks_like_points(bool *points, const unsigned char *bytes, int64_t size, const char *name,
			  struct sl_account *account, char sign[160], struct sl_error *err)
{
	static const struct sl_read_options none;
	struct sl__edge_columns c;
	struct ends ends = {0};
	bool whole = size < SL__LINE_BUFFER, edges = false;
	sign[0] = 0;
	if (size && *bytes == '!')
		snprintf(sign, 160, "lines that begin with !");
	else if (has_sizes((const char *)bytes, (const char *)bytes + size))
		snprintf(sign, 160, "the first line has its numbers of rows and columns");
	*points = sign[0];
	if (*points)
		return 0;
	enum sl__network network = sl__network_of(bytes, (size_t)size, whole, name);
	if (network != SL__NO_NETWORK) {
		snprintf(sign, 160, "the format of %s", sl__network_name(network));
		return 0;
	}
	if (sl__adjacency_of(bytes, (size_t)size, whole, name) != SL__NO_ADJACENCY) {
		snprintf(sign, 160, "the format of lists of neighbours");
		return 0;
	}
	if (surely_edges(&edges, bytes, (size_t)size, whole, account, sign))
		return sl_error_memory_at(err, name, "its columns");
	if (edges)
		return 0;
	int rc = sl__edge_columns_find(&c, bytes, (size_t)size, whole, &none, "", account, NULL);
	if (!rc && c.count) {
		see_ends(&ends, &c, (const char *)bytes, (const char *)bytes + size);
		*points = decide(&c, &ends, sign);
	}
	sl__edge_columns_finish(&c);
	return rc ? sl_error_memory_at(err, name, "its columns") : 0;
}
