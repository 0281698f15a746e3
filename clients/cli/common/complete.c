/* complete.c -- completion scripts for bash, zsh and fish, generated from the table of commands. */
#include <string.h>

#include "clients/cli/common/help.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"

/* Length of a command's first word: "graph" of "graph add". */
static size_t first_word(const struct cli_command *c)
{
	return strcspn(c->name, " ");
}

static bool is_pair(const struct cli_command *c)
{
	return c->name[first_word(c)] == ' ';
}

/* True for the first command with its first word. */
static bool begins_group(int i)
{
	const char *name = cli_commands[i].name;
	size_t length = first_word(&cli_commands[i]);
	return !i || strncmp(cli_commands[i - 1].name, name, length) || first_word(&cli_commands[i - 1]) != length;
}

static bool takes_files(const struct cli_command *c)
{
	return strstr(c->arguments, "FILE") || strstr(c->arguments, "POINTS");
}

/* The words that an option accepts, or NULL. */
static const char *const *words_of(const struct cli *cli, int i)
{
	return cli->param[i] ? cli->param[i]->words : NULL;
}

static void print_words(const char *const *words, FILE *out)
{
	for (int k = 0; words[k]; k++)
		fprintf(out, "%s%s", k ? " " : "", words[k]);
}

/* Prints the first sentence of a help text, at most 90 characters, without the characters `without`: quotes and the
 * syntax of shells. */
static void print_brief(const char *text, const char *without, FILE *out)
{
	for (int length = 0; *text && length < 90; text++, length++) {
		if (*text == '.' && (text[1] == ' ' || !text[1]))
			return;
		if (!strchr(without, *text))
			fputc(*text, out);
	}
}

/* ---- bash ------------------------------------------------------------------- */

/* Prints the options that `wanted` selects as a pattern, "--output|-o|--picture"; returns false if there are none. */
static bool bash_pattern(const struct cli *cli, bool (*wanted)(const struct cli *cli, int i), FILE *out)
{
	bool any = false;
	for (int i = 0; i < cli->option_count; i++) {
		const struct cli_option *o = &cli->options[i];
		if (!wanted(cli, i))
			continue;
		fprintf(out, "%s--%s", any ? "|" : "\t\t", o->name);
		if (o->letter)
			fprintf(out, "|-%c", o->letter);
		any = true;
	}
	return any;
}

static bool wants_file(const struct cli *cli, int i)
{
	return cli_option_is_file(&cli->options[i]);
}

static bool wants_other(const struct cli *cli, int i)
{
	return cli->options[i].argument && !cli_option_is_file(&cli->options[i]) && !words_of(cli, i);
}

static void bash_command(const struct cli_command *command, FILE *out)
{
	struct cli cli;
	cli_collect_options(&cli, command);
	fprintf(out, "\t'%s')\n\t\tcase $prev in\n", command->name);
	if (bash_pattern(&cli, wants_file, out))
		fputs(") files=1 ;;\n", out);
	if (bash_pattern(&cli, wants_other, out))
		fputs(") ;;\n", out);
	for (int i = 0; i < cli.option_count; i++)
		if (words_of(&cli, i)) {
			fprintf(out, "\t\t--%s) words='", cli.options[i].name);
			print_words(words_of(&cli, i), out);
			fputs("' ;;\n", out);
		}
	fputs("\t\t*)\n\t\t\tcase $cur in\n\t\t\t-*) words='", out);
	for (int i = 0; i < cli.option_count; i++)
		fprintf(out, "%s--%s", i ? " " : "", cli.options[i].name);
	fprintf(out, "' ;;\n\t\t\t*) %s;;\n\t\t\tesac ;;\n\t\tesac ;;\n", takes_files(command) ? "files=1 " : "");
}

static void bash_names(FILE *out)
{
	for (int i = 0; i < cli_command_count; i++)
		if (begins_group(i))
			fprintf(out, "%.*s ", (int)first_word(&cli_commands[i]), cli_commands[i].name);
}

