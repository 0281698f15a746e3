/* main.c -- finds the sub-command and runs it. */
#include <curl/curl.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "clients/cli/common/help.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"
#include "core/meant.h"
#include "core/threads.h"

volatile sig_atomic_t cli_interrupted;

/* The first interrupt sets a flag, which commands check; the second ends the program at once. */
static void on_interrupt(int number)
{
	if (cli_interrupted)
		_exit(CLI_INTERRUPTED);
	cli_interrupted = number;
}

static void catch_interrupts(void)
{
	/* without SA_RESTART, so that a signal interrupts sleep and read */
	struct sigaction action = {.sa_handler = on_interrupt};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Finds the command named by argv[1], or by argv[1] and argv[2]. *words: the number of words in its name. */
static const struct cli_command *find(int argc, char **argv, int *words)
{
	char two[64] = "";
	if (argc > 2)
		snprintf(two, sizeof two, "%s %s", argv[1], argv[2]);
	for (int i = 0; i < cli_command_count; i++) {
		*words = strchr(cli_commands[i].name, ' ') ? 2 : 1;
		if (!strcmp(cli_commands[i].name, *words == 2 ? two : argv[1]))
			return &cli_commands[i];
	}
	return NULL;
}

/* True if commands begin with this word: "graph" of "graph add". */
static bool is_group(const char *word)
{
	size_t length = strlen(word);
	for (int i = 0; i < cli_command_count; i++)
		if (!strncmp(cli_commands[i].name, word, length) && cli_commands[i].name[length] == ' ')
			return true;
	return false;
}

/* Returns the only command with this second word ("submit"), or NULL. */
static const char *by_second_word(const char *word)
{
	const char *found = NULL;
	for (int i = 0; i < cli_command_count; i++) {
		const char *space = strchr(cli_commands[i].name, ' ');
		if (space && !strcmp(space + 1, word)) {
			if (found)
				return NULL;
			found = cli_commands[i].name;
		}
	}
	return found;
}

/* Returns the command most similar to `first`, or to `first second`, or NULL. */
static const char *meant_by(const char *first, const char *second)
{
	struct sl_meant meant;
	char two[64];
	snprintf(two, sizeof two, "%s %s", first, second ? second : "");
	sl_meant_init(&meant, second ? two : first);
	for (int i = 0; i < cli_command_count; i++) {
		if (!second == !strchr(cli_commands[i].name, ' '))
			sl_meant_try(&meant, cli_commands[i].name);
	}
	const char *word = sl_meant_word(&meant);
	return word || second ? word : by_second_word(first);
}

/* Reports an unknown command and suggests one: "graph list" for "graf list", "embed" for "embd x.mtx". */
static int no_command(const char *first, const char *second, bool in_group)
{
	const char *meant = meant_by(first, NULL);
	if (second && (in_group || !meant)) {
		const char *both = meant_by(first, second);
		meant = both ? both : meant;
	}
	char given[96];
	snprintf(given, sizeof given, "%.40s%s%.40s", first, in_group ? " " : "", in_group ? second : "");
	if (meant)
		return cli_fail(CLI_USAGE, "no command '%s'; did you mean 'spaceland %s'?", given, meant);
	if (!in_group && *first == '-')
		return cli_fail(CLI_USAGE, "write %s after the command: spaceland COMMAND %s ...; see spaceland "
				"--help", given, given);
	return cli_fail(CLI_USAGE, "no command '%s'; see spaceland %s%s--help", given, in_group ? first : "",
			in_group ? " " : "");
}

static bool is_help(const char *word)
{
	return !strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help");
}

/* Handles `spaceland`, `spaceland help ...`, `spaceland graph` and unknown commands. */
static int without_command(int argc, char **argv)
{
	int words;
	if (argc > 2 && is_help(argv[1])) {
		const struct cli_command *command = find(argc - 1, argv + 1, &words);
		if (command)
			cli_help_command(command, stdout);
		else if (is_group(argv[2]))
			cli_help_group(argv[2], stdout);
		else
			return no_command(argv[2], argc > 3 ? argv[3] : NULL, false);
		return CLI_OK;
	}
	if (argc > 1 && is_help(argv[1])) {
		cli_help(stdout);
		return CLI_OK;
	}
	if (argc > 1 && !strcmp(argv[1], "--man")) {
		cli_man(stdout);
		return CLI_OK;
	}
	if (argc > 1 && !strcmp(argv[1], "--completion"))
		return cli_complete(argv[2], stdout);
	if (argc > 1 && !strcmp(argv[1], "--version")) {
		puts("spaceland " SL_VERSION);
		return CLI_OK;
	}
	if (argc > 1 && is_group(argv[1])) {
		bool asked = argc > 2 && is_help(argv[2]);
		if (argc > 2 && !asked)
			return no_command(argv[1], argv[2], true);
		cli_help_group(argv[1], asked ? stdout : stderr);
		return asked ? CLI_OK : CLI_USAGE;
	}
	if (argc > 1)
		return no_command(argv[1], argc > 2 ? argv[2] : NULL, false);
	cli_help(stderr);
	return CLI_USAGE;
}

static int run(struct cli *cli)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
	int status = cli->command->run(cli);
	cli_tell_rest(cli);
	http_destroy(cli->http);
	curl_global_cleanup();
	return fflush(stdout) && !status ? cli_stdout_failed() : status;
}

int main(int argc, char **argv)
{
	sl_threads_wait_briefly(argv);
	prctl(PR_SET_NAME, "spaceland");  /* executed again, it would be called "exe" in ps */
	struct cli cli;
	int words = 0, status;
	setlocale(LC_CTYPE, "");
	cli_commands_init();
	catch_interrupts();
	const struct cli_command *command = argc > 1 ? find(argc, argv, &words) : NULL;
	if (!command)
		return without_command(argc, argv);
	status = cli_parse(&cli, command, argc - words, argv + words);
	if (!status && cli_option(&cli, "help"))
		cli_help_command(command, stdout);
	else if (!status)
		status = run(&cli);
	free(cli.token);
	return status;
}
