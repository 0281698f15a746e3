/* GnuTLS reads and writes the socket by itself; the owner learns by uv_poll when it may try again. */
#include "daemon/network/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#define DAY_S 86400
#define YEARS 30
#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct sl_tls_keys {
	gnutls_certificate_credentials_t credentials;
	char pin[SL_TLS_PIN_BYTES];   /* of a client; "": none */
};

struct sl_tls {
	uv_poll_t poll;
	int fd;
	gnutls_session_t session;
	const struct sl_tls_keys *keys;
	char *name;
	bool owed;                    /* a record waits in GnuTLS */
	bool closed, polls;
	void (*ready)(void *arg);
	void *arg;
	char why[240];
};

/* ---- keys ---------------------------------------------------------------------------------------- */

static int pin_of(gnutls_x509_crt_t certificate, char pin[SL_TLS_PIN_BYTES])
{
	unsigned char id[32];
	size_t bytes = sizeof id;
	int code = gnutls_x509_crt_get_key_id(certificate, GNUTLS_KEYID_USE_SHA256, id, &bytes);
	int at = snprintf(pin, SL_TLS_PIN_BYTES, "sha256:");
	for (size_t i = 0; i < bytes && !code; i++)
		at += snprintf(pin + at, SL_TLS_PIN_BYTES - (size_t)at, "%02x", id[i]);
	return code;
}

static int allocate(struct sl_tls_keys **out)
{
	struct sl_tls_keys *k = calloc(1, sizeof *k);
	if (k && !gnutls_certificate_allocate_credentials(&k->credentials)) {
		*out = k;
		return 0;
	}
	free(k);
	return SL_NOMEM;
}

void sl_tls_keys_destroy(struct sl_tls_keys *k)
{
	if (!k)
		return;
	gnutls_certificate_free_credentials(k->credentials);
	free(k);
}

int sl_tls_keys_server(struct sl_tls_keys **out, const char *certificate, const char *key, char *pin,
		       struct sl_error *err)
{
	struct sl_tls_keys *k;
	gnutls_x509_crt_t *chain = NULL;
	unsigned count = 0;
	if (allocate(&k))
		return sl_error_memory(err, "the certificate");
	int code = gnutls_certificate_set_x509_key_file2(k->credentials, certificate, key, GNUTLS_X509_FMT_PEM, NULL,
							 GNUTLS_PKCS_PLAIN);
	if (code >= 0)
		code = gnutls_certificate_get_x509_crt(k->credentials, (unsigned)code, &chain, &count);
	if (code >= 0 && count)
		code = pin_of(chain[0], pin);
	for (unsigned i = 0; i < count; i++)
		gnutls_x509_crt_deinit(chain[i]);
	gnutls_free(chain);
	if (code >= 0) {
		*out = k;
		return 0;
	}
	sl_tls_keys_destroy(k);
	return sl_error_field(err, SL_BADPARAM, "/worker_tls_certificate", "The certificate %s and key %s of the port for "
			      "workers cannot be used: %s.", certificate, key, gnutls_strerror(code));
}

int sl_tls_keys_client(struct sl_tls_keys **out, const char *authorities, const char *pin, struct sl_error *err)
{
	struct sl_tls_keys *k;
	if (pin && (strlen(pin) != SL_TLS_PIN_BYTES - 9 || strncmp(pin, "sha256:", 7) ||
		    strspn(pin + 7, "0123456789abcdef") != 64))
		return sl_error_set(err, SL_BADPARAM, "A pin is \"sha256:\" and 64 hexadecimal digits, as spaceland admin "
				    "worker-token prints it.");
	if (allocate(&k))
		return sl_error_memory(err, "the certificates");
	snprintf(k->pin, sizeof k->pin, "%s", pin ? pin : "");
	int code = pin ? 0 : authorities ?
		   gnutls_certificate_set_x509_trust_file(k->credentials, authorities, GNUTLS_X509_FMT_PEM) :
		   gnutls_certificate_set_x509_system_trust(k->credentials);
	if (code < 0 || (authorities && !pin && !code)) {
		sl_tls_keys_destroy(k);
		return sl_error_set(err, SL_BADPARAM, "%s has no certificate that can be used (%s). Use a PEM file.",
				    authorities ? authorities : "the system", gnutls_strerror(code));
	}
	*out = k;
	return 0;
}

static int write_file(const char *path, const gnutls_datum_t *text, mode_t mode, struct sl_error *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	bool good = fd >= 0 && write(fd, text->data, text->size) == (ssize_t)text->size && !fsync(fd);
	int why = errno;
	if (fd >= 0)
		close(fd);
	return good ? 0 : sl_error_at(err, SL_IO, path, 0, "it cannot be written: %s", strerror(why));
}

