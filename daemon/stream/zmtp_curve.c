/* CURVE, the server's side (rfc.zeromq.org/spec/26), by libsodium's crypto_box.
 *
 * HELLO proves that the client knows the server's public key. WELCOME contains the server's
 * transient key and a cookie. INITIATE returns the cookie, with the client's permanent key
 * and its voucher for the transient key. READY ends the handshake. From then on each frame is
 * a box with an increasing nonce. In the specification the cookie contains the state of the
 * handshake, so that a server needs no memory between WELCOME and INITIATE. This server has a
 * connection and a time limit for each client, so its cookie is random bytes, which INITIATE
 * must return.
 *
 * Nonces: 16 characters of purpose and 8 bytes of counter, or 8 and 16 random ones. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "daemon/stream/zmtp_internal.h"

#define KEY SL_ZMTP_KEY_BYTES
#define MAC crypto_box_MACBYTES
#define COOKIE_BYTES 96
#define VOUCH_BYTES 96
#define HELLO_BYTES 200
#define MESSAGE_NAME "\x07MESSAGE"
#define MESSAGE_HEAD 16           /* name and counter */
#define COMMAND 2

_Static_assert(crypto_box_PUBLICKEYBYTES == KEY && crypto_box_SECRETKEYBYTES == KEY && crypto_box_MACBYTES == 16 &&
	       crypto_box_NONCEBYTES == 24, "the sizes of CURVE's primitives");

struct sl_zmtp_curve {
	uint8_t client[KEY];                     /* its transient public key */
	uint8_t transient_public[KEY], transient_secret[KEY];
	uint8_t cookie[COOKIE_BYTES];
	uint8_t shared[crypto_box_BEFORENMBYTES]; /* of both transient keys */
	uint64_t sent, received;                 /* counters of the newest nonces */
};

static void nonce_of(uint8_t nonce[24], const char *purpose, const uint8_t *rest, size_t bytes)
{
	memcpy(nonce, purpose, 24 - bytes);
	memcpy(nonce + 24 - bytes, rest, bytes);
}

/* Checks that the client's counter is greater than that of its previous frame. */
static bool counter_rises(struct sl_zmtp_curve *c, const uint8_t *counter)
{
	uint64_t value;
	memcpy(&value, counter, sizeof value);
	value = be64toh(value);
	if (value <= c->received)
		return false;
	c->received = value;
	return true;
}

static void next_counter(struct sl_zmtp_curve *c, uint8_t counter[8])
{
	uint64_t value = htobe64(++c->sent);
	memcpy(counter, &value, sizeof value);
}

void sl__zmtp_curve_destroy(struct sl_zmtp_curve *c)
{
	if (!c)
		return;
	sodium_memzero(c, sizeof *c);
	free(c);
}

static int send_welcome(struct sl_zmtp *z)
{
	struct sl_zmtp_curve *c = z->curve;
	uint8_t data[16 + KEY + COOKIE_BYTES + MAC], plain[KEY + COOKIE_BYTES], nonce[24];
	crypto_box_keypair(c->transient_public, c->transient_secret);
	randombytes_buf(c->cookie, sizeof c->cookie);
	randombytes_buf(data, 16);
	memcpy(plain, c->transient_public, KEY);
	memcpy(plain + KEY, c->cookie, COOKIE_BYTES);
	nonce_of(nonce, "WELCOME-", data, 16);
	if (crypto_box_easy(data + 16, plain, sizeof plain, nonce, c->client, z->keys->secret_key))
		return -1;
	sl__zmtp_command(z, "WELCOME", data, sizeof data);
	return 0;
}

const char *sl__zmtp_curve_hello(struct sl_zmtp *z, const uint8_t *body, size_t length)
{
	const uint8_t *data;
	size_t bytes;
	uint8_t nonce[24], zeros[64];
	if (length != HELLO_BYTES || !sl__zmtp_is(body, length, "HELLO", &data, &bytes) || data[0] != 1)
		return "its HELLO is not one of CURVE 1.0";
	if (!(z->curve = calloc(1, sizeof *z->curve)))
		return "there is no memory for its keys";
	data += 2 + 72;
	memcpy(z->curve->client, data, KEY);
	nonce_of(nonce, "CurveZMQHELLO---", data + KEY, 8);
	counter_rises(z->curve, data + KEY);
	if (crypto_box_open_easy(zeros, data + KEY + 8, 64 + MAC, nonce, z->curve->client, z->keys->secret_key))
		return "it was given another server's key";
	if (send_welcome(z))
		return "its key is not valid";
	z->stage = SL_ZMTP_INITIATE;
	return NULL;
}

