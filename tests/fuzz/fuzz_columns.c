/* Columns of any kind, as a client sends them: the first byte of the input chooses the nodes, the kind, and whether the
 * body is a table or one column; the body follows. What is accepted must fit its description. */
#include <unistd.h>

#include "daemon/files/values_file.h"
#include "daemon/graphs/columns/column_kinds.h"
#include "tests/fuzz/fuzz.h"

#define NODES 6

static char folder[64], path[96];

static void clean(void)
{
	rmdir(folder);
}

/* Memory, if there is a file system in it: each column is synchronised. */
static void make_folder(void)
{
	if (*folder)
		return;
	snprintf(folder, sizeof folder, "%s/spaceland-fuzz-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	PROMISE(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/graph.sll", folder);
	atexit(clean);
}

static void check_places(const struct sl_column *c)
{
	struct sl_value_place place[NODES];
	struct sl_error err;
	struct sl_values v;
	char file[SL_COLUMNS_PATH];
	const char *kind = sl_column_kind(c);
	const json_t *images = json_object_get(c->description, "images");
	const char *encoding = json_string_value(json_object_get(images, "encoding"));
	sl_columns_place_path(path, sl_column_place(c), file);
	PROMISE(!sl_values_open(&v, file, json_string_value(json_object_get(c->description, "digest")), NODES, &err));
	if (encoding && !strcmp(encoding, "raw"))
		PROMISE(v.bytes == NODES * (uint64_t)json_integer_value(json_object_get(images, "width")) *
			(uint64_t)json_integer_value(json_object_get(images, "height")) *
			(uint64_t)json_integer_value(json_object_get(images, "channels")));
	else if (!strcmp(kind, "number") || !strcmp(kind, "date"))
		PROMISE(v.bytes == NODES * 8);
	else
		PROMISE(!sl_values_places(&v, 0, NODES, place, &err));
	sl_values_close(&v);
}

static void check_column(const struct sl_column *c)
{
	const char *kind = sl_column_kind(c);
	const json_t *d = c->description;
	enum sl_column_kind parsed;
	PROMISE(*sl_column_name(c) && sl_column_kind_parse(kind, &parsed));
	PROMISE(json_integer_value(json_object_get(d, "read")) + json_integer_value(json_object_get(d, "missing")) ==
		NODES);
	if (sl_column_place(c) >= 0)
		check_places(c);
	else
		PROMISE(c->value);
	for (int i = 0; i < NODES && !strcmp(kind, "category"); i++) {
		uint32_t code = ((const uint32_t *)c->value)[i];
		PROMISE(code == SL_NO_CODE || code < json_array_size(json_object_get(d, "categories")));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const char *const kinds[] = {NULL, NULL, "text", "number", "date", "category", "link", "image"};
	static const char names[] = "ada\0bob\0cyd\0dan\0eve\0fay";
	static const uint64_t at[] = {0, 4, 8, 12, 16, 20, 24};
	make_folder();
	if (!size)
		return 0;
	bool named = bytes[0] & 1, table = bytes[0] & 2;
	const char *kind = kinds[bytes[0] >> 2 & 7];
	struct sl_account account = {.take = fuzz_take, .give = fuzz_give};
	struct sl_label_nodes nodes = {.n = NODES, .name_bytes = named ? names : NULL, .name_at = named ? at : NULL};
	struct sl__column_wish wish = {.name = table ? NULL : "column", .any = true, .account = &account,
				       .options = fuzz_limits};
	/* a block of its size: the sanitizer sees what is read beyond it */
	struct sl_uploaded in = {.data = malloc(size), .bytes = size - 1, .folder = folder, .name = "input"};
	struct sl_columns *columns = sl_columns_create(NODES);
	json_t *all = NULL, *taken = NULL;
	struct sl_error err = {0};
	PROMISE(in.data && columns);
	memcpy(in.data, bytes + 1, size - 1);
	int rc = table ? sl__kinds_table(&in, &wish, kind, &nodes, path, columns, &all, &taken, &err)
		       : sl__kinds_column(&in, &wish, kind, &nodes, path, columns, &taken, &err);
	if (rc) {
		PROMISE(rc < 0 && err.code == rc && err.detail[0]);
		PROMISE(rc == SL_BADFORMAT || rc == SL_BADDATA || rc == SL_BADPARAM || rc == SL_TOOBIG);
	} else {
		PROMISE(columns->count > 0);
	}
	for (int i = 0; i < columns->count && !rc; i++)
		check_column(&columns->column[i]);
	for (int i = columns->count; i > 0; i--)
		sl_columns_remove(columns, &columns->column[i - 1]);
	sl_columns_clear_places(path, columns);
	sl_columns_free(columns);
	json_decref(all);
	json_decref(taken);
	free(in.data);
	return 0;
}
