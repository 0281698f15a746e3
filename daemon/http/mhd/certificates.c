/* The certificate of HTTPS: reads it and its key, and lends it to the sessions of GnuTLS. A connection keeps the
 * certificate with which it began. A replaced one is freed with its last connection. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

#include "daemon/config/config.h"
#include "daemon/http/mhd/mhd_internal.h"
#include "daemon/util/log.h"
#include "daemon/util/metrics.h"

#define CHAIN 16       /* most certificates, with those of intermediate authorities */

struct sl__certificate {
	gnutls_certificate_credentials_t credentials;
	int holders;  /* number of references: server and connections */
};

struct sl__tls {
	struct sl__certificate *now;
	gnutls_datum_t tickets;  /* key of session tickets, with which a client resumes its session */
	struct sl_metric *not_after;
};

void sl__certificate_end(struct sl__certificate *certificate)
{
	if (!certificate || --certificate->holders)
		return;
	gnutls_certificate_free_credentials(certificate->credentials);
	free(certificate);
}

static int load(const char *pointer, const char *path, gnutls_datum_t *out, struct sl_error *err)
{
	int code = gnutls_load_file(path, out);
	if (!code)
		return 0;
	return sl_error_field(err, SL_BADPARAM, pointer, "%s %s cannot be read: %s", pointer + 1, path,
			      code == GNUTLS_E_FILE_ERROR ? strerror(errno) : gnutls_strerror(code));
}

static int read_chain(const char *path, gnutls_x509_crt_t chain[CHAIN], unsigned *count, struct sl_error *err)
{
	gnutls_datum_t text;
	int rc = load("/tls_certificate", path, &text, err);
	if (rc)
		return rc;
	*count = CHAIN;
	int code = gnutls_x509_crt_list_import(chain, count, &text, GNUTLS_X509_FMT_PEM,
					       GNUTLS_X509_CRT_LIST_IMPORT_FAIL_IF_EXCEED);
	gnutls_free(text.data);
	if (code > 0)
		return 0;
	*count = 0;
	if (code == GNUTLS_E_SHORT_MEMORY_BUFFER)
		return sl_error_field(err, SL_BADPARAM, "/tls_certificate", "tls_certificate %s has more than %d "
				      "certificates; it must have the server's and those of intermediate "
				      "authorities", path,
				      CHAIN);
	return sl_error_field(err, SL_BADPARAM, "/tls_certificate", "tls_certificate %s has no certificate that can be "
			      "read (%s); it must be PEM with -----BEGIN CERTIFICATE-----", path,
			      code ? gnutls_strerror(code) : "it is empty");
}

static int read_key(const char *path, gnutls_x509_privkey_t *key, struct sl_error *err)
{
	gnutls_datum_t text;
	struct stat st;
	int rc = load("/tls_key", path, &text, err);
	if (rc)
		return rc;
	if (!stat(path, &st) && st.st_mode & S_IROTH)
		sl_log_warning("http", "everybody on this machine can read %s; restrict it by chmod 600", path);
	int code = gnutls_x509_privkey_init(key);
	if (!code)
		code = gnutls_x509_privkey_import2(*key, &text, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN);
	gnutls_memset(text.data, 0, text.size);
	gnutls_free(text.data);
	if (!code)
		return 0;
	return sl_error_field(err, SL_BADPARAM, "/tls_key", "tls_key %s has no private key that can be read (%s); it "
			      "must be PEM without a passphrase", path, gnutls_strerror(code));
}

/* Describes the certificate for the log and /metrics. An expired one is not refused, since browsers warn the user. */
static void describe(const struct sl__tls *t, gnutls_x509_crt_t first, const char *path)
{
	char name[256] = "no name", day[32] = "";
	size_t bytes = sizeof name;
	struct tm tm;
	time_t now = time(NULL), begin = gnutls_x509_crt_get_activation_time(first);
	time_t end = gnutls_x509_crt_get_expiration_time(first);
	if (gnutls_x509_crt_get_subject_alt_name(first, 0, name, &bytes, NULL) != GNUTLS_SAN_DNSNAME) {
		bytes = sizeof name;
		if (gnutls_x509_crt_get_dn(first, name, &bytes))
			snprintf(name, sizeof name, "no name");
	}
	if (gmtime_r(&end, &tm))
		strftime(day, sizeof day, "%Y-%m-%d %H:%M:%S UTC", &tm);
	if (now > end || now < begin)
		sl_log_warning("http", "the certificate in %s is not valid today (it ends %s); clients will refuse it", path,
			       day);
	sl_log_info("http", "certificate of %s, valid until %s", name, day);
	sl_metric_set(t->not_after, (double)end);
}

