/* wire.h -- messages between the daemon and a worker, over a stream socket.
 *
 * The format is described in proto/worker.md: a header of 16 bytes, a JSON object, then parts of raw bytes, which are
 * read to where they stay and written from where they are. A message of any other form ends the connection. Loop
 * thread. */
#ifndef SL_WIRE_H
#define SL_WIRE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define SL_WIRE_PARTS 16
#define SL_WIRE_HEAD_MOST (1u << 20)     /* bytes of the JSON object */
#define SL_WIRE_TRACE_BYTES (15 * sizeof(double))  /* of a point of a trace */
#define SL_WIRE_PART_MOST (1ull << 40)   /* bytes of a part */

/* A message, with all that it holds or borrows. */
struct sl_wire_message {
	json_t *head;                        /* an object; its member "kind" is a string */
	int parts;
	struct {
		const char *name;                /* one of the words of sl_wire_part_names; not owned */
		void *data;                      /* malloc'd; NULL if it was taken, or has no bytes */
		uint64_t bytes;
		bool borrowed;                   /* not freed */
	} part[SL_WIRE_PARTS];
	void (*released)(void *arg);         /* what it borrows is not needed any more: it was sent, or never will be. NULL:
					      * nobody asks */
	void *released_arg;
};

/* The names that parts can have, NULL-terminated. */
extern const char *const sl_wire_part_names[];

/* A message of this kind without parts; NULL: no memory. */
struct sl_wire_message *sl_wire_message_create(const char *kind);
void sl_wire_message_destroy(struct sl_wire_message *m);  /* NULL is fine */
const char *sl_wire_kind(const struct sl_wire_message *m);
/* Adds a part, which takes `data` (malloc'd). Nothing is added if data is NULL. */
void sl_wire_put(struct sl_wire_message *m, const char *name, void *data, uint64_t bytes);
/* The same of data that stay until `released`. */
void sl_wire_put_borrowed(struct sl_wire_message *m, const char *name, const void *data, uint64_t bytes);
/* The same of a copy. False: no memory. */
bool sl_wire_put_copy(struct sl_wire_message *m, const char *name, const void *data, uint64_t bytes);
/* Takes a part out; NULL: there is none, or it does not have exactly `bytes` bytes. */
void *sl_wire_take(struct sl_wire_message *m, const char *name, uint64_t bytes);
/* The number of bytes of a part; 0: there is none. */
uint64_t sl_wire_bytes(const struct sl_wire_message *m, const char *name);

struct sl_wire;

struct sl_wire_ops {
	/* The most bytes that this part of a message with this head may have; asked before there is memory for it. NULL:
	 * SL_WIRE_PART_MOST for each. */
	uint64_t (*most)(void *arg, const json_t *head, const char *part);
	/* m now belongs to the callback. */
	void (*message)(void *arg, struct sl_wire_message *m);
	/* The other side has ended, or has sent what is no message, or there is no memory for one: `why`. Called once,
	 * never from within sl_wire_send(). The caller closes the connection. */
	void (*ended)(void *arg, const char *why);
};

/* Takes over fd, a connected stream socket; also after an error (SL_NOMEM). */
int sl_wire_open(struct sl_wire **out, uv_loop_t *loop, int fd, const struct sl_wire_ops *ops, void *arg);
/* No further callbacks run; the memory is freed by the loop. NULL is fine. */
void sl_wire_close(struct sl_wire *w);
/* Takes m; NULL stands for a message for which there was no memory, and ends the connection. */
void sl_wire_send(struct sl_wire *w, struct sl_wire_message *m);
/* The number of bytes that wait to be sent. */
uint64_t sl_wire_waiting(const struct sl_wire *w);
/* Waits for the next message, at most `ms` milliseconds, and passes it on, without running the loop. False: none came,
 * or the connection has ended. */
bool sl_wire_wait(struct sl_wire *w, int ms);

#endif
