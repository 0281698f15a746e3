/* At most SL_STREAM_KEYS entries, searched one by one. */
#include "daemon/stream/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>
#include <zmq.h>

#include "daemon/users/limits.h"
#include "daemon/util/time_text.h"

#define VALID_MS (24 * 3600 * 1000ull)
#define Z85_BYTES 41

struct key {
	uint8_t public_key[SL_RELAY_KEY_BYTES];
	struct sl_principal who;
	uint64_t until_ms;        /* since 1970; 0: not in use */
};

struct sl_stream_keys {
	const struct sl_users *users;
	uint8_t public_key[SL_RELAY_KEY_BYTES], secret_key[SL_RELAY_KEY_BYTES];  /* of the server */
	struct key key[SL_STREAM_KEYS];
};

/* Finds a key; NULL: there is none, or its token is no longer valid. */
static const struct key *find(struct sl_stream_keys *k, const uint8_t *public_key)
{
	uint64_t now = sl_time_now_ms();
	for (int i = 0; i < SL_STREAM_KEYS; i++) {
		struct key *key = &k->key[i];
		if (key->until_ms <= now || memcmp(key->public_key, public_key, SL_RELAY_KEY_BYTES))
			continue;
		if (sl_users_still(k->users, &key->who))
			return key;
		key->until_ms = 0;
	}
	return NULL;
}

struct sl_stream_keys *sl_stream_keys_create(const struct sl_users *users)
{
	struct sl_stream_keys *k = calloc(1, sizeof *k);
	if (!k)
		return NULL;
	k->users = users;
	crypto_box_keypair(k->public_key, k->secret_key);
	return k;
}

void sl_stream_keys_destroy(struct sl_stream_keys *k)
{
	if (!k)
		return;
	sodium_memzero(k, sizeof *k);
	free(k);
}

const uint8_t *sl_stream_keys_secret(const struct sl_stream_keys *k)
{
	return k->secret_key;
}

static bool older(const struct key *a, const struct key *b)
{
	return !b || a->until_ms < b->until_ms;
}

/* The place of the next key: a free one, or that of the oldest key, or of the user's oldest key. */
static struct key *place_for(struct sl_stream_keys *k, const struct sl_principal *who)
{
	struct key *oldest = NULL, *own = NULL;
	int count = 0;
	for (int i = 0; i < SL_STREAM_KEYS; i++) {
		struct key *key = &k->key[i];
		bool mine = key->until_ms && !strcmp(key->who.user, who->user);
		oldest = older(key, oldest) ? key : oldest;
		own = mine && older(key, own) ? key : own;
		count += mine;
	}
	return count < SL_STREAM_KEYS / 4 ? oldest : own;
}

json_t *sl_stream_keys_give(struct sl_stream_keys *k, const struct sl_principal *who)
{
	struct key *key = place_for(k, who);
	uint8_t secret[SL_RELAY_KEY_BYTES];
	char server[Z85_BYTES], public[Z85_BYTES], private[Z85_BYTES];
	crypto_box_keypair(key->public_key, secret);
	key->who = *who;
	key->until_ms = sl_time_now_ms() + VALID_MS;
	zmq_z85_encode(server, k->public_key, SL_RELAY_KEY_BYTES);
	zmq_z85_encode(public, key->public_key, SL_RELAY_KEY_BYTES);
	zmq_z85_encode(private, secret, sizeof secret);
	json_t *reply = json_pack("{s:s, s:s, s:s}", "server_key", server, "public_key", public, "secret_key", private);
	sodium_memzero(secret, sizeof secret);
	sodium_memzero(private, sizeof private);
	return reply;
}

const char *sl_stream_keys_account(struct sl_stream_keys *k, const uint8_t client_key[SL_RELAY_KEY_BYTES])
{
	const struct key *key = find(k, client_key);
	return key ? key->who.account : NULL;
}

int64_t sl_stream_keys_part(const struct sl_stream_keys *k, const char *account, int64_t bound)
{
	return sl_users_part(k->users, account, bound);
}

bool sl_stream_keys_may(struct sl_stream_keys *k, const uint8_t client_key[SL_RELAY_KEY_BYTES], enum sl_topic_kind kind,
			const char *thing)
{
	const struct key *key = find(k, client_key);
	char id[27];
	snprintf(id, sizeof id, "%.26s", thing);
	return key && !sl_users_may(k->users, &key->who, sl_topic_verb(kind), id);
}
