/* http.c -- HTTP by libcurl: finds the server, sends requests, turns replies into exit statuses. */
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_SERVER "http://127.0.0.1:7070"
#define MAX_REPLY (1u << 30)  /* bytes accepted in a JSON reply */

#define PATIENCE_S 600  /* as long as a restart with an upgrade may take */

struct http {
	CURL *curl;
	const char *ca_file; /* PEM; NULL: the system's authorities */
	char *base;          /* "http://127.0.0.1:7070", without a slash at the end */
	char *authorization; /* header line, or NULL */
	bool told_banner;
};

/* One request in progress. */
struct transfer {
	const struct cli *cli;
	const struct http_request *request;
	CURL *curl;
	char *body;       /* the part of the body that no sink took */
	size_t bytes;
	bool stopped;     /* the sink returned false */
	bool too_big;
};

/* ---- the server's address -------------------------------------------------------- */

/* Reads the address that the daemon writes to its state folder, with the actual port if it was configured as 0. */
static char *address_from_state(void)
{
	char path[4096], line[256] = "";
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	if (geteuid() == 0)
		snprintf(path, sizeof path, "/var/lib/spaceland/spacelandd.addr");
	else if (state && *state)
		snprintf(path, sizeof path, "%s/spaceland/spacelandd.addr", state);
	else
		snprintf(path, sizeof path, "%s/.local/state/spaceland/spacelandd.addr", home ? home : "");
	FILE *f = fopen(path, "re");
	/* a user without a daemon uses the system's daemon */
	if (!f)
		f = fopen("/var/lib/spaceland/spacelandd.addr", "re");
	if (!f)
		return NULL;
	bool ok = fgets(line, sizeof line, f) != NULL;
	fclose(f);
	line[strcspn(line, "\r\n \t")] = 0;
	return ok && *line ? strdup(line) : NULL;
}

static char *find_server(const struct cli *cli)
{
	const char *given = cli_option(cli, "server");
	if (!given || !*given)
		given = getenv("SPACELAND_SERVER");
	char *found = given && *given ? NULL : address_from_state();
	const char *address = given && *given ? given : found ? found : DEFAULT_SERVER;
	char *base = NULL;
	size_t length = strlen(address);
	while (length && address[length - 1] == '/')
		length--;
	if (asprintf(&base, "%s%.*s", strstr(address, "://") ? "" : "http://", (int)length, address) < 0)
		base = NULL;
	free(found);
	return base;
}

/* Proxies of the environment are not used for loopback addresses. */
static bool is_loopback(const char *base)
{
	const char *host = strstr(base, "://");
	host = host ? host + 3 : base;
	return !strncmp(host, "127.", 4) || !strncmp(host, "[::1]", 5) ||
	       (!strncmp(host, "localhost", 9) && strchr(":/", host[9]));
}

const char *http_token(const struct cli *cli)
{
	const char *token = cli_option(cli, "token");
	if (!token || !*token)
		token = getenv("SPACELAND_TOKEN");
	return token ? token : "";
}

static int set_up(const struct cli *cli, struct http *h)
{
	const char *token = http_token(cli);
	if (strpbrk(token, "\r\n"))
		return cli_fail(CLI_USAGE, "--token must not have line breaks");
	if (*token && asprintf(&h->authorization, "Authorization: Bearer %s", token) < 0)
		h->authorization = NULL;
	h->ca_file = cli_option(cli, "ca-file");
	if (!h->ca_file || !*h->ca_file)
		h->ca_file = getenv("SPACELAND_CA_FILE");
	if (h->ca_file && !*h->ca_file)
		h->ca_file = NULL;
	if (h->ca_file && access(h->ca_file, R_OK))
		return cli_fail(CLI_USAGE, "--ca-file %s cannot be read: %s", h->ca_file, strerror(errno));
	h->base = find_server(cli);
	h->curl = curl_easy_init();
	if (!h->base || !h->curl || (*token && !h->authorization))
		return cli_fail(CLI_FAILED, "out of memory");
	return CLI_OK;
}

static int connect_lazily(struct cli *cli)
{
	if (cli->http)
		return CLI_OK;
	struct http *h = calloc(1, sizeof *h);
	int status = h ? set_up(cli, h) : cli_fail(CLI_FAILED, "out of memory");
	if (status)
		http_destroy(h);
	else
		cli->http = h;
	return status;
}

