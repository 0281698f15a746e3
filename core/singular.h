/* singular.h -- "1 columns" becomes "1 column" in messages that are made from numbers. */
#ifndef SL_SINGULAR_H
#define SL_SINGULAR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Gives each noun behind a 1 its singular, in place; only nouns that messages count (singular.c), and nothing between
 * quotation marks, which are users' words. Verbs stay as they are: a sentence with a verb behind its noun has two
 * wordings. */
void sl_singular(char *text);

#ifdef __cplusplus
}
#endif
#endif
