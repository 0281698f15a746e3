/* Encodes frames. Headers and payloads are written in the machine's byte order: frames are little-endian, and so are
 * all supported machines, as the assertion below checks.
 *
 * A frame samples every stride-th node, always the same ones, so that a reader can keep
 * its colours. With stride 1 and u16 the loop runs over coordinates, not nodes, and the
 * compiler makes vector code of it for each number of dimensions. */
#include "daemon/stream/frames.h"

#include <float.h>
#include <string.h>

#include "daemon/util/time_text.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "frames are written as little-endian memory");

uint32_t sl_frame_stride(uint32_t n, uint32_t max_points)
{
	if (max_points == 0 || n <= max_points)
		return 1;
	uint32_t stride = n / max_points + (n % max_points != 0);
	return stride > UINT16_MAX ? UINT16_MAX : stride;
}

static uint32_t points(uint32_t n, uint32_t stride)
{
	return n / stride + (n % stride != 0);
}

static size_t value_bytes(int type)
{
	return type == SL_FRAME_U16 ? sizeof(uint16_t) : sizeof(float);
}

size_t sl_frame_bytes(uint32_t n, int dims, struct sl_frame_form form)
{
	size_t count = points(n, sl_frame_stride(n, form.max_points));
	return SL_FRAME_HEADER_BYTES + count * (size_t)dims * value_bytes(form.type);
}

static inline uint16_t quantise(float y, float low, float scale)
{
	float v = (y - low) * scale + 0.5f;
	v = v > 0 ? v : 0;  /* NaN becomes 0 */
	v = v < 65535.0f ? v : 65535.0f;
	return (uint16_t)(int)v;
}

/* If dims and stride are constants, the compiler vectorises the loops. */
static inline __attribute__((always_inline)) void encode_u16(uint16_t *restrict out, const float *restrict y, size_t n,
							      int dims, size_t stride, const float low[3], float scale)
{
	float l0 = low[0], l1 = low[1], l2 = low[2];
	for (size_t i = 0; i < n; i++) {
		const float *from = y + i * stride * (size_t)dims;
		uint16_t *to = out + i * (size_t)dims;
		to[0] = quantise(from[0], l0, scale);
		if (dims > 1)
			to[1] = quantise(from[1], l1, scale);
		if (dims > 2)
			to[2] = quantise(from[2], l2, scale);
	}
}

static void payload_u16(void *out, const struct sl_layout *l, size_t n, size_t stride, const float low[3], float extent)
{
	float scale = 65535.0f / extent;
	if (!(scale <= FLT_MAX))
		scale = FLT_MAX;  /* extent is denormal */
	if (l->dims == 1)
		encode_u16(out, l->y, n, 1, stride, low, scale);
	else if (l->dims == 2 && stride == 1)
		encode_u16(out, l->y, n, 2, 1, low, scale);
	else if (l->dims == 2)
		encode_u16(out, l->y, n, 2, stride, low, scale);
	else if (stride == 1)
		encode_u16(out, l->y, n, 3, 1, low, scale);
	else
		encode_u16(out, l->y, n, 3, stride, low, scale);
}

static void payload_quantised(unsigned char *out, const struct sl_layout *l, size_t n, size_t stride)
{
	size_t point = (size_t)l->dims * sizeof(uint16_t);
	if (stride == 1) {
		memcpy(out, l->quantised, n * point);
		return;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(out + i * point, l->quantised + i * stride * (size_t)l->dims, point);
}

static void payload_f32(unsigned char *out, const struct sl_layout *l, size_t n, size_t stride)
{
	size_t point = (size_t)l->dims * sizeof(float);
	if (stride == 1) {
		memcpy(out, l->y, n * point);
		return;
	}
	for (size_t i = 0; i < n; i++)
		memcpy(out + i * point, l->y + i * stride * (size_t)l->dims, point);
}

static struct sl_frame_header header(const char *job, uint32_t nodes, int dims, uint32_t sequence, int iteration,
				     double measure, int end)
{
	struct sl_frame_header h = {
		.version = SL_FRAME_VERSION,
		.dims = (uint8_t)dims,
		.flags = end ? SL_FRAME_FINAL : 0,
		.stride = 1,
		.sequence = sequence,
		.iteration = (uint32_t)iteration,
		.kl = (float)measure,
		.extent = 1,
		.nodes = nodes,
		.header_bytes = SL_FRAME_HEADER_BYTES,
		.end = (uint8_t)end,
	};
	memcpy(h.job, job, sizeof h.job);
	return h;
}

struct sl_buffer *sl_frame_encode(const struct sl_layout *l, struct sl_frame_form form, const char *job,
				  uint32_t sequence, int end, const float low[3], float extent)
{
	size_t start = l->values ? SL_FRAME_VALUES_HEADER_BYTES : SL_FRAME_HEADER_BYTES;
	struct sl_buffer *b = sl_buffer_create(sl_frame_bytes(l->n, l->dims, form) + start - SL_FRAME_HEADER_BYTES);
	if (!b)
		return NULL;
	uint32_t stride = sl_frame_stride(l->n, form.max_points);
	struct sl_frame_header h = header(job, l->n, l->dims, sequence, l->iteration, l->measure, end);
	h.type = (uint8_t)(form.type + (l->values ? SL_FRAME_VALUES_U16 : 0));
	h.header_bytes = (uint16_t)start;
	h.stride = (uint16_t)stride;
	h.n = points(l->n, stride);
	memcpy(h.low, low, sizeof h.low);
	h.extent = extent;
	h.time_us = l->time_us;
	memcpy(b->data, &h, sizeof h);
	if (l->values)
		memcpy(b->data + SL_FRAME_MODEL_TIME, &l->model_time, sizeof l->model_time);
	if (!l->y)
		payload_quantised(b->data + start, l, h.n, stride);
	else if (form.type == SL_FRAME_U16)
		payload_u16(b->data + start, l, h.n, stride, low, extent);
	else
		payload_f32(b->data + start, l, h.n, stride);
	return b;
}

struct sl_buffer *sl_frame_encode_end(const char *job, uint32_t nodes, int dims, uint32_t sequence, int iteration,
				      double measure, int end)
{
	struct sl_buffer *b = sl_buffer_create(SL_FRAME_HEADER_BYTES);
	if (!b)
		return NULL;
	struct sl_frame_header h = header(job, nodes, dims, sequence, iteration, measure, end);
	h.time_us = sl_time_now_us();
	memcpy(b->data, &h, sizeof h);
	return b;
}
