/* help.c -- --help and the manual page, generated from the table of commands. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "clients/cli/common/help.h"
#include "clients/cli/common/options.h"

static const struct {
	int status;
	const char *meaning;
} statuses[] = {
	{CLI_OK, "Success."},
	{CLI_FAILED, "The job failed, or a result could not be written."},
	{CLI_USAGE, "Wrong usage: unknown option, value out of range, missing argument."},
	{CLI_UNREACHABLE, "No server could be reached."},
	{CLI_REFUSED, "The server refused the request."},
	{CLI_BADINPUT, "An input file is missing or not valid; the message names file and line."},
	{CLI_INTERRUPTED, "Interrupted from the keyboard."},
};

static const char intro[] =
	"Spaceland lays out sparse graphs, and tables of points by their neighbours, in one, two or three dimensions by "
	"stochastic neighbour embedding. The server spacelandd does the work and keeps graphs and results; "
	"embed --local, kmeans, gmm and sammon work without a server.";

static const char *const examples[][2] = {
	{"Lay out a graph and draw it", "spaceland embed graph.mtx.gz -o layout.npy --picture layout.png"},
	{"The same without a server, in 3-D", "spaceland embed graph.mtx.gz --local --dims 3 -o layout.csv"},
	{"A table of points, one row per point", "spaceland embed cells.npy --perplexity 30 -o layout.npy"},
	{"Keep a graph on the server, and try parameters on it",
	 "spaceland graph add graph.npz\nspaceland job submit GRAPH --lambda 20\nspaceland job watch JOB"},
	{"Change a running job", "spaceland job steer JOB --late-exaggeration 2"},
};

/* ---- text on a terminal ----------------------------------------------------- */

static int columns(FILE *out)
{
	struct winsize size;
	int width = 80;
	if (isatty(fileno(out)) && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col)
		width = size.ws_col;
	return width < 40 ? 40 : width > 100 ? 100 : width;
}

/* Prints text, wrapped. Lines start at column `indent`, the first line at column `at`. */
static void wrap(FILE *out, const char *text, int at, int indent)
{
	int width = columns(out);
	bool first = true;
	while (*text) {
		size_t word = strcspn(text, " \n");
		if (!strncmp(text, "\n\n", 2)) {
			fprintf(out, "\n\n%*s", indent, "");
			at = indent;
			first = true;
		}
		if (word) {
			if (!first && at + 1 + (int)word > width) {
				fprintf(out, "\n%*s", indent, "");
				at = indent;
				first = true;
			}
			fprintf(out, "%s%.*s", first ? "" : " ", (int)word, text);
			at += (int)word + !first;
			first = false;
		}
		text += word;
		if (!word || strncmp(text, "\n\n", 2))
			text += strspn(text, strncmp(text, "\n\n", 2) ? " \n" : "\n");
	}
	fputc('\n', out);
}

/* Writes range and default to `out`: "1 to 1000, default 12", "draft, normal, fine or auto; default auto". */
static void range_text(const struct sl_param_info *info, char *out, size_t bytes)
{
	char normal[SL_PARAM_TEXT_BYTES];
	size_t at = 0;
	*out = '\0';
	if (info->words)
		for (int i = 0; info->words[i] && at < bytes; i++)
			at += (size_t)snprintf(out + at, bytes - at, "%s%s", i ? ", " : "", info->words[i]);
	else if (info->type != SL_TYPE_BOOL && info->type != SL_TYPE_TEXT)
		at += (size_t)snprintf(out, bytes, "%.16g to %.16g%s%s", info->min, info->max, info->automatic ? ", or " : "",
				       info->automatic ? info->automatic : "");
	if (at < bytes && *sl_param_normal_text(info, normal))
		snprintf(out + at, bytes - at, "%sdefault %s", at ? "; " : "", normal);
}

/* The help text of an option; of a parameter with range and default. */
static void option_text(const struct cli *cli, int i, char *out, size_t bytes)
{
	char range[256] = "";
	if (cli->param[i])
		range_text(cli->param[i], range, sizeof range);
	snprintf(out, bytes, *range ? "%s (%s)" : "%s", cli->options[i].doc, range);
}

