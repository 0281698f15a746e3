/* caseless.c -- letters become lower case one by one, by the C library's table of the locale C.UTF-8. Texts of ASCII
 * alone, which are most, take strcasestr(). Bytes that are not UTF-8 stay as they are. */
#include "daemon/util/caseless.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

#define GROWTH 2       /* times the bytes of a letter that its lower case may take: two become three at most */

static bool is_ascii(const char *text)
{
	while (*text && !(*text & 0x80))
		text++;
	return !*text;
}

/* to: GROWTH * strlen(text) + 1 bytes. */
static void lower(char *to, const char *text)
{
	mbstate_t in = {0}, out = {0};
	for (size_t left = strlen(text); left;) {
		wchar_t letter;
		size_t took = mbrtowc(&letter, text, left, &in), wrote = (size_t)-1;
		if (took && took <= left)
			wrote = wcrtomb(to, (wchar_t)towlower((wint_t)letter), &out);
		if (wrote == (size_t)-1) {   /* no letter */
			memset(&in, 0, sizeof in);
			memset(&out, 0, sizeof out);
			took = wrote = 1;
			*to = *text;
		}
		text += took;
		left -= took;
		to += wrote;
	}
	*to = '\0';
}

bool sl_caseless_init(struct sl_caseless *c, const char *wanted)
{
	*c = (struct sl_caseless){.utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0)};
	if (c->utf8)
		c->before = uselocale(c->utf8);
	c->wanted = malloc(GROWTH * strlen(wanted) + MB_LEN_MAX);
	if (c->wanted)
		lower(c->wanted, wanted);
	return c->wanted;
}

enum sl_match sl_caseless_match(struct sl_caseless *c, const char *name)
{
	size_t need = GROWTH * strlen(name) + MB_LEN_MAX;
	if (is_ascii(c->wanted) && is_ascii(name)) {
		const char *at = strcasestr(name, c->wanted);
		return !at ? SL_MATCH_NONE : at == name && !name[strlen(c->wanted)] ? SL_MATCH_ALL : SL_MATCH_PART;
	}
	if (need > c->room) {
		char *grown = realloc(c->name, need);
		if (!grown)
			return SL_MATCH_NONE;
		c->name = grown;
		c->room = need;
	}
	lower(c->name, name);
	return !strstr(c->name, c->wanted) ? SL_MATCH_NONE : strcmp(c->name, c->wanted) ? SL_MATCH_PART : SL_MATCH_ALL;
}

void sl_caseless_finish(struct sl_caseless *c)
{
	if (c->utf8) {
		uselocale(c->before);
		freelocale(c->utf8);
	}
	free(c->wanted);
	free(c->name);
}
