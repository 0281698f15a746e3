/* resource.c -- requests about one resource of the server: a graph, a job, a user. */
#include <stdlib.h>

#include "clients/cli/common/messages.h"
#include "clients/cli/server/http.h"

char *http_path(const char *collection, const char *thing, const char *part, const char *item)
{
	char *of = cli_escape(thing), *last = item ? cli_escape(item) : NULL, *path = NULL;
	if (!of || (item && !last) ||
	    asprintf(&path, "/v1/%s/%s%s%s%s%s", collection, of, part ? "/" : "", part ? part : "", item ? "/" : "",
		     item ? last : "") < 0)
		path = NULL;
	free(of);
	free(last);
	if (!path)
		cli_fail(CLI_FAILED, "out of memory");
	return path;
}

int http_send(struct cli *cli, const char *method, char *path, json_t *body, json_t **reply)
{
	const struct http_request q = {.method = method, .path = path, .body = body};
	int status = path ? http_do(cli, &q, reply) : CLI_FAILED;
	json_decref(body);
	free(path);
	return status;
}

int http_change(struct cli *cli, const char *method, char *path, json_t *body)
{
	json_t *reply = NULL;
	int status = http_send(cli, method, path, body, &reply);
	if (!status && cli->json)
		status = cli_print_json(reply);
	json_decref(reply);
	return status;
}
