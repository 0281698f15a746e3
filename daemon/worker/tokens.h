/* tokens.h -- tokens with which workers on other machines prove themselves (engines/remote.h). They open nothing
 * else: the HTTP server refuses them, and the port for workers refuses those of users. Administrators make and revoke
 * them. The server keeps keyed hashes, as of the tokens of users, in one document of its settings. Loop thread. */
#ifndef SL_WORKER_TOKENS_H
#define SL_WORKER_TOKENS_H

#include "daemon/upkeep/settings.h"
#include "daemon/users/users.h"

/* Makes the text of a token, and its hash; records nothing. */
void sl_worker_token_make(const struct sl_users *u, char text[SL_SECRET_BYTES],
			  unsigned char hash[SL_SECRET_HASH_BYTES]);

/* Those that are recorded: an array, new reference. */
json_t *sl_worker_tokens_json(const struct sl_settings *s);
/* body: {"name", "days"}, both optional. *reply, new reference: the record with the token itself; the caller sends it
 * after done has run. */
int sl_worker_token_add(const struct sl_users *u, struct sl_settings *s, const json_t *body, json_t **reply,
			sl_db_done_fn done, void *arg, struct sl_error *err);
int sl_worker_token_remove(struct sl_settings *s, const char *id, sl_db_done_fn done, void *arg, struct sl_error *err);
/* True if a recorded token has this hash and is valid now; then id is its id, and the time of its use is recorded, once
 * a minute at most, with the engine of the worker that brought it. */
bool sl_worker_token_identify(struct sl_settings *s, const unsigned char hash[SL_SECRET_HASH_BYTES], const char *engine,
			      char id[SL_ULID_BYTES]);
/* True if the token is recorded and has not expired. */
bool sl_worker_token_is_valid(const struct sl_settings *s, const char *id);
/* True if a worker with this engine has come with a token that is valid now. */
bool sl_worker_tokens_know(const struct sl_settings *s, const char *engine);

#endif
