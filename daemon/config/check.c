/* Checks options that depend on each other, and the lists, addresses and files that options name. */
#include "daemon/config/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/engine/load.h"
#include "daemon/config/base.h"
#include "daemon/config/proxy.h"

#define FILE_MOST (16 << 20)  /* bytes of a file of tokens or certificates */

int sl_config_address(const char *listen, char *host, size_t host_bytes, uint16_t *port, struct sl_error *err)
{
	const char *colon = strrchr(listen, ':');
	char *end = NULL;
	long number = colon && colon[1] ? strtol(colon + 1, &end, 10) : -1;
	const char *from = listen;
	size_t length = colon ? (size_t)(colon - listen) : 0;
	bool six = length > 2 && from[0] == '[' && from[length - 1] == ']';
	if (six) {
		from++;
		length -= 2;
	}
	unsigned char address[16];
	if (number < 0 || number > 65535 || *end || !length || length >= host_bytes)
		goto bad;
	memcpy(host, from, length);
	host[length] = '\0';
	if (!strcmp(host, "localhost"))
		snprintf(host, host_bytes, "127.0.0.1");
	if (inet_pton(six ? AF_INET6 : AF_INET, host, address) != 1)
		goto bad;
	*port = (uint16_t)number;
	return 0;
bad:
	return sl_error_field(err, SL_BADPARAM, "/listen",
			      "listen must be ADDRESS:PORT, 127.0.0.1:7070 or [::1]:7070, not '%.64s'", listen);
}

bool sl_config_loopback(const char *host)
{
	struct in_addr four;
	struct in6_addr six;
	if (inet_pton(AF_INET, host, &four) == 1)
		return ntohl(four.s_addr) >> 24 == 127;
	return inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

const char *sl_config_word(const char **at, size_t *length)
{
	const char *word = *at + strspn(*at, ", \t");
	*length = strcspn(word, ", \t");
	*at = word + *length;
	return *length ? word : NULL;
}

bool sl_config_lists(const char *list, const char *word)
{
	size_t length;
	for (const char *w; (w = sl_config_word(&list, &length));)
		if ((length == strlen(word) && !memcmp(w, word, length)) || (length == 3 && !memcmp(w, "all", 3)))
			return true;
	return false;
}

static int check_engines(const struct sl_config *c, struct sl_error *err)
{
	const char *at = c->engines;
	size_t length;
	for (const char *w; (w = sl_config_word(&at, &length));) {
		char word[64];
		snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), w);
		if (!strcmp(word, "all") || (sl_engine_word(word) && strcmp(word, SL_ENGINE_AUTO)))
			continue;
		return sl_error_field(err, SL_BADPARAM, "/engines",
				      "engines has '%s'; it must be all, or some of the values of engine but auto: "
				      SL_ENGINES_TEXT, word);
	}
	return 0;
}

/* True for a name or an address as in the header Host, without a port. */
static bool is_host(const char *text)
{
	unsigned char address[16];
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
	return inet_pton(AF_INET6, text, address) == 1 || (length && !text[length] && strspn(text, ".") == 0);
}

/* True for an origin as browsers send it: "https://lab.example:8443", without a path. */
static bool is_origin(const char *text)
{
	char host[256];
	bool tls = !strncmp(text, "https://", 8);
	if (!tls && strncmp(text, "http://", 7))
		return false;
	snprintf(host, sizeof host, "%s", text + 7 + tls);
	char *colon = strrchr(host, ':'), *bracket = strrchr(host, ']');
	if (colon && colon > bracket) {
		char *end;
		long port = strtol(colon + 1, &end, 10);
		if (colon[1] < '1' || colon[1] > '9' || *end || port > 65535 || port == (tls ? 443 : 80))
			return false;
		*colon = '\0';
	}
	if (host[0] == '[' && bracket && !bracket[1]) {
		*bracket = '\0';
		return is_host(host + 1) && strchr(host + 1, ':');
	}
	return is_host(host) && !strchr(host, ':');
}

