/* http.h -- requests to a spacelandd, over one kept-alive connection.
 *
 * Every function that sends a request returns an exit status and prints errors: CLI_UNREACHABLE if no server answers,
 * CLI_REFUSED or CLI_BADINPUT for a problem document, CLI_INTERRUPTED after an interrupt. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <jansson.h>

#include "clients/cli/common/command.h"

/* Receives the body piece by piece. If it returns false, the request ends and counts as successful. */
typedef bool (*http_sink_fn)(void *arg, const char *bytes, size_t count);
typedef void (*http_progress_fn)(void *arg, double sent, double total);

struct http_request {
	const char *method;           /* NULL: GET */
	const char *path;             /* "/v1/graphs?name=x", escaped */
	const json_t *body;           /* JSON body, or NULL */
	const char *upload;           /* file that is sent as the body, or NULL */
	const char *labels;           /* second file: both go as multipart/form-data */
	const char *input;            /* the user's name of the uploaded file, for messages */
	http_progress_fn progress;    /* called a few times a second during an upload */
	http_sink_fn sink;            /* receives the body of a success; NULL: the body is JSON, for *reply */
	void *arg;                    /* for progress and sink */
	const char *accept;           /* NULL: application/json */
	bool quiet;                   /* failures are not printed */
	const char *job;              /* the id of the job whose result it is, for http_fetch(); or NULL */
	long *code;                   /* receives the HTTP status; 0: there was no reply. Or NULL */
};

/* Sends a request. *reply: new reference, NULL if the reply has no JSON body. reply may be NULL. */
int http_do(struct cli *cli, const struct http_request *request, json_t **reply);

/* The same for requests that may be repeated, about a job that goes on without this program: while the server does not
 * answer (it restarts) or has too many requests (429, 503), waits and tries again, for ten minutes. id: of the job,
 * which is told at the first pause. */
int http_do_patiently(struct cli *cli, const struct http_request *request, const char *id, json_t **reply);

/* GET of a path that replies with JSON. */
int http_get(struct cli *cli, const char *path, json_t **reply);
/* "/v1/COLLECTION/THING", with "/PART" and "/ITEM" if they are not NULL; a new string. NULL: out of memory, and the
 * error is printed (resource.c). */
char *http_path(const char *collection, const char *thing, const char *part, const char *item);
/* Frees path, which may be NULL as above, and releases body, which may be NULL. *reply: as in http_do(). */
int http_send(struct cli *cli, const char *method, char *path, json_t *body, json_t **reply);
/* The same; with --json the reply is printed. */
int http_change(struct cli *cli, const char *method, char *path, json_t *body);
/* Fetches all pages of a list as one array. */
int http_list(struct cli *cli, const char *path, json_t **items);

/* Writes the body of a successful reply to a file, or to stdout for "-" (server/job.c). */
int http_fetch(struct cli *cli, const struct http_request *request, const char *file);

/* *url: the server's address. */
int http_server(struct cli *cli, const char **url);
/* The token that requests send; "": none. */
const char *http_token(const struct cli *cli);
void http_destroy(struct http *h);  /* NULL is fine */

#endif
