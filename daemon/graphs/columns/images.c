/* Images of an array stay pixels; those of an archive stay the files they are. Nothing is decoded here, so a picture
 * that is damaged behind its first bytes is seen only when it is shown. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/images/images.h"
#include "core/formats/labels/cells.h"
#include "core/formats/numpy/npy.h"
#include "core/formats/source/source.h"
#include "core/taken/taken.h"
#include "daemon/files/taken_json.h"
#include "daemon/files/values_file.h"
#include "daemon/graphs/columns/column_kinds.h"

#define PIECE (1u << 20)
#define SIDE_MOST 4096     /* of an array's images */

struct storing {
	struct sl_source *source;
	const char *name;
	const struct sl_label_nodes *nodes;
	struct sl_account *account;
	uint64_t max_bytes;
	const char *path;
	struct sl_columns *columns;
	struct sl_values_writer *writer;
	struct sl_error *err;
};

static int memory_error(const struct storing *s)
{
	return sl_error_memory(s->err, "images of %u nodes", s->nodes->n);
}

/* An array of at least 3 dimensions; others are values. */
static bool is_array(const unsigned char *bytes, size_t size)
{
	size_t length = size < 256 ? size : 256;
	if (size < 10 || memcmp(bytes, "\x93NUMPY", 6) != 0)
		return false;
	const unsigned char *at = memmem(bytes, length, "'shape':", 8), *end = bytes + length;
	int commas = 0;
	for (bool after = false; at && at < end && *at != ')'; at++) {
		after |= *at == '(';
		commas += after && *at == ',';
	}
	return commas >= 2;
}

bool sl__images_is(const unsigned char *bytes, size_t size)
{
	return is_array(bytes, size) || (size >= 4 && (!memcmp(bytes, "PK\3\4", 4) || !memcmp(bytes, "PK\5\6", 4)));
}

static int begin(struct storing *s, int *place)
{
	char path[SL_COLUMNS_PATH];
	*place = sl_columns_free_place(s->path, s->columns, s->err);
	if (*place < 0)
		return *place;
	sl_columns_place_path(s->path, *place, path);
	return sl_values_create(&s->writer, path, s->account, s->err);
}

/* Takes the description. */
static int end(struct storing *s, int rc, int place, json_t *description)
{
	char digest[SL_VALUES_DIGEST_BYTES];
	uint64_t stored;
	if (!rc && !description)
		rc = memory_error(s);
	if (rc)
		sl_values_abandon(s->writer);
	else
		rc = sl_values_finish(s->writer, digest, &stored, s->err);
	if (rc) {
		json_decref(description);
		return rc;
	}
	return sl__kinds_set(s->columns, description, place, digest, stored, s->err);
}

/* ---- an array --------------------------------------------------------------------------------- */

/* The side of a square of so many pixels; 0: it is none. */
static uint64_t side_of(uint64_t pixels)
{
	uint64_t side = (uint64_t)sqrt((double)pixels);
	return side * side == pixels ? side : (side + 1) * (side + 1) == pixels ? side + 1 : 0;
}

