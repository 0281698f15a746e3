/* sides.c -- edge lists whose two columns hold nodes of two kinds, such as users and films. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/formats/graphs/edge_columns.h"

void sl__edge_sides(struct sl__edge_columns *c, const struct sl_read_options *options)
{
	const char *title[2] = {c->titled ? c->title[c->source] : "", c->titled ? c->title[c->target] : ""};
	c->kinds = !c->konect && sl__two_kinds(title[0], title[1], c->side);
	c->bipartite = options->bipartite == SL_SIDES_TWO ||
		       (options->bipartite == SL_SIDES_AUTO && (c->bipartite || c->kinds));
	for (int k = 0; c->bipartite && k < 2 && !c->kinds; k++) {
		bool named = !c->konect && *title[k] && strlen(title[k]) < 38 && strcmp(title[0], title[1]) != 0;
		snprintf(c->side[k], sizeof c->side[k], "%.38s%s", named ? title[k] : k ? "v" : "u", named ? " " : "");
	}
}

/* True if the name is on the other side, too. */
static bool on_other_side(const struct sl__names *names, char *name)
{
	*name = *name == 'u' ? 'v' : 'u';
	bool found = sl__names_find(names, name, strlen(name)) != SL__NO_NAME;
	*name = *name == 'u' ? 'v' : 'u';
	return found;
}

int sl__sides_name(struct sl__names *names, char side[2][40], bool always, bool *both)
{
	struct sl__names all;
	char *text = NULL;
	size_t room = 0;
	int rc = 0;
	*both = always;
	for (uint32_t i = 0; i < names->n && !*both; i++)
		*both = on_other_side(names, names->bytes + names->at[i]);
	sl__names_init(&all, names->account);
	for (uint32_t i = 0; !rc && i < names->n; i++) {
		const char *name = names->bytes + names->at[i], *before = *both ? side[*name == 'v'] : "";
		size_t length = strlen(name + 1), prefix = strlen(before);
		if (room < prefix + length + 1) {
			room = 2 * (prefix + length) + 64;
			char *grown = realloc(text, room);
			if (!grown) {
				rc = SL_NOMEM;
				break;
			}
			text = grown;
		}
		memcpy(text, before, prefix);
		memcpy(text + prefix, name + 1, length);
		rc = sl__names_append(&all, text, prefix + length);
	}
	free(text);
	sl__names_finish(rc ? &all : names);
	if (!rc)
		*names = all;
	return rc;
}