static void bash(FILE *out)
{
	fputs("# bash completion of spaceland, written by: spaceland --completion bash\n_spaceland() {\n"
	      "\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} name=${COMP_WORDS[1]}\n"
	      "\tlocal words='' files=''\n"
	      "\tCOMPREPLY=()\n"
	      "\tif [ \"$cur\" = = ]; then cur=''; fi\n"
	      "\tif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
	      "\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tname=''\n\t\twords='help ", out);
	bash_names(out);
	fputs("--help --version'\n\tfi\n\tcase $name in\n"
	      "\thelp)\n\t\tname=''\n\t\tif [ \"$COMP_CWORD\" = 2 ]; then words='", out);
	bash_names(out);
	fputs("'; fi ;;\n", out);
	for (int i = 0; i < cli_command_count; i++) {
		const struct cli_command *c = &cli_commands[i];
		if (!is_pair(c))
			continue;
		if (begins_group(i))
			fprintf(out, "\t%.*s)\n\t\tname=\"$name ${COMP_WORDS[2]}\"\n\t\tif [ \"$COMP_CWORD\" = 2 ]; then\n"
				"\t\t\tname=''\n\t\t\twords='", (int)first_word(c), c->name);
		fprintf(out, "%s ", c->name + first_word(c) + 1);
		if (i + 1 == cli_command_count || begins_group(i + 1))
			fputs("--help'\n\t\tfi ;;\n", out);
	}
	fputs("\tesac\n\tcase $name in\n", out);
	for (int i = 0; i < cli_command_count; i++)
		bash_command(&cli_commands[i], out);
	fputs("\tesac\n\tif [ -n \"$files\" ]; then\n\t\tcompopt -o filenames 2>/dev/null\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n\telse\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n\tfi\n}\n"
	      "complete -F _spaceland spaceland\n", out);
}

/* ---- zsh --------------------------------------------------------------------- */

#define ZSH_SYNTAX "'[]:\\\"`$"

static void zsh_option(const struct cli *cli, int i, FILE *out)
{
	const struct cli_option *o = &cli->options[i];
	if (o->letter)
		fprintf(out, " \\\n\t\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name, o->letter, o->argument ? "+" : "",
			o->name, o->argument ? "=" : "");
	else
		fprintf(out, " \\\n\t\t\t'--%s%s[", o->name, o->argument ? "=" : "");
	print_brief(o->doc, ZSH_SYNTAX, out);
	fputc(']', out);
	if (o->argument)
		fprintf(out, ":%s:", o->name);
	if (cli_option_is_file(o)) {
		fputs("_files", out);
	} else if (words_of(cli, i)) {
		fputc('(', out);
		print_words(words_of(cli, i), out);
		fputc(')', out);
	}
	fputc('\'', out);
}

static void zsh_names(const char *group, FILE *out)
{
	for (int i = 0; i < cli_command_count; i++) {
		const struct cli_command *c = &cli_commands[i];
		size_t length = first_word(c);
		bool inside = group && is_pair(c) && !strncmp(c->name, group, length) && !group[length];
		if (group ? !inside : !begins_group(i))
			continue;
		fprintf(out, " \\\n\t\t\t'%.*s:", group ? 40 : (int)length, group ? c->name + length + 1 : c->name);
		if (group || !is_pair(c))
			print_brief(c->summary, ZSH_SYNTAX, out);
		else
			fprintf(out, "see spaceland %.*s --help", (int)length, c->name);
		fputc('\'', out);
	}
}

