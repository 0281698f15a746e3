/* meant.h -- words of lists: whether a list has one, and "did you mean", the known word that is nearest to a mistyped
 * one. Any thread. */
#ifndef SL_MEANT_H
#define SL_MEANT_H

#include <limits.h>
#include <stdbool.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The index of the word among the first `count` ones of a list, which may end before by a NULL. -1: it is not among
 * them, or is NULL. */
static inline int sl_word_index(const char *const *list, int count, const char *word)
{
	for (int i = 0; word && i < count && list[i]; i++)
		if (!strcmp(list[i], word))
			return i;
	return -1;
}

/* True if a list that ends by a NULL has the word. */
static inline bool sl_word_in(const char *const *list, const char *word)
{
	return sl_word_index(list, INT_MAX, word) >= 0;
}

struct sl_meant {
	const char *word;  /* as typed; borrowed */
	const char *best;  /* the nearest known word so far, or NULL; borrowed */
	int distance;
};

void sl_meant_init(struct sl_meant *n, const char *word);
/* Compares with one of the known words. Of equally near words the first is kept. */
void sl_meant_try(struct sl_meant *n, const char *known);
/* The nearest known word; NULL if none is near enough to be a likely correction. */
const char *sl_meant_word(const struct sl_meant *n);

#ifdef __cplusplus
}
#endif
#endif