int http_server(struct cli *cli, const char **url)
{
	int status = connect_lazily(cli);
	*url = status ? "" : cli->http->base;
	return status;
}

void http_destroy(struct http *h)
{
	if (!h)
		return;
	curl_easy_cleanup(h->curl);
	free(h->base);
	free(h->authorization);
	free(h);
}

/* ---- callbacks of libcurl -------------------------------------------------- */

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	long code = 0;
	count *= size;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
	if (t->request->sink && code < 300) {
		if (t->request->sink(t->request->arg, bytes, count))
			return count;
		t->stopped = true;
		return 0;
	}
	char *grown = t->bytes + count < MAX_REPLY ? realloc(t->body, t->bytes + count + 1) : NULL;
	if (!grown) {
		t->too_big = true;
		return 0;
	}
	memcpy(grown + t->bytes, bytes, count);
	t->body = grown;
	t->bytes += count;
	t->body[t->bytes] = 0;
	return count;
}

/* The text of a header line of this name, whose value is JSON; new reference. NULL: it is another one. */
static json_t *text_of_header(const char *bytes, size_t count, const char *name)
{
	size_t length = strlen(name);
	if (count <= length || strncasecmp(bytes, name, length) != 0)
		return NULL;
	return json_loadb(bytes + length, count - length, JSON_DECODE_ANY, NULL);
}

/* Once for each command. */
static void tell_banner(const struct cli *cli, const json_t *banner)
{
	char *text = json_is_string(banner) ? strdup(json_string_value(banner)) : NULL;
	if (text && !cli->http->told_banner) {
		cli->http->told_banner = true;
		cli_plain(text);
		cli_note(cli, "spaceland: %s", text);
	}
	free(text);
}

/* The token ends within a week; said once. */
static void tell_expiry(const struct cli *cli, const char *bytes, size_t count)
{
	static const char name[] = "Spaceland-Token-Expires: ";
	static bool told;
	if (told || count < sizeof name + 10 || strncasecmp(bytes, name, sizeof name - 1) != 0)
		return;
	told = true;
	bool whole = count >= sizeof name + 16 && bytes[sizeof name + 9] == 'T';
	cli_note(cli, "spaceland: your token expires on %.10s%s%.5s%s; spaceland token rotate makes another",
		 bytes + sizeof name - 1, whole ? " at " : "", whole ? bytes + sizeof name + 10 : "", whole ? " UTC" : "");
}

/* What was guessed or changed in the points that were sent, and what administrators tell everybody. */
static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
	struct transfer *t = arg;
	count *= size;
	tell_expiry(t->cli, bytes, count);
	json_t *note = text_of_header(bytes, count, "Spaceland-Note:");
	json_t *banner = note ? NULL : text_of_header(bytes, count, "Spaceland-Banner:");
	if (json_string_value(note))
		cli_tell(t->cli, t->request->input, "%s", json_string_value(note));
	tell_banner(t->cli, banner);
	json_decref(note);
	json_decref(banner);
	return count;
}

static int on_progress(void *arg, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
	struct transfer *t = arg;
	if (t->request->progress && up_total > 0)
		t->request->progress(t->request->arg, (double)up, (double)up_total);
	return cli_interrupted != 0;
}

/* ---- answers ---------------------------------------------------------------- */

/* Names the option that the user typed: "--learning-rate" for "/learning_rate". Says nothing of an argument: the detail
 * names it, as "there is no graph abc" does for "/graph". */
