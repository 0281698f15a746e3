/* maintenance.c -- spaceland admin drain, undrain, banner: what administrators do before they work on the server. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

/* Adds a time: a number with s, min, h, d or w from now on, or a time in UTC, which the server reads. */
static int add_time(struct cli *cli, const char *option, json_t *body)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}};
	const char *text = cli_option(cli, option);
	char *end;
	double value = text ? strtod(text, &end) : 0;
	if (!text)
		return CLI_OK;
	for (size_t i = 0; end != text && value >= 0 && i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit)) {
			json_object_set_new(body, option, json_real(value * units[i].seconds));
			return CLI_OK;
		}
	if (strlen(text) > 10 && text[10] == 'T') {
		json_object_set_new(body, option, json_string(text));
		return CLI_OK;
	}
	return cli_fail(CLI_USAGE, "--%s must be a number with s, min, h, d or w, for example 2h, or a time in UTC as "
			"2026-12-24T18:00:00Z, not '%s'", option, text);
}

static void print(struct cli *cli, const json_t *reply)
{
	const json_t *drain = json_object_get(reply, "drain"), *banner = json_object_get(reply, "banner");
	const char *by = cli_text(drain, "by"), *until = cli_text(banner, "until");
	if (json_is_object(drain))
		printf("drained since %.19s, by %s; running jobs %s%.19s%s%s\n", cli_text(drain, "since"),
		       *cli_text(drain, "who") ? cli_text(drain, "who") : "an administrator",
		       *by ? "are saved at " : "finish", by, *cli_text(drain, "reason") ? ": " : "", cli_text(drain, "reason"));
	if (json_is_object(banner))
		printf("banner: %s%s%.19s\n", cli_text(banner, "text"), *until ? ", until " : "", until);
	if (!json_is_object(drain) && !json_is_object(banner))
		cli_note(cli, "the server takes jobs, and there is no banner");
}

/* Releases body. */
static int change(struct cli *cli, const char *method, const char *what, json_t *body)
{
	json_t *reply = NULL;
	int status = http_send(cli, method, http_path("maintenance", what, NULL, NULL), body, &reply);
	return cli_print_reply(cli, status, reply, print);
}

int cmd_admin_drain(struct cli *cli)
{
	json_t *body = json_object();
	int status = add_time(cli, "by", body);
	if (!status && cli->argument_count)
		json_object_set_new(body, "reason", json_string(cli->arguments[0]));
	if (!status)
		return change(cli, "PUT", "drain", body);
	json_decref(body);
	return status;
}

int cmd_admin_undrain(struct cli *cli)
{
	return change(cli, "DELETE", "drain", NULL);
}

int cmd_admin_banner(struct cli *cli)
{
	json_t *body = json_object(), *reply = NULL;
	int status = add_time(cli, "until", body);
	if (!status && cli_option(cli, "remove")) {
		json_decref(body);
		return change(cli, "DELETE", "banner", NULL);
	}
	if (!status && cli->argument_count) {
		json_object_set_new(body, "text", json_string(cli->arguments[0]));
		return change(cli, "PUT", "banner", body);
	}
	json_decref(body);
	if (!status)
		status = http_get(cli, "/v1/maintenance", &reply);
	return cli_print_reply(cli, status, reply, print);
}