/* Gives rows of square images their height and width. */
static int check_array(const struct storing *s, struct sl__npy *a)
{
	const char *file = sl__source_name(s->source);
	uint64_t channels = a->dims == 4 ? a->shape[3] : 1;
	if (a->kind == 'u' && a->size == 1 && a->dims == 2 && !side_of(a->shape[1]))
		return sl_error_at(s->err, SL_BADFORMAT, file, 0, "The array's rows have %llu pixels, which is no square; "
				   "reshape it to (n, height, width).", (unsigned long long)a->shape[1]);
	if (a->kind != 'u' || a->size != 1 || a->dims < 2)
		return sl_error_at(s->err, SL_BADFORMAT, file, 0, "The array's type is '%s' and it has %d dimensions; images "
				   "must be uint8 of shape (n, height, width), (n, height, width, 3) or (n, height, width, 4).",
				   a->descr, a->dims);
	if (a->shape[0] != s->nodes->n)
		return sl_error_at(s->err, SL_BADDATA, file, 0, "The array has %llu images, but the graph has %u nodes; there "
				   "must be one for each, in their order.", (unsigned long long)a->shape[0], s->nodes->n);
	if (channels != 1 && channels != 3 && channels != 4)
		return sl_error_at(s->err, SL_BADFORMAT, file, 0, "The images have %llu channels; they must have 1 (grey), 3 "
				   "(RGB) or 4 (RGBA), last in the shape.", (unsigned long long)channels);
	if (a->dims == 2)
		a->shape[1] = a->shape[2] = side_of(a->shape[1]);
	if (!a->shape[1] || !a->shape[2] || a->shape[1] > SIDE_MOST || a->shape[2] > SIDE_MOST)
		return sl_error_at(s->err, SL_BADFORMAT, file, 0, "The images have %llu x %llu pixels; each side must have 1 "
				   "to %d.", (unsigned long long)a->shape[2], (unsigned long long)a->shape[1], SIDE_MOST);
	if (a->fortran)
		return sl_error_at(s->err, SL_BADFORMAT, file, 0, "The array is in Fortran's order; save "
				   "numpy.ascontiguousarray(images).");
	return 0;
}

static int copy_array(struct storing *s, uint64_t left)
{
	unsigned char *piece = malloc(PIECE);
	int rc = piece ? 0 : memory_error(s);
	while (!rc && left) {
		uint64_t want = left < PIECE ? left : PIECE;
		int64_t got = sl__source_read(s->source, piece, want, s->err);
		if (got < 0)
			rc = (int)got;
		else if ((uint64_t)got < want)
			rc = sl_error_at(s->err, SL_BADDATA, sl__source_name(s->source), 0, "The file ends within the array.");
		else
			rc = sl_values_add(s->writer, piece, want, s->err);
		left -= want;
	}
	free(piece);
	return rc;
}

static int store_array(struct storing *s)
{
	struct sl__npy a;
	int place = -1, rc = sl__npy_read_header(&a, sl__source_read_for, s->source, sl__source_name(s->source), s->err);
	if (!rc)
		rc = check_array(s, &a);
	if (!rc)
		rc = begin(s, &place);
	if (rc)
		return rc;
	rc = copy_array(s, a.count);
	json_t *description = json_pack("{s:s, s:s, s:I, s:I, s:I, s:[], s:{s:s, s:I, s:I, s:I}}", "name", s->name,
			"kind",
					   "image", "read", (json_int_t)s->nodes->n, "missing", (json_int_t)0, "unmatched", (json_int_t)0,
					   "examples", "images", "encoding", "raw", "width", (json_int_t)a.shape[2], "height",
					   (json_int_t)a.shape[1], "channels", (json_int_t)(a.dims == 4 ? a.shape[3] : 1));
	if (description && a.dims == 2) {
		char why[80];
		snprintf(why, sizeof why, "each row is a square image of %u x %u pixels", (unsigned)a.shape[1],
				(unsigned)a.shape[1]);
		json_object_set_new(description, "why", json_string(why));
		json_object_set_new(description, "warns", json_false());
	}
	return end(s, rc, place, description);
}

/* ---- an archive ------------------------------------------------------------------------------- */

enum way { BY_NAME, BY_NUMBER, WAYS };

struct joining {
	struct storing *s;
	struct sl__keys keys;
	uint64_t files, named, numbered, zero, beyond;  /* files whose name is that of a node, or a number */
	enum way way;
	uint32_t first;                  /* the number of the first node */
	struct sl_value_place *place;    /* [n] */
	uint64_t left_out, images, types[SL_IMAGE_TYPE_COUNT];
	uint32_t width, height;          /* of the largest ones */
	char first_out[120];
	json_t *examples;
};

static const char *base_of(const char *path, size_t *length)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
	*length = dot && dot > base ? (size_t)(dot - base) : strlen(base);
	return base;
}

