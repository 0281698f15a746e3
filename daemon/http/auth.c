/* Checks tokens, Host and Origin. Any page in a browser on the same machine can make it send requests to a loopback
 * port, even under a name that resolves to 127.0.0.1. So Host must be one of the server's names, and Origin, if
 * present, one of its origins. Tokens are stored as digests and compared in constant time, each request against all of
 * them. */
#include "daemon/http/http_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>
#include <sys/stat.h>

#include "core/formats/text/encoding.h"
#include "daemon/util/log.h"

#define DIGEST_BYTES 32
#define TOKEN_MIN 16

struct words {
	char **at;
	int count;
};

struct sl__auth {
	char host[64];            /* as bound, without brackets */
	uint16_t port;
	bool any;                 /* bound to all addresses */
	bool loopback;
	bool tls;                 /* the default port is 443, and the server's own pages are https */
	struct sl_base base;      /* base_url */
	struct words names;       /* further names of the server, with any port */
	struct words origins;     /* origins of pages that may use the server, "https://lab.example" */
	char *ancestors;          /* the same, separated by spaces, or 'none' */
	struct token {
		unsigned char digest[DIGEST_BYTES];
		char name[64];        /* what follows it in its line, or "line 3 of token_file" */
	} *tokens;
	int token_count;
	bool tokens_needed;
};

static int read_words(struct words *w, const char *list)
{
	while (*(list += strspn(list, ", \t"))) {
		size_t length = strcspn(list, ", \t");
		char **at = realloc(w->at, (size_t)(w->count + 1) * sizeof *at);
		if (!at)
			return SL_NOMEM;
		w->at = at;
		if (!(at[w->count] = strndup(list, length)))
			return SL_NOMEM;
		w->count++;
		list += length;
	}
	return 0;
}

static bool has_word(const struct words *w, const char *word)
{
	for (int i = 0; i < w->count; i++)
		if (!strcasecmp(word, w->at[i]))
			return true;
	return false;
}

/* NULL: no memory. */
static char *join_words(const struct words *w, const char *none)
{
	size_t bytes = strlen(none) + 1;
	for (int i = 0; i < w->count; i++)
		bytes += strlen(w->at[i]) + 1;
	char *text = malloc(bytes), *to = text;
	if (text && !w->count)
		strcpy(text, none);
	for (int i = 0; text && i < w->count; i++)
		to += sprintf(to, "%s%s", i ? " " : "", w->at[i]);
	return text;
}

static void free_words(struct words *w)
{
	for (int i = 0; i < w->count; i++)
		free(w->at[i]);
	free(w->at);
}

static void digest(unsigned char out[DIGEST_BYTES], const char *token)
{
	crypto_generichash(out, DIGEST_BYTES, (const unsigned char *)token, strlen(token), NULL, 0);
}

static int read_tokens(struct sl__auth *a, const char *path, struct sl_error *err)
{
	FILE *file = fopen(path, "re");
	if (!file)
		return sl_error_at(err, SL_IO, path, 0, "the tokens cannot be read: %s", strerror(errno));
	struct stat st;
	if (!fstat(fileno(file), &st) && st.st_mode & S_IROTH)
		sl_log_warning("http", "everybody on this machine can read %s; restrict it by chmod 600", path);
	char *line = NULL;
	size_t room = 0;
	int64_t number = 0;
	int rc = 0;
	for (ssize_t length; !rc && (length = getline(&line, &room, file)) >= 0;) {
		char *token = line + (number++ ? 0 : sl_text_mark(line, (size_t)length));
		if (memchr(line, 0, (size_t)length)) {
			rc = sl_error_at(err, SL_BADPARAM, path, number, "there is a zero byte in the line; this must be a text in "
					 "ASCII or UTF-8");
			break;
		}
		size_t end = strcspn(token, " \t\r\n");
		const char *name = token + end + strspn(token + end, " \t");
		char label[64];
		if (!end || token[0] == '#')
			continue;
		snprintf(label, sizeof label, "%.*s", (int)strcspn(name, "\r\n"), name);
		for (size_t last = strlen(label); last && strchr(" \t", label[last - 1]);)
			label[--last] = '\0';
		if (!label[0])
			snprintf(label, sizeof label, "line %lld of token_file", (long long)number);
		token[end] = '\0';
		if (strlen(token) < TOKEN_MIN) {
			rc = sl_error_at(err, SL_BADPARAM, path, number, "a token needs at least %d characters", TOKEN_MIN);
			break;
		}
		void *tokens = realloc(a->tokens, (size_t)(a->token_count + 1) * sizeof *a->tokens);
		if (!tokens) {
			rc = sl_error_memory(err, "the tokens");
			break;
		}
		a->tokens = tokens;
		memcpy(a->tokens[a->token_count].name, label, sizeof label);
		digest(a->tokens[a->token_count++].digest, token);
	}
	if (line)
		sodium_memzero(line, room);
	free(line);
	fclose(file);
	if (!rc && !a->token_count)
		rc = sl_error_at(err, SL_BADPARAM, path, 0, "the file has no token; it must have one token a line");
	return rc;
}

