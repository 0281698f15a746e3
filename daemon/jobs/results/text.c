/* The longest possible text is booked first, and the buffer shrinks to what was written; so no number is formatted
 * twice and memory never grows while writing. */
#include "daemon/jobs/results/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/formats/layout.h"
#include "core/formats/numpy/npy.h"
#include "daemon/jobs/jobs_internal.h"
#include "daemon/json/json.h"

#define HEAD_BYTES 400        /* members before the numbers */
#define NUMBER_BYTES 17       /* of a float32 or int32, with a separator */
#define BRACKET_BYTES 3       /* of a list of numbers: [ ] , */
#define TIMES_NPY (SL_TEXT_BYTES / 4)

/* ---- numbers ---------------------------------------------------------------------------- */

/* Writes a number so that it parses to the same value; digits: 9 for a float, 17 for a double. */
static char *put_real(char *to, double x, int digits, bool json)
{
	char text[40] = "null";
	if (!json || isfinite(x))
		snprintf(text, sizeof text, "%.*g", digits, x);
	if (json && isfinite(x) && !strpbrk(text, ".e"))
		strcat(text, ".0");
	size_t length = strlen(text);
	memcpy(to, text, length);
	return to + length;
}

/* ---- arrays ----------------------------------------------------------------------------- */

struct shape {
	char type[4];
	uint32_t size[3];            /* size of each dimension; 0: no further dimension */
	size_t rows, columns;        /* lines of text, numbers in each */
};

static struct shape shape_of(const char *npy)
{
	struct shape s;
	if (!sl_npy_header_read(npy, s.type, s.size))
		memset(&s, 0, sizeof s);
	int last = s.size[2] ? 2 : s.size[1] ? 1 : 0;
	s.columns = last ? s.size[last] : 1;
	s.rows = s.size[0];
	if (last == 2)
		s.rows *= s.size[1];
	return s;
}

static char *put_number(char *to, const struct shape *s, const void *data, size_t at, bool json)
{
	if (!strcmp(s->type, "<i4"))
		return to + sprintf(to, "%d", ((const int32_t *)data)[at]);
	return !strcmp(s->type, "<f8") ? put_real(to, ((const double *)data)[at], 17, json) :
					 put_real(to, (double)((const float *)data)[at], 9, json);
}

/* Writes the nested lists from dimension `level` on; *at: index of the next number. */
static char *put_nested(char *to, const struct shape *s, const void *data, int level, size_t *at)
{
	bool last = level == 2 || !s->size[level + 1];
	*to++ = '[';
	for (uint32_t i = 0; i < s->size[level]; i++) {
		if (i)
			*to++ = ',';
		to = last ? put_number(to, s, data, (*at)++, true) : put_nested(to, s, data, level + 1, at);
	}
	*to++ = ']';
	return to;
}

static char *put_csv(char *to, const struct shape *s, const void *data)
{
	for (size_t i = 0; i < s->rows; i++)
		for (size_t k = 0; k < s->columns; k++) {
			to = put_number(to, s, data, i * s->columns + k, false);
			*to++ = k + 1 < s->columns ? ',' : '\n';
		}
	return to;
}

int sl__array_book(struct sl_buffer **out, enum sl_layout_form form, size_t bytes, struct sl_error *err)
{
	return sl_buffer_book(out, form == SL_LAYOUT_NPY ? bytes : HEAD_BYTES + TIMES_NPY * bytes, err);
}

void sl__array_write(struct sl_buffer **out, const struct sl_job *job, const char *name, enum sl_layout_form form,
		     const void *npy, size_t bytes)
{
	if (form == SL_LAYOUT_NPY) {
		memcpy((*out)->data, npy, bytes);
		return;
	}
	struct shape s = shape_of(npy);
	const void *data = (const char *)npy + SL_NPY_HEADER_BYTES;
	char *start = (char *)(*out)->data, *to = start;
	size_t at = 0;
	if (form == SL_LAYOUT_CSV) {
		to = put_csv(to, &s, data);
	} else {
		to += sprintf(to, "{\"job\":\"%s\",\"graph\":\"%s\",\"name\":\"%s\",\"values\":", job->record.id,
			      job->record.graph, name);
		to = put_nested(to, &s, data, 0, &at);
		*to++ = '}';
	}
	sl_buffer_shrink(out, (size_t)(to - start));
}

/* ---- layouts ---------------------------------------------------------------------------- */

static const char *name_at(const struct sl_graph *nodes, uint32_t i)
{
	return sl_graph_name(nodes, i);
}

static const char *label_at(const struct sl_graph *nodes, uint32_t i)
{
	return sl_graph_label(nodes, i);
}

typedef const char *(*word_at)(const struct sl_graph *nodes, uint32_t i);

static size_t words_bytes(const struct sl_graph *nodes, uint32_t n, word_at word)
{
	size_t bytes = HEAD_BYTES;
	for (uint32_t i = 0; i < n; i++)
		bytes += sl_json_string_bytes(word(nodes, i)) + 1;
	return bytes;
}

static char *put_words(char *to, const char *member, const struct sl_graph *nodes, uint32_t n, word_at word)
{
	to += sprintf(to, ",\"%s\":[", member);
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			*to++ = ',';
		to = sl_json_put_string(to, word(nodes, i));
	}
	*to++ = ']';
	return to;
}

int sl__layout_reply_json(struct sl_buffer **out, const char *job, const char *graph, const struct sl_graph *nodes,
			  const float *y, uint32_t n, int dims, int64_t projected, struct sl_error *err)
{
	bool names = nodes && nodes->name_bytes, labels = nodes && nodes->label;
	size_t bytes = HEAD_BYTES + (size_t)n * ((size_t)dims * NUMBER_BYTES + BRACKET_BYTES);
	if (names)
		bytes += words_bytes(nodes, n, name_at);
	if (labels)
		bytes += words_bytes(nodes, n, label_at);
	int code = sl_buffer_book(out, bytes, err);
	if (code)
		return code;
	char *start = (char *)(*out)->data, *to = start;
	to += sprintf(to, "{\"job\":\"%s\",\"graph\":\"%s\",\"dims\":%d,\"nodes\":%u,\"layout\":[", job, graph, dims, n);
	for (size_t i = 0; i < n; i++) {
		for (int k = 0; k < dims; k++) {
			*to++ = k ? ',' : '[';
			to = put_real(to, (double)y[i * (size_t)dims + (size_t)k], 9, true);
		}
		*to++ = ']';
		if (i + 1 < n)
			*to++ = ',';
	}
	*to++ = ']';
	if (projected >= 0)
		to += projected ? sprintf(to, ",\"projected\":%lld", (long long)projected) : sprintf(to, ",\"projected\":null");
	if (names)
		to = put_words(to, "names", nodes, n, name_at);
	if (labels)
		to = put_words(to, "labels", nodes, n, label_at);
	*to++ = '}';
	sl_buffer_shrink(out, (size_t)(to - start));
	return 0;
}

int sl__layout_reply_csv(struct sl_buffer **out, const struct sl_graph *nodes, const float *y, uint32_t n, int dims,
			 struct sl_error *err)
{
	char *text;
	size_t size;
	int code = sl_layout_csv(&text, &size, nodes, y, n, dims, err);
	return code ? code : sl_buffer_of(out, text, size, err);
}
