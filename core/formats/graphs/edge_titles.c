/* edge_titles.c -- usual titles of the columns of edge lists. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/formats/graphs/edge_columns.h"
#include "core/meant.h"

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
					     "interaction", NULL};
	char title[40];

	sl__plain_title(field, title);
	return sl_word_in(titles, title);
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

/* ---- things of two kinds --------------------------------------------------------- */

/* The noun of a title such as userId, user_ids, "User name" or users; "": no such thing. */
static const char *noun_of(const char *title)
{
	static const char *const nouns[] = {
		"user", "movie", "film", "item", "product", "customer", "seller", "author", "paper", "article", "book",
		"reader", "artist", "song", "track", "album", "actor", "gene", "disease", "drug", "compound", "student",
		"course", "company", "member", "club", "post", "page", "tag", "word", "document", "species", "plant",
		"pollinator", "host", "parasite", "virus", "recipe", "ingredient", "player", "team", "game", "anime",
		"restaurant", "business", "repo", "repository", "query", "url", "event", "playlist", "video", "channel",
		"subreddit", "hashtag", "tweet", "group", "person", "pathway", "cell", "sample", "store", NULL,
	};
	static const char *const endings[] = {"", "s", "id", "ids", "name", "names", "key", "code", "no", "number", "idx",
					      "index", NULL};
	struct sl__field field = {title, strlen(title)};
	char plain[40];
	sl__plain_title(&field, plain);
	for (size_t k = 0; nouns[k]; k++) {
		size_t length = strlen(nouns[k]);
		if (strncmp(plain, nouns[k], length))
			continue;
		if (sl_word_in(endings, plain + length))
			return nouns[k];
	}
	return "";
}

bool sl__two_kinds(const char *source, const char *target, char side[2][40])
{
	const char *a = noun_of(source), *b = noun_of(target);
	if (!*a || !*b || !strcmp(a, b))
		return false;
	snprintf(side[0], 40, "%s ", a);
	snprintf(side[1], 40, "%s ", b);
	return true;
}

bool sl__kinds_of_titles(const struct sl__fields *titles, int *source, int *target)
{
	static const char *const others[] = {
		"weight", "weights", "w", "value", "count", "counts", "score", "rating", "ratings", "stars", "n", "plays",
		"time", "timestamp", "date", "datetime", "ts", "unixtime", "frequency", "freq", "listens", "rank", NULL,
	};
	char title[2][64], plain[40], side[2][40];
	int found = 0, at[2] = {0};
	for (int c = 0; c < titles->count && c < SL__FIELDS_MAX; c++) {
		sl__field_title(&titles->field[c], title[found < 2 ? found : 1], sizeof title[0]);
		if (found < 2 && *noun_of(title[found])) {
			at[found++] = c;
			continue;
		}
		sl__plain_title(&titles->field[c], plain);
		if (!sl_word_in(others, plain) && (c || *plain))  /* the first column may hold the rows' numbers */
			return false;
	}
	if (found < 2)
		return false;
	for (int k = 0; k < 2; k++)
		sl__field_title(&titles->field[at[k]], title[k], sizeof title[0]);
	*source = at[0];
	*target = at[1];
	return sl__two_kinds(title[0], title[1], side);
}
