/* Replies, and those whose bytes arise over time. */
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/http/mhd/mhd_internal.h"

#define STREAM_BYTES 32768  /* most bytes of one piece */
/* The most unsent bytes of a stream that wait in the kernel. A small value lets a slow reader get newer data sooner. */
#define UNSENT_BYTES 16384

static struct sl__response *wrap(struct MHD_Response *response)
{
	return (struct sl__response *)response;
}

struct sl__response *sl__response_empty(void)
{
	return wrap(MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT));
}

struct sl__response *sl__response_text(char *text)
{
	struct MHD_Response *response =
		text ? MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE) : NULL;
	if (!response)
		free(text);
	return wrap(response);
}

struct sl__response *sl__response_bytes(const void *data, size_t bytes, void (*done)(void *arg), void *arg)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer_with_free_callback_cls(bytes, (void *)data, done, arg);
	if (!response)
		done(arg);
	return wrap(response);
}

struct sl__response *sl__response_file(int fd, uint64_t first, uint64_t bytes)
{
	struct MHD_Response *response = MHD_create_response_from_fd_at_offset64(bytes, fd, first);
	if (!response)
		close(fd);
	return wrap(response);
}

void sl__response_header(struct sl__response *response, const char *name, const char *value)
{
	MHD_add_response_header((struct MHD_Response *)response, name, value);
}

void sl__response_free(struct sl__response *response)
{
	if (response)
		MHD_destroy_response((struct MHD_Response *)response);
}

/* ---- streams ----------------------------------------------------------------------------------- */

struct sl__flow {
	struct sl__exchange *x;  /* NULL once the request is over */
	ssize_t (*read)(void *arg, char *out, size_t max);
	void (*drop)(void *arg);
	void *arg;
	bool suspended;          /* waits for sl__exchange_wake() */
	bool aborted;            /* the client is gone, or the server stops */
};

/* Ends a chunked reply with an error. libmicrohttpd closes it, but does not clean up: its descriptor would stay open
 * until the connection's timeout. So this sets a short timeout; libmicrohttpd checks connections with their own timeout
 * in each turn. */
static ssize_t give_up(struct sl__flow *f)
{
	if (f->x) {
		MHD_set_connection_option(f->x->socket->connection, MHD_CONNECTION_OPTION_TIMEOUT, 1u);
		sl__mhd_soon(f->x->socket->mhd);
	}
	return MHD_CONTENT_READER_END_WITH_ERROR;
}

static ssize_t on_read(void *cls, uint64_t position, char *out, size_t max)
{
	struct sl__flow *f = cls;
	if (f->aborted)
		return give_up(f);
	ssize_t n = f->read(f->arg, out, max);
	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0) {
		f->suspended = true;
		MHD_suspend_connection(f->x->socket->connection);
	}
	return n;
}

static void on_free(void *cls)
{
	struct sl__flow *f = cls;
	if (f->x)
		f->x->flow = NULL;
	f->drop(f->arg);
	free(f);
}

struct sl__response *sl__response_stream(struct sl__exchange *x, ssize_t (*read)(void *arg, char *out, size_t max),
					 void (*drop)(void *arg), void *arg)
{
	struct sl__flow *f = malloc(sizeof *f);
	struct MHD_Response *response =
		f ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BYTES, on_read, f, on_free) : NULL;
	int unsent = UNSENT_BYTES;
	if (!response) {
		free(f);
		return NULL;
	}
	*f = (struct sl__flow){.x = x, .read = read, .drop = drop, .arg = arg};
	x->flow = f;
	setsockopt(x->socket->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof unsent);
	return wrap(response);
}

void sl__exchange_wake(struct sl__exchange *x)
{
	if (!x->flow || !x->flow->suspended)
		return;
	x->flow->suspended = false;
	sl__mhd_resume(x->socket->mhd, x->socket->connection);
}

void sl__exchange_abort(struct sl__exchange *x)
{
	if (x->flow)
		x->flow->aborted = true;
	sl__exchange_wake(x);
}

void sl__flow_detach(struct sl__exchange *x)
{
	struct sl__flow *f = x->flow;
	if (!f)
		return;
	f->suspended = false;
	f->aborted = true;
	f->x = NULL;
	x->flow = NULL;
}
