/* viewer.c -- shows a job's layout in the terminal while it forms: all that a visualizer needs of spaceland.
 *
 *   cc -O2 -I.. viewer.c -lzmq -o viewer && ./viewer ENDPOINT JOB
 *
 * ENDPOINT is `stream` of GET /v1/status, JOB an id of 26 characters. It ends with the job. With CONFLATE the library
 * keeps the newest frame only, so that the picture is never old, however slowly it is drawn. */
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "frame.h"

#define WIDTH 72
#define HEIGHT 30

/* Coordinate k of point i, between 0 and 1 of the box. */
static double place(const struct sl_frame_header *h, const unsigned char *payload, size_t i, int k)
{
	size_t at = i * h->dims + (size_t)k;
	if (k >= h->dims)
		return 0.5;
	if (h->type == SL_FRAME_U16) {
		uint16_t v;
		memcpy(&v, payload + at * sizeof v, sizeof v);
		return v / 65535.0;
	}
	float y;
	memcpy(&y, payload + at * sizeof y, sizeof y);
	return (y - h->low[k]) / h->extent;
}

static int cell(double share, int cells)
{
	int c = (int)(share * cells);
	return c < 0 ? 0 : c < cells ? c : cells - 1;
}

static void draw(const struct sl_frame_header *h, const unsigned char *payload)
{
	static const char shades[] = " .:-=+*#%@";
	unsigned count[HEIGHT][WIDTH] = {{0}}, most = 1;
	for (size_t i = 0; i < h->n; i++) {
		unsigned *c = &count[HEIGHT - 1 - cell(place(h, payload, i, 1), HEIGHT)]
				    [cell(place(h, payload, i, 0), WIDTH)];
		if (++*c > most)
			most = *c;
	}
	for (int y = 0; y < HEIGHT; y++) {
		for (int x = 0; x < WIDTH; x++)
			putchar(shades[count[y][x] ? 1 + count[y][x] * 8 / most : 0]);
		putchar('\n');
	}
}

/* 1: this was the last frame, 0: it was not, -1: it is no frame that this viewer can read. */
static int show(const unsigned char *data, size_t bytes)
{
	static const char *const ends[] = {"", ", done", ", cancelled", ", failed"};
	struct sl_frame_header h;
	if (bytes < sizeof h)
		return -1;
	memcpy(&h, data, sizeof h);
	size_t value = h.type == SL_FRAME_U16 ? sizeof(uint16_t) : sizeof(float);
	if (h.version != SL_FRAME_VERSION || h.header_bytes < sizeof h || h.dims < 1 || h.dims > 3 ||
	    h.type > SL_FRAME_F32 || h.end > SL_FRAME_FAILED || bytes < h.header_bytes + (size_t)h.n * h.dims * value)
		return -1;
	if (h.n)
		draw(&h, data + h.header_bytes);
	printf("frame %u, iteration %u, %u of %u nodes%s\n", h.sequence, h.iteration, h.n, h.nodes, ends[h.end]);
	fflush(stdout);
	return h.flags & SL_FRAME_FINAL;
}

int main(int argc, char **argv)
{
	if (argc != 3 || strlen(argv[2]) != 26) {
		fprintf(stderr, "usage: viewer ENDPOINT JOB\n");
		return 2;
	}
	int on = 1, last = 0;
	void *context = zmq_ctx_new(), *socket = context ? zmq_socket(context, ZMQ_SUB) : NULL;
	if (!socket || zmq_setsockopt(socket, ZMQ_CONFLATE, &on, sizeof on) ||  /* before it connects */
	    zmq_setsockopt(socket, ZMQ_SUBSCRIBE, argv[2], 26) || zmq_connect(socket, argv[1])) {
		fprintf(stderr, "viewer: %s\n", zmq_strerror(zmq_errno()));
		last = -1;
	}
	while (!last) {
		zmq_msg_t m;
		zmq_msg_init(&m);
		if (zmq_msg_recv(&m, socket, 0) < 0)
			last = -1;
		else if ((last = show(zmq_msg_data(&m), zmq_msg_size(&m))) < 0)
			fprintf(stderr, "viewer: this is no frame of version %d\n", SL_FRAME_VERSION);
		zmq_msg_close(&m);
	}
	if (socket)
		zmq_close(socket);
	if (context)
		zmq_ctx_term(context);
	return last < 0;
}
