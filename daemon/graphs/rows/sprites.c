/* Images and sheets of thumbnails. A sheet has only what is decoded here, PNG and pixels; the cells of other images
 * stay transparent, and the client shows the images themselves. */
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/images/images.h"
#include "core/formats/images/sprites.h"
#include "daemon/graphs/rows/rows_internal.h"
#include "daemon/users/bookings.h"
#include "daemon/users/users.h"

struct asked {
	struct sl_sprites_query query;
	uint32_t node;
	bool sheet;
	char *column, *nodes;
	struct sl_account account;
};

struct images {
	struct sl__rows *r;
	struct sl__row_column *c;
	bool raw;
	uint32_t width, height;        /* raw */
	int channels;
	struct sl_error *err;
};

static int open_images(struct images *im, struct sl__rows *r, const char *name)
{
	*im = (struct images){.r = r, .c = sl__rows_column(r, name, NULL), .err = r->err};
	if (!im->c)
		return r->err->code;
	if (im->c->kind != SL_COLUMN_IMAGE)
		return sl_error_set(r->err, SL_CONFLICT, "column \"%.60s\" is of kind %s, not image", name,
				    sl_column_kind_name(im->c->kind));
	const json_t *images = json_object_get(im->c->description, "images");
	const char *encoding = json_string_value(json_object_get(images, "encoding"));
	im->raw = encoding && !strcmp(encoding, "raw");
	im->width = (uint32_t)json_integer_value(json_object_get(images, "width"));
	im->height = (uint32_t)json_integer_value(json_object_get(images, "height"));
	im->channels = (int)json_integer_value(json_object_get(images, "channels"));
	return sl__rows_open_values(r, im->c);
}

/* The bytes of a node's image, as they are stored, malloc'd and booked; *bytes 0: it has none. */
static int read_image(struct images *im, uint32_t node, unsigned char **out, uint64_t *bytes)
{
	struct sl_value_place p;
	*out = NULL;
	*bytes = 0;
	if (im->raw) {
		p.bytes = (uint64_t)im->width * im->height * (uint64_t)im->channels;
		p.from = (uint64_t)node * p.bytes;
	} else {
		int rc = sl_values_places(&im->c->values, node, 1, &p, im->err);
		if (rc || p.bytes == SL_NO_VALUE)
			return rc;
	}
	*out = sl_account_alloc(im->r->account, p.bytes + 1, 1);
	if (!*out)
		return sl_error_memory(im->err, "an image of %llu bytes", (unsigned long long)p.bytes);
	*bytes = p.bytes;
	return sl_values_read(&im->c->values, p.from, *out, p.bytes, im->err);
}

static void give_back(struct images *im, unsigned char *bytes, uint64_t count)
{
	free(bytes);
	if (bytes)
		sl_account_give(im->r->account, SL_MEMORY, count + 1);
}

/* ---- one image -------------------------------------------------------------------------------------- */

static int encode_raw(struct images *im, const unsigned char *pixels, struct sl__question *q)
{
	uint64_t count = (uint64_t)im->width * im->height;
	uint8_t *rgba = sl_account_alloc(im->r->account, count, 4);
	void *png = NULL;
	size_t bytes = 0;
	int rc = rgba ? 0 : sl_error_memory(im->err, "an image");
	if (!rc) {
		sl_sprite_expand(pixels, count, im->channels, rgba);
		rc = sl_png_encode(rgba, im->width, im->height, &png, &bytes, im->err);
	}
	free(rgba);
	if (!rc)
		rc = sl_buffer_of(&q->bytes, png, bytes, im->err);
	q->media_type = "image/png";
	return rc;
}

static int answer_image(struct images *im, const struct asked *a, struct sl__question *q)
{
	struct sl_image_head head;
	unsigned char *bytes;
	uint64_t count;
	if (a->node >= q->nodes)
		return sl_error_set(im->err, SL_NOTFOUND, "node is %u; the graph has nodes from 0 to %u", a->node, q->nodes -
				1);
	int rc = read_image(im, a->node, &bytes, &count);
	if (!rc && !count)
		rc = sl_error_set(im->err, SL_NOTFOUND, "node %u has no image in column \"%.60s\"", a->node, im->c->name);
	if (!rc && im->raw) {
		rc = encode_raw(im, bytes, q);
	} else if (!rc) {
		q->media_type = sl_image_look(bytes, count, &head) ? sl_image_media_type(head.type) :
				"application/octet-stream";
		rc = sl_buffer_of(&q->bytes, bytes, count, im->err);
		bytes = NULL;
	}
	free(bytes);
	return rc;
}

/* ---- a sheet ------------------------------------------------------------------------------------------ */

struct sheet {
	uint8_t *pixel;
	uint32_t width, height, side, across;
};

