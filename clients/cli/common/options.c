/* options.c -- parses options by their descriptions, with getopt_long(). */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "core/embedding/transform.h"
#include "core/formats/input_params.h"
#include "core/method/method.h"
#include "core/meant.h"

static const struct cli_option common_options[] = {
	{'h', "help", NULL, "Print this help."},
	{0, "json", NULL, "Print the result as JSON, for programs."},
	{'q', "quiet", NULL, "Print no progress and no messages except errors."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option server_options[] = {
	{0, "server", "URL",
	 "The server: http://HOST:PORT or https://HOST:PORT. Default: $SPACELAND_SERVER, else the address in the daemon's "
	 "state folder, else http://127.0.0.1:7070."},
	{0, "token", "TOKEN", "Token for the server. Default: $SPACELAND_TOKEN."},
	{0, "ca-file", "FILE",
	 "Certificates (PEM) that verify an https server, instead of the system's: that of a private authority, or the "
	 "server's own if it is self-signed. Default: $SPACELAND_CA_FILE."},
	{0, NULL, NULL, NULL},
};

/* "learning_rate" -> "learning-rate". Tables are constant, so this is done once per name. */
static const char *option_name(const struct sl_param_info *info)
{
	static struct {
		const struct sl_param_info *info;
		char name[48];
	} names[2 * CLI_MAX_OPTIONS];
	int i = 0;
	while (names[i].info && names[i].info != info)
		i++;
	if (!names[i].info) {
		names[i].info = info;
		snprintf(names[i].name, sizeof names[i].name, "%s", info->name);
		for (char *c = names[i].name; *c; c++)
			if (*c == '_')
				*c = '-';
	}
	return names[i].name;
}

static const char *argument_name(const struct sl_param_info *info)
{
	switch (info->type) {
	case SL_TYPE_BOOL: return NULL;
	case SL_TYPE_ENUM: return "WORD";
	case SL_TYPE_INT:
	case SL_TYPE_UINT64: return "N";
	case SL_TYPE_LIST: return "X,...";
	case SL_TYPE_TEXT: return "TEXT";
	case SL_TYPE_DOUBLE: break;
	}
	return "X";
}

static void add(struct cli *cli, const struct cli_option *options)
{
	for (; options && options->name && cli->option_count < CLI_MAX_OPTIONS; options++)
		cli->options[cli->option_count++] = *options;
}

/* If the command has an option of this name, that option sets the parameter and keeps its own help text. */
static void add_param(struct cli *cli, const struct sl_param_info *info)
{
	for (int i = 0; i < cli->option_count; i++)
		if (!strcmp(cli->options[i].name, option_name(info))) {
			cli->param[i] = info;
			return;
		}
	if (cli->option_count == CLI_MAX_OPTIONS)
		return;
	cli->param[cli->option_count] = info;
	cli->options[cli->option_count++] = (struct cli_option){0, option_name(info), argument_name(info), info->doc};
}

static void add_table(struct cli *cli, const struct sl_param_table *table)
{
	for (int i = 0; i < table->count; i++)
		add_param(cli, &table->param[i]);
}

const struct sl_method *cli_method_of(const struct cli_command *command)
{
	const char *space = strrchr(command->name, ' ');
	return sl_method_find(space ? space + 1 : command->name);
}

void cli_collect_options(struct cli *cli, const struct cli_command *command)
{
	memset(cli, 0, sizeof *cli);
	cli->command = command;
	add(cli, command->options);
	if (command->params & CLI_INPUT_PARAMS)
		add_table(cli, &sl_input_params_table);
	if (command->params & CLI_FILE_PARAMS)
		add_table(cli, &sl_file_params_table);
	if (command->params & CLI_POINTS_PARAMS)
		add_table(cli, &sl_points_params_table);
	if (command->params & CLI_COLUMNS_PARAMS)
		add_table(cli, &sl_columns_params_table);
	if (command->params & CLI_TRANSFORM_PARAMS)
		add_table(cli, &sl_transform_table);
	if (command->params & CLI_METHOD_PARAMS)
		add_table(cli, cli_method_of(command)->params);
	cli->first_shared = cli->option_count;
	if (command->server)
		add(cli, server_options);
	add(cli, common_options);
	cli->first_param = cli->option_count;
	for (int i = 0; i < sl_params_count; i++) {
		const struct sl_param_info *info = &sl_params_table[i];
		bool steered = command->params & CLI_STEERABLE_PARAMS && info->steerable;
		/* commands handle --init themselves, since its value may be a file */
		if (strcmp(info->name, "init") && (command->params & CLI_ALL_PARAMS || steered))
			add_param(cli, info);
	}
}

static int find_option(const struct cli *cli, const char *name)
{
	int i = 0;
	while (i < cli->option_count && strcmp(cli->options[i].name, name))
		i++;
	return i < cli->option_count ? i : -1;
}

bool cli_takes(const struct cli *cli, const char *name)
{
	return find_option(cli, name) >= 0;
}

/* The value of --init may be a file's name. */
bool cli_option_is_file(const struct cli_option *o)
{
	return o->argument && (!strcmp(o->argument, "FILE") || !strcmp(o->name, "init"));
}

const char *cli_option(const struct cli *cli, const char *name)
{
	int i = find_option(cli, name);
	return i < 0 ? NULL : cli->values[i];
}

int cli_option_int(const struct cli *cli, const char *name, long low, long high, long *out)
{
	const char *text = cli_option(cli, name);
	if (!text)
		return CLI_OK;
	char *end;
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < low || value > high)
		return cli_fail(CLI_USAGE, "--%s must be a whole number from %ld to %ld, not '%s'", name, low, high, text);
	*out = value;
	return CLI_OK;
}

static int usage(const struct cli_command *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int usage(const struct cli_command *command, const char *format, ...)
{
	char text[256];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return cli_fail(CLI_USAGE, "%s; see spaceland %s --help", text, command->name);
}

/* Writes the end of the message "no option '--p'": the options with that prefix, or the most similar one. */
static void unknown_hint(const struct cli *cli, const char *given, char *out, size_t bytes)
{
	struct sl_meant meant;
	char word[64];
	int alike = 0;
	size_t at = 0, length = strcspn(given, "=");
	snprintf(word, sizeof word, "%.*s", (int)length, given);
	sl_meant_init(&meant, word);
	*out = '\0';
	for (int i = 0; i < cli->option_count; i++) {
		sl_meant_try(&meant, cli->options[i].name);
		if (length && !strncmp(cli->options[i].name, word, length) && at < bytes)
			at += (size_t)snprintf(out + at, bytes - at, "%s--%s", alike++ ? ", " : "; it may be ",
					       cli->options[i].name);
	}
	if (alike < 2)
		snprintf(out, bytes, sl_meant_word(&meant) ? "; did you mean --%s?" : "", sl_meant_word(&meant));
}

/* Reports an option that getopt_long() does not know, or a value for an option that takes none. */
static int bad_option(const struct cli *cli, int argc, char **argv)
{
	const char *name = cli->command->name;
	char hint[512] = "";
	if (optopt >= 256)
		return usage(cli->command, "%s: option '--%s' takes no value", name, cli->options[optopt - 256].name);
	if (!optopt) {
		const char *given = argv[optind - 1];
		unknown_hint(cli, given + strspn(given, "-"), hint, sizeof hint);
		int length = (int)strcspn(given, "=");
		return *hint ? cli_fail(CLI_USAGE, "%s: no option '%.*s'%s", name, length, given, hint) :
			       usage(cli->command, "%s: no option '%.*s'", name, length, given);
	}
	/* if the letter is part of a word as in -perplexity, argv[optind] is still that word */
	const char *word = optind < argc && argv[optind][0] == '-' ? argv[optind] + 1 : "";
	for (int i = 0; *word && i < cli->option_count; i++)
		if (!strcmp(cli->options[i].name, word))
			return cli_fail(CLI_USAGE, "%s: no option '-%s'; did you mean --%s?", name, word, word);
	return usage(cli->command, "%s: no option '-%c'", name, optopt);
}

static int check_arguments(const struct cli *cli)
{
	const struct cli_command *command = cli->command;
	if (cli->argument_count < command->min_arguments)
		return usage(command, "%s: %s is missing", command->name, command->arguments);
	if (cli->argument_count > command->max_arguments)
		return usage(command, "%s: '%s' is one argument too many", command->name,
			     cli->arguments[command->max_arguments]);
	return CLI_OK;
}

/* Overwrites the token in the arguments, which other users see in the list of processes. */
static void hide_token(struct cli *cli)
{
	int i = find_option(cli, "token");
	char *given = i >= 0 ? (char *)cli->values[i] : NULL;  /* in argv, which may be written */
	if (!given || !(cli->token = strdup(given)))
		return;
	memset(given, '*', strlen(given));
	cli->values[i] = cli->token;
}

/* argv[0] is the last word of the command's name. */
int cli_parse(struct cli *cli, const struct cli_command *command, int argc, char **argv)
{
	struct option longs[CLI_MAX_OPTIONS + 1] = {0};
	char shorts[2 * CLI_MAX_OPTIONS + 2] = ":";
	size_t at = 1;
	cli_collect_options(cli, command);
	for (int i = 0; i < cli->option_count; i++) {
		const struct cli_option *o = &cli->options[i];
		/* a parameter that is a flag accepts a value: --drop-leaf-edges=false */
		int argument = o->argument ? required_argument : cli->param[i] ? optional_argument : no_argument;
		longs[i] = (struct option){o->name, argument, NULL, 256 + i};
		if (o->letter) {
			shorts[at++] = o->letter;
			if (o->argument)
				shorts[at++] = ':';
		}
	}
	opterr = 0;
	optind = 1;
	int c;
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == '?')
			return bad_option(cli, argc, argv);
		if (c == ':')
			return usage(command, "%s: option '%s' needs a value", command->name, argv[optind - 1]);
		int i = c - 256;
		for (int j = 0; c < 256 && j < cli->option_count; j++)
			if (cli->options[j].letter == c)
				i = j;
		cli->values[i] = optarg ? optarg : "";
	}
	hide_token(cli);
	cli->arguments = argv + optind;
	cli->argument_count = argc - optind;
	/* files are opened by name, some of them twice, so standard input needs a name */
	if (strstr(command->arguments, "FILE") || strstr(command->arguments, "POINTS"))
		for (int i = 0; i < cli->argument_count; i++)
			if (!strcmp(cli->arguments[i], "-"))
				cli->arguments[i] = "/dev/stdin";
	cli->json = cli_option(cli, "json") != NULL;
	cli->quiet = cli_option(cli, "quiet") != NULL;
	if (cli_option(cli, "help"))
		return CLI_OK;
	return check_arguments(cli);
}

