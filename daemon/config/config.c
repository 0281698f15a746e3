/* The file is read here and not by a library: `name = value` is all there is to it, and an
 * error has to name the file, the line, the option and what would be right. */
#include "daemon/config/config.h"
#include "core/engine/load.h"
#include "core/meant.h"
#include "daemon/config/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MOST (16 << 20)  /* bytes of tokens, of certificates */

static char **text_at(const struct sl_config *c, const struct sl_option_info *o)
{
	return (char **)((char *)c + o->offset);
}

static int64_t *int_at(const struct sl_config *c, const struct sl_option_info *o)
{
	return (int64_t *)((char *)c + o->offset);
}

static double *number_at(const struct sl_config *c, const struct sl_option_info *o)
{
	return (double *)((char *)c + o->offset);
}

static bool is_text(const struct sl_option_info *o)
{
	return o->type == SL_OPTION_TEXT || o->type == SL_OPTION_WORD;
}

const struct sl_option_info *sl_config_find(const char *name)
{
	for (int i = 0; i < sl_config_count; i++)
		if (!strcmp(sl_config_table[i].name, name))
			return &sl_config_table[i];
	return NULL;
}

static const struct {
	const char *suffix;
	double factor;
} units[] = {
	{"TiB", 1099511627776.0}, {"GiB", 1073741824.0}, {"MiB", 1048576.0}, {"KiB", 1024.0},
	{"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}, {"", 1},
};

/* A size as people write it: exact when a unit fits, else plain bytes. */
static char *bytes_text(double bytes, char *out, size_t room)
{
	for (int i = 0; i < 4; i++) {
		if (bytes >= units[i].factor && fmod(bytes, units[i].factor) == 0) {
			snprintf(out, room, "%.0f %s", bytes / units[i].factor, units[i].suffix);
			return out;
		}
	}
	snprintf(out, room, "%.0f", bytes);
	return out;
}

static int range_error(const struct sl_option_info *o, const char *text, struct sl_error *err)
{
	char pointer[96], low[64], high[64];
	snprintf(pointer, sizeof pointer, "/%s", o->name);
	if (o->type == SL_OPTION_BYTES) {
		bytes_text(o->min, low, sizeof low);
		bytes_text(o->max, high, sizeof high);
		return sl_error_field(err, SL_BADPARAM, pointer,
				      "%s must be a size from %s to %s (units: KiB, MiB, GiB, TiB), not '%.64s'", o->name, low,
				      high, text);
	}
	snprintf(low, sizeof low, "%.15g", o->min);
	snprintf(high, sizeof high, "%.15g", o->max);
	return sl_error_field(err, SL_BADPARAM, pointer, "%s must be %s from %s to %s%s%s, not '%.64s'", o->name,
			      o->type == SL_OPTION_INT ? "an integer" : "a number", low, high, o->unit[0] ? " " : "",
			      o->unit, text);
}

static int set_number(struct sl_config *c, const struct sl_option_info *o, const char *text, struct sl_error *err)
{
	char *end;
	errno = 0;
	double value = strtod(text, &end);
	if (end == text || errno || !isfinite(value))
		return range_error(o, text, err);
	end += strspn(end, " ");
	if (o->type == SL_OPTION_BYTES) {
		size_t i = 0, count = sizeof units / sizeof *units;
		while (i < count && strcmp(end, units[i].suffix))
			i++;
		if (i == count)
			return range_error(o, text, err);
		value *= units[i].factor;
	} else if (*end) {
		return range_error(o, text, err);
	}
	if (value < o->min || value > o->max || (o->type != SL_OPTION_NUMBER && value != floor(value)))
		return range_error(o, text, err);
	if (o->type == SL_OPTION_NUMBER)
		*number_at(c, o) = value;
	else
		*int_at(c, o) = (int64_t)value;
	return 0;
}

static int set_text(struct sl_config *c, const struct sl_option_info *o, const char *text, struct sl_error *err)
{
	if (o->type == SL_OPTION_WORD) {
		int i = 0;
		while (o->words[i] && strcmp(o->words[i], text))
			i++;
		if (!o->words[i]) {
			char pointer[96], list[128] = "";
			snprintf(pointer, sizeof pointer, "/%s", o->name);
			for (i = 0; o->words[i]; i++) {
				size_t used = strlen(list);
				snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", o->words[i]);
			}
			return sl_error_field(err, SL_BADPARAM, pointer, "%s must be one of %s, not '%.64s'", o->name, list,
					      text);
		}
	}
	char *copy = strdup(text);
	if (!copy)
		return sl_error_set(err, SL_NOMEM, "no memory for the configuration");
	free(*text_at(c, o));
	*text_at(c, o) = copy;
	return 0;
}

static int set_option(struct sl_config *c, const struct sl_option_info *o, const char *text, struct sl_error *err)
{
	return is_text(o) ? set_text(c, o, text, err) : set_number(c, o, text, err);
}

int sl_config_set(struct sl_config *c, const char *name, const char *text, struct sl_error *err)
{
	const struct sl_option_info *o = sl_config_find(name);
	if (o)
		return set_option(c, o, text, err);
	struct sl_meant meant;
	char pointer[96];
	sl_meant_init(&meant, name);
	for (int i = 0; i < sl_config_count; i++)
		sl_meant_try(&meant, sl_config_table[i].name);
	snprintf(pointer, sizeof pointer, "/%.64s", name);
	if (sl_meant_word(&meant))
		return sl_error_field(err, SL_BADPARAM, pointer, "there is no option '%.64s'; did you mean %s?", name,
				      sl_meant_word(&meant));
	return sl_error_field(err, SL_BADPARAM, pointer, "there is no option '%.64s'; --dump-config lists them all", name);
}

int sl_config_init(struct sl_config *c, struct sl_error *err)
{
	memset(c, 0, sizeof *c);
	for (int i = 0; i < sl_config_count; i++) {
		int rc = set_option(c, &sl_config_table[i], sl_config_table[i].initial, err);
		if (rc) {
			sl_config_finish(c);
			return rc;
		}
	}
	return 0;
}

void sl_config_finish(struct sl_config *c)
{
	for (int i = 0; i < sl_config_count; i++)
		if (is_text(&sl_config_table[i]))
			free(*text_at(c, &sl_config_table[i]));
	memset(c, 0, sizeof *c);
}

static char *trim(char *text)
{
	text += strspn(text, " \t\r\n");
	size_t length = strlen(text);
	while (length && strchr(" \t\r\n", text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* The value: quoted, or up to a comment. */
static int unquote(char **value, const char *path, int64_t line, struct sl_error *err)
{
	char *text = *value;
	if (*text != '"') {
		/* a # inside a word belongs to it */
		for (char *at = text; *at; at++) {
			if (*at == '#' && (at == text || at[-1] == ' ' || at[-1] == '\t')) {
				*at = '\0';
				break;
			}
		}
		*value = trim(text);
		return 0;
	}
	char *end = strchr(text + 1, '"');
	if (!end)
		return sl_error_at(err, SL_BADPARAM, path, line, "the closing \" is missing");
	char *rest = trim(end + 1);
	if (*rest && *rest != '#')
		return sl_error_at(err, SL_BADPARAM, path, line, "nothing but a comment may follow the closing \"");
	*end = '\0';
	*value = text + 1;
	return 0;
}

static int read_line(struct sl_config *c, char *line, const char *path, int64_t number, bool *seen,
		     struct sl_error *err)
{
	char *name = trim(line);
	if (!*name || *name == '#')
		return 0;
	char *equals = strchr(name, '=');
	if (!equals)
		return sl_error_at(err, SL_BADPARAM, path, number, "'name = value' is expected, not '%.64s'", name);
	*equals = '\0';
	char *value = trim(equals + 1);
	name = trim(name);
	int rc = unquote(&value, path, number, err);
	if (rc)
		return rc;
	struct sl_error why;
	rc = sl_config_set(c, name, value, &why);
	if (rc)
		return sl_error_at(err, rc, path, number, "%s", why.detail);
	int index = (int)(sl_config_find(name) - sl_config_table);
	if (seen[index])
		return sl_error_at(err, SL_BADPARAM, path, number, "%s is set a second time; once is right", name);
	seen[index] = true;
	return 0;
}

int sl_config_read(struct sl_config *c, const char *path, struct sl_error *err)
{
	struct stat st;
	if (!stat(path, &st) && S_ISFIFO(st.st_mode))
		return sl_error_at(err, SL_BADPARAM, path, 0, "a pipe cannot be read again at a reload; a regular file "
				   "is right");
	FILE *file = fopen(path, "re");
	if (!file)
		return sl_error_at(err, SL_IO, path, 0, "cannot be opened: %s", strerror(errno));
	char *line = NULL;
	size_t room = 0;
	int64_t number = 0;
	int rc = 0;
	bool *seen = calloc((size_t)sl_config_count, sizeof *seen);
	if (!seen)
		rc = sl_error_set(err, SL_NOMEM, "no memory for the configuration");
	while (!rc && getline(&line, &room, file) >= 0)
		rc = read_line(c, line, path, ++number, seen, err);
	if (!rc && ferror(file))
		rc = sl_error_at(err, SL_IO, path, 0, "cannot be read: %s", strerror(errno));
	free(seen);
	free(line);
	fclose(file);
	return rc;
}

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

/* The next word of a list, after *at; NULL: none. */
static const char *next_word(const char **at, size_t *length)
{
	const char *word = *at + strspn(*at, ", \t");
	*length = strcspn(word, ", \t");
	*at = word + *length;
	return *length ? word : NULL;
}

bool sl_config_lists(const char *list, const char *word)
{
	size_t length;
	for (const char *w; (w = next_word(&list, &length));)
		if ((length == strlen(word) && !memcmp(w, word, length)) || (length == 3 && !memcmp(w, "all", 3)))
			return true;
	return false;
}

static int check_engines(const struct sl_config *c, struct sl_error *err)
{
	const char *at = c->engines;
	size_t length;
	for (const char *w; (w = next_word(&at, &length));) {
		char word[64];
		snprintf(word, sizeof word, "%.*s", (int)(length < 60 ? length : 60), w);
		if (!strcmp(word, "all") || (sl_engine_word(word) && strcmp(word, SL_ENGINE_AUTO)))
			continue;
		return sl_error_field(err, SL_BADPARAM, "/engines",
				      "engines has '%s'; all, or some of those that engine may be, but "
				      "for auto, would be right: " SL_ENGINES_TEXT, word);
	}
	return 0;
}

/* A name or an address, as the header Host has it without the port. */
static bool is_host(const char *text)
{
	unsigned char address[16];
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.");
	return inet_pton(AF_INET6, text, address) == 1 || (length && !text[length] && strspn(text, ".") == 0);
}

/* "https://lab.example:8443": what browsers send as Origin, which has no path. */
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

static int check_words(const char *list, const char *pointer, bool (*fits)(const char *), const char *right,
		       struct sl_error *err)
{
	size_t length;
	for (const char *w; (w = next_word(&list, &length));) {
		char word[256];
		snprintf(word, sizeof word, "%.*s", (int)(length < 250 ? length : 250), w);
		if (!fits(word))
			return sl_error_field(err, SL_BADPARAM, pointer, "%s has '%.100s', which no request can match; %s would be "
					      "right", pointer + 1, word, right);
	}
	return 0;
}

/* Layouts go out in clear text, to whoever connects. */
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
	return sl_error_field(err, SL_BADPARAM, "/zmq", "zmq = %.64s can be reached from elsewhere, so token_file is "
			      "needed (or tcp://127.0.0.1:7071, or an empty zmq)", c->zmq);
}

/* The loop reads these at a reload, so a pipe without a writer, or a device without an end, would stall the server. */
static int check_file(const char *path, const char *pointer, struct sl_error *err)
{
	struct stat st;
	if (!path[0])
		return 0;
	if (access(path, R_OK) || stat(path, &st))
		return sl_error_field(err, SL_BADPARAM, pointer, "%s %s cannot be read: %s", pointer + 1, path,
				      strerror(errno));
	if (!S_ISREG(st.st_mode))
		return sl_error_field(err, SL_BADPARAM, pointer, "%s %s is a %s; a regular file is right", pointer + 1, path,
				      S_ISDIR(st.st_mode) ? "folder" : S_ISFIFO(st.st_mode) ? "pipe" : "device or socket");
	if (st.st_size > FILE_MOST)
		return sl_error_field(err, SL_BADPARAM, pointer, "%s %s has %lld bytes; at most %d make sense", pointer + 1,
				      path, (long long)st.st_size, FILE_MOST);
	return 0;
}

static int check_tls(const struct sl_config *c, struct sl_error *err)
{
	if (c->tls_certificate[0] && !c->tls_key[0])
		return sl_error_field(err, SL_BADPARAM, "/tls_key",
				      "tls_certificate = %s needs tls_key, the file of its private key", c->tls_certificate);
	if (c->tls_key[0] && !c->tls_certificate[0])
		return sl_error_field(err, SL_BADPARAM, "/tls_certificate",
				      "tls_key = %s needs tls_certificate, the file of its certificate", c->tls_key);
	int rc = check_file(c->tls_certificate, "/tls_certificate", err);
	return rc ? rc : check_file(c->tls_key, "/tls_key", err);
}

int sl_config_check(const struct sl_config *c, struct sl_error *err)
{
	char host[64];
	uint16_t port;
	int rc = sl_config_address(c->listen, host, sizeof host, &port, err);
	if (rc)
		return rc;
	if (!sl_config_loopback(host) && !c->token_file[0])
		return sl_error_field(err, SL_BADPARAM, "/token_file",
				      "listen = %s can be reached from elsewhere, so token_file is needed (or listen on "
				      "127.0.0.1)", c->listen);
	rc = check_file(c->token_file, "/token_file", err);
	if (!rc)
		rc = check_tls(c, err);
	if (!rc)
		rc = sl_proxy_check(c, err);
	if (!rc)
		rc = check_zmq(c, err);
	if (!rc)
		rc = check_words(c->allowed_hosts, "/allowed_hosts", is_host,
				 "a host name or address without scheme and port", err);
	if (!rc)
		rc = check_words(c->allowed_origins, "/allowed_origins", is_origin,
				 "a scheme and a host, http://localhost:5173 or https://lab.example", err);
	return rc ? rc : check_engines(c, err);
}

char *sl_config_text(const struct sl_config *c, const struct sl_option_info *o, char *out, size_t bytes)
{
	switch (o->type) {
	case SL_OPTION_TEXT:
		snprintf(out, bytes, "\"%s\"", *text_at(c, o));
		break;
	case SL_OPTION_WORD:
		snprintf(out, bytes, "%s", *text_at(c, o));
		break;
	case SL_OPTION_INT:
		snprintf(out, bytes, "%" PRId64, *int_at(c, o));
		break;
	case SL_OPTION_BYTES:
		bytes_text((double)*int_at(c, o), out, bytes);
		break;
	case SL_OPTION_NUMBER:
		snprintf(out, bytes, "%.15g", *number_at(c, o));
		break;
	}
	return out;
}

/* The sentences of an option as comment lines of at most 90 columns. */
static void dump_doc(const char *doc, FILE *out)
{
	while (*doc) {
		size_t length = strlen(doc), take = length;
		if (length > 88) {
			take = 88;
			while (take && doc[take] != ' ')
				take--;
		}
		fprintf(out, "# %.*s\n", (int)take, doc);
		doc += take;
		doc += strspn(doc, " ");
	}
}

static void dump_range(const struct sl_option_info *o, FILE *out)
{
	char low[64], high[64];
	switch (o->type) {
	case SL_OPTION_TEXT:
		break;
	case SL_OPTION_WORD:
		fputs("# One of:", out);
		for (int i = 0; o->words[i]; i++)
			fprintf(out, "%s %s", i ? "," : "", o->words[i]);
		fputc('\n', out);
		break;
	case SL_OPTION_BYTES:
		fprintf(out, "# From %s to %s.\n", bytes_text(o->min, low, sizeof low), bytes_text(o->max, high, sizeof high));
		break;
	default:
		fprintf(out, "# From %.15g to %.15g%s%s.\n", o->min, o->max, o->unit[0] ? " " : "", o->unit);
	}
}

void sl_config_dump(const struct sl_config *c, FILE *out)
{
	struct sl_config initial;
	if (sl_config_init(&initial, NULL))
		return;
	fputs("# Configuration of spacelandd. Every option is here; a commented-out line shows the default.\n"
	      "# name = value; sizes may carry KiB, MiB, GiB or TiB; text with spaces or # stands in \"quotes\".\n"
	      "# Options marked [reload] are taken over by `systemctl reload spacelandd` (SIGHUP).\n", out);
	for (int i = 0; i < sl_config_count; i++) {
		const struct sl_option_info *o = &sl_config_table[i];
		char value[PATH_MAX + 8], usual[PATH_MAX + 8];
		sl_config_text(c, o, value, sizeof value);
		sl_config_text(&initial, o, usual, sizeof usual);
		fputc('\n', out);
		dump_doc(o->doc, out);
		dump_range(o, out);
		if (o->runtime)
			fputs("# [reload]\n", out);
		fprintf(out, "%s%s = %s\n", strcmp(value, usual) ? "" : "#", o->name, value);
	}
	sl_config_finish(&initial);
}