/* The node whose name is the path, or its last part, with or without its ending. */
static uint32_t by_name(const struct sl__keys *keys, const char *path)
{
	size_t length;
	const char *base = base_of(path, &length), *dot = base + length;
	if (!keys->named)
		return SL__NO_NAME;
	const struct { const char *at; size_t length; } tries[] = {{path, strlen(path)}, {path, (size_t)(dot - path)},
		{base, strlen(base)}, {base, length}};
	for (size_t k = 0; k < 4; k++) {
		uint32_t node = sl__names_find(&keys->names, tries[k].at, tries[k].length);
		if (node != SL__NO_NAME)
			return node;
	}
	return SL__NO_NAME;
}

static bool number_of(const char *path, uint64_t *out)
{
	size_t length;
	const char *base = base_of(path, &length);
	return length < 20 && sl__keys_number(base, length, out) && !memchr(base, '.', length);
}

static uint32_t node_of(const struct joining *j, const char *path)
{
	uint64_t number;
	if (j->way == BY_NAME)
		return by_name(&j->keys, path);
	if (!number_of(path, &number) || number < j->first || number - j->first >= j->keys.n)
		return SL__NO_NAME;
	return (uint32_t)(number - j->first);
}

static int see_name(void *arg, const char *path, uint64_t index, bool *wanted, struct sl_error *err)
{
	struct joining *j = arg;
	uint64_t number;
	j->files++;
	*wanted = true;
	j->named += by_name(&j->keys, path) != SL__NO_NAME;
	if (number_of(path, &number)) {
		j->numbered++;
		j->zero += number == 0;
		j->beyond += number >= j->keys.n;
	}
	return 0;
}

static int choose_way(void *arg, struct sl_error *err)
{
	struct joining *j = arg;
	j->way = j->named ? BY_NAME : BY_NUMBER;
	j->first = j->way == BY_NUMBER && !j->zero && j->beyond == 1;
	if (!j->files)
		return sl_error_at(err, SL_BADDATA, sl__source_name(j->s->source), 0, "The archive has no files.");
	if (!j->named && !j->numbered)
		return sl_error_at(err, SL_BADDATA, sl__source_name(j->s->source), 0, "No file of the archive is named by a "
				   "node: images must be called by the nodes' names, or by their numbers from 0, such as 17.png.");
	return 0;
}

static void leave_out(struct joining *j, const char *path)
{
	if (!j->left_out++)
		snprintf(j->first_out, sizeof j->first_out, "%.119s", path);
}

static int take_image(void *arg, const char *path, uint64_t index, const unsigned char *bytes, size_t size,
		      struct sl_error *err)
{
	struct joining *j = arg;
	struct sl_image_head head;
	uint32_t node = node_of(j, path);
	if (node == SL__NO_NAME) {
		leave_out(j, path);
		return 0;
	}
	if (!sl_image_look(bytes, size, &head))
		return sl_error_at(err, SL_BADFORMAT, sl__source_name(j->s->source), 0, "%.80s is no PNG, JPEG, GIF or WebP.",
				path);
	if (j->place[node].bytes != SL_NO_VALUE)
		return sl_error_at(err, SL_BADDATA, sl__source_name(j->s->source), 0, "%.80s is the second image of node %u.",
				   path, node);
	j->place[node] = (struct sl_value_place){sl_values_written(j->s->writer), size};
	j->images++;
	j->types[head.type]++;
	j->width = head.width > j->width ? head.width : j->width;
	j->height = head.height > j->height ? head.height : j->height;
	if (json_array_size(j->examples) < 3)
		json_array_append_new(j->examples, json_string(path));
	return sl_values_add(j->s->writer, bytes, size, err);
}

static int take_names(struct joining *j)
{
	const struct sl_label_nodes *nodes = j->s->nodes;
	bool repeated = false;
	int rc = 0;
	j->keys.n = nodes->n;
	sl__names_init(&j->keys.names, j->s->account);
	for (uint32_t i = 0; nodes->name_bytes && !rc && i < nodes->n; i++) {
		const char *name = nodes->name_bytes + nodes->name_at[i];
		uint32_t number;
		rc = sl__names_add(&j->keys.names, name, strlen(name), &number);
		repeated |= !rc && number != i;
	}
	j->keys.named = nodes->name_bytes && !repeated;
	return rc ? memory_error(j->s) : 0;
}