/* ---- parameters -------------------------------------------------------- */

/* The value of option i as text for its parameter. */
static const char *param_text(const struct cli *cli, int i)
{
	return cli->param[i]->type == SL_TYPE_BOOL && !*cli->values[i] ? "true" : cli->values[i];
}

static bool is_of(const struct cli *cli, int i, const struct sl_param_table *table)
{
	const struct sl_param_info *info = cli->param[i];
	return cli->values[i] && info >= table->param && info < table->param + table->count;
}

int cli_params_of(const struct cli *cli, const struct sl_param_table *table, void *record)
{
	struct sl_error err;
	for (int i = 0; i < cli->first_shared; i++)
		if (is_of(cli, i, table) && sl_param_set(table, record, cli->param[i]->name, param_text(cli, i), &err))
			return cli_fail(CLI_USAGE, "--%s: %s", cli->options[i].name, err.detail);
	return CLI_OK;
}

int cli_params_query(const struct cli *cli, const struct sl_param_table *table, FILE *path)
{
	for (int i = 0; i < cli->first_shared; i++) {
		char *escaped = is_of(cli, i, table) ? cli_escape(param_text(cli, i)) : NULL;
		if (!escaped && is_of(cli, i, table))
			return cli_fail(CLI_FAILED, "out of memory");
		if (escaped)
			fprintf(path, "&%s=%s", cli->param[i]->name, escaped);
		free(escaped);
	}
	return CLI_OK;
}