static void place_of(const struct cli *cli, const struct http_request *q, const json_t *problem, char *out,
		     size_t bytes)
{
	const char *file = cli_text(problem, "file"), *pointer = cli_text(problem, "pointer");
	double line = cli_number(problem, "line");
	*out = 0;
	if (*file) {
		/* the server knows only the last part of the file's path */
		const char *slash = q->input ? strrchr(q->input, '/') : NULL;
		bool same = slash && !strncmp(file, slash + 1, strlen(slash + 1));
		int at = snprintf(out, bytes, "%.*s%s", same ? (int)(slash + 1 - q->input) : 0, q->input ? q->input : "",
				  file);
		if (line > 0 && at > 0 && (size_t)at < bytes)
			snprintf(out + at, bytes - (size_t)at, ":%.0f", line);
	} else if (*pointer) {
		snprintf(out, bytes, "--%s", pointer + 1);
		for (char *c = out; *c; c++)
			if (*c == '_')
				*c = '-';
		if (cli_takes(cli, out + 2))
			return;
		snprintf(out, bytes, "%s", strchr(pointer + 1, '/') ? pointer : "");
	} else if (*cli_text(problem, "parameter")) {
		const char *name = cli_text(problem, "parameter");
		snprintf(out, bytes, "--picture-%s", name);
		if (!cli_takes(cli, out + 2))
			snprintf(out, bytes, "%s%s", cli_takes(cli, name) ? "--" : "", name);
	}
}

static int refused(struct cli *cli, const struct http_request *q, long code, const char *body, size_t bytes)
{
	char place[1024], typed[2048];
	json_t *problem = body ? json_loadb(body, bytes, 0, NULL) : NULL;
	const char *type = strrchr(cli_text(problem, "type"), ':');
	type = type ? type + 1 : "";
	bool input = q->upload && (!strcmp(type, "bad-data") || !strcmp(type, "bad-format") || !strcmp(type, "bad-graph"));
	int status = input ? CLI_BADINPUT : CLI_REFUSED;
	if (!q->quiet) {
		const char *detail = cli_text(problem, "detail");
		place_of(cli, q, problem, place, sizeof place);
		if (!*detail)
			detail = cli_text(problem, "title");
		if (*detail)
			cli_fail(status, "%s%s%s", place, *place ? ": " : "", cli_as_typed(detail, typed, sizeof typed));
		else
			cli_fail(status, "%s%s answers %ld without a reason; it may not be a spacelandd", cli->http->base, q->path,
				 code);
		if (code == 401 && !*http_token(cli))
			cli_note(cli, "give the token with --token or in $SPACELAND_TOKEN");
	}
	json_decref(problem);
	return status;
}

/* True if "http://HOST:PORT" has a port. */
static bool has_port(const char *base)
{
	const char *host = strstr(base, "://"), *colon = strrchr(base, ':');
	return host && colon > host && !strchr(colon, ']');
}

static int not_answered(struct cli *cli, const struct transfer *t, CURLcode result, const char *why)
{
	const struct http_request *q = t->request;
	const char *text = *why ? why : curl_easy_strerror(result);
	long connections = 0;
	curl_easy_getinfo(t->curl, CURLINFO_NUM_CONNECTS, &connections);
	if (cli_interrupted)
		return CLI_INTERRUPTED;
	if (q->quiet)
		return CLI_UNREACHABLE;
	switch (result) {
	case CURLE_READ_ERROR:
		return cli_fail(CLI_BADINPUT, "%s: cannot be read", q->input ? q->input : q->upload);
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
		return cli_fail(CLI_UNREACHABLE,
				"there is no server at %s (%s); start spacelandd, or name another server with "
				"--server%s%s", cli->http->base, text, cli_takes(cli, "local") ? ", or use --local" : "",
				has_port(cli->http->base) ? "" : ". The address has no port; spacelandd's is usually 7070");
	case CURLE_UNSUPPORTED_PROTOCOL:
		if (connections)  /* the reply does not begin with a status line */
			return cli_fail(CLI_REFUSED, "%s does not answer by HTTP; it may not be a spacelandd", cli->http->base);
		/* fall through */
	case CURLE_URL_MALFORMAT:
		return cli_fail(CLI_USAGE, "--server must be like http://HOST:PORT, not '%s'", cli->http->base);
	case CURLE_PEER_FAILED_VERIFICATION:
		return cli_fail(CLI_UNREACHABLE, "the certificate of %s is not trusted: %s; --ca-file names a file "
				"with trusted ones", cli->http->base, text);
	case CURLE_SSL_CONNECT_ERROR:
		return cli_fail(CLI_UNREACHABLE, "%s does not speak TLS as this program does: %s; without TLS the address "
				"begins with http://", cli->http->base, text);
	case CURLE_SSL_CACERT_BADFILE:
		return cli_fail(CLI_USAGE, "--ca-file: %s has no certificates: %s", cli->http->ca_file, text);
	default:
		return cli_fail(CLI_UNREACHABLE, "the connection to %s broke: %s", cli->http->base, text);
	}
}

