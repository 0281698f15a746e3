/* The table here is also the help text. Options are kept in their order and applied after the configuration file, so
 * the last one counts. */
#include "daemon/config/options.h"
#include "core/engine/load.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

enum { CONFIG = 256, CHECK, CHECK_RELOAD, DUMP, SET, VERSION, HELP, ACCEPT_LOST, VERIFY, REPAIR, NAMED };

/* Long options for the settings that are used most often; --set reaches all others. */
static const struct option longopts[] = {
	{"config", required_argument, NULL, CONFIG},
	{"check-config", no_argument, NULL, CHECK},
	{"check-reload", no_argument, NULL, CHECK_RELOAD},
	{"dump-config", no_argument, NULL, DUMP},
	{"set", required_argument, NULL, SET},
	{"version", no_argument, NULL, VERSION},
	{"help", no_argument, NULL, HELP},
	{"accept-lost-records", no_argument, NULL, ACCEPT_LOST},
	{"verify-state", no_argument, NULL, VERIFY},
	{"repair-state", no_argument, NULL, REPAIR},
	{"state-dir", required_argument, NULL, NAMED},
	{"listen", required_argument, NULL, NAMED + 1},
	{"zmq", required_argument, NULL, NAMED + 2},
	{"engine", required_argument, NULL, NAMED + 3},
	{"log-level", required_argument, NULL, NAMED + 4},
	{NULL, 0, NULL, 0},
};
static const char *const named[] = {"state_dir", "listen", "zmq", "engine", "log_level"};

static const char help[] =
	"Usage: spacelandd [OPTION]...\n"
	"Serves layouts of sparse graphs and of points over HTTP and ZeroMQ.\n\n"
	"  --config FILE          read options from FILE (default: none), then from the files\n"
	"                         FILE.d/*.conf, of which later ones override earlier ones\n"
	"  --state-dir DIR        keep graphs, jobs and results in DIR\n"
	"  --listen ADDRESS:PORT  HTTP address (default 127.0.0.1:7070; port 0: any free one)\n"
	"  --zmq ENDPOINT         where layouts are published (default tcp://127.0.0.1:7071; \"\": off)\n"
	"  --engine NAME          " SL_ENGINES_TEXT "\n"
	"  --log-level LEVEL      error, warning, info or debug\n"
	"  --set NAME=VALUE       any option of the configuration file; may be given several times\n"
	"  --verify-state         name each damaged file and record of a stopped daemon's state and exit;\n"
	"                         status 0: there is none, 1: there are some\n"
	"  --repair-state         make lost and damaged records anew from the files, and exit like that;\n"
	"                         status 3: nothing is damaged any more, but users are gone for ever\n"
	"  --accept-lost-records  start although records of the data base were lost; files that no\n"
	"                         record names go to lost+found/ of the state folder\n"
	"  --check-config         check the configuration, with the files of tokens and certificates,\n"
	"                         and exit\n"
	"  --check-reload         the same before a reload: also whether the server that runs would\n"
	"                         take it over, or needs a restart\n"
	"  --dump-config          print the configuration, documented, and exit\n"
	"  --version              print the version and exit\n"
	"  --help                 print this and exit\n\n"
	"Exit status: 0 after a stop; 2 if another start would fail in the same way, since the\n"
	"configuration or the state folder is not usable; 1 for other errors.\n\n"
	"Signals: TERM and INT save running jobs and exit (after shutdown_grace_s), a further one exits\n"
	"at once; HUP reads the configuration files again.\n";

const char *sl_options_spelling(const char *option)
{
	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (!strcmp(named[i], option))
			for (const struct option *l = longopts; l->name; l++)
				if (l->val == NAMED + (int)i)
					return l->name;
	return NULL;
}

static int add(struct sl_options *o, const char *name, const char *value)
{
	if (o->count == (int)(sizeof o->set / sizeof *o->set)) {
		fprintf(stderr, "spacelandd: too many options; a configuration file has room for more\n");
		return 2;
	}
	o->set[o->count].name = name;
	o->set[o->count++].value = value;
	return -1;
}

static int add_pair(struct sl_options *o, char *pair)
{
	char *equals = strchr(pair, '=');
	if (!equals) {
		fprintf(stderr, "spacelandd: --set needs NAME=VALUE, not '%s'\n", pair);
		return 2;
	}
	*equals = '\0';
	return add(o, pair, equals + 1);
}

int sl_options_parse(struct sl_options *o, int argc, char **argv)
{
	memset(o, 0, sizeof *o);
	int c, rc = -1;
	while (rc < 0 && (c = getopt_long(argc, argv, "", longopts, NULL)) >= 0) {
		switch (c) {
		case CONFIG:
			o->file = optarg;
			break;
		case CHECK:
			o->check = true;
			break;
		case CHECK_RELOAD:
			o->check = o->reload = true;
			break;
		case DUMP:
			o->dump = true;
			break;
		case SET:
			rc = add_pair(o, optarg);
			break;
		case ACCEPT_LOST:
			o->accept_lost_records = true;
			break;
		case VERIFY:
			o->verify = true;
			break;
		case REPAIR:
			o->repair = true;
			break;
		case VERSION:
			printf("spacelandd %s\n", SL_VERSION);
			return 0;
		case HELP:
			fputs(help, stdout);
			return 0;
		case '?':
			fprintf(stderr, "spacelandd --help lists the options.\n");
			return 2;
		default:
			rc = add(o, named[c - NAMED], optarg);
		}
	}
	if (rc < 0 && optind < argc) {
		fprintf(stderr, "spacelandd: '%s' is not an option; spacelandd --help lists them\n", argv[optind]);
		return 2;
	}
	return rc;
}

int sl_options_config(const struct sl_options *o, struct sl_config *c, struct sl_error *err)
{
	int rc = sl_config_init(c, err);
	if (rc)
		return rc;
	if (o->file)
		rc = sl_config_read(c, o->file, err);
	for (int i = 0; !rc && i < o->count; i++)
		rc = sl_config_set(c, o->set[i].name, o->set[i].value, err);
	if (!rc)
		rc = sl_config_check(c, err);
	if (rc)
		sl_config_finish(c);
	return rc;
}
