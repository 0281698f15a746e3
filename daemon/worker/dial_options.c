/* The options of a worker on another machine, and what they name: the token's file, the certificates, the folders. */
#include "daemon/worker/dial_internal.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/engine/load.h"
#include "daemon/util/log.h"
#include "daemon/worker/dial.h"

#define LEAVE_S 50

static const char help[] =
	"Usage: spacelandd --worker --connect HOST:PORT --token-file FILE [OPTION]...\n"
	"Computes jobs of the spaceland daemon at HOST:PORT (its option worker_listen) on a device of\n"
	"this machine. The connection goes out from here, so this machine needs no open port.\n\n"
	"  --connect HOST:PORT   where the daemon listens for workers\n"
	"  --token-file FILE     its first line is a token of spaceland admin worker-token\n"
	"  --pin sha256:...      believe the daemon with this key, as worker-token prints it\n"
	"  --ca-file FILE        believe certificates of these authorities (PEM; default: the system's)\n"
	"  --engine NAME         cuda, hybrid, hybrid-double or cpu (default: cuda if it has a GPU, else cpu)\n"
	"  --device I            which GPU (default 0)\n"
	"  --threads N           threads of the CPU (default 0: one for each core)\n"
	"  --name NAME           how the daemon lists it (default: the host's name)\n"
	"  --cache-dir DIR       where fetched graphs and points stay (default: ~/.cache/spaceland/worker)\n"
	"  --cache-bytes N       most bytes there; K, M, G and T are powers of 1024 (default 20G)\n"
	"  --leave-seconds S     at SIGTERM the jobs have so long to leave with their state (default 50)\n"
	"  --help                print this and exit\n\n"
	"Exit status: 0 when the daemon has let it go, or after SIGTERM; 2 if another start would fail in\n"
	"the same way; 1 for other errors. SIGTERM: its jobs leave it, then it ends; a second one ends it\n"
	"at once, and its jobs go on from their checkpoints.\n";

static int wrong(const char *format, const char *value)
{
	fprintf(stderr, "spacelandd --worker: ");
	fprintf(stderr, format, value);
	fprintf(stderr, "\n");
	return 2;
}

static int read_token(struct sl_dial_options *o, const char *path)
{
	FILE *f = fopen(path, "re");
	struct stat st;
	if (!f) {
		fprintf(stderr, "spacelandd --worker: --token-file: %s: %s\n", path, strerror(errno));
		return 2;
	}
	bool good = fgets(o->token, sizeof o->token, f) && strlen(o->token) < sizeof o->token - 1;
	if (!fstat(fileno(f), &st) && st.st_mode & (S_IROTH | S_IWOTH))
		sl_log_warning("worker", "others can read %s: chmod 600 %s", path, path);
	fclose(f);
	o->token[strcspn(o->token, " \t\r\n")] = 0;
	return good && !strncmp(o->token, "spw_", 4) ? 0 :
	       wrong("the first line of %s must be a token of spaceland admin worker-token, spw_...", path);
}

static int read_place(struct sl_dial_options *o, const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : 0;
	bool six = length > 2 && *text == '[' && text[length - 1] == ']';
	char *end = NULL;
	long port = colon ? strtol(colon + 1, &end, 10) : 0;
	if (!length || length >= sizeof o->host || port < 1 || port > 65535 || *end)
		return wrong("--connect must be HOST:PORT, not '%s'", text);
	snprintf(o->host, sizeof o->host, "%.*s", (int)(length - (six ? 2 : 0)), text + six);
	snprintf(o->port, sizeof o->port, "%ld", port);
	return 0;
}

static bool read_number(const char *text, double most, double *out)
{
	char *end;
	*out = strtod(text, &end);
	return end != text && !*end && *out >= 0 && *out <= most;
}

static bool read_bytes(const char *text, double *out)
{
	static const char units[] = "KMGT";
	char *end;
	*out = strtod(text, &end);
	const char *unit = *end ? strchr(units, *end) : NULL;
	for (long i = unit ? unit - units + 1 : 0; i > 0; i--)
		*out *= 1024;
	return end != text && (!*end || (unit && !end[1])) && *out >= 0 && *out <= 1e16;
}

static int make_folder(char *path)
{
	for (char *at = path + 1;; at++) {
		char c = *at;
		if (c && c != '/')
			continue;
		*at = 0;
		int code = mkdir(path, 0700) && errno != EEXIST ? errno : 0;
		*at = c;
		if (code || !c)
			return code;
	}
}

