/* The channel between the daemon and its relay, and a relay that lies: this program is its own relay, which sends
 * random messages. Whatever it sends, the publisher goes on, or ends the relay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/config/config.h"
#include "daemon/relay/channel.h"
#include "daemon/relay/relay.h"
#include "daemon/stream/keys.h"
#include "daemon/stream/publisher.h"
#include "daemon/util/log.h"
#include "tests/unit/seeds.h"

#define MANY 3000
#define LIES 4000
#define SEED "SPACELAND_TEST_RELAY_SEED"

static uint64_t seed = 1;

static unsigned below(unsigned n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* ---- the channel ---------------------------------------------------------------------------- */

struct side {
	struct sl_channel *channel;
	int messages, descriptors, ends;
	uint64_t last;
	size_t bytes;              /* of the descriptors' files */
};

static void on_message(void *arg, const struct sl_relay_message *m, int fd)
{
	struct side *s = arg;
	struct stat st;
	assert_int_equal(m->id, ++s->last);
	s->messages++;
	if (fd < 0)
		return;
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	s->bytes += (size_t)st.st_size;
	s->descriptors++;
	close(fd);
}

static void on_end(void *arg)
{
	struct side *s = arg;
	s->ends++;
	sl_channel_close(s->channel);
}

static const struct sl_channel_ops ops = {on_message, on_end};

static void open_pair(uv_loop_t *loop, struct side *a, struct side *b)
{
	int ends[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
	assert_int_equal(sl_channel_open(&a->channel, loop, ends[0], &ops, a), 0);
	assert_int_equal(sl_channel_open(&b->channel, loop, ends[1], &ops, b), 0);
}

/* More messages than the socket holds, with descriptors and buffers among them: all arrive, in order. */
static void messages_arrive_in_order(void **state)
{
	uv_loop_t loop;
	struct side a = {NULL}, b = {NULL};
	struct sl_buffer *buffer = sl_buffer_create(100000);
	memset(buffer->data, 7, buffer->bytes);
	assert_int_equal(uv_loop_init(&loop), 0);
	open_pair(&loop, &a, &b);
	for (uint64_t i = 1; i <= MANY; i++) {
		struct sl_relay_message m = {.kind = SL_RELAY_PING, .id = i};
		if (i % 100 == 1)
			sl_channel_send_bytes(a.channel, &m, buffer);
		else if (i % 100 == 2)
			sl_channel_send_fd(a.channel, &m, STDERR_FILENO);
		else
			sl_channel_send(a.channel, &m);
	}
	assert_true(sl_channel_waiting(a.channel) > 0);
	while (b.messages < MANY)
		uv_run(&loop, UV_RUN_ONCE);
	assert_int_equal(sl_channel_waiting(a.channel), 0);
	assert_int_equal(b.descriptors, MANY / 50);
	assert_true(b.bytes >= MANY / 100 * buffer->bytes);
	assert_int_equal(buffer->references, 1);
	sl_channel_close(a.channel);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(b.ends, 1);
	assert_int_equal(a.ends, 0);
	assert_int_equal(uv_loop_close(&loop), 0);
	sl_buffer_unref(buffer);
}

static void what_is_no_message_ends_it(void **state)
{
	static const struct sl_relay_message zero, beyond = {.kind = SL_RELAY_KINDS};
	struct sl_relay_message longer[2] = {{.kind = SL_RELAY_PING}};
	const struct { const void *data; size_t bytes; } wrong[] = {
		{&zero, sizeof zero}, {&beyond, sizeof beyond}, {longer, sizeof longer}, {longer, 1}, {longer, 60}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		uv_loop_t loop;
		struct side a = {NULL};
		int ends[2];
		assert_int_equal(uv_loop_init(&loop), 0);
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
		assert_int_equal(sl_channel_open(&a.channel, &loop, ends[0], &ops, &a), 0);
		assert_int_equal(send(ends[1], wrong[i].data, wrong[i].bytes, 0), (ssize_t)wrong[i].bytes);
		uv_run(&loop, UV_RUN_DEFAULT);
		assert_int_equal(a.ends, 1);
		assert_int_equal(a.messages, 0);
		assert_int_equal(uv_loop_close(&loop), 0);
		close(ends[1]);
	}
}

/* ---- a relay that lies ------------------------------------------------------------------------ */

static const char ids[3][27] = {"01J00000000000000000000001", "01J00000000000000000000002",
				"01K00000000000000000000003"};

static void lie(struct sl_relay_message *m)
{
	uint32_t *words = (uint32_t *)(void *)m->text;
	*m = (struct sl_relay_message){.kind = SL_RELAY_JOINED + below(8), .id = below(40), .frame = below(3)};
	m->number = below(2) ? below(28) : below(0xffffffff);
	for (size_t i = 0; i < sizeof m->text / sizeof *words; i++)
		words[i] = below(0xffffffff);
	if (m->kind == SL_RELAY_TOPIC || m->kind == SL_RELAY_TOPIC_END) {  /* mostly right: a wrong one ends the relay */
		memcpy(m->text, ids[below(3)], 26);
		m->number = below(400) ? below(27) : m->number;
	}
	m->kind = below(2000) ? m->kind : below(30);
}

static int lying_relay(void)
{
	struct sl_relay_message m;
	seed = strtoull(getenv(SEED), NULL, 10);
	for (int i = 0; i < LIES; i++) {
		while (recv(SL_RELAY_FD, &m, sizeof m, MSG_DONTWAIT) > 0)  /* descriptors are lost */
			;
		lie(&m);
		fcntl(SL_RELAY_FD, F_SETFL, 0);
		if (send(SL_RELAY_FD, &m, sizeof m, MSG_NOSIGNAL) < 0)
			return 0;
	}
	return (int)below(3);
}

struct server {
	uv_loop_t loop;
	struct sl_publisher *publisher;
	struct sl_buffer *frame[3];
	uv_timer_t timer;
	int ticks, subscriptions;
	bool closed;
};

static void on_subscription(void *arg, const char *prefix, size_t length)
{
	struct server *s = arg;
	assert_true(length <= 26);
	s->subscriptions++;
	for (int i = 0; i < 3; i++)
		if (!memcmp(ids[i], prefix, length))
			sl_publisher_send(s->publisher, s->frame[i], sl_publisher_stamp(s->publisher) - 1);
}

static void on_closed(void *arg)
{
	((struct server *)arg)->closed = true;
}

static void on_tick(uv_timer_t *timer)
{
	struct server *s = timer->data;
	for (int i = 0; i < 3; i++)
		sl_publisher_send(s->publisher, s->frame[i], 0);
	if (++s->ticks < 150)
		return;
	sl_publisher_destroy(s->publisher, on_closed, s);
	uv_close((uv_handle_t *)timer, NULL);
}

static int connect_to(const char *endpoint)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(strrchr(endpoint, ':') + 1)),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
	return fd;
}