/* Splits "name", "name:port" or "[v6]:port"; port -1: none given. */
static bool split(const char *text, char *name, size_t bytes, long *port)
{
	const char *end = text + strcspn(text, ":");
	bool six = text[0] == '[';
	if (six) {
		end = strchr(text, ']');
		if (!end)
			return false;
		text++;
	}
	size_t length = (size_t)(end - text);
	if (!length || length >= bytes)
		return false;
	memcpy(name, text, length);
	name[length] = '\0';
	end += six;
	*port = -1;
	if (!*end)
		return true;
	char *rest;
	if (*end != ':' || end[1] < '0' || end[1] > '9')
		return false;
	*port = strtol(end + 1, &rest, 10);
	return !*rest && *port <= 65535;
}

/* The host of base_url is a name of the server, too. */
static int read_base_name(struct sl__auth *a)
{
	char name[256];
	long port;
	return split(sl_base_authority(&a->base), name, sizeof name, &port) ? read_words(&a->names, name) : 0;
}

int sl__auth_create(struct sl__auth **out, const struct sl_config *c, const char *host, uint16_t port,
		    struct sl_error *err)
{
	struct sl__auth *a = calloc(1, sizeof *a);
	if (!a)
		return sl_error_memory(err, "the server");
	snprintf(a->host, sizeof a->host, "%s", host);
	a->port = port;
	a->loopback = sl_config_loopback(host);
	a->any = !strcmp(host, "0.0.0.0") || !strcmp(host, "::");
	a->tls = c->tls_certificate[0] != '\0';
	a->tokens_needed = c->token_file[0] != '\0';
	sl_base_read(c->base_url, &a->base);
	int rc = read_words(&a->names, c->allowed_hosts);
	if (!rc)
		rc = read_base_name(a);
	if (!rc)
		rc = read_words(&a->origins, c->allowed_origins);
	if (!rc && !(a->ancestors = join_words(&a->origins, "'none'")))
		rc = SL_NOMEM;
	if (rc)
		sl_error_set(err, rc, SL_NO_MEMORY "the names of hosts.");
	else if (a->tokens_needed)
		rc = read_tokens(a, c->token_file, err);
	if (rc)
		sl__auth_destroy(a);
	else
		*out = a;
	return rc;
}

void sl__auth_destroy(struct sl__auth *a)
{
	if (!a)
		return;
	free_words(&a->names);
	free_words(&a->origins);
	free(a->ancestors);
	free(a->tokens);
	free(a);
}

/* True if text is a name of this server. usual: the default port. */
static bool ours(const struct sl__auth *a, const char *text, long usual, bool *foreign_name)
{
	char name[256];
	unsigned char address[16];
	long port;
	*foreign_name = false;
	if (!split(text, name, sizeof name, &port))
		return false;
	if (has_word(&a->names, name)) {
		*foreign_name = true;
		return true;
	}
	if ((port < 0 ? usual : port) != a->port)
		return false;
	if (!strcasecmp(name, a->host) || (!strcasecmp(name, "localhost") && (a->loopback || a->any)))
		return true;
	/* A server bound to all addresses accepts any literal address, since a literal address needs no name resolution
	 * that an attacker could control. */
	return a->any && (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1);
}

const struct sl_base *sl__auth_base(const struct sl__auth *a)
{
	return &a->base;
}

int sl__auth_host(const struct sl__auth *a, const char *host, char *why, size_t bytes)
{
	bool foreign;
	if (!host || !*host) {
		snprintf(why, bytes, "the header Host is missing");
		return 400;
	}
	if (ours(a, host, a->tls ? 443 : 80, &foreign))
		return 0;
	snprintf(why, bytes, "'%.100s' is not a name of this server; allowed_hosts in its configuration adds names", host);
	return 421;
}

