/* view.c -- spaceland view: opens the dashboard in the browser.
 *
 * The token is in the fragment of the address, behind #: browsers do not send fragments to servers, and the dashboard
 * removes it from the address at once. The process list must not show the token, so the browser opens a file that
 * redirects to the address. Only the user can read the file; it is removed after a while. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/server/http.h"

#define FILE_S 30     /* time for the browser to read the file */
#define FAILED_S 2.0  /* time in which an opener that fails has exited */

static int look(struct cli *cli, const char *job)
{
	json_t *reply = NULL;
	char *path = job ? http_path("jobs", job, NULL, NULL) : strdup("/v1/status");
	int status = http_send(cli, "GET", path, NULL, &reply);
	json_decref(reply);
	return status;
}

/* Writes a page that redirects to the address to a new file; returns its path. NULL: it cannot be written. */
static char *write_page(const char *address)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char *path = NULL;
	json_t *text = json_string(address);
	char *quoted = text ? json_dumps(text, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH) : NULL;
	json_decref(text);
	if (!folder || access(folder, W_OK))
		folder = getenv("TMPDIR");
	if (asprintf(&path, "%s/spaceland-view-XXXXXX.html", folder && *folder ? folder : "/tmp") < 0)
		path = NULL;
	int file = path && quoted ? mkostemps(path, 5, O_CLOEXEC) : -1;  /* 0600 */
	bool written = file >= 0 && dprintf(file, "<!doctype html>\n<meta charset=\"utf-8\"><meta name=\"referrer\" "
					    "content=\"no-referrer\">\n<title>spaceland</title>\n<script>location.replace(%s)"
					    "</script>\n", quoted) > 0;
	written = file >= 0 && !close(file) && written;
	free(quoted);
	if (written)
		return path;
	if (file >= 0)
		unlink(path);
	free(path);
	return NULL;
}

/* Called in a child that outlives this process: detaches it from terminal and files. */
static void detach(void)
{
	setsid();
	int null = open("/dev/null", O_RDWR);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	signal(SIGPIPE, SIG_DFL);
}

static void remove_later(const char *path)
{
	if (fork())
		return;
	detach();
	sleep(FILE_S);
	unlink(path);
	_exit(0);
}

/* Returns false if the opener is not installed or fails within FAILED_S; a browser that starts takes longer. */
static bool run_opener(const char *what)
{
	pid_t child = fork();
	if (!child) {
		detach();
		execlp("xdg-open", "xdg-open", what, (char *)NULL);
		_exit(127);
	}
	int end = 0;
	pid_t got = 0;
	for (double until = cli_now() + FAILED_S; child > 0 && !got && cli_now() < until;) {
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
		got = waitpid(child, &end, WNOHANG);
	}
	return child > 0 && (!got || (WIFEXITED(end) && !WEXITSTATUS(end)));
}

static bool has_screen(void)
{
	static const char *const names[] = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"};
	for (int i = 0; i < 3; i++)
		if (getenv(names[i]) && *getenv(names[i]))
			return true;
	return false;
}

static bool show(const char *url, const char *token)
{
	if (!*token)
		return run_opener(url);
	char *address = NULL, *escaped = cli_escape(token);
	if (!escaped || asprintf(&address, "%s?token=%s", url, escaped) < 0)
		address = NULL;
	free(escaped);
	char *page = address ? write_page(address) : NULL;
	free(address);
	if (!page)
		return false;
	remove_later(page);
	bool shown = run_opener(page);
	free(page);
	return shown;
}

int cmd_view(struct cli *cli)
{
	const char *job = cli->argument_count ? cli->arguments[0] : NULL, *server, *token;
	char *url = NULL;
	int status = look(cli, job);
	if (!status)
		status = http_server(cli, &server);
	if (status)
		return status;
	if (asprintf(&url, "%s/#/%s%s", server, job ? "job/" : "", job ? job : "") < 0)
		return cli_fail(CLI_FAILED, "out of memory");
	if (cli->json) {
		status = cli_print_new_json(json_pack("{s:s}", "url", url));
	} else {
		puts(url);
		fflush(stdout);
	}
	token = http_token(cli);
	if (!cli_option(cli, "no-browser") && !has_screen())
		cli_note(cli, "this machine has no screen; open this address in a browser");
	else if (!cli_option(cli, "no-browser") && !show(url, token))
		cli_note(cli, "no browser could be started (xdg-open); open this address in one");
	free(url);
	return status;
}
