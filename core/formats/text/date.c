/* Days are counted by the proleptic Gregorian calendar (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms"). */
#include "core/formats/text/date.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define DAY_MS 86400000ll

/* Parses `digits` digits and moves *at; -1: there are fewer. */
static int number(const char **at, int digits)
{
	int value = 0;
	for (int i = 0; i < digits; i++) {
		if (!isdigit((unsigned char)(*at)[i]))
			return -1;
		value = value * 10 + ((*at)[i] - '0');
	}
	*at += digits;
	return value;
}

static int64_t days_of(int year, int month, int day)
{
	int64_t y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400;
	int64_t of_era = y - era * 400, of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
	return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static int length_of(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
	return month == 2 && leap ? 29 : days[month - 1];
}

static bool parse_day(const char **at, int64_t *days, bool *whole)
{
	int year = number(at, 4);
	char mark = year >= 0 ? **at : 0;
	if (mark != '-' && mark != '/')
		return false;
	++*at;
	int month = number(at, 2), day = 1;
	*whole = **at == mark;
	if (*whole) {
		++*at;
		day = number(at, 2);
	}
	if (month < 1 || month > 12 || day < 1 || day > length_of(year, month) || (!*whole && mark == '/'))
		return false;
	*days = days_of(year, month, day);
	return true;
}

/* The fraction of a second, in milliseconds; digits beyond them are cut. */
static bool parse_fraction(const char **at, int *ms)
{
	int digits = 0;
	*ms = 0;
	for (++*at; isdigit((unsigned char)**at); ++*at)
		if (digits++ < 3)
			*ms = *ms * 10 + (**at - '0');
	for (int i = digits; i < 3; i++)
		*ms *= 10;
	return digits > 0;
}

static bool parse_time(const char **at, int64_t *ms)
{
	int hour = number(at, 2), minute = hour >= 0 && **at == ':' ? (++*at, number(at, 2)) : -1, second = 0, part = 0;
	if (hour > 24 || minute < 0 || minute > 59)
		return false;
	if (**at == ':') {
		++*at;
		second = number(at, 2);
		if (second < 0 || second > 60)
			return false;
		if ((**at == '.' || **at == ',') && !parse_fraction(at, &part))
			return false;
	}
	if (hour == 24 && (minute || second || part))
		return false;
	*ms = ((hour * 60ll + minute) * 60 + second) * 1000 + part;
	return true;
}

static bool parse_zone(const char **at, int64_t *ms)
{
	*ms = 0;
	if (**at == 'Z' || **at == 'z') {
		++*at;
		return true;
	}
	int sign = **at == '+' ? 1 : -1;
	++*at;
	int hour = number(at, 2), minute = 0;
	if (**at == ':')
		++*at;
	if (**at)
		minute = number(at, 2);
	if (hour < 0 || hour > 23 || minute < 0 || minute > 59)
		return false;
	*ms = sign * (hour * 60ll + minute) * 60000;
	return true;
}

bool sl_date_parse(const char *text, int64_t *ms, bool *zoneless)
{
	int64_t days, time = 0, zone = 0;
	bool whole, timed = false, zoned = false;
	if (!parse_day(&text, &days, &whole))
		return false;
	if (whole && (*text == 'T' || *text == 't' || *text == ' ')) {
		text++;
		timed = true;
		if (!parse_time(&text, &time))
			return false;
		text += *text == ' ' && text[1];
		zoned = *text && strchr("Zz+-", *text);
		if (zoned && !parse_zone(&text, &zone))
			return false;
	}
	if (*text)
		return false;
	int64_t value = days * DAY_MS + time - zone;   /* 24:00 and the zone may lead beyond the years */
	if (value < SL_DATE_FIRST || value >= SL_DATE_BEYOND)
		return false;
	*ms = value;
	if (zoneless)
		*zoneless = timed && !zoned;
	return true;
}

bool sl_date_parse_end(const char *text, int64_t *ms)
{
	const char *at = text;
	int64_t first, length = 0;
	bool whole;
	if (!sl_date_parse(text, ms, NULL))
		return false;
	if (!parse_day(&at, &first, &whole) || *at)   /* it has a time */
		return true;
	if (!whole) {
		int year = number(&text, 4);
		text++;
		length = length_of(year, number(&text, 2));
	}
	*ms += (whole ? 1 : length) * DAY_MS - 1;
	return true;
}

char *sl_date_text(int64_t ms, char out[SL_DATE_BYTES])
{
	int64_t days = ms / DAY_MS - (ms % DAY_MS < 0), rest = ms - days * DAY_MS;
	int64_t z = days + 719468, era = (z >= 0 ? z : z - 146096) / 146097, of_era = z - era * 146097;
	int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
	int day = (int)(of_year - (153 * month + 2) / 5 + 1), real = (int)(month < 10 ? month + 3 : month - 9);
	int length = snprintf(out, SL_DATE_BYTES, "%04d-%02d-%02d", (int)((year + era * 400 + (real <= 2)) % 10000), real,
			      day);
	if (!rest)
		return out;
	length += snprintf(out + length, (size_t)(SL_DATE_BYTES - length), "T%02d:%02d:%02d", (int)(rest / 3600000),
			   (int)(rest / 60000 % 60), (int)(rest / 1000 % 60));
	if (rest % 1000)
		length += snprintf(out + length, (size_t)(SL_DATE_BYTES - length), ".%03d", (int)(rest % 1000));
	snprintf(out + length, (size_t)(SL_DATE_BYTES - length), "Z");
	return out;
}

bool sl_date_is_ambiguous(const char *text)
{
	int part[3] = {0}, digits[3] = {0};
	char mark = 0;
	for (int k = 0; k < 3; k++) {
		for (; isdigit((unsigned char)*text) && digits[k] < 5; text++, digits[k]++)
			part[k] = part[k] * 10 + (*text - '0');
		if (k < 2 && (!*text || !strchr("/.-", *text) || (mark && *text != mark)))
			return false;
		mark = k < 2 ? *text++ : mark;
	}
	return !*text && digits[0] >= 1 && digits[0] <= 2 && digits[1] >= 1 && digits[1] <= 2 &&
	       (digits[2] == 2 || digits[2] == 4) && part[0] <= 31 && part[1] <= 31 && part[0] && part[1];
}
