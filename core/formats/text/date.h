/* date.h -- dates and times as ISO 8601 writes them. Internal to core/formats/.
 *
 * Accepts 2024-01-31, 2024/01/31, 2024-01, and a time behind a day: 2024-01-31T10:15, ... 10:15:30, ... 10:15:30.25,
 * with a blank instead of the T, and perhaps Z, +02, +0200 or +02:00. Without a zone it is UTC. Forms such as
 * 01/02/2024 mean different days to different people, and are not dates here. */
#ifndef SL_DATE_H
#define SL_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_NO_DATE INT64_MIN
#define SL_DATE_FIRST (-62167219200000ll)  /* 0000-01-01 */
#define SL_DATE_BEYOND 253402300800000ll   /* 10000-01-01 */

/* Parses the whole text, as milliseconds since 1970-01-01T00:00:00Z, from year 0 to 9999. *zoneless: it has a time
 * without a zone; NULL is fine. False: it is no date. */
bool sl_date_parse(const char *text, int64_t *ms, bool *zoneless);
/* The same for the end of a range: the last millisecond of a day or month that the text names; a time is itself. */
bool sl_date_parse_end(const char *text, int64_t *ms);
/* "2024-01-31", with a time if there is one: "2024-01-31T10:15:30Z", "2024-01-31T10:15:30.250Z". Returns out. */
#define SL_DATE_BYTES 32
char *sl_date_text(int64_t ms, char out[SL_DATE_BYTES]);
/* True if the text looks like a day with its month, in an order that the text does not tell: 01/02/2024, 1.2.24. */
bool sl_date_is_ambiguous(const char *text);

#endif