static int open_cache(struct sl_dial_options *o, const char *given, double cache_bytes)
{
	const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	static char path[PATH_MAX - 64];
	char text[32];
	int length = given ? snprintf(path, sizeof path, "%s", given) : xdg && *xdg ?
		     snprintf(path, sizeof path, "%s/spaceland/worker", xdg) :
		     snprintf(path, sizeof path, "%s/.cache/spaceland/worker", home ? home : "");
	if (!given && !(xdg && *xdg) && !(home && *home))
		return wrong("%s", "--cache-dir is needed, since $HOME is not set");
	if (length >= (int)sizeof path)
		return wrong("--cache-dir is too long: %s", path);
	int code = make_folder(path);
	snprintf(o->folder, sizeof o->folder, "%s/run-%ld", path, (long)getpid());
	if (!code)
		code = make_folder(o->folder);
	if (code) {
		fprintf(stderr, "spacelandd --worker: --cache-dir: %s: %s\n", path, strerror(code));
		return 2;
	}
	snprintf(text, sizeof text, "%.0f", cache_bytes);
	setenv(SL_WORKER_CACHE, path, 1);
	setenv(SL_WORKER_CACHE_BYTES, text, 1);
	setenv(SL_WORKER_DIR, o->folder, 1);
	return 0;
}

static int choose_engine(struct sl_dial_options *o)
{
	const struct sl_engine *engine;
	struct sl_error err;
	if (!o->engine)
		o->engine = SL_ENGINE_AUTO;
	if (!sl_engine_word(o->engine))
		return wrong("--engine must be " SL_ENGINES_TEXT ", not '%s'", o->engine);
	int code = sl_engine_open(o->engine, &engine, &err);
	if (code) {
		fprintf(stderr, "spacelandd --worker: --engine %s: %s\n", o->engine, err.detail);
		return 2;
	}
	o->engine = engine->name;
	return 0;
}

enum { CONNECT = 256, TOKEN, PIN, CA, ENGINE, DEVICE, THREADS, NAME, CACHE, CACHE_BYTES, LEAVE, HELP };

static const struct option longopts[] = {
	{"connect", required_argument, NULL, CONNECT}, {"token-file", required_argument, NULL, TOKEN},
	{"pin", required_argument, NULL, PIN}, {"ca-file", required_argument, NULL, CA},
	{"engine", required_argument, NULL, ENGINE}, {"device", required_argument, NULL, DEVICE},
	{"threads", required_argument, NULL, THREADS}, {"name", required_argument, NULL, NAME},
	{"cache-dir", required_argument, NULL, CACHE}, {"cache-bytes", required_argument, NULL, CACHE_BYTES},
	{"leave-seconds", required_argument, NULL, LEAVE}, {"help", no_argument, NULL, HELP}, {NULL, 0, NULL, 0},
};

int sl__dial_options(struct sl_dial_options *o, int argc, char **argv)
{
	const char *token = NULL, *pin = NULL, *authorities = NULL, *cache = NULL, *place = NULL;
	double index = 0, threads = 0, cache_bytes = 20.0 * (1u << 30);
	struct sl_error err;
	bool good = true;
	int c;
	o->leave_s = LEAVE_S;
	while (good && (c = getopt_long(argc, argv, "", longopts, NULL)) >= 0) {
		switch (c) {
		case CONNECT: place = optarg; break;
		case TOKEN: token = optarg; break;
		case PIN: pin = optarg; break;
		case CA: authorities = optarg; break;
		case ENGINE: o->engine = optarg; break;
		case DEVICE: good = read_number(optarg, 255, &index); break;
		case THREADS: good = read_number(optarg, 4096, &threads); break;
		case NAME: o->name = optarg; break;
		case CACHE: cache = optarg; break;
		case CACHE_BYTES: good = read_bytes(optarg, &cache_bytes); break;
		case LEAVE: good = read_number(optarg, 86400, &o->leave_s); break;
		case HELP: fputs(help, stdout); return 0;
		default: return wrong("%s", "--worker --help lists the options");
		}
		if (!good)
			return wrong("'%s' is no number for this option", optarg);
	}
	if (optind < argc)
		return wrong("'%s' is not an option; --worker --help lists them", argv[optind]);
	if (!place || !token)
		return wrong("%s", "--connect HOST:PORT and --token-file FILE are needed; --worker --help lists the options");
	if (pin && authorities)
		return wrong("%s", "Use either --pin or --ca-file");
	o->index = (long)index;
	o->threads = (long)threads;
	int rc = read_place(o, place);
	if (!rc)
		rc = read_token(o, token);
	if (!rc)
		rc = choose_engine(o);
	if (!rc && sl_tls_keys_client(&o->keys, authorities, pin, &err))
		rc = wrong("%s", err.detail);
	if (!rc)
		rc = open_cache(o, cache, cache_bytes);
	return rc ? rc : -1;
}