/* ---- one request ------------------------------------------------------------ */

/* The body that is sent, and what must be freed afterwards. */
struct sending {
	FILE *file;
	char *text;
	curl_mime *mime;
	struct curl_slist *headers;
};

static void sending_finish(struct sending *s)
{
	if (s->file)
		fclose(s->file);
	free(s->text);
	curl_mime_free(s->mime);
	curl_slist_free_all(s->headers);
}

static bool header(struct sending *s, const char *line)
{
	struct curl_slist *grown = curl_slist_append(s->headers, line);
	if (grown)
		s->headers = grown;
	return grown != NULL;
}

static int send_file(CURL *curl, struct sending *s, const struct http_request *q)
{
	struct stat st;
	s->file = fopen(q->upload, "rbe");
	if (!s->file || fstat(fileno(s->file), &st) || S_ISDIR(st.st_mode))
		return cli_fail(CLI_BADINPUT, "%s: %s", q->upload, s->file ? "is a folder" : strerror(errno));
	curl_easy_setopt(curl, CURLOPT_POST, 1L);
	curl_easy_setopt(curl, CURLOPT_READDATA, s->file);
	/* the length of a pipe is unknown; its body is sent in chunks */
	if (S_ISREG(st.st_mode))
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)st.st_size);
	else
		header(s, "Transfer-Encoding: chunked");
	header(s, "Content-Type: application/octet-stream");
	return CLI_OK;
}

static int send_files(CURL *curl, struct sending *s, const struct http_request *q)
{
	const char *const paths[2] = {q->upload, q->labels}, *const names[2] = {"file", "labels"};
	s->mime = curl_mime_init(curl);
	for (int i = 0; i < 2; i++) {
		curl_mimepart *part = s->mime ? curl_mime_addpart(s->mime) : NULL;
		if (!part || curl_mime_name(part, names[i]))
			return cli_fail(CLI_FAILED, "out of memory");
		if (access(paths[i], R_OK) || curl_mime_filedata(part, paths[i]))
			return cli_fail(CLI_BADINPUT, "%s: %s", paths[i], errno ? strerror(errno) : "cannot be read");
		curl_mime_type(part, "application/octet-stream");
	}
	curl_easy_setopt(curl, CURLOPT_MIMEPOST, s->mime);
	return CLI_OK;
}

static int prepare(struct cli *cli, const struct http_request *q, struct sending *s)
{
	CURL *curl = cli->http->curl;
	int status = CLI_OK;
	char *accept = NULL;
	if (q->body) {
		s->text = json_dumps(q->body, JSON_COMPACT);
		if (!s->text || !header(s, "Content-Type: application/json"))
			return cli_fail(CLI_FAILED, "out of memory");
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, s->text);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(s->text));
	} else if (q->upload) {
		status = q->labels ? send_files(curl, s, q) : send_file(curl, s, q);
	}
	if (q->method)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, q->method);
	const char *kind = q->accept ? q->accept : "application/json";
	if (!status && (asprintf(&accept, "Accept: %s, application/problem+json", kind) < 0 || !header(s, accept) ||
			(cli->http->authorization && !header(s, cli->http->authorization))))
		status = cli_fail(CLI_FAILED, "out of memory");
	free(accept);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, s->headers);
	return status;
}

/* Removes line breaks and escape sequences from the texts of a reply: other users wrote them, and they go to the
 * terminal. */
static void for_the_screen(json_t *value)
{
	const char *key;
	json_t *item;
	size_t i;
	char *text = json_is_string(value) ? strdup(json_string_value(value)) : NULL;
	if (text) {
		cli_plain(text);
		json_string_set(value, text);
		free(text);
	}
	json_array_foreach(value, i, item)
		for_the_screen(item);
	json_object_foreach(value, key, item)
		for_the_screen(item);
}

