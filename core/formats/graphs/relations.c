/* relations.c -- finds relations between the nodes of an edge list: "a is_a b", "c part_of b". The words of the second
 * of three columns are relations if they are few, fewer than those of both other columns, and name no node. */
#include <string.h>

#include "core/formats/graphs/edge_columns.h"

void sl__triples_init(struct sl__triples *t, struct sl_account *account)
{
	t->rows = 0;
	for (int k = 0; k < 3; k++)
		sl__names_init(&t->words[k], account);
}

void sl__triples_finish(struct sl__triples *t)
{
	for (int k = 0; k < 3; k++)
		sl__names_finish(&t->words[k]);
}

int sl__triples_add(struct sl__triples *t, const struct sl__fields *row)
{
	uint32_t place;
	int rc = 0;

	for (int k = 0; !rc && k < 3; k++)
		rc = sl__names_add(&t->words[k], row->field[k].text, row->field[k].length, &place);
	t->rows++;
	return rc;
}

bool sl__triples_have_relations(const struct sl__triples *t)
{
	const struct sl__names *between = &t->words[1];

	if (!between->n || between->n * 2 > t->rows || between->n >= t->words[0].n || between->n >= t->words[2].n)
		return false;
	for (uint32_t i = 0; i < between->n; i++) {
		const char *word = between->bytes + between->at[i];
		for (int k = 0; k < 3; k += 2)
			if (sl__names_find(&t->words[k], word, strlen(word)) != SL__NO_NAME)
				return false;
	}
	return true;
}