static void zsh(FILE *out)
{
	fputs("#compdef spaceland\n# zsh completion of spaceland, written by: spaceland --completion zsh\n_spaceland() {\n"
	      "\tlocal -a names\n\tlocal name=$words[2]\n\tif (( CURRENT == 2 )); then\n\t\tnames=(", out);
	zsh_names(NULL, out);
	fputs(")\n\t\t_describe command names\n\t\treturn\n\tfi\n\tcase $name in\n", out);
	for (int i = 0; i < cli_command_count; i++) {
		char group[40] = "";
		size_t length = first_word(&cli_commands[i]);
		if (!is_pair(&cli_commands[i]) || !begins_group(i) || length >= sizeof group)
			continue;
		memcpy(group, cli_commands[i].name, length);
		fprintf(out, "\t%s)\n\t\tif (( CURRENT == 3 )); then\n\t\t\tnames=(", group);
		zsh_names(group, out);
		fputs(")\n\t\t\t_describe command names\n\t\t\treturn\n\t\tfi\n\t\tname=\"$name $words[3]\"\n"
		      "\t\tshift words\n\t\t(( CURRENT-- )) ;;\n", out);
	}
	fputs("\tesac\n\tshift words\n\t(( CURRENT-- ))\n\tcase $name in\n", out);
	for (int i = 0; i < cli_command_count; i++) {
		struct cli cli;
		cli_collect_options(&cli, &cli_commands[i]);
		fprintf(out, "\t'%s')\n\t\t_arguments -s -S", cli_commands[i].name);
		for (int k = 0; k < cli.option_count; k++)
			zsh_option(&cli, k, out);
		fprintf(out, "%s ;;\n", takes_files(&cli_commands[i]) ? " \\\n\t\t\t'*:file:_files'" : "");
	}
	fputs("\tesac\n}\n_spaceland \"$@\"\n", out);
}

/* ---- fish --------------------------------------------------------------------- */

#define FISH_SYNTAX "'\\"

static void fish_option(const struct cli *cli, int i, const char *command, FILE *out)
{
	const struct cli_option *o = &cli->options[i];
	fprintf(out, "complete -c spaceland -n '__spaceland_is %s' -l %s", command, o->name);
	if (o->letter)
		fprintf(out, " -s %c", o->letter);
	if (cli_option_is_file(o)) {
		fputs(" -r -F", out);
	} else if (words_of(cli, i)) {
		fputs(" -x -a '", out);
		print_words(words_of(cli, i), out);
		fputc('\'', out);
	} else if (o->argument) {
		fputs(" -x", out);
	}
	fputs(" -d '", out);
	print_brief(o->doc, FISH_SYNTAX, out);
	fputs("'\n", out);
}

static void fish(FILE *out)
{
	fputs("# fish completion of spaceland, written by: spaceland --completion fish\n"
	      "function __spaceland_is\n\tset -l given (commandline -opc)\n"
	      "\tset -l last (math 1 + (count $argv))\n\ttest \"$given[2..$last]\" = \"$argv\"\nend\n"
	      "function __spaceland_at\n\tset -l given (commandline -opc)\n"
	      "\ttest (count $given) -eq (math 1 + (count $argv)); and test \"$given[2..]\" = \"$argv\"\nend\n"
	      "complete -c spaceland -f\n", out);
	for (int i = 0; i < cli_command_count; i++) {
		const struct cli_command *c = &cli_commands[i];
		size_t length = first_word(c);
		struct cli cli;
		if (begins_group(i))
			fprintf(out, "complete -c spaceland -n __spaceland_at -a %.*s", (int)length, c->name);
		if (begins_group(i) && is_pair(c))
			fputc('\n', out);
		if (is_pair(c))
			fprintf(out, "complete -c spaceland -n '__spaceland_at %.*s' -a %s", (int)length, c->name,
				c->name + length + 1);
		fputs(" -d '", out);
		print_brief(c->summary, FISH_SYNTAX, out);
		fputs("'\n", out);
		if (takes_files(c))
			fprintf(out, "complete -c spaceland -n '__spaceland_is %s' -F\n", c->name);
		cli_collect_options(&cli, c);
		for (int k = 0; k < cli.option_count; k++)
			fish_option(&cli, k, c->name, out);
	}
}

int cli_complete(const char *shell, FILE *out)
{
	static const struct {
		const char *name;
		void (*print)(FILE *out);
	} shells[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};
	for (size_t i = 0; shell && i < sizeof shells / sizeof *shells; i++)
		if (!strcmp(shell, shells[i].name)) {
			shells[i].print(out);
			return CLI_OK;
		}
	return cli_fail(CLI_USAGE, "--completion must be bash, zsh or fish, not '%s'", shell ? shell : "");
}
