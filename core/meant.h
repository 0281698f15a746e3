/* meant.h -- "did you mean": of the words that are known, the one that a mistyped word is nearest to. */
#ifndef SL_MEANT_H
#define SL_MEANT_H

#ifdef __cplusplus
extern "C" {
#endif

struct sl_meant {
	const char *word, *best;  /* as typed; the nearest so far, or NULL. Borrowed */
	int distance;
};

void sl_meant_init(struct sl_meant *n, const char *word);
/* One of the known words. Of equally near ones the first is kept. */
void sl_meant_try(struct sl_meant *n, const char *known);
/* The nearest, or NULL when none is near enough to be meant. */
const char *sl_meant_word(const struct sl_meant *n);

#ifdef __cplusplus
}
#endif
#endif