/* Checks the voucher: the client's permanent key vouches for its transient key. plain: permanent key, voucher,
 * properties. */
static const char *check_voucher(struct sl_zmtp *z, const uint8_t *plain)
{
	struct sl_zmtp_curve *c = z->curve;
	uint8_t nonce[24], vouched[2 * KEY];
	nonce_of(nonce, "VOUCH---", plain + KEY, 16);
	if (crypto_box_open_easy(vouched, plain + KEY + 16, 2 * KEY + MAC, nonce, plain, c->transient_secret) ||
	    sodium_memcmp(vouched, c->client, KEY) || sodium_memcmp(vouched + KEY, z->keys->public_key, KEY))
		return "its voucher is not valid";
	if (!z->keys->allowed(z->keys->arg, plain))
		return sl__zmtp_refuse(z, "400");  /* ZAP's code, which libzmq reports as a refused authentication */
	memcpy(z->client_key, plain, KEY);
	return NULL;
}

static const char *send_ready(struct sl_zmtp *z)
{
	uint8_t metadata[64], data[8 + sizeof metadata + MAC], nonce[24];
	size_t bytes = sl__zmtp_metadata(metadata);
	next_counter(z->curve, data);
	nonce_of(nonce, "CurveZMQREADY---", data, 8);
	crypto_box_easy_afternm(data + 8, metadata, bytes, nonce, z->curve->shared);
	sl__zmtp_command(z, "READY", data, 8 + bytes + MAC);
	z->stage = SL_ZMTP_READY;
	return NULL;
}

const char *sl__zmtp_curve_initiate(struct sl_zmtp *z, const uint8_t *body, size_t length)
{
	struct sl_zmtp_curve *c = z->curve;
	const uint8_t *data;
	size_t bytes;
	uint8_t nonce[24], plain[SL_ZMTP_INPUT_BYTES];
	if (!sl__zmtp_is(body, length, "INITIATE", &data, &bytes) ||
	    bytes < COOKIE_BYTES + 8 + MAC + KEY + VOUCH_BYTES)
		return "its handshake has no INITIATE";
	if (sodium_memcmp(data, c->cookie, COOKIE_BYTES))
		return "its cookie belongs to another connection";
	data += COOKIE_BYTES;
	bytes -= COOKIE_BYTES + 8;
	nonce_of(nonce, "CurveZMQINITIATE", data, 8);
	if (!counter_rises(c, data) || crypto_box_beforenm(c->shared, c->client, c->transient_secret) ||
	    crypto_box_open_easy_afternm(plain, data + 8, bytes, nonce, c->shared))
		return "its INITIATE cannot be decrypted";
	const char *why = check_voucher(z, plain);
	if (!why)
		why = sl__zmtp_check_metadata(z, plain + KEY + VOUCH_BYTES, bytes - MAC - KEY - VOUCH_BYTES);
	return why ? why : send_ready(z);
}

const char *sl__zmtp_curve_open(struct sl_zmtp *z, uint8_t **body, size_t *length, bool *command)
{
	uint8_t nonce[24], *data = *body;
	if (*length < MESSAGE_HEAD + MAC + 1 || memcmp(data, MESSAGE_NAME, 8))
		return "its frame is not encrypted";
	nonce_of(nonce, "CurveZMQMESSAGEC", data + 8, 8);
	if (!counter_rises(z->curve, data + 8) ||
	    crypto_box_open_easy_afternm(data + MESSAGE_HEAD, data + MESSAGE_HEAD, *length - MESSAGE_HEAD, nonce,
					 z->curve->shared))
		return "its frame cannot be decrypted";
	*command = data[MESSAGE_HEAD] & COMMAND;
	*body = data + MESSAGE_HEAD + 1;
	*length -= MESSAGE_HEAD + MAC + 1;
	return NULL;
}

size_t sl__zmtp_curve_overhead(void)
{
	return MESSAGE_HEAD + MAC + 1;
}

/* The flags are the first byte of the box. The plain text is assembled at the place of the cipher text and encrypted
 * there. */
void sl__zmtp_curve_seal(struct sl_zmtp *z, const void *data, size_t bytes, bool command, uint8_t *out)
{
	uint8_t nonce[24], *box = out + MESSAGE_HEAD;
	memcpy(out, MESSAGE_NAME, 8);
	next_counter(z->curve, out + 8);
	nonce_of(nonce, "CurveZMQMESSAGES", out + 8, 8);
	box[MAC] = command ? COMMAND : 0;
	memcpy(box + MAC + 1, data, bytes);
	crypto_box_detached_afternm(box + MAC, box, box + MAC, bytes + 1, nonce, z->curve->shared);
}
