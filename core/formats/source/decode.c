/* decode.c -- decompresses stored bytes. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/account.h"
#include "core/formats/source/container.h"
#include "core/formats/source/source_internal.h"

#define ZSTD_WINDOW_LOG_MAX 27  /* the decoder takes at most 128 MiB */
#define ZSTD_WINDOW_LOG_USUAL 23 /* what every decoder takes (RFC 8878); only zstd --ultra and --long make more */
#define ZSTD_HEADER_BYTES 18   /* with the magic number, at most */
#define ZSTD_BESIDES ((uint64_t)512 << 10)  /* of the decoder, besides the window */

/* ---- stored bytes -------------------------------------------------------- */

static int64_t read_fd(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	ssize_t got;

	if (s->zip_member) {
		int64_t read_bytes = sl__container_read(s, out, want, err);
		s->in_eof = read_bytes == 0;
		return read_bytes;
	}
	if (s->part && want > s->left)
		want = (size_t)s->left;
	do
		got = read(s->fd, out, want);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return sl_error_at(err, SL_IO, s->name, 0, "Reading failed: %s.", strerror(errno));
	s->in_eof = got == 0;
	s->stored += (uint64_t)got;
	s->left -= s->part ? (uint64_t)got : 0;
	return got;
}

/* Refills `in`, which is empty afterwards only at the end of the source. */
static int refill_in(struct sl_source *s, struct sl_error *err)
{
	if (s->in_at < s->in_end || s->in_eof)
		return 0;
	s->in_at = s->in_end = 0;
	if (!sl__in_memory(s)) {
		int64_t got = read_fd(s, s->in_buffer, SL__IN_BYTES, err);
		if (got < 0)
			return (int)got;
		s->in_end = (size_t)got;
		return 0;
	}
	uint64_t left = s->memory_size - s->memory_at;
	s->in = s->memory + s->memory_at;
	s->in_end = left > 1u << 30 ? 1u << 30 : (size_t)left;
	s->memory_at += s->in_end;
	s->in_eof = s->in_end == 0;
	return 0;
}

/* The window of a frame, which begins with p: RFC 8878, 3.1.1.1. */
static uint64_t zstd_window(const unsigned char p[ZSTD_HEADER_BYTES])
{
	static const int dictionary[] = {0, 1, 2, 4};
	int sizes = p[4] >> 6, bytes = sizes ? 1 << sizes : 1;
	uint64_t size = 0;
	if (!(p[4] & 0x20))  /* it has a window; without, it is the content's size */
		return ((uint64_t)1 << (10 + (p[5] >> 3))) / 8 * (8 + (p[5] & 7));
	const unsigned char *at = p + 5 + dictionary[p[4] & 3];
	for (int i = bytes - 1; i >= 0; i--)
		size = size << 8 | at[i];
	return bytes == 2 ? size + 256 : size;
}

/* Books what the decoder takes: the usual window, or the largest if the first frame has a larger one. */
static int open_zstd(struct sl_source *s, const unsigned char *p, size_t held, struct sl_error *err)
{
	unsigned char header[ZSTD_HEADER_BYTES] = {0};
	memcpy(header, p, held < sizeof header ? held : sizeof header);
	int log = zstd_window(header) > 1u << ZSTD_WINDOW_LOG_USUAL ? ZSTD_WINDOW_LOG_MAX : ZSTD_WINDOW_LOG_USUAL;
	int rc = sl_account_take(s->account, SL_MEMORY, ((uint64_t)1 << log) + ZSTD_BESIDES, err);
	if (rc)
		return rc;
	s->zstd = ZSTD_createDStream();
	if (!s->zstd || ZSTD_isError(ZSTD_initDStream(s->zstd)))
		return sl_error_memory_at(err, s->name, "decompressing");
	if (s->account)
		ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, log);
	else
		ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
	s->window = ((uint64_t)1 << log) + ZSTD_BESIDES;
	return 0;
}

static int recognise_compression(struct sl_source *s, struct sl_error *err)
{
	int rc = refill_in(s, err);

	if (rc)
		return rc;
	while (!sl__in_memory(s) && s->in_end < 4 && !s->in_eof) {
		int64_t got = read_fd(s, s->in_buffer + s->in_end, SL__IN_BYTES - s->in_end, err);
		if (got < 0)
			return (int)got;
		s->in_end += (size_t)got;
	}
	size_t held = s->in_end - s->in_at;
	const unsigned char *p = s->in + s->in_at;
	s->compression = SL__NONE;
	if (held >= 2 && p[0] == 0x1f && p[1] == 0x8b) {
		if (inflateInit2(&s->z, 15 + 16) != Z_OK)
			return sl_error_memory_at(err, s->name, "decompressing");
		s->z_open = s->member_open = true;
		s->compression = SL__GZIP;
	} else if (held >= 4 && p[0] == 0x28 && p[1] == 0xb5 && p[2] == 0x2f && p[3] == 0xfd) {
		rc = open_zstd(s, p, held, err);
		if (rc)
			return rc;
		s->member_open = true;
		s->compression = SL__ZSTD;
	}
	return 0;
}

/* ---- decoded bytes -------------------------------------------------------- */

