/* formatted.h -- numbers as spreadsheets and people write them: 12%, $45,000, 1.234,5, 1'234.5, (1,200), −1.5. Internal
 * to core/formats/.
 *
 * A form is a decimal mark with a mark between groups of three digits. One value seldom tells its form: 1,234 may be
 * 1234 or 1.234. Therefore each value tells the forms that are possible, and the column has the forms that all its
 * values share. */
#ifndef SL_FORMATTED_H
#define SL_FORMATTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/formats/text/fields.h"

/* Bits of forms: a decimal point or a decimal comma, with groups that are not marked, or marked by the other of point
 * and comma, a blank or an apostrophe. */
#define SL__POINT_FORMS 0x0fu
#define SL__COMMA_FORMS 0xf0u
#define SL__ALL_FORMS 0xffu

struct sl__formatted {
	uint8_t forms;      /* possible ones; not 0 */
	bool plain;         /* sl__field_float() reads the field as well */
	bool negative, percent;
	char currency[8];   /* "$", "EUR"; "": none */
	char body[48];      /* digits and marks without sign; blanks are ' ', apostrophes are '\'' */
};

/* False: the field is no such number. */
bool sl__formatted_parse(const struct sl__field *field, struct sl__formatted *out);

/* Its value by a decimal mark, '.' or ','; the forms must allow it. A percentage is the number before the sign. */
double sl__formatted_value(const struct sl__formatted *number, char decimal);

#endif
