/* keys.h -- the keys of ZeroMQ subscribers, for servers that need tokens.
 *
 * The server makes a key pair at its start. A client that has sent its token over HTTP gets another key pair; a
 * subscriber with that key gets only frames that the client may read. Keys are kept only in memory, for a day but no
 * longer than the token is valid, and at most SL_STREAM_KEYS of them; the oldest are dropped first. A user with a
 * quarter of them drops only keys of this user, so that nobody ends the streams of others. Loop thread. */
#ifndef SL_STREAM_KEYS_H
#define SL_STREAM_KEYS_H

#include <jansson.h>

#include "daemon/relay/channel.h"
#include "daemon/users/users.h"

#define SL_STREAM_KEYS 1000

struct sl_stream_keys;

struct sl_stream_keys *sl_stream_keys_create(const struct sl_users *users);  /* NULL: no memory. users: borrowed */
void sl_stream_keys_destroy(struct sl_stream_keys *k);  /* NULL is fine */
/* The server's secret key, SL_RELAY_KEY_BYTES bytes. Borrowed. */
const uint8_t *sl_stream_keys_secret(const struct sl_stream_keys *k);
/* {"server_key", "public_key", "secret_key"} in Z85, as ZeroMQ libraries take them; new reference. */
json_t *sl_stream_keys_give(struct sl_stream_keys *k, const struct sl_principal *who);
/* The account (users/limits.h) of the holder of this key; NULL: the key is void. Borrowed, for now. */
const char *sl_stream_keys_account(struct sl_stream_keys *k, const uint8_t client_key[SL_RELAY_KEY_BYTES]);
/* How many of `bound` subscribers an account may have. */
int64_t sl_stream_keys_part(const struct sl_stream_keys *k, const char *account, int64_t bound);
/* True if the holder of this key may get messages of this kind about the thing with this id (26 characters). */
bool sl_stream_keys_may(struct sl_stream_keys *k, const uint8_t client_key[SL_RELAY_KEY_BYTES], enum sl_topic_kind kind,
			const char *thing);

#endif