static int set(struct sl_params *params, const struct cli *cli, int i)
{
	struct sl_error err;
	if (!sl_params_set(params, cli->param[i]->name, param_text(cli, i), &err))
		return CLI_OK;
	return cli_fail(CLI_USAGE, "--%s: %s", cli->options[i].name, err.detail);
}

int cli_params(const struct cli *cli, struct sl_params *params)
{
	int status;
	sl_params_preset(params, SL_PRESET_DEFAULT);
	/* the preset comes first, since it resets the others */
	for (int pass = 0; pass < 2; pass++)
		for (int i = cli->first_param; i < cli->option_count; i++) {
			bool preset = !strcmp(cli->options[i].name, "preset");
			if (cli->values[i] && preset == !pass && (status = set(params, cli, i)))
				return status;
		}
	struct sl_error err;
	const char *init = cli_option(cli, "init");
	if (init && (!cli_init_is_word(init) || sl_params_set(params, "init", init, &err)))
		params->init = SL_INIT_GIVEN;
	if (cli->command->params & CLI_ALL_PARAMS && sl_params_check(params, &err)) {
		const char *name = err.pointer[0] ? err.pointer + 1 : "parameters";
		const struct sl_param_info *info = sl_params_find(name);
		if (info)
			return cli_fail(CLI_USAGE, "--%s: %s", option_name(info), err.detail);
		return cli_fail(CLI_USAGE, "%s", err.detail);
	}
	return CLI_OK;
}