static int read_certificate(const struct sl__tls *t, struct sl__certificate **out, const struct sl_config *c,
			    struct sl_error *err)
{
	gnutls_x509_crt_t chain[CHAIN];
	gnutls_x509_privkey_t key = NULL;
	unsigned count = 0;
	struct sl__certificate *certificate = calloc(1, sizeof *certificate);
	if (!certificate || gnutls_certificate_allocate_credentials(&certificate->credentials)) {
		free(certificate);
		return sl_error_memory(err, "the certificate");
	}
	certificate->holders = 1;
	int rc = read_chain(c->tls_certificate, chain, &count, err);
	if (!rc)
		rc = read_key(c->tls_key, &key, err);
	int code = rc ? 0 : gnutls_certificate_set_x509_key(certificate->credentials, chain, (int)count, key);
	if (code == GNUTLS_E_CERTIFICATE_KEY_MISMATCH)
		rc = sl_error_field(err, SL_BADPARAM, "/tls_key", "tls_key %s is not the key of the certificate in %s (the "
				    "server's own must be the first there)", c->tls_key, c->tls_certificate);
	else if (code < 0)
		rc = sl_error_field(err, SL_BADPARAM, "/tls_certificate", "tls_certificate %s and tls_key %s cannot be used: "
				    "%s", c->tls_certificate, c->tls_key, gnutls_strerror(code));
	if (!rc)
		describe(t, chain[0], c->tls_certificate);
	for (unsigned i = 0; i < count; i++)
		gnutls_x509_crt_deinit(chain[i]);
	if (key)
		gnutls_x509_privkey_deinit(key);
	if (rc)
		sl__certificate_end(certificate);
	else
		*out = certificate;
	return rc;
}

int sl__tls_create(struct sl__tls **out, const struct sl_config *c, struct sl_metrics *m, struct sl_error *err)
{
	*out = NULL;
	if (!c->tls_certificate[0])
		return 0;
	struct sl__tls *t = calloc(1, sizeof *t);
	if (!t || gnutls_session_ticket_key_generate(&t->tickets)) {
		free(t);
		return sl_error_memory(err, "TLS");
	}
	t->not_after = sl_metrics_register(m, SL_GAUGE, "spaceland_tls_certificate_expiry_timestamp_seconds", NULL,
					   "When the certificate ends, in seconds since 1970.");
	int rc = read_certificate(t, &t->now, c, err);
	if (rc)
		sl__tls_destroy(t);
	else
		*out = t;
	return rc;
}

void sl__tls_destroy(struct sl__tls *t)
{
	if (!t)
		return;
	sl__certificate_end(t->now);
	gnutls_memset(t->tickets.data, 0, t->tickets.size);
	gnutls_free(t->tickets.data);
	free(t);
}

int sl__tls_reload(struct sl__tls *t, const struct sl_config *c, struct sl_error *err)
{
	struct sl__certificate *fresh;
	if (!t != !c->tls_certificate[0])
		return sl_error_field(err, SL_BADPARAM, "/tls_certificate", "tls_certificate can be %s only by a "
				      "restart, not by a reload", t ? "removed" : "added");
	int rc = t ? read_certificate(t, &fresh, c, err) : 0;
	if (rc || !t)
		return rc;
	sl__certificate_end(t->now);
	t->now = fresh;
	return 0;
}

struct sl__certificate *sl__certificate_begin(struct sl__tls *t, struct gnutls_session_int *session)
{
	gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, t->now->credentials);
	gnutls_session_ticket_enable_server(session, &t->tickets);
	t->now->holders++;
	return t->now;
}
