/* share.c -- spaceland share: sets who may see a graph or job; makes public links to a job. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

/* Reads a duration: "7d", "12h", "30min", "90s". */
static int read_expires(const char *text, long *seconds)
{
	static const struct {
		const char *unit;
		long seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}};
	char *end;
	long value = strtol(text, &end, 10);
	for (size_t i = 0; end != text && value > 0 && i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit) && value <= 316224000 / units[i].seconds) {
			*seconds = value * units[i].seconds;
			return CLI_OK;
		}
	return cli_fail(CLI_USAGE, "--expires must be a number with s, min, h, d or w, for example 7d, not '%s'", text);
}

/* The names in a list separated by these characters; new reference. */
static json_t *names_of(const char *text, const char *separators)
{
	json_t *names = json_array();
	while (*(text += strspn(text, separators))) {
		size_t length = strcspn(text, separators);
		json_array_append_new(names, json_stringn(text, length));
		text += length;
	}
	return names;
}

static int make_link(struct cli *cli, const char *job)
{
	const char *expires = cli_option(cli, "expires"), *name = cli_option(cli, "name"), *server;
	long seconds = 0;
	json_t *body = json_object(), *reply = NULL;
	int status = expires ? read_expires(expires, &seconds) : CLI_OK;
	if (seconds)
		json_object_set_new(body, "seconds", json_integer(seconds));
	if (name)
		json_object_set_new(body, "name", json_string(name));
	if (cli_option(cli, "labels"))
		json_object_set_new(body, "labels", names_of(cli_option(cli, "labels"), ","));
	if (cli_option(cli, "names"))
		json_object_set_new(body, "names", json_true());
	if (status) {
		json_decref(body);
		return status;
	}
	status = http_send(cli, "POST", http_path("jobs", job, "links", NULL), body, &reply);
	if (!status)
		status = http_server(cli, &server);
	if (!status && cli->json)
		status = cli_print_json(reply);
	else if (!status && json_object_get(reply, "url"))
		printf("%s\n", cli_text(reply, "url"));
	else if (!status)
		printf("%s%s\n", server, cli_text(reply, "path"));
	json_decref(reply);
	return status;
}

static void list_names(const char *title, const json_t *names)
{
	json_t *name;
	size_t i;
	printf("%s", title);
	json_array_foreach(names, i, name)
		printf("%s%s", i ? ", " : " ", json_string_value(name));
	printf("%s\n", json_array_size(names) ? "" : " -");
}

static void list_links(const json_t *links)
{
	static const char *const titles[] = {"LINK", "NAME", "EXPIRES"};
	struct table *t = table_create(3, 0, titles);
	json_t *link;
	size_t i;
	json_array_foreach(links, i, link) {
		time_t at = (time_t)json_integer_value(json_object_get(link, "expires"));
		char text[32] = "-";
		struct tm local;
		if (localtime_r(&at, &local))
			strftime(text, sizeof text, "%Y-%m-%d %H:%M", &local);
		table_row(t, (const char *[]){cli_text(link, "id"), json_string_value(json_object_get(link, "name")), text});
	}
	if (i)
		table_print(t, stdout);
	table_destroy(t);
}

/* Prints access and links. Only jobs have links: for a graph, the second request fails and the failure is ignored. */
static int list(struct cli *cli, const char *thing)
{
	json_t *access = NULL, *links = NULL;
	int status = http_send(cli, "GET", http_path("access", thing, NULL, NULL), NULL, &access);
	char *path = status ? NULL : http_path("jobs", thing, "links", NULL);
	struct http_request q = {.path = path, .quiet = true};
	if (path)
		http_do(cli, &q, &links);
	free(path);
	if (!status && cli->json) {
		json_object_set(access, "links", links ? json_object_get(links, "items") : json_null());
		status = cli_print_json(access);
	} else if (!status) {
		list_names("owners:", json_object_get(access, "owners"));
		list_names("readers:", json_object_get(access, "readers"));
		list_names("projects:", json_object_get(access, "projects"));
		printf("everybody: %s\n", json_is_true(json_object_get(access, "everybody")) ? "yes" : "no");
		list_links(json_object_get(links, "items"));
	}
	json_decref(access);
	json_decref(links);
	return status;
}

static int change(struct cli *cli, const char *thing, json_t *body)
{
	return http_change(cli, "PUT", http_path("access", thing, NULL, NULL), body);
}

int cmd_share(struct cli *cli)
{
	const char *thing = cli->arguments[0], *names = cli_option(cli, "with"), *revoke = cli_option(cli, "revoke");
	bool everybody = cli_option(cli, "everybody"), nobody = cli_option(cli, "nobody"), link = cli_option(cli, "link");
	const char *projects = cli_option(cli, "projects");
	if (!!names + !!projects + everybody + nobody + link + !!revoke + !!cli_option(cli, "list") != 1)
		return cli_fail(CLI_USAGE, "share needs one of --with, --projects, --everybody, --nobody, --link, "
				"--revoke, --list");
	static const char *const of_link[] = {"expires", "labels", "names"};
	for (size_t i = 0; i < sizeof of_link / sizeof *of_link; i++)
		if (cli_option(cli, of_link[i]) && !link)
			return cli_fail(CLI_USAGE, "--%s needs --link", of_link[i]);
	if (link)
		return make_link(cli, thing);
	if (revoke)
		return http_send(cli, "DELETE", http_path("jobs", thing, "links", revoke), NULL, NULL);
	if (names)
		return change(cli, thing, json_pack("{s:o}", "readers", names_of(names, ", ")));
	if (projects)
		return change(cli, thing, json_pack("{s:o}", "projects", names_of(projects, ", ")));
	if (everybody || nobody)
		return change(cli, thing, nobody ? json_pack("{s:[], s:[], s:b}", "readers", "projects", "everybody", 0) :
			      json_pack("{s:b}", "everybody", 1));
	return list(cli, thing);
}
