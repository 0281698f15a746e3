/* user.c -- spaceland user ...: administration of a server's users and tokens. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/limits.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

#define WORD_BYTES 1024

/* A user's name as one word of the shell's, for commands that a message proposes. */
static const char *word(const char *name, char out[WORD_BYTES])
{
	size_t plain = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%_+=:,./-"), used = 1;
	if (*name && !name[plain])
		return name;
	out[0] = '\'';
	for (; *name && used < WORD_BYTES - 6; name++)
		used += (size_t)sprintf(out + used, *name == '\'' ? "'\\''" : "%c", *name);
	strcpy(out + used, "'");
	return out;
}

static void tell_added(struct cli *cli, const json_t *user)
{
	char text[WORD_BYTES];
	cli_note(cli, "%s is a %s now; spaceland user token %s makes a token", cli->arguments[0], cli_text(user, "role"),
		 word(cli->arguments[0], text));
}

int cmd_user_add(struct cli *cli)
{
	const char *role = cli_option(cli, "role");
	json_t *reply = NULL;
	int status = http_send(cli, "POST", strdup("/v1/users"), json_pack("{s:s, s:s}", "name", cli->arguments[0], "role",
			     role ? role : "user"), &reply);
	return cli_print_reply(cli, status, reply, tell_added);
}

static void date_text(const json_t *seconds, char *out, size_t bytes)
{
	time_t time = (time_t)json_integer_value(seconds);
	struct tm local;
	snprintf(out, bytes, "-");
	if (json_is_integer(seconds) && localtime_r(&time, &local))
		strftime(out, bytes, "%Y-%m-%d %H:%M", &local);
}

static const char *role_text(const json_t *user, char out[40])
{
	bool disabled = !strcmp(cli_text(user, "state"), "disabled");
	snprintf(out, 40, "%s%s", cli_text(user, "role"), disabled ? ", disabled" : "");
	return out;
}

static void list_tokens(struct table *t, const json_t *user)
{
	char role[40];
	json_t *token;
	size_t i;
	json_array_foreach(json_object_get(user, "tokens"), i, token) {
		char expires[32], used[32];
		date_text(json_object_get(token, "expires"), expires, sizeof expires);
		date_text(json_object_get(token, "last_used"), used, sizeof used);
		table_row(t, (const char *[]){cli_text(user, "name"), role_text(user, role), cli_text(token, "id"),
					      cli_text(token, "name"), expires, used});
	}
	if (!i)
		table_row(t, (const char *[]){cli_text(user, "name"), role_text(user, role), NULL, NULL, NULL, NULL});
}

static void list_deleted(const json_t *users)
{
	static const char *const titles[] = {"USER", "ID", "DELETED", "DATA"};
	struct table *t = table_create(4, 0, titles);
	json_t *user;
	size_t i;
	json_array_foreach(users, i, user) {
		char since[32];
		date_text(json_object_get(user, "since"), since, sizeof since);
		table_row(t, (const char *[]){cli_text(user, "name"), cli_text(user, "id"), since,
					      json_is_true(json_object_get(user, "erase")) ? "being deleted" : "kept"});
	}
	table_print(t, stdout);
	table_destroy(t);
}

int cmd_user_list(struct cli *cli)
{
	static const char *const titles[] = {"USER", "ROLE", "TOKEN", "NAME", "EXPIRES", "LAST USED"};
	json_t *reply = NULL, *users, *user;
	size_t i;
	bool deleted = cli_option(cli, "deleted");
	int status = http_get(cli, deleted ? "/v1/users?state=deleted" : "/v1/users", &reply);
	users = json_object_get(reply, "items");
	if (!status && cli->json) {
		status = cli_print_json(users);
	} else if (!status && deleted) {
		list_deleted(users);
	} else if (!status) {
		struct table *t = table_create(6, 0, titles);
		json_array_foreach(users, i, user)
			list_tokens(t, user);
		table_print(t, stdout);
		table_destroy(t);
	}
	json_decref(reply);
	return status;
}

/* What becomes of the things that a deleted user owns. */
static void tell_deleted(struct cli *cli, const json_t *user, bool data)
{
	double things = cli_number(user, "things");
	const char *name = cli_text(user, "name"), *id = cli_text(user, "id"), *s = things == 1 ? "" : "s";
	char text[WORD_BYTES];
	if (!(things > 0))
		cli_note(cli, "%s is deleted, and owned nothing", name);
	else if (data)
		cli_note(cli, "%s is deleted; %.0f thing%s that %s owned: what nobody else owns is deleted when nobody else's "
			 "job uses it", name, things, s, name);
	else
		cli_note(cli, "%s is deleted; %.0f thing%s stay%s: spaceland user transfer %s TO gives them to another user, "
			 "spaceland user delete %s --data deletes them, spaceland user restore %s brings %s back", name, things,
			 s, things == 1 ? "s" : "", id, id, word(name, text), name);
}