static int sign(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, const char *name)
{
	unsigned char serial[16];
	time_t now = time(NULL);
	int code = gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof serial);
	serial[0] &= 0x7f;
	if (!code)
		code = gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
	if (code || (code = gnutls_x509_crt_set_version(crt, 3)) || (code = gnutls_x509_crt_set_key(crt, key)) ||
	    (code = gnutls_x509_crt_set_serial(crt, serial, sizeof serial)) ||
	    (code = gnutls_x509_crt_set_activation_time(crt, now - DAY_S)) ||
	    (code = gnutls_x509_crt_set_expiration_time(crt, now + (time_t)YEARS * 365 * DAY_S)) ||
	    (code = gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name), 0)) ||
	    (code = gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, "spaceland workers", 17)))
		return code;
	return gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0);
}

int sl_tls_make_certificate(const char *certificate, const char *key, const char *name, struct sl_error *err)
{
	gnutls_x509_crt_t crt;
	gnutls_x509_privkey_t private;
	gnutls_datum_t crt_text = {0}, key_text = {0};
	if (!access(certificate, F_OK) && !access(key, F_OK))
		return 0;
	if (gnutls_x509_crt_init(&crt))
		return sl_error_memory(err, "a certificate");
	if (gnutls_x509_privkey_init(&private)) {
		gnutls_x509_crt_deinit(crt);
		return sl_error_memory(err, "a certificate");
	}
	int code = sign(crt, private, name), rc = 0;
	if (!code)
		code = gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &crt_text);
	if (!code)
		code = gnutls_x509_privkey_export2(private, GNUTLS_X509_FMT_PEM, &key_text);
	if (code)
		rc = sl_error_set(err, SL_INTERNAL, "A certificate cannot be made: %s.", gnutls_strerror(code));
	if (!rc)
		rc = write_file(key, &key_text, 0600, err);
	if (!rc)
		rc = write_file(certificate, &crt_text, 0644, err);
	gnutls_free(crt_text.data);
	if (key_text.data)
		gnutls_memset(key_text.data, 0, key_text.size);
	gnutls_free(key_text.data);
	gnutls_x509_crt_deinit(crt);
	gnutls_x509_privkey_deinit(private);
	return rc;
}

/* ---- whom a client believes ------------------------------------------------------------------------- */

static int verify_pin(struct sl_tls *t)
{
	unsigned count = 0;
	const gnutls_datum_t *list = gnutls_certificate_get_peers(t->session, &count);
	gnutls_x509_crt_t certificate;
	char pin[SL_TLS_PIN_BYTES] = "";
	if (!list || !count || gnutls_x509_crt_init(&certificate))
		return -1;
	int code = gnutls_x509_crt_import(certificate, &list[0], GNUTLS_X509_FMT_DER);
	if (!code)
		code = pin_of(certificate, pin);
	gnutls_x509_crt_deinit(certificate);
	if (!code && !strcmp(pin, t->keys->pin))
		return 0;
	snprintf(t->why, sizeof t->why, "the server has another key, with the pin %s", pin);
	return -1;
}

static int verify(gnutls_session_t session)
{
	struct sl_tls *t = gnutls_session_get_ptr(session);
	unsigned status = 0;
	gnutls_datum_t text = {0};
	if (t->keys->pin[0])
		return verify_pin(t);
	int code = gnutls_certificate_verify_peers3(session, t->name, &status);
	if (!code && !status)
		return 0;
	if (!code)
		code = gnutls_certificate_verification_status_print(status, GNUTLS_CRT_X509, &text, 0);
	snprintf(t->why, sizeof t->why, "the server's certificate is not believed: %.180s",
		 text.data ? (const char *)text.data : gnutls_strerror(code));
	gnutls_free(text.data);
	return -1;
}

/* ---- a connection ----------------------------------------------------------------------------------- */

static void on_poll(uv_poll_t *poll, int status, int events)
{
	struct sl_tls *t = poll->data;
	t->ready(t->arg);
}

static void on_closed(uv_handle_t *handle)
{
	struct sl_tls *t = handle->data;
	gnutls_deinit(t->session);
	close(t->fd);
	free(t->name);
	free(t);
}

static int pull_timeout(gnutls_transport_ptr_t arg, unsigned ms)
{
	struct pollfd p = {.fd = (int)(intptr_t)arg, .events = POLLIN};
	return poll(&p, 1, 0);  /* the loop never waits */
}