static int check_base(const struct sl_config *c, struct sl_error *err)
{
	struct sl_base base;
	if (!c->base_url[0] || (sl_base_read(c->base_url, &base) && is_origin(base.origin)))
		return 0;
	return sl_error_field(err, SL_BADPARAM, "/base_url", "base_url must be the address of this server in browsers, "
			      "with scheme and host, for example https://lab.example/spaceland/, not '%.200s'", c->base_url);
}

static int check_words(const char *list, const char *pointer, bool (*fits)(const char *), const char *right,
		       struct sl_error *err)
{
	size_t length;
	for (const char *w; (w = sl_config_word(&list, &length));) {
		char word[256];
		snprintf(word, sizeof word, "%.*s", (int)(length < 250 ? length : 250), w);
		if (!fits(word))
			return sl_error_field(err, SL_BADPARAM, pointer, "%s has '%.100s', which no request can match; "
					      "it must be %s", pointer + 1, word, right);
	}
	return 0;
}

/* Without tokens there is no CURVE: the stream is unencrypted and open to everybody who can connect. */
static int check_zmq(const struct sl_config *c, struct sl_error *err)
{
	char host[64];
	uint16_t port;
	if (c->zmq[0] && strncmp(c->zmq, "tcp://", 6) && strncmp(c->zmq, "ipc://", 6))
		return sl_error_field(err, SL_BADPARAM, "/zmq",
				      "zmq must begin with tcp:// or ipc://, or be empty, not '%.64s'", c->zmq);
	if (strncmp(c->zmq, "tcp://", 6) || c->token_file[0])
		return 0;
	char address[128];
	size_t name = strcspn(c->zmq + 6, "]");
	const char *colon = strchr(c->zmq[6] == '[' ? c->zmq + 6 + name : c->zmq + 6, ':');
	snprintf(address, sizeof address, "%.*s:0", colon ? (int)(colon - c->zmq - 6) : 100, c->zmq + 6);
	if (!sl_config_address(address, host, sizeof host, &port, NULL) && sl_config_loopback(host))
		return 0;
	return sl_error_field(err, SL_BADPARAM, "/zmq", "zmq = %.64s can be reached from other machines, so token_file "
			      "must be set (or zmq be tcp://127.0.0.1:7071 or empty)", c->zmq);
}

/* The file must be regular, since the loop reads it at a reload: a pipe without a writer or an endless device would
 * block the server. */