/* How files and nodes were joined. */
static json_t *tell(const struct joining *j)
{
	struct sl_taken *t = sl_taken_create();
	if (!t)
		return NULL;
	t->rows = j->files;
	t->rows_used = j->images;
	t->rows_left_out = j->left_out;
	sl_taken_add_note(t, false, j->way == BY_NAME ? "images joined by the nodes' names" :
			"images joined by the nodes' numbers, "
			  "counted from %u", j->first);
	if (j->left_out)
		sl_taken_add_note(t, false, "%llu files name no node; the first is \"%.80s\"", (unsigned long long)j->left_out,
				  j->first_out);
	if (j->images < j->keys.n)
		sl_taken_add_note(t, false, "%llu nodes have no image", (unsigned long long)(j->keys.n - j->images));
	if (j->types[SL_IMAGE_JPEG] + j->types[SL_IMAGE_GIF] + j->types[SL_IMAGE_WEBP])
		sl_taken_add_note(t, false, "JPEG, GIF and WebP images are served as they are; sheets of thumbnails show only "
				"PNG");
	json_t *out = sl_taken_json(t);
	sl_taken_destroy(t);
	return out;
}

static json_t *describe_files(const struct joining *j)
{
	json_t *types = json_object();
	for (int k = 0; k < SL_IMAGE_TYPE_COUNT; k++)
		if (j->types[k])
			json_object_set_new(types, sl_image_type_name((enum sl_image_type)k),
					json_integer((json_int_t)j->types[k]));
	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:O, s:{s:s, s:I, s:I, s:o}}", "name", j->s->name, "kind", "image",
			 "read", (json_int_t)j->images, "missing", (json_int_t)(j->keys.n - j->images), "unmatched",
			 (json_int_t)j->left_out, "examples", j->examples, "images", "encoding", "files", "width",
			 (json_int_t)j->width, "height", (json_int_t)j->height, "types", types);
}

static int store_archive(struct storing *s, json_t **taken)
{
	struct joining j = {.s = s, .examples = json_array()};
	const struct sl_images_reader reader = {see_name, choose_way, take_image, &j};
	uint32_t n = s->nodes->n;
	int place = -1, rc = take_names(&j);
	if (!rc && !(j.place = sl_account_alloc(s->account, (uint64_t)n + 1, sizeof *j.place)))
		rc = memory_error(s);
	for (uint32_t i = 0; i < n && !rc; i++)
		j.place[i] = (struct sl_value_place){0, SL_NO_VALUE};
	if (!rc)
		rc = begin(s, &place);
	if (!rc) {
		rc = sl_images_read_zip(s->source, s->max_bytes, &reader, s->err);
		if (!rc)
			rc = sl_values_add(s->writer, j.place, (uint64_t)n * sizeof *j.place, s->err);
		rc = end(s, rc, place, rc ? NULL : describe_files(&j));
	}
	if (!rc)
		*taken = tell(&j);
	json_decref(j.examples);
	sl__names_finish(&j.keys.names);
	free(j.place);
	return rc;
}

int sl__images_store(struct sl_source *source, const char *name, const struct sl_label_nodes *nodes,
		     struct sl_account *account, uint64_t max_bytes, const char *path, struct sl_columns *columns,
		     json_t **taken, struct sl_error *err)
{
	struct storing s = {.source = source, .name = name, .nodes = nodes, .account = account, .max_bytes = max_bytes,
			    .path = path, .columns = columns, .err = err};
	const unsigned char *bytes;
	int64_t size = sl__source_peek(source, &bytes, err);
	if (size < 0)
		return (int)size;
	return size >= 6 && !memcmp(bytes, "\x93NUMPY", 6) ? store_array(&s) : store_archive(&s, taken);
}