static int answer(struct cli *cli, const struct transfer *t, CURLcode result, const char *why, json_t **reply)
{
	const struct http_request *q = t->request;
	long code = 0;
	json_error_t error;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &code);
	if (q->code)
		*q->code = code;
	if (t->too_big)
		return cli_fail(CLI_FAILED, "%s%s: out of memory for the reply", cli->http->base, q->path);
	/* a server may refuse, reply and close before it has the whole upload */
	if (code >= 300)
		return refused(cli, q, code, t->body, t->bytes);
	if (result && !t->stopped)
		return not_answered(cli, t, result, why);
	if (!reply || !t->body)
		return CLI_OK;
	*reply = json_loadb(t->body, t->bytes, 0, &error);
	if (!*reply)
		return cli_fail(CLI_REFUSED, "%s%s does not answer with JSON; it may not be a "
				"spacelandd", cli->http->base, q->path);
	if (!cli->json)
		for_the_screen(*reply);
	return CLI_OK;
}

int http_do(struct cli *cli, const struct http_request *q, json_t **reply)
{
	char url[4096], why[CURL_ERROR_SIZE] = "";
	struct transfer t = {.cli = cli, .request = q};
	struct sending sending = {0};
	int status = connect_lazily(cli);
	if (reply)
		*reply = NULL;
	if (status)
		return status;
	if (snprintf(url, sizeof url, "%s%s", cli->http->base, q->path) >= (int)sizeof url)
		return cli_fail(CLI_USAGE, "the name is too long");
	CURL *curl = t.curl = cli->http->curl;
	curl_easy_reset(curl);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	if (cli->http->ca_file) {
		curl_easy_setopt(curl, CURLOPT_CAINFO, cli->http->ca_file);
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	}
	if (is_loopback(cli->http->base))
		curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_USERAGENT, "spaceland/" SL_VERSION);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, why);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, 5000L);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &t);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, &t);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, &t);
	status = prepare(cli, q, &sending);
	if (!status) {
		CURLcode result = curl_easy_perform(curl);
		status = answer(cli, &t, result, why, reply);
	}
	/* the handle must not keep pointers to memory that is freed here */
	curl_easy_reset(curl);
	sending_finish(&sending);
	free(t.body);
	return status;
}

int http_do_patiently(struct cli *cli, const struct http_request *request, const char *id, json_t **reply)
{
	double until = cli_now() + PATIENCE_S, pause_s = 0.25;
	struct http_request q = *request;
	bool told = false;
	long code;
	q.code = &code;
	for (;;) {
		code = 0;
		q.quiet = true;  /* what would be told now may be over soon */
		int status = http_do(cli, &q, reply);
		bool soon = status == CLI_UNREACHABLE || code == 429 || code == 503;
		if (!status || cli_interrupted)
			return status;
		if (!soon || cli_now() > until)
			break;
		if (!told)
			cli_note(cli, "spaceland: the server %s; waiting. Job %s goes on; ^C ends the waiting",
				 status == CLI_UNREACHABLE ? "does not answer" : "has too much to do, or is being restarted", id);
		told = true;
		usleep((useconds_t)(pause_s * 1e6));
		pause_s = pause_s < 2.5 ? 2 * pause_s : 5;
	}
	q.quiet = request->quiet;
	return http_do(cli, &q, reply);
}

int http_get(struct cli *cli, const char *path, json_t **reply)
{
	const struct http_request q = {.path = path};
	return http_do(cli, &q, reply);
}

int http_list(struct cli *cli, const char *path, json_t **items)
{
	char page[4096], *cursor = NULL;
	int status = CLI_OK;
	*items = json_array();
	while (*items && !status) {
		json_t *reply = NULL;
		snprintf(page, sizeof page, "%s%slimit=1000%s%s", path, strchr(path, '?') ? "&" : "?", cursor ? "&cursor=" : "",
			 cursor ? cursor : "");
		status = http_get(cli, page, &reply);
		if (!status && json_array_extend(*items, json_object_get(reply, "items")))
			status = cli_fail(CLI_REFUSED, "%s answers with something that is not a list", path);
		free(cursor);
		const char *next = status ? "" : cli_text(reply, "next");
		cursor = *next ? cli_escape(next) : NULL;
		json_decref(reply);
		if (!cursor)
			break;
	}
	if (!*items)
		return cli_fail(CLI_FAILED, "out of memory");
	if (status) {
		json_decref(*items);
		*items = NULL;
	}
	return status;
}