static int check_file(const char *path, const char *pointer, struct sl_error *err)
{
	struct stat st;
	if (!path[0])
		return 0;
	if (access(path, R_OK) || stat(path, &st))
		return sl_error_field(err, SL_BADPARAM, pointer, "%s %s cannot be read: %s", pointer + 1, path,
				      strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sl_error_field(err, SL_BADPARAM, pointer, "%s %s is a %s; it must be a regular "
				      "file", pointer + 1, path,
				      S_ISDIR(st.st_mode) ? "folder" : S_ISFIFO(st.st_mode) ? "pipe" : "device or socket");
	if (st.st_size > FILE_MOST)
		return sl_error_field(err, SL_BADPARAM, pointer, "%s %s has %lld bytes; it must have at most "
				      "%d", pointer + 1,
				      path, (long long)st.st_size, FILE_MOST);
	return 0;
}

/* Whoever can change the file of a secret can set it. Files that others can only read are warned of when they are read:
 * they may come from a system for secrets that makes them so. */
static int check_secret(const char *path, const char *pointer, struct sl_error *err)
{
	struct stat st;
	int rc = check_file(path, pointer, err);
	if (!rc && path[0] && !stat(path, &st) && st.st_mode & S_IWOTH)
		return sl_error_field(err, SL_BADPARAM, pointer, "%s %s can be changed by everybody on this machine; restrict "
				      "it: chmod 600 %s", pointer + 1, path, path);
	return rc;
}

static int check_workers(const struct sl_config *c, struct sl_error *err)
{
	char host[64];
	uint16_t port;
	if (c->worker_listen[0] && sl_config_address(c->worker_listen, host, sizeof host, &port, NULL))
		return sl_error_field(err, SL_BADPARAM, "/worker_listen", "worker_listen must be ADDRESS:PORT, 0.0.0.0:7072 or "
				      "[::]:7072, not '%.64s'", c->worker_listen);
	if (!strcmp(c->workers, "remote") && !c->worker_listen[0])
		return sl_error_field(err, SL_BADPARAM, "/workers", "workers = remote needs worker_listen, where the workers "
				      "connect.");
	if (!c->worker_tls_certificate[0] != !c->worker_tls_key[0])
		return sl_error_field(err, SL_BADPARAM, "/worker_tls_certificate", "worker_tls_certificate and worker_tls_key "
				      "need each other. Set both, or none.");
	if (c->slurm_time_s > 0 && c->slurm_time_s < 120)
		return sl_error_field(err, SL_BADPARAM, "/slurm_time_s", "slurm_time_s must be 0, or 120 s at least, "
				      "since jobs leave a worker a minute before its end");
	if (c->slurm_max_workers && !c->worker_listen[0])
		return sl_error_field(err, SL_BADPARAM, "/slurm_max_workers", "slurm_max_workers needs the port on "
				      "which workers connect. Set worker_listen, for example to 0.0.0.0:7072.");
	const char *url = c->slurm_rest_url;
	if (url[0] && strncmp(url, "http://", 7) && strncmp(url, "https://", 8) && strncmp(url, "unix:/", 6))
		return sl_error_field(err, SL_BADPARAM, "/slurm_rest_url", "slurm_rest_url must be http://HOST:PORT, "
				      "https://HOST:PORT or unix:/PATH, not '%.64s'", url);
	if (!url[0] != !c->slurm_rest_token_file[0])
		return sl_error_field(err, SL_BADPARAM, "/slurm_rest_token_file", "slurm_rest_url and "
				      "slurm_rest_token_file need each other. Set both, or none.");
	int rc = check_secret(c->slurm_rest_token_file, "/slurm_rest_token_file", err);
	if (!rc)
		rc = check_file(c->worker_tls_certificate, "/worker_tls_certificate", err);
	return rc ? rc : check_secret(c->worker_tls_key, "/worker_tls_key", err);
}

static int check_tls(const struct sl_config *c, struct sl_error *err)
{
	if (c->tls_certificate[0] && !c->tls_key[0])
		return sl_error_field(err, SL_BADPARAM, "/tls_certificate",
				      "tls_certificate = %s needs tls_key, the file of its private key", c->tls_certificate);
	if (c->tls_key[0] && !c->tls_certificate[0])
		return sl_error_field(err, SL_BADPARAM, "/tls_key",
				      "tls_key = %s needs tls_certificate, the file of its certificate", c->tls_key);
	int rc = check_file(c->tls_certificate, "/tls_certificate", err);
	return rc ? rc : check_secret(c->tls_key, "/tls_key", err);
}

int sl_config_check(const struct sl_config *c, struct sl_error *err)
{
	char host[64];
	uint16_t port;
	int rc = sl_config_address(c->listen, host, sizeof host, &port, err);
	if (rc)
		return rc;
	if (!sl_config_loopback(host) && !c->token_file[0])
		return sl_error_field(err, SL_BADPARAM, "/listen",
				      "listen = %s can be reached from other machines, so token_file must be set (or "
				      "listen on 127.0.0.1)", c->listen);
	if (c->backup_dir[0] && c->backup_dir[0] != '/')
		return sl_error_field(err, SL_BADPARAM, "/backup_dir", "backup_dir must be an absolute path, /mnt/backup for "
				      "example, not '%.100s'", c->backup_dir);
	rc = check_secret(c->token_file, "/token_file", err);
	if (!rc)
		rc = check_tls(c, err);
	if (!rc)
		rc = check_workers(c, err);
	if (!rc)
		rc = check_base(c, err);
	if (!rc)
		rc = sl_proxy_check(c, err);
	if (!rc)
		rc = check_zmq(c, err);
	if (!rc)
		rc = check_words(c->allowed_hosts, "/allowed_hosts", is_host,
				 "a host name or address, without scheme and port", err);
	if (!rc)
		rc = check_words(c->allowed_origins, "/allowed_origins", is_origin,
				 "a scheme and a host, for example http://localhost:5173 or https://lab.example", err);
	return rc ? rc : check_engines(c, err);
}