int sl__auth_origin(const struct sl__auth *a, const char *origin, char *why, size_t bytes)
{
	bool foreign;
	if (!origin)
		return 0;
	if (!a->tls && !strncmp(origin, "http://", 7) && ours(a, origin + 7, 80, &foreign))
		return 0;
	/* also accepted without TLS, if a proxy in front has it */
	if (!strncmp(origin, "https://", 8) && ours(a, origin + 8, 443, &foreign) && (a->tls || foreign))
		return 0;
	snprintf(why, bytes, "pages of '%.100s' may not use this server; allowed_origins in its configuration lists "
		 "those that may (a name of this server itself belongs into allowed_hosts)", origin);
	return 403;
}

bool sl__auth_same_tokens(const struct sl__auth *a, const struct sl__auth *b)
{
	return a->tokens_needed == b->tokens_needed && a->token_count == b->token_count &&
	       (!a->token_count || !memcmp(a->tokens, b->tokens, (size_t)a->token_count * DIGEST_BYTES));
}

bool sl__auth_has_origins(const struct sl__auth *a)
{
	return a->origins.count > 0;
}

const char *sl__auth_ancestors(const struct sl__auth *a)
{
	return a->ancestors;
}

bool sl__auth_cross(const struct sl__auth *a, const char *origin)
{
	return has_word(&a->origins, origin);
}

static int check_token(const struct sl__auth *a, const char *token, char *why, size_t bytes)
{
	unsigned char given[DIGEST_BYTES];
	digest(given, token);
	int found = 0;
	for (int i = 0; i < a->token_count; i++)
		found |= !sodium_memcmp(given, a->tokens[i].digest, DIGEST_BYTES);
	if (found)
		return 0;
	snprintf(why, bytes, "the token is not one of this server's");
	return 401;
}

const char *sl__auth_name(const struct sl__auth *a, const char *authorization, const char *cookie)
{
	unsigned char given[DIGEST_BYTES];
	char token[SL__COOKIE_BYTES];
	const char *name = "";
	if (!a->tokens_needed || !sl__auth_text(authorization, cookie, token))
		return name;
	digest(given, token);
	sodium_memzero(token, sizeof token);
	for (int i = 0; i < a->token_count; i++)
		if (!sodium_memcmp(given, a->tokens[i].digest, DIGEST_BYTES))
			name = a->tokens[i].name;
	return name;
}

int sl__auth_token(const struct sl__auth *a, const char *authorization, char *why, size_t bytes)
{
	if (!a->tokens_needed)
		return 0;
	if (authorization && !strncasecmp(authorization, "Bearer ", 7))
		return check_token(a, authorization + 7, why, bytes);
	snprintf(why, bytes, "this server needs a token: Authorization: Bearer TOKEN");
	return 401;
}

bool sl__auth_needed(const struct sl__auth *a)
{
	return a->tokens_needed;
}

/* The cookie is the token, encoded in characters that a cookie may contain. */
bool sl__auth_text(const char *authorization, const char *cookie, char token[SL__COOKIE_BYTES])
{
	size_t length = 0;
	if (authorization && (strncasecmp(authorization, "Bearer ", 7) || strlen(authorization) - 7 >= SL__COOKIE_BYTES))
		return false;
	if (authorization) {
		snprintf(token, SL__COOKIE_BYTES, "%s", authorization + 7);
		return true;
	}
	if (!cookie || sodium_base642bin((unsigned char *)token, SL__COOKIE_BYTES - 1, cookie, strlen(cookie), NULL,
					 &length, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING))
		return false;
	token[length] = '\0';
	return true;
}

int sl__auth_cookie(const struct sl__auth *a, const char *cookie, char *why, size_t bytes)
{
	char token[SL__COOKIE_BYTES];
	if (!a->tokens_needed)
		return 0;
	if (!sl__auth_text(NULL, cookie, token)) {
		snprintf(why, bytes, "the cookie is not one of this server's; POST /v1/login makes one");
		return 401;
	}
	int status = check_token(a, token, why, bytes);
	sodium_memzero(token, sizeof token);
	return status;
}

int sl__auth_login(const struct sl__auth *a, const char *token, char cookie[SL__COOKIE_BYTES], char *why, size_t bytes)
{
	if (sodium_base64_ENCODED_LEN(strlen(token), sodium_base64_VARIANT_URLSAFE_NO_PADDING) > SL__COOKIE_BYTES) {
		snprintf(why, bytes, "the token is too long");
		return 400;
	}
	sodium_bin2base64(cookie, SL__COOKIE_BYTES, (const unsigned char *)token, strlen(token),
			  sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	return a->tokens_needed ? check_token(a, token, why, bytes) : 0;
}
