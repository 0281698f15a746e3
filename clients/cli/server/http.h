/* http.h -- requests to a spacelandd, over one kept-alive connection.
 *
 * Every request returns an exit status and has told the user what went wrong:
 * CLI_UNREACHABLE when nobody answers, CLI_REFUSED or CLI_BADINPUT for a problem
 * document, CLI_INTERRUPTED after an interrupt. */
#ifndef CLI_HTTP_H
#define CLI_HTTP_H

#include <jansson.h>

#include "clients/cli/common/command.h"

/* Bytes of a body as they come. Returning false ends the request, which then succeeds. */
typedef bool (*http_sink_fn)(void *arg, const char *bytes, size_t count);
typedef void (*http_progress_fn)(void *arg, double sent, double total);

struct http_request {
	const char *method;           /* NULL: GET */
	const char *path;             /* "/v1/graphs?name=x", escaped */
	const json_t *body;           /* JSON to send, or NULL */
	const char *upload;           /* file to send, streamed from disk, or NULL */
	const char *labels;           /* second file: both go as multipart/form-data */
	const char *input;            /* file that the user knows the upload by, for messages */
	http_progress_fn progress;    /* of an upload, a few times a second */
	http_sink_fn sink;            /* takes the body of a success; NULL: it is JSON, into *reply */
	void *arg;                    /* for progress and sink */
	const char *accept;           /* NULL: application/json */
	bool quiet;                   /* a failure is reported by the exit status alone */
};

/* *reply: new reference, NULL when the reply has no JSON body. May be NULL. */
int http_do(struct cli *cli, const struct http_request *request, json_t **reply);

/* GET path as JSON. */
int http_get(struct cli *cli, const char *path, json_t **reply);
/* "/v1/COLLECTION/THING", with "/PART" and "/ITEM" where they are not NULL; a new string. NULL: out of memory, and the
 * user was told (resource.c). */
char *http_path(const char *collection, const char *thing, const char *part, const char *item);
/* Frees path, which may be NULL as above, and gives up body (or NULL). *reply: as of http_do(). */
int http_send(struct cli *cli, const char *method, char *path, json_t *body, json_t **reply);
/* The same; with --json the reply is printed. */
int http_change(struct cli *cli, const char *method, char *path, json_t *body);
/* All items of a paged list, as one array. */
int http_list(struct cli *cli, const char *path, json_t **items);

/* The body of a success into a file, or to stdout for "-" (server/job.c). */
int http_fetch(struct cli *cli, const struct http_request *request, const char *file);

/* The address that requests go to. */
int http_server(struct cli *cli, const char **url);
/* The token that they show; "": none. */
const char *http_token(const struct cli *cli);
void http_destroy(struct http *h);  /* NULL is fine */

#endif
