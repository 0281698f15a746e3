/* Parses and writes ZMTP. Every frame has a head (flags and a length of 1 or 8 bytes) and a body. A command is a frame
 * whose body begins with its name, after the name's length. Up to the handshake's end only
 * commands are allowed; after it subscribers send subscriptions, as commands (3.1) or as
 * messages that begin with a byte 1 or 0 (3.0), and heartbeats. With CURVE all of these come
 * encrypted in frames of their own (zmtp_curve.c). */
#include <endian.h>
#include <string.h>

#include "daemon/stream/zmtp_internal.h"

#define GREETING_BYTES 64
#define LONG 2
#define COMMAND 4
#define PONG_BYTES 16             /* of a heartbeat's context, at most */
#define REFUSAL_BYTES 200

static size_t make_head(uint8_t *head, size_t bytes, int flags)
{
	if (bytes < 256) {
		head[0] = (uint8_t)flags;
		head[1] = (uint8_t)bytes;
		return 2;
	}
	uint64_t length = htobe64(bytes);
	head[0] = (uint8_t)(flags | LONG);
	memcpy(head + 1, &length, sizeof length);
	return SL_ZMTP_HEAD_BYTES;
}

/* The longest commands are CURVE's WELCOME, with 160 bytes of data, and a refusal. */
void sl__zmtp_command(struct sl_zmtp *z, const char *name, const void *data, size_t bytes)
{
	uint8_t plain[16 + REFUSAL_BYTES], out[SL_ZMTP_HEAD_BYTES + 128 + sizeof plain];
	size_t length = strlen(name);
	plain[0] = (uint8_t)length;
	memcpy(plain + 1, name, length);
	memcpy(plain + 1 + length, data, bytes);
	length += 1 + bytes;
	bool seal = z->curve && sl_zmtp_ready(z);
	size_t body = length + (seal ? sl__zmtp_curve_overhead() : 0), head = make_head(out, body, seal ? 0 : COMMAND);
	if (seal)
		sl__zmtp_curve_seal(z, plain, length, true, out + head);
	else
		memcpy(out + head, plain, length);
	z->ops->send(z->arg, out, head + body);
}

const char *sl__zmtp_refuse(struct sl_zmtp *z, const char *reason)
{
	uint8_t data[1 + REFUSAL_BYTES];
	size_t length = strlen(reason);
	length = length < REFUSAL_BYTES ? length : REFUSAL_BYTES;
	data[0] = (uint8_t)length;
	memcpy(data + 1, reason, length);
	sl__zmtp_command(z, "ERROR", data, 1 + length);
	return reason;
}

bool sl__zmtp_is(const uint8_t *body, size_t length, const char *name, const uint8_t **data, size_t *bytes)
{
	size_t n = strlen(name);
	if (length < 1 + n || body[0] != n || memcmp(body + 1, name, n))
		return false;
	*data = body + 1 + n;
	*bytes = length - 1 - n;
	return true;
}

static size_t add_property(uint8_t *out, const char *name, const char *value)
{
	size_t n = strlen(name), v = strlen(value);
	uint32_t length = htobe32((uint32_t)v);
	out[0] = (uint8_t)n;
	memcpy(out + 1, name, n);
	memcpy(out + 1 + n, &length, sizeof length);
	memcpy(out + 1 + n + sizeof length, value, v);
	return 1 + n + sizeof length + v;
}

size_t sl__zmtp_metadata(uint8_t *out)
{
	size_t used = add_property(out, "Socket-Type", "XPUB");
	return used + add_property(out + used, "Identity", "");
}

static bool same_name(const uint8_t *text, size_t length, const char *name)
{
	if (length != strlen(name))
		return false;
	for (size_t i = 0; i < length; i++)
		if ((text[i] | 0x20) != (name[i] | 0x20))  /* names do not depend on case */
			return false;
	return true;
}

const char *sl__zmtp_check_metadata(struct sl_zmtp *z, const uint8_t *data, size_t bytes)
{
	bool subscriber = false;
	while (bytes) {
		size_t name = data[0];
		uint32_t value;
		if (bytes < 1 + name + sizeof value)
			return sl__zmtp_refuse(z, "its properties are cut short");
		memcpy(&value, data + 1 + name, sizeof value);
		value = be32toh(value);
		const uint8_t *text = data + 1 + name + sizeof value;
		bytes -= 1 + name + sizeof value;
		if (value > bytes)
			return sl__zmtp_refuse(z, "its properties are cut short");
		bytes -= value;
		if (same_name(data + 1, name, "Socket-Type"))
			subscriber = (value == 3 && !memcmp(text, "SUB", 3)) || (value == 4 && !memcmp(text, "XSUB", 4));
		data = text + value;
	}
	return subscriber ? NULL : sl__zmtp_refuse(z, "its socket is neither SUB nor XSUB; frames are published");
}

void sl_zmtp_init(struct sl_zmtp *z, const struct sl_zmtp_ops *ops, void *arg, const struct sl_zmtp_keys *keys)
{
	uint8_t greeting[GREETING_BYTES] = {[0] = 0xff, [8] = 1, [9] = 0x7f, [10] = 3, [11] = 1};
	*z = (struct sl_zmtp){.ops = ops, .arg = arg, .keys = keys, .need = GREETING_BYTES};
	memcpy(greeting + 12, keys ? "CURVE" : "NULL", keys ? 5 : 4);
	greeting[32] = keys != NULL;  /* as-server */
	ops->send(arg, greeting, sizeof greeting);
}

