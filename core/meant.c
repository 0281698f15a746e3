/* The edit distance of short words: Levenshtein's, where exchanging neighbouring letters counts as one step. */
#include "core/meant.h"

#include <stddef.h>
#include <string.h>

#define LONGEST 64  /* letters; longer words get no suggestion */

/* Neither case nor the separator of parts makes a difference: learning_rate, learning-rate. */
static char letter(char c)
{
	return (char)(c == '_' ? '-' : c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

static int distance(const char *a, const char *b)
{
	int rows[3][LONGEST], m = (int)strlen(b);
	if (m >= LONGEST || strlen(a) >= LONGEST)
		return LONGEST;
	for (int k = 0; k <= m; k++)
		rows[0][k] = k;
	int i = 1;
	for (; a[i - 1]; i++) {
		int *row = rows[i % 3], *above = rows[(i + 2) % 3], *two_above = rows[(i + 1) % 3];
		row[0] = i;
		for (int k = 1; k <= m; k++) {
			row[k] = least(least(row[k - 1], above[k]) + 1, above[k - 1] + (letter(a[i - 1]) != letter(b[k - 1])));
			if (i > 1 && k > 1 && letter(a[i - 1]) == letter(b[k - 2]) && letter(a[i - 2]) == letter(b[k - 1]))
				row[k] = least(row[k], two_above[k - 2] + 1);
		}
	}
	return rows[(i - 1) % 3][m];
}

void sl_meant_init(struct sl_meant *n, const char *word)
{
	*n = (struct sl_meant){.word = word, .distance = LONGEST};
}

void sl_meant_try(struct sl_meant *n, const char *known)
{
	size_t length = strlen(n->word);
	int d = length >= 3 && !strncmp(n->word, known, length) ? 1 : distance(n->word, known);
	if (d < n->distance) {
		n->distance = d;
		n->best = known;
	}
}

const char *sl_meant_word(const struct sl_meant *n)
{
	int length = (int)strlen(n->word), d = n->distance;
	return 2 * d <= length && (d <= 2 || (d <= 4 && 3 * d <= length)) ? n->best : NULL;
}