bool cli_init_is_word(const char *init)
{
	const char *const *words = sl_params_find("init")->words;
	for (int i = 0; words[i]; i++)
		if (!strcmp(words[i], init))
			return i != SL_INIT_GIVEN;
	return false;
}

static json_t *number_json(const struct sl_param_info *info, double value)
{
	bool whole = info->type != SL_TYPE_DOUBLE && (info->type != SL_TYPE_LIST || info->whole);
	return whole ? json_integer((json_int_t)value) : json_real(value);
}

json_t *cli_param_json(const struct sl_param_info *info, const void *record)
{
	const struct sl_param_list *list = sl_param_list(info, record);
	double value;
	if (sl_param_number(info, record, &value))
		return json_string(info->automatic);
	if (info->words)
		return json_string(info->words[(int)value]);
	if (info->type == SL_TYPE_BOOL)
		return json_boolean(value != 0);
	if (!list || list->count == 1)
		return number_json(info, value);
	json_t *array = json_array();
	for (int i = 0; i < list->count; i++)
		json_array_append_new(array, number_json(info, list->value[i]));
	return array;
}

int cli_params_json(const struct cli *cli, json_t *request)
{
	struct sl_params params;
	int status = cli_params(cli, &params);
	for (int i = cli->first_param; !status && i < cli->option_count; i++) {
		const struct sl_param_info *info = cli->param[i];
		if (cli->values[i] && json_object_set_new(request, info->name, cli_param_json(info, &params)))
			status = cli_fail(CLI_FAILED, "out of memory");
	}
	return status;
}

int cli_metric(const struct cli *cli, int *metric, double *p)
{
	const char *name = cli_option(cli, "metric"), *power = cli_option(cli, "metric-p");
	struct sl_error err;
	char *end = NULL;
	if (name && sl_distance_parse(name, metric, &err))
		return cli_fail(CLI_USAGE, "--metric: %s", err.detail);
	if (power)
		*p = strtod(power, &end);
	if (power && (end == power || *end))
		return cli_fail(CLI_USAGE, "--metric-p must be a number from 1 to 16, not '%s'", power);
	return CLI_OK;
}
