/* The file's own column comes first if it fits; then the column whose name has the best of the preferred words, then
 * any other, words before numbers; among equals the first. */
#include "core/picture/picture_choice.h"

#include <string.h>
#include <strings.h>

#define WORDS "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

static const char *const preferred[] = {"label", "class", "cluster", "type", "category", "target", "group"};
enum { PREFERRED = sizeof preferred / sizeof *preferred };

static int rank_of_word(const char *word, size_t length)
{
	for (int k = 0; k < PREFERRED; k++) {
		size_t own = strlen(preferred[k]);
		const char *rest = word + own;
		if (length < own || strncasecmp(word, preferred[k], own) != 0)
			continue;
		if (length == own || (length == own + 1 && (*rest == 's' || *rest == 'S')) ||
		    (length == own + 2 && !strncasecmp(rest, "es", 2)))
			return k;
	}
	return PREFERRED;
}

/* The position of the best word of the name among the preferred ones; PREFERRED: none. */
static int rank_of(const char *name)
{
	int best = PREFERRED;
	while (*name) {
		size_t length = strspn(name, WORDS);
		int rank = length ? rank_of_word(name, length) : PREFERRED;
		best = rank < best ? rank : best;
		name += length ? length : 1;
	}
	return best;
}

static bool fits(const struct sl_picture_column *c, int rank, uint32_t nodes)
{
	if (c->number)
		return !c->ids;
	return c->categories > 1 && c->categories <= nodes / 2 && (c->categories <= SL_PICTURE_FEW || rank < PREFERRED);
}

int sl_picture_choose(const struct sl_picture_column *column, int count, uint32_t nodes)
{
	int best = -1, best_rank = PREFERRED + 2;
	for (int i = 0; i < count; i++) {
		int rank = rank_of(column[i].name);
		if (!fits(&column[i], rank, nodes))
			continue;
		rank += rank == PREFERRED && column[i].number;   /* words before numbers */
		if (column[i].main)
			return i;
		if (rank < best_rank) {
			best = i;
			best_rank = rank;
		}
	}
	return best;
}