void sl_zmtp_finish(struct sl_zmtp *z)
{
	sl__zmtp_curve_destroy(z->curve);
	z->curve = NULL;
}

static const char *on_greeting(struct sl_zmtp *z)
{
	char mechanism[20] = {0};
	if (z->in[0] != 0xff || !(z->in[9] & 1))
		return "it does not speak ZMTP 3";
	if (z->in[10] < 3)
		return "it speaks an older ZMTP than 3.0";
	memcpy(mechanism, z->keys ? "CURVE" : "NULL", z->keys ? 5 : 4);
	if (memcmp(z->in + 12, mechanism, sizeof mechanism))
		return z->keys ? "it does not use CURVE, which this server demands"
			       : "it uses another mechanism than NULL";
	if (z->keys) {
		z->stage = SL_ZMTP_HELLO;
	} else {
		uint8_t metadata[64] = {0};
		size_t bytes = sl__zmtp_metadata(metadata);
		sl__zmtp_command(z, "READY", metadata, bytes);
		z->stage = SL_ZMTP_METADATA;
	}
	return NULL;
}

static const char *on_metadata(struct sl_zmtp *z, const uint8_t *body, size_t length)
{
	const uint8_t *data;
	size_t bytes;
	if (!sl__zmtp_is(body, length, "READY", &data, &bytes))
		return "its handshake has no READY";
	const char *why = sl__zmtp_check_metadata(z, data, bytes);
	if (!why)
		z->stage = SL_ZMTP_READY;
	return why;
}

/* Ignores unknown commands, as the specification requires. */
static const char *on_command(struct sl_zmtp *z, const uint8_t *body, size_t length)
{
	const uint8_t *data;
	size_t bytes;
	if (sl__zmtp_is(body, length, "SUBSCRIBE", &data, &bytes))
		return z->ops->topic(z->arg, (const char *)data, bytes, true);
	if (sl__zmtp_is(body, length, "CANCEL", &data, &bytes))
		return z->ops->topic(z->arg, (const char *)data, bytes, false);
	if (sl__zmtp_is(body, length, "PING", &data, &bytes)) {
		if (bytes < 2 || bytes > 2 + PONG_BYTES)
			return "its heartbeat has a wrong length";
		sl__zmtp_command(z, "PONG", data + 2, bytes - 2);
	} else if (sl__zmtp_is(body, length, "ERROR", &data, &bytes)) {
		return "it sent an ERROR";
	}
	return NULL;
}

static const char *on_frame(struct sl_zmtp *z, uint8_t *body, size_t length, bool command)
{
	if (z->stage == SL_ZMTP_HELLO)
		return sl__zmtp_curve_hello(z, body, length);
	if (z->stage == SL_ZMTP_INITIATE)
		return sl__zmtp_curve_initiate(z, body, length);
	if (z->stage == SL_ZMTP_METADATA)
		return command ? on_metadata(z, body, length) : "its handshake has no READY";
	if (z->curve) {
		const char *why = sl__zmtp_curve_open(z, &body, &length, &command);
		if (why)
			return why;
	}
	if (command || (length && body[0] > 1))
		return on_command(z, body, length);
	if (length)
		return z->ops->topic(z->arg, (const char *)body + 1, length - 1, body[0] == 1);
	return NULL;
}

/* Determines the length of the frame when the first two bytes of the head, or all of it, have arrived. */
static const char *on_head(struct sl_zmtp *z)
{
	uint64_t length = z->in[1];
	if (z->in[0] & ~7)
		return "the flags of its frame are unknown";
	z->head = z->in[0] & LONG ? SL_ZMTP_HEAD_BYTES : 2;
	if (z->have < z->head) {
		z->need = z->head;
		z->head = 0;
		return NULL;
	}
	if (z->in[0] & LONG) {
		memcpy(&length, z->in + 1, sizeof length);
		length = be64toh(length);
	}
	if (length > sizeof z->in - z->head)
		return "its frame is longer than any subscription";
	z->need = z->head + (size_t)length;
	return NULL;
}

/* Processes in[0, need), which has arrived. */
static const char *advance(struct sl_zmtp *z)
{
	const char *why = NULL;
	if (z->stage == SL_ZMTP_GREETING) {
		why = on_greeting(z);
	} else {
		if (!z->head)
			why = on_head(z);
		if (why || !z->head || z->have < z->need)
			return why;
		why = on_frame(z, z->in + z->head, z->need - z->head, z->in[0] & COMMAND);
	}
	z->have = z->head = 0;
	z->need = 2;
	return why;
}

const char *sl_zmtp_feed(struct sl_zmtp *z, const void *data, size_t bytes)
{
	const uint8_t *from = data;
	const char *why = NULL;
	while (bytes && !why) {
		size_t take = z->need - z->have < bytes ? z->need - z->have : bytes;
		memcpy(z->in + z->have, from, take);
		z->have += take;
		from += take;
		bytes -= take;
		if (z->have == z->need)
			why = advance(z);
	}
	return why;
}

struct sl_buffer *sl_zmtp_wrap(struct sl_zmtp *z, struct sl_buffer *message, uint8_t head[SL_ZMTP_HEAD_BYTES],
			       size_t *head_bytes)
{
	struct sl_buffer *body;
	if (!z->curve) {
		body = sl_buffer_ref(message);
	} else {
		if (!(body = sl_buffer_create(message->bytes + sl__zmtp_curve_overhead())))
			return NULL;
		sl__zmtp_curve_seal(z, message->data, message->bytes, false, body->data);
	}
	*head_bytes = make_head(head, body->bytes, 0);
	return body;
}