int cmd_user_delete(struct cli *cli)
{
	char *path = http_path("users", cli->arguments[0], NULL, NULL), *with = NULL;
	bool data = cli_option(cli, "data");
	json_t *user = NULL;
	int status = path ? http_get(cli, path, &user) : CLI_FAILED;
	if (!status && asprintf(&with, "%s?data=%s", path, data ? "delete" : "keep") < 0)
		with = NULL;
	free(path);
	if (!status)
		status = http_send(cli, "DELETE", with, NULL, NULL);
	if (!status)
		tell_deleted(cli, user, data);
	json_decref(user);
	return status;
}

/* Changes the user that the first argument names, and tells it. Releases body; NULL: out of memory. */
static int change_user(struct cli *cli, json_t *body, const char *told)
{
	const char *name = cli->arguments[0];
	int status = body ? http_change(cli, "PATCH", http_path("users", name, NULL, NULL), body) :
			    cli_fail(CLI_USAGE, "the arguments must be text in UTF-8");
	if (!status)
		cli_note(cli, "%s %s", name, told);
	return status;
}

int cmd_user_disable(struct cli *cli)
{
	return change_user(cli, json_pack("{s:b}", "disabled", true), "is kept out, with all tokens and links; running "
			   "jobs go on, waiting ones wait; spaceland user enable undoes it");
}

int cmd_user_enable(struct cli *cli)
{
	return change_user(cli, json_pack("{s:b}", "disabled", false), "is let in again, with the same tokens");
}

/* "WHAT ARGUMENT", for change_user(). */
static const char *with_argument(const struct cli *cli, const char *what, char *out, size_t bytes)
{
	snprintf(out, bytes, "%s %s", what, cli->arguments[1]);
	return out;
}

int cmd_user_rename(struct cli *cli)
{
	char told[320];
	return change_user(cli, json_pack("{s:s}", "name", cli->arguments[1]),
			   with_argument(cli, "is called", told, sizeof told));
}

int cmd_user_restore(struct cli *cli)
{
	json_t *which = cli->argument_count > 1 ? json_string(cli->arguments[1]) : json_true();
	int status = http_change(cli, "POST", strdup("/v1/users"),
				 json_pack("{s:s, s:o}", "name", cli->arguments[0], "restore", which));
	char text[WORD_BYTES];
	if (!status)
		cli_note(cli, "%s is back, without tokens and projects; spaceland user token %s makes a token",
			 cli->arguments[0], word(cli->arguments[0], text));
	return status;
}

static void tell_transfer(const json_t *reply, const char *verb)
{
	static const char *const what[][2] = {{"graphs", "graph"}, {"jobs", "job"}, {"batches", "batch"},
					      {"layouts", "layout"}, {"links", "link"}};
	for (size_t i = 0; i < sizeof what / sizeof *what; i++) {
		double count = cli_number(reply, what[i][0]);
		printf("%s%.0f %s", i ? ", " : "", count, what[i][count == 1]);
	}
	printf(" %s %s's\n", verb, cli_text(reply, "to"));
}

int cmd_user_transfer(struct cli *cli)
{
	json_t *body = json_pack("{s:s}", "to", cli->arguments[1]), *ids = json_array(), *reply = NULL;
	for (int i = 2; i < cli->argument_count; i++)
		json_array_append_new(ids, json_string(cli->arguments[i]));
	if (json_array_size(ids))
		json_object_set(body, "things", ids);
	json_decref(ids);
	if (cli_option(cli, "dry-run"))
		json_object_set_new(body, "dry_run", json_true());
	int status = http_send(cli, "POST", http_path("users", cli->arguments[0], "transfer", NULL), body, &reply);
	if (!status && cli->json)
		status = cli_print_json(reply);
	else if (!status)
		tell_transfer(reply, cli_option(cli, "dry-run") ? "would be" : "are now");
	json_decref(reply);
	return status;
}

int cmd_user_role(struct cli *cli)
{
	char told[320];
	return change_user(cli, json_pack("{s:s}", "role", cli->arguments[1]),
			   with_argument(cli, "has the role", told, sizeof told));
}

int cmd_user_revoke(struct cli *cli)
{
	const char *token = cli->argument_count > 1 ? cli->arguments[1] : NULL;
	int status = http_send(cli, "DELETE", http_path("users", cli->arguments[0], "tokens", token), NULL, NULL);
	if (!status && token)
		cli_note(cli, "the token is revoked");
	else if (!status)
		cli_note(cli, "all tokens of %s are revoked; limits, data and jobs stay", cli->arguments[0]);
	return status;
}

/* ---- tokens ------------------------------------------------------------------------------ */

static int token_body(struct cli *cli, json_t **body)
{
	const char *name = cli_option(cli, "name");
	long days = 0;
	int status = cli_option_int(cli, "days", 1, 36500, &days);
	*body = status ? NULL : json_object();
	if (!status && name)
		json_object_set_new(*body, "name", json_string(name));
	if (!status && days)
		json_object_set_new(*body, "days", json_integer(days));
	return status;
}

static void print_token(struct cli *cli, const json_t *reply)
{
	puts(cli_text(reply, "token"));
}

