/* The words in which GET /v1/graphs/ID/rows asks for rows: search, in, range, category, sort, columns, nodes and
 * cursor, a line each. The first byte of the input chooses the limit, and whether numbers or rows are asked for. */
#include <unistd.h>

#include "daemon/graphs/rows/rows.c"   /* answer() */
#include "tests/fuzz/fuzz.h"

#define NODES 6
#define ID "01M8J0HNT93D9M30F82215V4QX"

static char folder[64];

static const char table[] =
	"name,born,price,day,home,motto,a:b,club\n"
	"ada,1815,0.30000000000000004,1815-12-10T12:00,http://example.org/ada,Emile counts the stars,1,go\n"
	"bob,1990,12345678.91,2024-02-29,https://example.org/bob,\"Neural networks learn, and forget\",2,chess;club:go\n"
	"dan,1970,,2000-01-01T00:00:00+02:00,https://example.org/dan,networks of neural stars,,\n"
	"eve,,-3e5,1999-12-31,https://example.org/eve,a neural star,4,go\n";

static void clean(void)
{
	static const char *const endings[] = {"sll", "index"};
	char file[128];
	for (int k = 0; k < 2; k++) {
		snprintf(file, sizeof file, "%s/" ID ".%s", folder, endings[k]);
		unlink(file);
	}
	for (int k = 0; k < SL_COLUMNS_PLACES; k++) {
		snprintf(file, sizeof file, "%s/" ID ".c%02d", folder, k);
		unlink(file);
	}
	rmdir(folder);
}

/* Memory, if there is a file system in it. */
static void make_columns(void)
{
	static const char names[] = "ada\0bob\0cyd\0dan\0eve\0fay";
	static const uint64_t at[] = {0, 4, 8, 12, 16, 20, 24};
	struct sl_account account = {.take = fuzz_take, .give = fuzz_give};
	struct sl__column_wish wish = {.any = true, .account = &account, .options = fuzz_limits};
	struct sl_label_nodes nodes = {.n = NODES, .name_bytes = names, .name_at = at};
	struct sl_columns *columns = sl_columns_create(NODES);
	json_t *all = NULL, *taken = NULL;
	struct sl_error err;
	char path[128], *text = strdup(table);
	uint64_t bytes;
	snprintf(folder, sizeof folder, "%s/spaceland-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	PROMISE(columns && text && mkdtemp(folder));
	snprintf(path, sizeof path, "%s/" ID ".sll", folder);
	struct sl_uploaded in = {.data = text, .bytes = strlen(text), .folder = folder, .name = "people.csv"};
	PROMISE(!sl__kinds_table(&in, &wish, "motto:text", &nodes, path, columns, &all, &taken, &err));
	PROMISE(columns->count == 7 && !sl_columns_write(path, columns, &bytes, &err));
	sl_columns_free(columns);
	json_decref(all);
	json_decref(taken);
	free(text);
	atexit(clean);
}

static void check_numbers(const struct sl__question *q, bool chosen)
{
	uint64_t count = q->bytes->bytes / sizeof(uint32_t), seen = 0;
	PROMISE(chosen || count <= NODES);
	for (uint64_t k = 0; k < count; k++) {
		uint32_t node;
		memcpy(&node, q->bytes->data + k * sizeof node, sizeof node);
		PROMISE(node < NODES && (chosen || !(seen >> node & 1)));
		seen |= 1ull << node;
	}
}

static void check_page(const struct sl__question *q, uint32_t limit)
{
	size_t rows = json_array_size(json_object_get(q->answer, "rows"));
	json_int_t total = json_integer_value(json_object_get(q->answer, "total"));
	PROMISE(q->answer && rows <= limit && (json_int_t)rows <= total);
	char *text = json_dumps(q->answer, 0);
	PROMISE(text);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (!*folder)
		make_columns();
	if (!size)
		return 0;
	char *text = malloc(size), *at = text;
	PROMISE(text);
	memcpy(text, bytes + 1, size - 1);
	text[size - 1] = '\0';
	struct asked a = {.query = {.limit = (uint32_t)(bytes[0] >> 1 & 7) + 1, .cut = bytes[0] >> 4, .ids = bytes[0] & 1},
			  .account = {.take = fuzz_take, .give = fuzz_give}};
	for (int k = 0; k < TEXTS && at; k++) {
		const char *line = strsep(&at, "\n");
		if (*line)
			*text_of(&a.query, k) = line;
	}
	struct sl_graphs s = {.folder = folder};
	struct sl__question q = {.s = &s, .id = ID, .nodes = NODES, .more = &a};
	int rc = answer(&q);
	if (rc)
		PROMISE(rc == q.err.code && q.err.detail[0] && !q.answer &&
			(rc == SL_BADPARAM || rc == SL_CONFLICT || rc == SL_CANCELLED || rc == SL_TOOBIG));
	else if (a.query.ids)
		check_numbers(&q, a.query.nodes);
	else
		check_page(&q, a.query.limit);
	json_decref(q.answer);
	sl_buffer_unref(q.bytes);
	free(text);
	return 0;
}