static int truncated(const struct sl_source *s, struct sl_error *err)
{
	return sl_error_at(err, SL_BADDATA, s->name, 0, "The %s stream ends too early, after %llu bytes of content; "
			   "the file is incomplete.", s->compression == SL__GZIP ? "gzip" : "zstd",
			   (unsigned long long)s->produced);
}

static int corrupt(const struct sl_source *s, const char *why, struct sl_error *err)
{
	return sl_error_at(err, SL_BADDATA, s->name, 0, "The %s stream is damaged after %llu bytes of content (%s).",
			   s->compression == SL__GZIP ? "gzip" : "zstd", (unsigned long long)s->produced, why);
}

/* After a gzip member: another one, zero padding (as from tapes), or the end. */
static int next_gzip_member(struct sl_source *s, struct sl_error *err)
{
	while (s->in_at < s->in_end && s->in[s->in_at] == 0)
		s->in_at++;
	if (s->in_at == s->in_end)
		return 0;
	if (s->in[s->in_at] != 0x1f)
		return corrupt(s, "its end is followed by something other than a gzip member or zeros", err);
	if (inflateReset(&s->z) != Z_OK)
		return corrupt(s, "zlib cannot start over", err);
	s->member_open = true;
	return 0;
}

static int64_t produce_gzip(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	s->z.next_out = out;
	s->z.avail_out = (uInt)want;
	while (s->z.avail_out == want) {
		int rc = refill_in(s, err);
		if (rc)
			return rc;
		if (!s->member_open) {
			rc = next_gzip_member(s, err);
			if (rc)
				return rc;
			if (!s->member_open) {
				if (s->in_eof)
					return 0;
				continue;
			}
		}
		if (s->in_at == s->in_end)
			return truncated(s, err);
		s->z.next_in = (Bytef *)(uintptr_t)(s->in + s->in_at);
		s->z.avail_in = (uInt)(s->in_end - s->in_at);
		int zrc = inflate(&s->z, Z_NO_FLUSH);
		s->in_at = s->in_end - s->z.avail_in;
		if (zrc == Z_STREAM_END)
			s->member_open = false;
		else if (zrc == Z_MEM_ERROR)
			return sl_error_memory_at(err, s->name, "decompressing");
		else if (zrc != Z_OK && zrc != Z_BUF_ERROR)
			return s->produced += want - s->z.avail_out, corrupt(s, s->z.msg ? s->z.msg : "zlib gives no reason", err);
	}
	return (int64_t)(want - s->z.avail_out);
}

static int64_t produce_zstd(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	ZSTD_outBuffer target = {out, want, 0};

	while (target.pos == 0) {
		int rc = refill_in(s, err);
		if (rc)
			return rc;
		/* without input the decoder may still have output, so it is called once more */
		if (s->in_at == s->in_end && !s->member_open)
			return 0;
		ZSTD_inBuffer input = {s->in, s->in_end, s->in_at};
		size_t left = ZSTD_decompressStream(s->zstd, &target, &input);
		bool stuck = input.pos == s->in_at && target.pos == 0;
		s->in_at = input.pos;
		if (ZSTD_isError(left))
			return corrupt(s, ZSTD_getErrorName(left), err);
		s->member_open = left != 0;
		if (stuck && s->in_eof)
			return s->member_open ? truncated(s, err) : 0;
	}
	return (int64_t)target.pos;
}

static int64_t produce_plain(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	if (s->in_at == s->in_end && !sl__in_memory(s))
		return s->in_eof ? 0 : read_fd(s, out, want, err);
	int rc = refill_in(s, err);
	if (rc)
		return rc;
	size_t held = s->in_end - s->in_at;
	if (want > held)
		want = held;
	memcpy(out, s->in + s->in_at, want);
	s->in_at += want;
	return (int64_t)want;
}

static int check_unfolded(const struct sl_source *s, struct sl_error *err)
{
	uint64_t stored = s->fd >= 0 ? s->stored : s->memory_at;
	if (s->zip_member)
		return sl__source_check_ratio(s, s->packed, s->produced, err);
	if (s->compression == SL__NONE)
		return 0;
	return sl__source_check_ratio(s, stored - (s->in_end - s->in_at), s->produced, err);
}

int64_t sl__source_produce(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	int rc = sl__source_check(s, err);
	int64_t got;

	if (s->parts)
		s->compression = SL__NONE;
	if (!rc && s->compression == SL__UNKNOWN)
		rc = recognise_compression(s, err);
	if (rc)
		return rc;
	if (want > 1u << 30)
		want = 1u << 30;
	if (s->parts)
		got = s->whole->produce(s, out, want, err);
	else if (s->compression == SL__GZIP)
		got = produce_gzip(s, out, want, err);
	else if (s->compression == SL__ZSTD)
		got = produce_zstd(s, out, want, err);
	else
		got = produce_plain(s, out, want, err);
	if (got <= 0)
		return got;
	s->produced += (uint64_t)got;
	if (s->max_bytes && s->produced > s->max_bytes)
		return sl_error_at(err, SL_TOOBIG, s->name, 0, "The file has more than %llu bytes%s, the limit "
				   "(max_bytes).",
				   (unsigned long long)s->max_bytes, s->compression == SL__NONE ? "" : " after decompression");
	rc = s->parts ? 0 : check_unfolded(s, err);  /* each part checks its own */
	return rc ? rc : got;
}
