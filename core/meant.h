/* meant.h -- "did you mean": finds the known word that is nearest to a mistyped one. */
#ifndef SL_MEANT_H
#define SL_MEANT_H

#ifdef __cplusplus
extern "C" {
#endif

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