static int begin(struct sl_tls *t)
{
	bool client = t->name;
	int code = gnutls_init(&t->session, (client ? GNUTLS_CLIENT : GNUTLS_SERVER) | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL);
	if (code)
		return code;
	gnutls_session_set_ptr(t->session, t);
	gnutls_transport_set_int(t->session, t->fd);
	gnutls_transport_set_pull_timeout_function(t->session, pull_timeout);
	gnutls_handshake_set_timeout(t->session, 0);
	code = gnutls_priority_set_direct(t->session, PRIORITY, NULL);
	if (!code)
		code = gnutls_credentials_set(t->session, GNUTLS_CRD_CERTIFICATE, t->keys->credentials);
	if (!code && client && t->name[0] && strspn(t->name, "0123456789.:abcdef") != strlen(t->name))
		code = gnutls_server_name_set(t->session, GNUTLS_NAME_DNS, t->name, strlen(t->name));
	if (client)
		gnutls_session_set_verify_function(t->session, verify);
	if (code)
		gnutls_deinit(t->session);
	return code;
}

int sl_tls_open(struct sl_tls **out, uv_loop_t *loop, int fd, const struct sl_tls_keys *keys, const char *name,
		void (*ready)(void *arg), void *arg)
{
	struct sl_tls *t = calloc(1, sizeof *t);
	if (!t || (name && !(t->name = strdup(name))))
		goto no_memory;
	t->fd = fd;
	t->keys = keys;
	t->ready = ready;
	t->arg = arg;
	if (begin(t))
		goto no_memory;
	if (uv_poll_init(loop, &t->poll, fd)) {
		gnutls_deinit(t->session);
		goto no_memory;
	}
	t->poll.data = t;
	*out = t;
	return 0;
no_memory:
	close(fd);
	free(t ? t->name : NULL);
	free(t);
	return SL_NOMEM;
}

void sl_tls_hand_over(struct sl_tls *t, void (*ready)(void *arg), void *arg)
{
	t->ready = ready;
	t->arg = arg;
}

void sl_tls_close(struct sl_tls *t)
{
	if (!t || t->closed)
		return;
	t->closed = true;
	uv_close((uv_handle_t *)&t->poll, on_closed);
}

static int broken(struct sl_tls *t, int code)
{
	if (code == GNUTLS_E_AGAIN || code == GNUTLS_E_INTERRUPTED)
		return SL_TLS_AGAIN;
	if (!t->why[0] && code == GNUTLS_E_FATAL_ALERT_RECEIVED)
		snprintf(t->why, sizeof t->why, "it has refused TLS: %s",
			 gnutls_alert_get_name(gnutls_alert_get(t->session)));
	else if (!t->why[0])
		snprintf(t->why, sizeof t->why, "%s", gnutls_strerror(code));
	return SL_TLS_BROKEN;
}

int sl_tls_shake(struct sl_tls *t)
{
	int code;
	do
		code = gnutls_handshake(t->session);
	while (code < 0 && code != GNUTLS_E_AGAIN && code != GNUTLS_E_INTERRUPTED && !gnutls_error_is_fatal(code));
	if (code < 0 && (code = broken(t, code)) == SL_TLS_AGAIN) {
		bool write = gnutls_record_get_direction(t->session);
		sl_tls_want(t, !write, write);
	}
	return code < 0 ? code : 0;
}

ssize_t sl_tls_read(struct sl_tls *t, void *to, size_t bytes)
{
	ssize_t n;
	do
		n = gnutls_record_recv(t->session, to, bytes);
	while (n < 0 && n != GNUTLS_E_AGAIN && n != GNUTLS_E_INTERRUPTED && n != GNUTLS_E_REHANDSHAKE &&
	       !gnutls_error_is_fatal((int)n));
	return n < 0 ? broken(t, (int)n) : n;
}

ssize_t sl_tls_write(struct sl_tls *t, const void *from, size_t bytes)
{
	ssize_t n = gnutls_record_send(t->session, t->owed ? NULL : from, t->owed ? 0 : bytes);
	t->owed = n == GNUTLS_E_AGAIN || n == GNUTLS_E_INTERRUPTED;
	return n < 0 ? broken(t, (int)n) : n;
}

void sl_tls_want(struct sl_tls *t, bool read, bool write)
{
	int events = (read ? UV_READABLE : 0) | (write ? UV_WRITABLE : 0);
	if (t->closed)
		return;
	if (events)
		uv_poll_start(&t->poll, events, on_poll);
	else
		uv_poll_stop(&t->poll);
}

void sl_tls_bye(struct sl_tls *t)
{
	gnutls_bye(t->session, GNUTLS_SHUT_WR);
}

const char *sl_tls_why(const struct sl_tls *t)
{
	return t->why[0] ? t->why : "it has closed the connection";
}

