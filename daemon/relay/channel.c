/* Packets over a local socket. A queue holds those for which the socket has no room; shared memory for the bytes of a
 * buffer is made only when its packet is sent, so that a queue holds no descriptors. */
#include "daemon/relay/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/util/list.h"

#define AT_ONCE 64  /* packets received before other events have their turn */

struct packet {
	struct sl_link link;
	struct sl_relay_message message;
	int fd;                    /* borrowed; -1: none */
	struct sl_buffer *bytes;   /* a reference, or NULL */
};

struct sl_channel {
	const struct sl_channel_ops *ops;
	void *arg;
	uv_poll_t poll;
	int fd;
	struct sl_list waiting;
	bool ended, closing;
};

union control {
	struct cmsghdr head;
	char space[CMSG_SPACE(sizeof(int))];
};

static void on_ready(uv_poll_t *poll, int status, int events);

static void watch(struct sl_channel *c)
{
	if (!c->closing && !c->ended)
		uv_poll_start(&c->poll, UV_READABLE | (c->waiting.count ? UV_WRITABLE : 0), on_ready);
}

/* ---- sending ---------------------------------------------------------------------------- */

/* Copies the bytes into shared memory. Returns its descriptor, or -1. */
static int share(const struct sl_buffer *bytes)
{
	int fd = memfd_create("spaceland-frame", MFD_CLOEXEC);
	size_t done = 0;
	while (fd >= 0 && done < bytes->bytes) {
		ssize_t wrote = write(fd, bytes->data + done, bytes->bytes - done);
		if (wrote > 0) {
			done += (size_t)wrote;
		} else if (wrote == 0 || errno != EINTR) {
			close(fd);
			fd = -1;
		}
	}
	return fd;
}

/* 0, or an error of errno. */
static int send_packet(int to, const struct sl_relay_message *m, int fd)
{
	union control control = {.head = {.cmsg_len = CMSG_LEN(sizeof fd), .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS}};
	struct iovec part = {(void *)(uintptr_t)m, sizeof *m};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
		packet.msg_control = &control;
		packet.msg_controllen = sizeof control;
	}
	ssize_t sent;
	do
		sent = sendmsg(to, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? errno : 0;
}

/* Returns false if the packet must wait. No packet may be lost, so any error but that of a full socket ends the
 * channel, which shows when it is read. */
static bool try_send(struct sl_channel *c, const struct sl_relay_message *m, int fd, const struct sl_buffer *bytes)
{
	int shared = bytes ? share(bytes) : -1;
	int code = send_packet(c->fd, m, bytes ? shared : fd);
	if (code && code != EAGAIN && shared >= 0)
		code = send_packet(c->fd, m, -1);  /* too many descriptors are on their way */
	if (shared >= 0)
		close(shared);
	if (code && code != EAGAIN)
		shutdown(c->fd, SHUT_RDWR);
	return code != EAGAIN;
}

static void packet_free(struct packet *p)
{
	sl_list_unlink(&p->link);
	sl_buffer_unref(p->bytes);
	free(p);
}

static void flush(struct sl_channel *c)
{
	for (struct packet *p; (p = SL_LIST_FIRST(struct packet, &c->waiting, link)); packet_free(p))
		if (!try_send(c, &p->message, p->fd, p->bytes))
			return;
	watch(c);
}

static void send_or_wait(struct sl_channel *c, const struct sl_relay_message *m, int fd, struct sl_buffer *bytes)
{
	if (c->closing || (!c->waiting.count && try_send(c, m, fd, bytes)))
		return;
	struct packet *p = calloc(1, sizeof *p);
	if (!p) {
		shutdown(c->fd, SHUT_RDWR);  /* so it reads its end */
		return;
	}
	p->message = *m;
	p->fd = fd;
	p->bytes = bytes ? sl_buffer_ref(bytes) : NULL;
	sl_list_append(&c->waiting, &p->link);
	if (c->waiting.count == 1)
		watch(c);
}

void sl_channel_send(struct sl_channel *c, const struct sl_relay_message *m)
{
	send_or_wait(c, m, -1, NULL);
}

void sl_channel_send_fd(struct sl_channel *c, const struct sl_relay_message *m, int fd)
{
	send_or_wait(c, m, fd, NULL);
}

void sl_channel_send_bytes(struct sl_channel *c, const struct sl_relay_message *m, struct sl_buffer *bytes)
{
	send_or_wait(c, m, -1, bytes);
}

size_t sl_channel_waiting(const struct sl_channel *c)
{
	return c->waiting.count;
}

/* ---- receiving ---------------------------------------------------------------------------- */

/* The descriptor of a packet, or -1. */
static int descriptor_of(struct msghdr *packet)
{
	struct cmsghdr *head = CMSG_FIRSTHDR(packet);
	int fd = -1;
	if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
	    head->cmsg_len == CMSG_LEN(sizeof fd))
		memcpy(&fd, CMSG_DATA(head), sizeof fd);
	return fd;
}

static void end(struct sl_channel *c)
{
	if (c->ended || c->closing)
		return;
	c->ended = true;
	uv_poll_stop(&c->poll);
	c->ops->ended(c->arg);
}

/* Returns false if no packet is there, or the channel has ended. */
static bool receive(struct sl_channel *c)
{
	struct sl_relay_message m;
	union control control;
	struct iovec part = {&m, sizeof m};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control,
				.msg_controllen = sizeof control};
	ssize_t bytes = recvmsg(c->fd, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (bytes < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOMEM))
		return false;
	int fd = bytes < 0 ? -1 : descriptor_of(&packet);
	if (bytes != sizeof m || packet.msg_flags & MSG_TRUNC || !m.kind || m.kind >= SL_RELAY_KINDS) {
		if (fd >= 0)
			close(fd);
		end(c);
		return false;
	}
	m.text[sizeof m.text - 1] = '\0';
	c->ops->message(c->arg, &m, fd);
	return true;
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct sl_channel *c = poll->data;
	if (status < 0) {
		end(c);
		return;
	}
	if (events & UV_WRITABLE)
		flush(c);
	for (int i = 0; i < AT_ONCE && !c->closing && !c->ended && receive(c); i++)
		;
}

/* ---- life ----------------------------------------------------------------------------------- */

int sl_channel_open(struct sl_channel **out, uv_loop_t *loop, int fd, const struct sl_channel_ops *ops, void *arg)
{
	struct sl_channel *c = calloc(1, sizeof *c);
	if (!c || uv_poll_init(loop, &c->poll, fd)) {
		free(c);
		close(fd);
		return SL_NOMEM;
	}
	c->ops = ops;
	c->arg = arg;
	c->fd = fd;
	c->poll.data = c;
	watch(c);
	*out = c;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void sl_channel_close(struct sl_channel *c)
{
	if (!c || c->closing)
		return;
	c->closing = true;
	SL_LIST_EACH(struct packet, p, &c->waiting, link)
		packet_free(p);
	uv_close((uv_handle_t *)&c->poll, on_closed);
	close(c->fd);
}
