/* edge_titles.c -- usual titles of the columns of edge lists. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/formats/graphs/edge_columns.h"

/* Lower case, without blanks and punctuation. */
void sl__plain_title(const struct sl__field *field, char out[40])
{
	size_t length = 0;

	for (size_t k = 0; k < field->length && length < 39; k++)
		if (!strchr(" _-.", field->text[k]))
			out[length++] = (char)tolower((unsigned char)field->text[k]);
	out[length] = 0;
}

/* The title of a column of relations between two of nodes: head, relation, tail. */
static bool is_relation(const struct sl__field *field)
{
	static const char *const titles[] = {"relation", "rel", "relationship", "predicate", "edge", "edgetype",
					     "interaction"};
	char title[40];

	sl__plain_title(field, title);
	for (size_t k = 0; k < sizeof titles / sizeof *titles; k++)
		if (!strcmp(title, titles[k]))
			return true;
	return false;
}

bool sl__edge_titles(const struct sl__fields *titles, int *source, int *target)
{
	static const struct {
		const char *source, *target;
		bool weak;  /* also usual in tables of points */
	} pairs[] = {
		{"source", "target", false}, {"sourceid", "targetid", false}, {"sourcenode", "targetnode", false},
		{"src", "dst", false}, {"src", "dest", false}, {"srcid", "dstid", false}, {"source", "destination", false},
		{"source", "dest", false}, {"source", "sink", false}, {"from", "to", false}, {"fromid", "toid", false},
		{"fromnodeid", "tonodeid", false}, {"fromnode", "tonode", false}, {"nodefrom", "nodeto", false},
		{"node1", "node2", false}, {"nodea", "nodeb", false}, {"nodeid1", "nodeid2", false},
		{"node1id", "node2id", false}, {"id1", "id2", false}, {"vertex1", "vertex2", false}, {"v1", "v2", true},
		{"protein1", "protein2", false}, {"gene1", "gene2", false}, {"genea", "geneb", false},
		{"interactora", "interactorb", false}, {"officialsymbolinteractora", "officialsymbolinteractorb", false},
		{"user1", "user2", false}, {"person1", "person2", false}, {"author1", "author2", false},
		{"entity1", "entity2", false}, {"follower", "followee", false}, {"sender", "receiver", false},
		{"sender", "recipient", false}, {"caller", "callee", false}, {"citing", "cited", false},
		{"origin", "destination", false}, {"ego", "alter", false}, {"subject", "object", false},
		{"start", "end", true}, {"tail", "head", true},
		{"head", "tail", true}, {"row", "col", true}, {"row", "column", true}, {"u", "v", true}, {"i", "j", true},
	};
	char title[40], third[40];

	for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
		size_t length = strlen(pairs[k].target);
		bool counted = pairs[k].target[length - 1] == '2', more = false;  /* gene1, gene2, gene3: no pair */
		int at[2] = {-1, -1};
		snprintf(third, sizeof third, "%.*s3", (int)length - 1, pairs[k].target);
		for (int c = 0; c < titles->count && c < SL__FIELDS_MAX; c++) {
			sl__plain_title(&titles->field[c], title);
			if (at[0] < 0 && !strcmp(title, pairs[k].source))
				at[0] = c;
			if (at[1] < 0 && !strcmp(title, pairs[k].target))
				at[1] = c;
			more |= counted && !strcmp(title, third);
		}
		bool beside = !at[0] && (at[1] == 1 || (at[1] == 2 && is_relation(&titles->field[1]))) && titles->count <= 3;
		if (more || at[0] < 0 || at[1] < 0 || (pairs[k].weak && !beside))
			continue;
		*source = at[0];
		*target = at[1];
		return true;
	}
	return false;
}