static void print_option(const struct cli *cli, int i, FILE *out)
{
	const struct cli_option *o = &cli->options[i];
	char text[1024], letter[8] = "    ";
	if (o->letter)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	option_text(cli, i, text, sizeof text);
	int at = fprintf(out, "  %s--%s%s%s", letter, o->name, o->argument ? " " : "", o->argument ? o->argument : "");
	if (at > 26) {
		fputc('\n', out);
		at = 0;
	}
	fprintf(out, "%*s", 28 - at, "");
	wrap(out, text, 28, 28);
}

void cli_help_command(const struct cli_command *command, FILE *out)
{
	struct cli cli;
	cli_collect_options(&cli, command);
	fprintf(out, "usage: spaceland %s [OPTION...]%s%s\n\n", command->name, *command->arguments ? " " : "",
		command->arguments);
	wrap(out, command->description, 0, 0);
	fputs("\noptions:\n", out);
	for (int i = 0; i < cli.first_param; i++)
		print_option(&cli, i, out);
	if (cli.first_param < cli.option_count)
		fputs(command->params & CLI_ALL_PARAMS ? "\nparameters of the embedding:\n" :
		      "\nparameters that can be changed while a job runs:\n", out);
	for (int i = cli.first_param; i < cli.option_count; i++)
		print_option(&cli, i, out);
}

static bool in_group(const struct cli_command *command, const char *group)
{
	return !group || (!strncmp(command->name, group, strlen(group)) && command->name[strlen(group)] == ' ');
}

/* Prints the names of commands in a column and the summary of each. */
static void print_commands(const char *group, FILE *out)
{
	int width = 0;
	for (int i = 0; i < cli_command_count; i++)
		if (in_group(&cli_commands[i], group) && (int)strlen(cli_commands[i].name) > width)
			width = (int)strlen(cli_commands[i].name);
	for (int i = 0; i < cli_command_count; i++) {
		if (!in_group(&cli_commands[i], group))
			continue;
		fprintf(out, "  %-*s  ", width, cli_commands[i].name);
		wrap(out, cli_commands[i].summary, width + 4, width + 4);
	}
}

void cli_help_group(const char *group, FILE *out)
{
	fprintf(out, "usage: spaceland %s COMMAND [OPTION...]\n\n", group);
	print_commands(group, out);
	fprintf(out, "\nspaceland %s COMMAND --help says more.\n", group);
}

void cli_help(FILE *out)
{
	fputs("usage: spaceland COMMAND [OPTION...]\n\n", out);
	wrap(out, intro, 0, 0);
	fputs("\ncommands:\n", out);
	print_commands(NULL, out);
	fputs("\nexamples:\n", out);
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
		fprintf(out, "  # %s\n", examples[i][0]);
		for (const char *c = examples[i][1], *end; *c; c = *end ? end + 1 : end) {
			end = c + strcspn(c, "\n");
			fprintf(out, "  %.*s\n", (int)(end - c), c);
		}
	}
	fputs("\nexit status:\n", out);
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		fprintf(out, "  %-4d", statuses[i].status);
		wrap(out, statuses[i].meaning, 6, 6);
	}
	fputs("\nspaceland COMMAND --help says more. spaceland --completion SHELL prints a completion\nscript for bash, "
	      "zsh or fish.\n", out);
}

/* ---- the manual page, in mdoc ------------------------------------------------ */

/* Prints a paragraph: backslashes escaped, a line per sentence or more, no line that looks like a request. */
static void man_text(FILE *out, const char *text)
{
	bool start = true;
	int column = 0;
	for (; *text; text++) {
		column = start ? 1 : column + 1;
		if (*text == ' ' && column > 60) {
			fputc('\n', out);
			start = true;
			continue;
		}
		if (!strncmp(text, "\n\n", 2)) {
			fputs("\n.Pp\n", out);
			text++;
			start = true;
		} else if ((*text == '.' || *text == '?') && text[1] == ' ') {
			fprintf(out, "%c\n", *text);
			text++;
			start = true;
		} else if (*text == '\\') {
			fputs("\\e", out);
			start = false;
		} else {
			if (start && (*text == '.' || *text == '\''))
				fputs("\\&", out);
			fputs(*text == '-' ? "\\-" : (char[]){*text, 0}, out);
			start = false;
		}
	}
	fputc('\n', out);
}

