/* remote.h -- workers on other machines: devices that dial in.
 *
 * A worker is started elsewhere (spacelandd --worker --connect HOST:PORT --token-file F), dials out to the daemon's
 * port for workers (option worker_listen), and proves itself by a token. The daemon makes a device of it, in the engine
 * that the worker names, or in the one that the token was made for. From then on it is a device like any other: a port
 * (device.h) whose other end dialled in. A worker whose connection breaks is *away*: it computes on, gets no new jobs,
 * and may come back within worker_grace_s; neither side then notices more than a pause. After that time, or if it ends,
 * it is *gone*: its jobs go on from their checkpoints elsewhere, and what it says later is refused.
 *
 * There are two kinds of tokens. Administrators make lasting ones, which are recorded (worker/tokens.h): any number
 * of workers may use one. A part of the server that starts workers itself, such as an engine that asks a scheduler for
 * machines, *expects* each with a token of its own, which admits one worker at a time, and is told what becomes of it.
 * Loop thread. */
#ifndef SL_REMOTE_H
#define SL_REMOTE_H

#include "daemon/engines/engines.h"
#include "daemon/users/users.h"

#define SL_REMOTE_PLACE_BYTES 320
#define SL_REMOTE_PIN_BYTES 80

struct sl_remote;           /* a worker that has come */
struct sl_remote_expected;  /* one that may come */

/* What a worker says of itself when it comes, and where it came from. Text of a stranger: never a path or a format. */
struct sl_remote_facts {
	char name[64];       /* as it was started; else its host */
	char host[64];
	char address[64];    /* "10.1.2.3:40112" */
	char engine[16];     /* "cuda", "cpu": what it computes with */
	char slurm_job[32];  /* $SLURM_JOB_ID there; "": none */
	int64_t pid;
	int index;           /* which GPU of its machine */
	int threads;
	int64_t came_ms;     /* since 1970 */
};

/* What becomes of an expected worker. Any may be NULL. They run on the loop, never from within a function of this
 * header except sl_remote_unexpect(), and may call all of these functions. */
struct sl_remote_ops {
	/* It has come; its device is opening. */
	void (*come)(void *arg, struct sl_remote *w);
	/* Its device is open: jobs may get a place there. */
	void (*opened)(void *arg, struct sl_remote *w);
	/* true: it has not been heard for some seconds; false: it is back. */
	void (*away)(void *arg, struct sl_remote *w, bool away);
	/* It got SIGTERM and asks to leave within so many seconds. sl_remote_retire() was called for it already. */
	void (*leaves)(void *arg, struct sl_remote *w, double seconds);
	/* It is gone; its jobs have been told before. retired: since sl_remote_retire() was called; else why tells what
	 * happened. The same token may bring the next worker, until sl_remote_unexpect(). */
	void (*gone)(void *arg, struct sl_remote *w, bool retired, const char *why);
};

/* Makes the text of a token, and its keyed hash, which may be stored: it survives a restart of the server. */
void sl_remote_token(const struct sl_engines *all, char text[SL_SECRET_BYTES],
		     unsigned char hash[SL_SECRET_HASH_BYTES]);

/* From now on a worker with this token is admitted, one at a time, as a device of `engine` (a name; borrowed for the
 * call). seconds: so long until it must have come, after which gone() runs with w NULL, and the token is not valid any
 * more; 0: for ever. SL_NOMEM, SL_BADPARAM: there is no such engine; SL_CONFLICT: worker_listen is empty. */
int sl_remote_expect(struct sl_engines *all, const unsigned char hash[SL_SECRET_HASH_BYTES], const char *engine,
		     double seconds, const struct sl_remote_ops *ops, void *arg, struct sl_remote_expected **out,
		     struct sl_error *err);
/* The token is not valid any more. A worker that has come with it is ended at once: gone() runs before this returns,
 * and nothing after it. NULL is fine. */
void sl_remote_unexpect(struct sl_remote_expected *x);

/* Of a worker that has come. Borrowed, until gone() has returned. */
const struct sl_remote_facts *sl_remote_facts(const struct sl_remote *w);
struct sl_server_device *sl_remote_device(const struct sl_remote *w);  /* its jobs: `placed`, `active` */
bool sl_remote_is_away(const struct sl_remote *w);

/* It gets no new jobs; its running jobs leave it with their state (no checkpoint is lost) and wait for another device;
 * then it is told to end, and not to come back. After `seconds` it ends with what is on it, which goes on from
 * checkpoints. why: for its log. May be called again, with fewer seconds. */
void sl_remote_retire(struct sl_remote *w, double seconds, const char *why);

/* Where workers connect, for scripts that start them: "HOST:PORT" of worker_listen, where HOST is worker_host, else the
 * address, else this machine's name; and the pin of its certificate, "sha256:..." (64 hexadecimal digits of the public
 * key). SL_CONFLICT: worker_listen is empty. */
int sl_remote_place(const struct sl_engines *all, char place[SL_REMOTE_PLACE_BYTES], char pin[SL_REMOTE_PIN_BYTES],
		    struct sl_error *err);

#endif
