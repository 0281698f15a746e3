/* Bodies in chunks that stop libmicrohttpd: a line longer than its buffer is never read, nor refused, and extensions
 * and trailers have no limit. The bytes that have come are compared with those that it has delivered. */
#include <sys/ioctl.h>

#include "daemon/http/mhd/mhd_internal.h"
#include "daemon/http/mhd/received.h"

#define LINES_BYTES (32 << 10)  /* most bytes of extensions and trailers of a body in chunks */
#define STUCK_SWEEPS 2          /* sweeps without progress, so that the loop has read at least once in between */

/* True if most of what was read of a body in chunks is no data: a long extension or trailer. The lines around a byte
 * of data are five bytes. */
static bool is_wordy(const struct sl__socket *s, uint64_t read)
{
	const union MHD_ConnectionInfo *header =
		MHD_get_connection_info(s->connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	uint64_t due = s->answered_bytes + (header ? header->header_size : 0) + 6 * s->x->received + LINES_BYTES;
	return !s->session && read > due;
}

static bool is_stuck(struct sl__socket *s)
{
	const struct sl__exchange *x = s->x;
	int pending = 0;
	if (!x || !x->head.chunked || !x->reading || ioctl(s->fd, FIONREAD, &pending))
		return false;
	uint64_t all = sl__bytes_received(s->fd), read = all - (uint64_t)pending;
	if (all && is_wordy(s, read))
		return true;
	if (!pending || !all || read != s->read_bytes) {
		s->read_bytes = read;
		s->stuck = 0;
		return false;
	}
	return ++s->stuck > STUCK_SWEEPS;
}

bool sl__socket_stalls(struct sl__socket *s)
{
	bool stuck = is_stuck(s);
	if (stuck)
		sl__refuse_chunks(s);
	return stuck;
}
