/* caseless.h -- compares texts in UTF-8 without regard to upper and lower case: "élodie" is in "Élodie23". One is made
 * and used by one thread, since it sets the thread's locale until it is finished. */
#ifndef SL_CASELESS_H
#define SL_CASELESS_H

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>

struct sl_caseless {
	char *wanted;          /* in lower case */
	char *name;            /* the present name in lower case; grows */
	size_t room;
	locale_t utf8, before;
};

enum sl_match { SL_MATCH_NONE, SL_MATCH_PART, SL_MATCH_ALL };

/* Returns false without memory; sl_caseless_finish() is called in any case. */
bool sl_caseless_init(struct sl_caseless *c, const char *wanted);
/* Whether the name is, or contains, the wanted text. Without memory: SL_MATCH_NONE. */
enum sl_match sl_caseless_match(struct sl_caseless *c, const char *name);
void sl_caseless_finish(struct sl_caseless *c);

#endif