static void man_options(const struct cli *cli, int from, int to, FILE *out)
{
	char text[1024];
	fputs(".Bl -tag -width Ds\n", out);
	for (int i = from; i < to; i++) {
		const struct cli_option *o = &cli->options[i];
		fputs(".It", out);
		if (o->letter)
			fprintf(out, " Fl %c ,", o->letter);
		fprintf(out, " Fl \\-%s%s%s\n", o->name, o->argument ? " Ar " : "", o->argument ? o->argument : "");
		option_text(cli, i, text, sizeof text);
		man_text(out, text);
	}
	fputs(".El\n", out);
}

static void man_command(const struct cli_command *command, FILE *out)
{
	struct cli cli;
	cli_collect_options(&cli, command);
	fprintf(out, ".Ss spaceland %s%s%s\n", command->name, *command->arguments ? " " : "", command->arguments);
	man_text(out, command->description);
	if (cli.first_shared)
		man_options(&cli, 0, cli.first_shared, out);
	if (command->params & CLI_STEERABLE_PARAMS) {
		fputs(".Pp\nParameters:\n", out);
		for (int i = cli.first_param; i < cli.option_count; i++)
			fprintf(out, ".Fl \\-%s%s\n", cli.options[i].name, i < cli.option_count - 1 ? " ," : " .");
	}
}

/* Prints the sections on shared options and on parameters, taken from the command with the most options. */
static void man_shared_options(FILE *out)
{
	struct cli cli;
	const struct cli_command *command = cli_commands;
	while (!(command->params & CLI_ALL_PARAMS) || !command->server)
		command++;
	cli_collect_options(&cli, command);
	fputs(".Sh OPTIONS\nAll commands take these, the first two if they talk to a server:\n", out);
	man_options(&cli, cli.first_shared, cli.first_param, out);
	fputs(".Sh PARAMETERS\nThe parameters of an embedding, for\n.Cm embed\nand\n.Cm job submit :\n", out);
	man_options(&cli, cli.first_param, cli.option_count, out);
}

void cli_man(FILE *out)
{
	fputs(".Dd November 21, 2026\n.Dt SPACELAND 1\n.Os\n.Sh NAME\n.Nm spaceland\n"
	      ".Nd lay out sparse graphs in one, two or three dimensions\n.Sh SYNOPSIS\n", out);
	for (int i = 0; i < cli_command_count; i++) {
		fprintf(out, ".Nm\n.Cm %s\n.Op Ar option ...\n", cli_commands[i].name);
		if (*cli_commands[i].arguments)
			fprintf(out, ".Ar %s\n", cli_commands[i].arguments);
	}
	fputs(".Sh DESCRIPTION\n", out);
	man_text(out, intro);
	for (int i = 0; i < cli_command_count; i++)
		man_command(&cli_commands[i], out);
	man_shared_options(out);
	fputs(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
	      ".It Ev SPACELAND_SERVER\nThe server, when\n.Fl \\-server\nis not given.\n"
	      ".It Ev SPACELAND_TOKEN\nThe token, when\n.Fl \\-token\nis not given.\n"
	      ".It Ev SPACELAND_CA_FILE\nThe certificates, when\n.Fl \\-ca\\-file\nis not given.\n"
	      ".It Ev NO_COLOR\nWhen set, the progress bar has no colours.\n.El\n"
	      ".Sh FILES\n.Bl -tag -width Ds\n"
	      ".It Pa ~/.local/state/spaceland/spacelandd.addr , /var/lib/spaceland/spacelandd.addr\n"
	      "Where a running daemon of the user, or of the system, says its address.\n.El\n"
	      ".Sh EXIT STATUS\n.Bl -tag -width Ds\n", out);
	for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
		fprintf(out, ".It %d\n", statuses[i].status);
		man_text(out, statuses[i].meaning);
	}
	fputs(".El\n.Sh COMPLETION\n.Nm\n.Fl \\-completion Ar shell\nprints a script by which\n.Ar shell ,\n"
	      "bash, zsh or fish, completes commands, options and values.\n"
	      "Where spaceland is installed, the script is, too.\n"
	      ".Sh EXAMPLES\n", out);
	for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
		fprintf(out, "%s%s:\n.Bd -literal -offset indent\n%s\n.Ed\n", i ? ".Pp\n" : "", examples[i][0], examples[i][1]);
	fputs(".Sh SEE ALSO\n.Xr spacelandd 8\n", out);
}
