/* A value is taken apart from its ends: sign, currency and percent sign, then digits. What remains has each form
 * (decimal mark, mark of groups) that it fits; bits of the forms are intersected over a column. */
#include "core/formats/text/formatted.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct word {
	const char *text, *means;
};

static const struct word minus_signs[] = {
	{"\xe2\x88\x92", "-"}, {"\xe2\x80\x93", "-"}, {"\xef\xb9\xa3", "-"}, {"\xef\xbc\x8d", "-"},
	{"-", "-"}, {"+", "+"}, {0},
};
static const struct word blanks[] = {
	{" ", " "}, {"\xc2\xa0", " "}, {"\xe2\x80\xaf", " "}, {"\xe2\x80\x89", " "}, {"\xe2\x80\x87", " "}, {0},
};
static const struct word apostrophes[] = {{"'", "'"}, {"\xe2\x80\x99", "'"}, {"\xca\xbc", "'"}, {0}};
static const struct word currencies[] = {
	{"US$", "$"}, {"$", "$"}, {"\xe2\x82\xac", "EUR"}, {"\xc2\xa3", "GBP"}, {"\xc2\xa5", "JPY"},
	{"\xe2\x82\xb9", "INR"},
	{"\xe2\x82\xbd", "RUB"}, {"\xe2\x82\xa9", "KRW"}, {"EUR", "EUR"}, {"USD", "$"}, {"GBP", "GBP"}, {"CHF", "CHF"},
	{"JPY", "JPY"}, {"INR", "INR"}, {"CNY", "CNY"}, {"SEK", "SEK"}, {"NOK", "NOK"}, {"DKK", "DKK"}, {"PLN", "PLN"}, {0},
};
static const struct word percents[] = {{"%", "%"}, {"\xef\xbc\x85", "%"}, {0}};

/* A part of a field that is still to be read. */
struct rest {
	const char *at, *end;
};

/* Takes one of the words at the beginning (or end) of the rest; returns what it means, or NULL. */
static const char *take(struct rest *r, const struct word *words, bool from_end)
{
	for (; words->text; words++) {
		size_t length = strlen(words->text);
		if ((size_t)(r->end - r->at) < length ||
		    memcmp(from_end ? r->end - length : r->at, words->text, length) != 0)
			continue;
		if (from_end)
			r->end -= length;
		else
			r->at += length;
		return words->means;
	}
	return NULL;
}

static void trim(struct rest *r)
{
	while (take(r, blanks, false) || take(r, blanks, true))
		;
}

static bool set_currency(struct sl__formatted *out, const char *means)
{
	if (means && out->currency[0])
		return false;
	if (means)
		snprintf(out->currency, sizeof out->currency, "%s", means);
	return true;
}

/* Takes signs, currency, percent and parentheses off both ends. False: the field has two of a kind. */
static bool take_ends(struct rest *r, struct sl__formatted *out)
{
	bool signed_already = false;
	trim(r);
	if (r->end - r->at > 2 && *r->at == '(' && r->end[-1] == ')') {  /* how accountants write negative numbers */
		r->at++;
		r->end--;
		out->negative = signed_already = true;
	}
	for (int k = 0; k < 2; k++) {  /* -$5 and $-5 */
		trim(r);
		const char *sign = take(r, minus_signs, false);
		if (sign && signed_already)
			return false;
		signed_already |= sign != NULL;
		out->negative |= sign && *sign == '-';
		trim(r);
		if (!set_currency(out, take(r, currencies, false)))
			return false;
	}
	if (take(r, percents, true))
		out->percent = true;
	trim(r);
	bool fine = set_currency(out, take(r, currencies, true));
	trim(r);
	return fine;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Copies digits and marks to out->body. False: there is something else, or it is too long. */
static bool take_body(struct rest *r, struct sl__formatted *out)
{
	size_t length = 0, digits = 0;
	while (r->at < r->end) {
		const char *means;
		char c = *r->at;
		if (length + 1 == sizeof out->body)
			return false;
		if (is_digit(c) || c == '.' || c == ',')
			r->at++;
		else if ((means = take(r, blanks, false)) || (means = take(r, apostrophes, false)))
			c = *means;
		else
			break;
		digits += is_digit(c);
		out->body[length++] = c;
	}
	if (digits && r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
		const char *p = r->at + 1;
		p += p < r->end && (*p == '-' || *p == '+');
		bool fine = p < r->end;
		for (const char *q = p; q < r->end; q++)
			fine &= is_digit(*q);
		size_t size = (size_t)(r->end - r->at);
		if (!fine || length + size >= sizeof out->body)
			return false;
		memcpy(out->body + length, r->at, size);
		length += size;
		r->at = r->end;
	}
	out->body[length] = 0;
	return digits > 0 && r->at == r->end;
}

/* True if the body is a number with this decimal mark, whose groups have the mark `group` (0: they have none). */
static bool fits(const char *body, char decimal, char group)
{
	const char *p = body;
	int run = 0, groups = 0;
	for (; is_digit(*p) || (group && *p == group); p++) {
		if (is_digit(*p)) {
			run++;
			continue;
		}
		/* the first group has one to three digits and does not begin with 0; the others have three */
		if (groups++ ? run != 3 : run < 1 || run > 3 || *body == '0')
			return false;
		run = 0;
	}
	if (groups && run != 3)
		return false;
	bool whole = p > body;
	if (*p == decimal) {
		const char *first = ++p;
		while (is_digit(*p))
			p++;
		if (p == first && !whole)
			return false;
	} else if (!whole) {
		return false;
	}
	return *p == 0 || *p == 'e' || *p == 'E';
}

static uint8_t forms_of(const char *body)
{
	uint8_t forms = 0;
	for (int k = 0; k < 8; k++) {
		char decimal = k < 4 ? '.' : ',', other = k < 4 ? ',' : '.';
		const char groups[4] = {0, other, ' ', '\''};
		if (fits(body, decimal, groups[k % 4]))
			forms |= (uint8_t)(1u << k);
	}
	return forms;
}

bool sl__formatted_parse(const struct sl__field *field, struct sl__formatted *out)
{
	struct rest r = {field->text, field->text + field->length};
	float value;
	*out = (struct sl__formatted){0};
	if (!field->length || field->length > 64 || !take_ends(&r, out) || !take_body(&r, out))
		return false;
	out->forms = forms_of(out->body);
	out->plain = !out->percent && !out->currency[0] && sl__field_float(field, &value);
	return out->forms != 0;
}

double sl__formatted_value(const struct sl__formatted *number, char decimal)
{
	char text[sizeof number->body + 2], *to = text;
	for (const char *p = number->body; *p; p++) {
		if (*p == decimal)
			*to++ = '.';
		else if (is_digit(*p) || *p == 'e' || *p == 'E' || *p == '-' || *p == '+')
			*to++ = *p;
	}
	*to++ = '\n';
	const char *at = text;
	double value = 0;
	struct sl__field plain = {at, (size_t)(to - 1 - text)};
	sl__field_double(&plain, &value);
	return number->negative ? -value : value;
}