/* Makes a token. Frees path, releases body. */
static int make_token(struct cli *cli, char *path, json_t *body)
{
	json_t *reply = NULL;
	int status = http_send(cli, "POST", path, body, &reply);
	return cli_print_reply(cli, status, reply, print_token);
}

int cmd_user_token(struct cli *cli)
{
	json_t *body;
	int status = token_body(cli, &body);
	return status ? status : make_token(cli, http_path("users", cli->arguments[0], "tokens", NULL), body);
}

/* ---- limits ------------------------------------------------------------------------------- */

int cmd_user_limits(struct cli *cli)
{
	json_t *limits = NULL;
	int status = cli_limits_json(cli, &limits);
	return status ? status : change_user(cli, json_pack("{s:o}", "limits", limits),
					     "has these limits; spaceland user show USER shows all that are in force");
}

/* Prints those in force; older servers tell only the user's own. */
static void print_limits(const json_t *user, const char *name)
{
	const json_t *in_force = json_object_get(user, "in_force"), *use = json_object_get(user, "use");
	const json_t *projects = json_object_get(user, "projects");
	if (json_is_object(in_force))
		cli_print_in_force(in_force, use, name);
	else if (json_is_object(json_object_get(user, "limits")))
		cli_print_limits(json_object_get(user, "limits"), use);
	if (json_is_object(in_force) && !strcmp(cli_text(user, "role"), "administrator"))
		printf("Administrators have no limits but those of every request.\n");
	for (size_t i = 0; i < json_array_size(projects); i++)
		printf("Work for the project %s counts to its limits, too: spaceland project show %s\n",
		       json_string_value(json_array_get(projects, i)), json_string_value(json_array_get(projects, i)));
}

int cmd_user_show(struct cli *cli)
{
	json_t *user = NULL;
	char *path = cli->argument_count ? http_path("users", cli->arguments[0], NULL, NULL) : strdup("/v1/me");
	int status = http_send(cli, "GET", path, NULL, &user);
	if (!status && cli->json) {
		status = cli_print_json(user);
	} else if (!status) {
		const char *name = cli_text(user, "name"), *project = cli_text(user, "project");
		const char *state = cli_text(user, "state");
		bool gone = *state && strcmp(state, "active");
		printf("%s, %s%s%s%s%s\n", *name ? name : "no user", cli_text(user, "role"),
		       *project ? ", project " : "", project, gone ? ", " : "", gone ? state : "");
		print_limits(user, name);
	}
	json_decref(user);
	return status;
}

int cmd_user_project(struct cli *cli)
{
	const char *project = strcmp(cli->arguments[1], "none") ? cli->arguments[1] : NULL;
	char told[320];
	return change_user(cli, json_pack("{s:s?}", "project", project),
			   with_argument(cli, "has the default project", told, sizeof told));
}

/* ---- one's own tokens ----------------------------------------------------------------------- */

int cmd_token_add(struct cli *cli)
{
	json_t *body;
	int status = token_body(cli, &body);
	return status ? status : make_token(cli, strdup("/v1/me/tokens"), body);
}

int cmd_token_rotate(struct cli *cli)
{
	const char *overlap = cli_option(cli, "overlap");
	json_t *body = NULL, *seconds = overlap ? cli_limit_value(overlap) : NULL;
	int status = overlap && !json_is_integer(seconds) ?
		     cli_fail(CLI_USAGE, "--overlap must be a time, for example 1h, not '%s'", overlap) :
		     token_body(cli, &body);
	if (!status && seconds)
		json_object_set(body, "overlap_seconds", seconds);
	json_decref(seconds);
	if (status)
		return status;
	json_object_set_new(body, "replaces", json_string(cli->argument_count ? cli->arguments[0] : "this"));
	return make_token(cli, strdup("/v1/me/tokens"), body);
}

int cmd_token_list(struct cli *cli)
{
	static const char *const titles[] = {"TOKEN", "NAME", "EXPIRES", "LAST USED"};
	json_t *reply = NULL, *token;
	size_t i;
	int status = http_get(cli, "/v1/me/tokens", &reply);
	if (!status && cli->json) {
		status = cli_print_json(json_object_get(reply, "tokens"));
	} else if (!status) {
		struct table *t = table_create(4, 0, titles);
		json_array_foreach(json_object_get(reply, "tokens"), i, token) {
			char expires[32], used[32];
			date_text(json_object_get(token, "expires"), expires, sizeof expires);
			date_text(json_object_get(token, "last_used"), used, sizeof used);
			table_row(t, (const char *[]){cli_text(token, "id"), cli_text(token, "name"), expires, used});
		}
		table_print(t, stdout);
		table_destroy(t);
	}
	json_decref(reply);
	return status;
}

int cmd_token_revoke(struct cli *cli)
{
	char *path = NULL, *id = cli_escape(cli->arguments[0]);
	if (id && asprintf(&path, "/v1/me/tokens/%s", id) < 0)
		path = NULL;
	free(id);
	return http_send(cli, "DELETE", path, NULL, NULL);
}