static void a_relay_that_lies_harms_nobody(void **state)
{
	int subscriptions = 0;
	uint64_t first = fresh_seed() >> 8;
	for (int round = 0; round < 8; round++) {
		struct server s = {.publisher = NULL};
		struct sl_config config = {.token_file = round % 2 ? "tokens" : ""};
		struct sl_stream_keys *keys = sl_stream_keys_create(NULL);
		struct sl_publisher_options o = {.endpoint = "tcp://127.0.0.1:*", .subscribers = 10, .waiting = 2,
						 .keys = keys, .config = &config};
		struct sl_error err;
		char number[24];
		snprintf(number, sizeof number, "%llu", (unsigned long long)(first + (uint64_t)round));
		setenv(SEED, number, 1);
		for (int i = 0; i < 3; i++) {
			s.frame[i] = sl_buffer_create(sizeof(struct sl_frame_header) + 1000);
			memset(s.frame[i]->data, 0, s.frame[i]->bytes);
			memcpy(s.frame[i]->data, ids[i], 26);
			((struct sl_frame_header *)(void *)s.frame[i]->data)->flags = i == 2 ? SL_FRAME_FINAL : 0;
		}
		assert_int_equal(uv_loop_init(&s.loop), 0);
		assert_int_equal(sl_publisher_create(&s.publisher, &s.loop, &o, on_subscription, &s, &err), 0);
		uv_timer_init(&s.loop, &s.timer);
		s.timer.data = &s;
		uv_timer_start(&s.timer, on_tick, 1, 1);
		int fd = connect_to(sl_publisher_endpoint(s.publisher));
		uv_run(&s.loop, UV_RUN_DEFAULT);
		assert_true(s.closed);
		assert_int_equal(uv_loop_close(&s.loop), 0);
		for (int i = 0; i < 3; i++) {
			assert_int_equal(s.frame[i]->references, 1);  /* nobody holds it any more */
			sl_buffer_unref(s.frame[i]);
		}
		sl_stream_keys_destroy(keys);
		close(fd);
		subscriptions += s.subscriptions;
	}
	assert_true(subscriptions > 100);
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], SL_RELAY_ARGUMENT))
		return lying_relay();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_arrive_in_order),
		cmocka_unit_test(what_is_no_message_ends_it),
		cmocka_unit_test(a_relay_that_lies_harms_nobody),
	};
	sl_log_init(SL_LOG_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