static int place(struct images *im, struct sheet *s, uint32_t cell, uint32_t node)
{
	unsigned char *bytes;
	uint64_t count;
	uint8_t *rgba = NULL;
	uint32_t width = im->width, height = im->height;
	struct sl_image_head head;
	int rc = read_image(im, node, &bytes, &count);
	if (!rc && count && im->raw) {
		if (!(rgba = malloc((size_t)width * height * 4)))
			rc = sl_error_memory(im->err, "an image");
		else
			sl_sprite_expand(bytes, (uint64_t)width * height, im->channels, rgba);
	} else if (!rc && count && sl_image_look(bytes, count, &head) && head.type == SL_IMAGE_PNG) {
		struct sl_error ignored;   /* a damaged one stays an empty cell; the image itself says why */
		if (sl_png_decode(bytes, count, &rgba, &width, &height, &ignored))
			rgba = NULL;
	}
	if (rgba)
		sl_sprite_place(rgba, width, height, s->pixel, s->width, cell % s->across * s->side, cell / s->across * s->side,
				s->side);
	free(rgba);
	give_back(im, bytes, count);
	return rc;
}

static int answer_sheet(struct images *im, const struct asked *a, struct sl__question *q)
{
	uint32_t *node = NULL, count = a->query.count, from = a->query.from;
	void *png = NULL;
	size_t bytes;
	int rc = 0;
	if (a->nodes)
		rc = sl__rows_nodes(a->nodes, q->nodes, SL_SPRITES_MOST, &node, &count, im->err);
	else if (from >= q->nodes)
		rc = sl_error_field(im->err, SL_BADPARAM, "?from", "from is %u; the graph has nodes from 0 to %u", from,
				q->nodes - 1);
	else if (count > q->nodes - from)
		count = q->nodes - from;
	if (!rc && (uint64_t)count * a->query.side * a->query.side > SL_SHEET_PIXELS_MOST)
		rc = sl_error_field(im->err, SL_BADPARAM, "?size", "%u squares of size %u are too many for a sheet; ask for "
				    "at most %u of this size", count, a->query.side, SL_SHEET_PIXELS_MOST / (a->query.side *
				    a->query.side));
	struct sheet s = {.side = a->query.side, .across = a->query.across < count ? a->query.across : count};
	if (!rc) {
		s.width = s.across * s.side;
		s.height = (count + s.across - 1) / s.across * s.side;
		if (!(s.pixel = sl_account_zeros(im->r->account, (uint64_t)s.width * s.height, 4)))
			rc = sl_error_memory(im->err, "a picture of %u x %u pixels", s.width, s.height);
	}
	for (uint32_t k = 0; k < count && !rc; k++) {
		rc = place(im, &s, k, node ? node[k] : from + k);
		if (!rc && k % 64 == 0)
			rc = sl__rows_check(im->r);
	}
	if (!rc)
		rc = sl_png_encode(s.pixel, s.width, s.height, &png, &bytes, im->err);
	if (!rc)
		rc = sl_buffer_of(&q->bytes, png, bytes, im->err);
	q->media_type = "image/png";
	free(s.pixel);
	free(node);
	return rc;
}

/* ---- requests ------------------------------------------------------------------------------------------- */

static int answer(struct sl__question *q)
{
	struct asked *a = q->more;
	struct sl__rows r = {0};
	struct images im;
	int rc = sl__rows_open(&r, q, &a->account, &q->err);
	if (!rc)
		rc = open_images(&im, &r, a->column);
	if (!rc)
		rc = a->sheet ? answer_sheet(&im, a, q) : answer_image(&im, a, q);
	if (!rc)   /* images do not change under their digest */
		snprintf(q->etag, sizeof q->etag, "%.26s-%.32s-%u-%u", q->id,
			 json_string_value(json_object_get(im.c->description, "digest")), a->sheet ? a->query.side : 0,
			 a->sheet ? a->query.across : 0);
	if (rc && a->account.refusal.code)
		q->err = a->account.refusal;
	sl__rows_close(&r);
	return rc ? q->err.code : 0;
}

static int make_images(struct sl__question *q)
{
	struct asked *a = q->more;
	int rc = answer(q);
	sl_account_close(&a->account);
	return rc;
}

static void asked_free(void *more)
{
	struct asked *a = more;
	free(a->column);
	free(a->nodes);
	sl_account_close(&a->account);
	free(a);
}

static void ask(struct sl_graphs *s, const char *id, const struct asked *what, struct sl_request *r)
{
	struct asked *a = calloc(1, sizeof *a);
	if (a) {
		*a = *what;
		a->column = strdup(what->query.column);
		a->nodes = what->query.nodes ? strdup(what->query.nodes) : NULL;
	}
	if (!a || !a->column || (what->query.nodes && !a->nodes)) {
		if (a)
			asked_free(a);
		sl_reply_problem(r, SL_NOMEM, SL_NO_MEMORY "the request.");
		return;
	}
	a->account = sl_bookings_account(s->d->bookings, SL_BOOK_READING, sl_request_who(r)->account);
	sl__question_ask_more(s, id, &(struct sl_nodes_query){0}, 0, make_images, a, asked_free, r);
}

void sl_rows_image(struct sl_graphs *s, const char *id, const char *column, uint32_t node, struct sl_request *r)
{
	ask(s, id, &(struct asked){.query.column = column, .node = node}, r);
}

void sl_rows_sprites(struct sl_graphs *s, const char *id, const struct sl_sprites_query *query, struct sl_request *r)
{
	ask(s, id, &(struct asked){.query = *query, .sheet = true}, r);
}
