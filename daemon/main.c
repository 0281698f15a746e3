/* main.c -- spacelandd: opens the parts in the order of their dependencies, runs the loop, and closes the parts.
 *
 * Closing is a chain of steps (enum step). Each step closes one part; the next step begins when the part is closed, and
 * none of its callbacks is to come from the pool, the data base or a worker. From the first step on no request begins
 * (sl_daemon.stopping), so that no handler finds a part that is gone. A failed start runs the same chain, which skips
 * parts that were not opened. After it the loop is empty. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <sodium.h>
#include <systemd/sd-daemon.h>
#include <uv.h>

#include "core/engine/fault.h"
#include "core/threads.h"
#include "daemon/collect/collect.h"
#include "daemon/config/options.h"
#include "daemon/config/daemon.h"
#include "daemon/engines/engines.h"
#include "daemon/graphs/graphs.h"
#include "daemon/http/http.h"
#include "daemon/jobs/jobs.h"
#include "daemon/people/people.h"
#include "daemon/layouts/layouts.h"
#include "daemon/process.h"
#include "daemon/relay/relay.h"
#include "daemon/slurm/slurm.h"
#include "daemon/store/db.h"
#include "daemon/files/backup.h"
#include "daemon/files/graph_file.h"
#include "daemon/files/job_files.h"
#include "daemon/upkeep/spare.h"
#include "daemon/upkeep/maintenance.h"
#include "daemon/upkeep/settings.h"
#include "daemon/store/state_dir.h"
#include "daemon/store/sweep.h"
#include "daemon/store/uses.h"
#include "daemon/files/verify.h"
#include "daemon/stream/events.h"
#include "daemon/users/bookings.h"
#include "daemon/users/users.h"
#include "daemon/util/crashes.h"
#include "daemon/util/log.h"
#include "daemon/util/metrics.h"
#include "daemon/watching.h"
#include "daemon/worker/dial.h"
#include "daemon/worker/worker.h"

/* Threads of libuv's pool. Two searches, one measurement of quality and a turn of predictions may each occupy a thread
 * for long; three uploads, SL_POOL_ANSWERS answers, the data base and loading need further ones. */
#define POOL "12"
#define STOP_S 60  /* a stop takes no longer, in the eyes of systemd */
#define IDLE_MS 2  /* while the last work of jobs ends */
#define HEAPS 4  /* malloc() arenas of all threads together */

enum step { CLOSE_PEOPLE, CLOSE_COLLECT, STOP_JOBS, CLOSE_HTTP, CLOSE_JOBS, CLOSE_LAYOUTS, CLOSE_GRAPHS, CLOSE_EVENTS,
	    CLOSE_BACKUPS, CLOSE_DB, CLOSE_SPARE, CLOSE_USERS, CLOSED };

struct program {
	struct sl_daemon d;
	struct sl_options options;
	uv_loop_t loop;
	uv_signal_t term, interrupt;
	uv_async_t hangup;
	uv_timer_t watchdog, grace;
	double patience_s; /* the watchdog's time limit */
	bool silent;       /* a device has exceeded patience_s without progress */
	bool handles;      /* term, interrupt, hangup and watchdog are open */
	enum step step;    /* of closing */
	int lock_fd;
	int status;        /* exit status */
	bool restart;      /* execute the program again instead of ending */
	int listen_fd;     /* kept for the restart, so that connections wait; -1: none */
};

static bool on_command_line(const struct sl_options *o, const char *option)
{
	for (int i = 0; i < o->count; i++)
		if (!strcmp(o->set[i].name, option))
			return true;
	return false;
}

/* Adds to an error the file or the option of the command line from which the value came. */
static char *error_text(const struct sl_options *o, const struct sl_error *err, char *text, size_t bytes)
{
	const char *option = err->pointer[0] == '/' ? err->pointer + 1 : "";
	const char *own = sl_options_spelling(option);
	if (err->file[0])
		return sl_error_format(err, text, bytes);
	if (option[0] && o->file && !on_command_line(o, option)) {
		char file[1024];
		int64_t line = sl_config_place(o->file, option, file, sizeof file);
		int length = snprintf(text, bytes, "%s", file);
		if (line && length > 0 && (size_t)length < bytes)
			length += snprintf(text + length, bytes - (size_t)length, ":%" PRId64, line);
		if (length > 0 && (size_t)length < bytes)
			snprintf(text + length, bytes - (size_t)length, ": %s", err->detail);
		return text;
	}
	int length = snprintf(text, bytes, "%s%s%s%s", !option[0] ? "" : own ? "--" : "--set ", own ? own : option,
			      option[0] ? ": " : "", err->detail);
	if (own && strcasestr(err->detail, strerror(EADDRINUSE)) && length > 0 && (size_t)length < bytes)
		snprintf(text + length, bytes - (size_t)length, " Another program uses that port; choose a different "
			 "one with --%s.",
			 option);
	return text;
}

static void say(const struct sl_options *o, const struct sl_error *err)
{
	char text[1200];
	fprintf(stderr, "spacelandd: %s\n", error_text(o, err, text, sizeof text));
}

/* ---- closing -------------------------------------------------------------------- */

static void close_handles(struct program *p)
{
	sl_uses_destroy(p->d.uses);
	p->d.uses = NULL;
	sl_maintenance_destroy(p->d.maintenance);
	p->d.maintenance = NULL;
	sl_settings_destroy(p->d.settings);
	p->d.settings = NULL;
	if (!p->handles)
		return;
	p->handles = false;
	uv_close((uv_handle_t *)&p->term, NULL);
	uv_close((uv_handle_t *)&p->interrupt, NULL);
	signal(SIGHUP, SIG_IGN);  /* also in a new process, until it has its own handler */
	uv_close((uv_handle_t *)&p->hangup, NULL);
	uv_close((uv_handle_t *)&p->watchdog, NULL);
	uv_close((uv_handle_t *)&p->grace, NULL);
}

/* Called when the part of the current step is closed, or was never open. */
static void step_is_done(struct program *p)
{
	struct sl_daemon *d = &p->d;
	switch (p->step++) {
	case CLOSE_PEOPLE: d->people = NULL; break;
	case CLOSE_COLLECT: d->collect = NULL; break;
	case STOP_JOBS: break;
	case CLOSE_HTTP: d->http = NULL; break;
	case CLOSE_JOBS:
		sl_jobs_destroy(d->jobs);
		d->jobs = NULL;
		break;
	case CLOSE_LAYOUTS: d->layouts = NULL; break;
	case CLOSE_GRAPHS: d->graphs = NULL; break;
	case CLOSE_EVENTS: d->events = NULL; break;
	case CLOSE_BACKUPS: d->backups = NULL; break;
	case CLOSE_DB: d->db = NULL; break;
	case CLOSE_SPARE: d->spare = NULL; break;
	case CLOSE_USERS:
		d->users = NULL;
		close_handles(p);
		break;
	case CLOSED: break;
	}
}

static void on_closed(void *arg);

/* Replies of jobs may still be made on the pool, and requests that ended with HTTP may have let jobs write a record. */
static void on_idle_timer(uv_timer_t *timer)
{
	struct program *p = timer->data;
	if (!sl_jobs_idle(p->d.jobs))
		return;
	uv_timer_stop(timer);
	on_closed(p);
}

/* Begins the current step. Returns false if its part is not open. */
static bool close_part(struct program *p)
{
	struct sl_daemon *d = &p->d;
	switch (p->step) {
	case CLOSE_PEOPLE: return d->people && (sl_people_close(d->people, on_closed, p), true);
	case CLOSE_COLLECT: return d->collect && (sl_collect_close(d->collect, on_closed, p), true);
	case STOP_JOBS: return d->jobs && (sl_jobs_shutdown(d->jobs, on_closed, p), true);
	case CLOSE_HTTP: return d->http && (sl_http_close(d->http, on_closed, p), true);
	case CLOSE_JOBS: return d->jobs && !uv_timer_start(&p->grace, on_idle_timer, 0, IDLE_MS);
	case CLOSE_LAYOUTS: return d->layouts && (sl_layouts_close(d->layouts, on_closed, p), true);
	case CLOSE_GRAPHS: return d->graphs && (sl_graphs_close(d->graphs, on_closed, p), true);
	case CLOSE_EVENTS: return d->events && (sl_events_close(d->events, on_closed, p), true);
	case CLOSE_BACKUPS: return d->backups && (sl_backups_close(d->backups, on_closed, p), true);
	case CLOSE_DB: return d->db && (sl_db_close(d->db, on_closed, p), true);
	case CLOSE_SPARE: return d->spare && (sl_spare_close(d->spare, on_closed, p), true);
	case CLOSE_USERS: return d->users && (sl_users_close(d->users, on_closed, p), true);
	case CLOSED: break;
	}
	return false;
}

static void close_parts(struct program *p)
{
	while (p->step < CLOSED && !close_part(p))
		step_is_done(p);
}

static void on_closed(void *arg)
{
	struct program *p = arg;
	step_is_done(p);
	close_parts(p);
}

static void stop(struct program *p)
{
	p->d.ending = true;
	p->d.stopping = true;
	p->d.ready = false;
	if (p->d.http)
		sl_http_quiesce(p->d.http);
	close_parts(p);
}

static void on_grace_over(uv_timer_t *timer)
{
	sl_log_info("main", "saving running jobs and stopping");
	stop(timer->data);
}

static void on_stop_signal(uv_signal_t *handle, int number)
{
	struct program *p = handle->data;
	if (p->d.stopping) {
		sl_log_warning("main", "a second signal: exiting at once");
		_exit(1);
	}
	double grace_s = p->d.ending || !p->d.ready ? 0 : p->d.config.shutdown_grace_s;
	if (!p->d.ending)
		sd_notify(0, "STOPPING=1");
	p->d.ending = true;
	if (grace_s > 0) {
		sl_log_info("main", "signal %d: not ready any more; saving running jobs and stopping in %.10g s", number,
			    grace_s);
		sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%.0f", (grace_s + STOP_S) * 1e6);
		uv_timer_start(&p->grace, on_grace_over, (uint64_t)(grace_s * 1e3), 0);
		return;
	}
	sl_log_info("main", "signal %d: saving running jobs and stopping", number);
	stop(p);
}

/* New connections wait in the socket's queue until the new process serves them. */
static void restart(struct sl_daemon *d)
{
	struct program *p = (struct program *)((char *)d - offsetof(struct program, d));
	if (p->d.stopping)
		return;
	p->restart = true;
	p->listen_fd = sl_http_listener(p->d.http);
	sd_notify(0, "STATUS=Starting anew");
	stop(p);
}

static void start_anew(struct program *p, char **argv)
{
	char number[32];
	snprintf(number, sizeof number, "%lld", (long long)time(NULL));
	setenv(SL_RESTARTED, number, 1);
	snprintf(number, sizeof number, "%d", p->listen_fd);
	if (p->listen_fd >= 0)
		setenv(SL_LISTEN_FD, number, 1);
	execv("/proc/self/exe", argv);
	sl_log_error("main", "the server cannot restart itself: %s", strerror(errno));
	p->status = 1;
}

/* ---- while it runs ------------------------------------------------------------------- */

static void take_over(struct sl_config *now, struct sl_config *fresh)
{
	for (int i = 0; i < sl_config_count; i++) {
		const struct sl_option_info *o = &sl_config_table[i];
		char before[1024], after[1024];
		if (sl_config_same(now, fresh, o))
			continue;
		sl_config_text(now, o, before, sizeof before);
		sl_config_text(fresh, o, after, sizeof after);
		if (!o->runtime) {
			sl_log_warning("main", "%s = %s takes effect at the next start", o->name, after);
			continue;
		}
		sl_config_swap(now, fresh, o);
		sl_log_info("main", "%s = %s (was %s)", o->name, after, before);
	}
}

static void on_hangup(uv_async_t *handle)
{
	struct program *p = handle->data;
	struct sl_config fresh;
	struct sl_error err;
	char text[1200];
	if (p->d.stopping)  /* the parts that would take it over are being closed */
		return;
	int rc = sl_options_config(&p->options, &fresh, &err);
	if (!rc && p->d.http && (rc = sl_http_reload(p->d.http, &fresh, &err)))
		sl_config_finish(&fresh);
	if (rc) {
		sl_log_error("main", "the configuration stays as it is: %s",
			     error_text(&p->options, &err, text, sizeof text));
		return;
	}
	take_over(&p->d.config, &fresh);
	sl_config_finish(&fresh);
	if (p->d.jobs)
		sl_jobs_look_at_retention(p->d.jobs);
	sl_slurm_reload(p->d.slurm);
	if (p->d.collect)
		sl_collect_look(p->d.collect);
	sl_log_set_level((enum sl_log_level)sl_log_level_parse(p->d.config.log_level));
	sl_log_info("main", "configuration read again");
}

static uv_async_t *hangup;
static pthread_t loop_thread;
/* Not a uv_signal_t: once libuv has closed it, SIGHUP ends the process again, also while the server restarts. The
 * signal may arrive on any thread; it is passed on to the loop's thread, which may be closing the handle just now. */
static void on_hangup_signal(int number)
{
	int before = errno;
	pthread_equal(pthread_self(), loop_thread) ? uv_async_send(hangup) : pthread_kill(loop_thread, number);
	errno = before;
}

/* This timer notifies systemd's watchdog, which shows that the loop runs. A working device thread must end a slice or a
 * command within the watchdog's time. If one does not, the notifications stop and systemd restarts the program, where
 * jobs continue from their checkpoints. */
static void on_watchdog(uv_timer_t *timer)
{
	struct program *p = timer->data;
	double seconds = 0;
	const struct sl_server_device *d = p->d.engines ? sl_engines_silent(p->d.engines, &seconds) : NULL;
	if (!d || seconds <= p->patience_s) {
		p->silent = false;
		sd_notify(0, "WATCHDOG=1");
	} else if (!p->silent) {
		p->silent = true;
		sl_log_error("main", "the device %s has not ended a slice for %.0f s: the watchdog is not notified any "
			     "more", d->id, seconds);
	}
}

/* ---- the start ------------------------------------------------------------------------ */

static void open_handles(struct program *p)
{
	uint64_t usec = 0;
	uv_signal_init(&p->loop, &p->term);
	uv_signal_init(&p->loop, &p->interrupt);
	uv_async_init(&p->loop, &p->hangup, on_hangup);
	uv_timer_init(&p->loop, &p->watchdog);
	uv_timer_init(&p->loop, &p->grace);
	p->grace.data = p;
	p->handles = true;
	p->term.data = p->interrupt.data = p->hangup.data = p;
	uv_signal_start(&p->term, on_stop_signal, SIGTERM);
	uv_signal_start(&p->interrupt, on_stop_signal, SIGINT);
	hangup = &p->hangup;
	loop_thread = p->d.loop_thread;
	sigaction(SIGHUP, &(struct sigaction){.sa_handler = on_hangup_signal, .sa_flags = SA_RESTART}, NULL);
	p->watchdog.data = p;
	if (sd_watchdog_enabled(0, &usec) > 0)
		uv_timer_start(&p->watchdog, on_watchdog, usec / 4000, usec / 4000);
	p->patience_s = (double)usec * 1e-6;
}

/* By default glibc keeps up to 8 arenas per core, each with up to 64 MiB of freed memory. After many requests on many
 * threads, that is far more than the memory in use. */
static void give_memory_back(void)
{
	mallopt(M_ARENA_MAX, HEAPS);
	mallopt(M_MMAP_THRESHOLD, 1 << 20);  /* constant, so that larger blocks are returned when freed */
	mallopt(M_TRIM_THRESHOLD, 256 << 10);
}

/* Each connection needs a descriptor. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Without this check, a lost data base would leave all graphs and results without records. */
static int check_records(struct program *p, struct sl_error *err)
{
	const char *dir = p->d.state_dir;
	bool accept = p->options.accept_lost_records;
	int rc = sl_db_check_generation(p->d.db, accept, err);
	if (rc || accept || !sl_db_is_new(p->d.db))
		return rc;
	int files = sl_sweep_each(dir, "graphs", sl_graph_file_kinds, SL_NAME_WHOLE, NULL, NULL) +
		    sl_sweep_each(dir, "jobs", sl_job_file_kinds(), SL_NAME_WHOLE, NULL, NULL);
	if (!files)
		return 0;
	return sl_error_at(err, SL_CONFLICT, dir, 0, "the data base is new, but graphs/ and jobs/ have %d files of graphs "
			   "and jobs. Put the right spacelandd.db back, with its -wal file; or let spacelandd "
			   "--repair-state make the records anew from the files; or start once with --accept-lost-records: "
			   "then files without a record go to lost+found/", files);
}

/* Publishes the daemon's address. On a full or read-only disk this may fail, but the daemon serves existing data. */
static void announce(const struct program *p)
{
	const struct sl_daemon *d = &p->d;
	struct sl_error err;
	char text[1200];
	const char *url = sl_http_url(d->http);
	bool plain = !strncmp(url, "http://", 7);
	if (sl_state_dir_announce(d->state_dir, plain ? url + 7 : url, &err))
		sl_log_warning("main", "%s", error_text(&p->options, &err, text, sizeof text));
}

static int open_parts(struct program *p, struct sl_error *err)
{
	struct sl_daemon *d = &p->d;
	char *path;
	int rc = sl_state_dir_open(d->config.state_dir, true, &d->state_dir, &p->lock_fd, err);
	if (rc)
		return rc;
	sl_state_dir_clean(d->state_dir);
	sl_crashes_open(d->state_dir);
	if (!(d->metrics = sl_metrics_create()) || asprintf(&d->tmp_dir, "%s/tmp", d->state_dir) < 0 ||
	    asprintf(&path, "%s/spacelandd.db", d->state_dir) < 0)
		return sl_error_memory(err, "the start");
	sl_process_metrics(d->metrics);
	sl_watching_metrics(d);
	if (sl_bookings_create(&d->bookings, d, err))
		return SL_NOMEM;
	rc = sl_db_open(&d->db, d->loop, path, err);
	free(path);
	if (!rc)
		rc = check_records(p, err);
	if (!rc)
		rc = sl_settings_create(&d->settings, d->db, err);
	if (!rc)
		rc = sl_maintenance_create(&d->maintenance, d->loop, d->settings, d->metrics, err);
	if (!rc)
		rc = sl_spare_create(&d->spare, d->loop, d->db, d->state_dir, err);
	if (!rc)
		rc = sl_uses_create(&d->uses, d->db, err);
	if (!rc)
		rc = sl_backups_create(&d->backups, d, err);
	if (!rc)
		rc = sl_users_create(&d->users, d->loop, d->db, &d->config, d->state_dir, err);
	if (!rc)
		rc = sl_events_create(&d->events, d->loop, d->users, err);
	if (!rc)
		rc = sl_graphs_create(&d->graphs, d, err);
	if (!rc)
		rc = sl_layouts_create(&d->layouts, d, err);
	if (!rc)
		rc = sl_jobs_create(&d->jobs, d, err);
	if (!rc)
		rc = sl_collect_create(&d->collect, d, err);
	if (!rc)
		rc = sl_people_create(&d->people, d, err);
	if (!rc)
		rc = sl_http_create(&d->http, d, err);
	if (!rc)
		announce(p);
	return rc;
}

/* True if another start would fail in the same way until somebody changes the configuration or the state folder: the
 * exit status then is 2, after which systemd does not try again. */
static bool lasts(const struct sl_error *err)
{
	return err->code == SL_BADPARAM || err->code == SL_BADFORMAT || (err->code == SL_CONFLICT && err->file[0]);
}

static int run(struct program *p)
{
	struct sl_error err;
	raise_descriptor_limit();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);  /* so that a file beyond the size limit is an error, EFBIG */
	if (uv_loop_init(&p->loop))
		return 1;
	p->d.loop = &p->loop;
	p->d.loop_thread = pthread_self();
	p->d.restart = restart;
	p->d.started_ms = uv_now(&p->loop);
	open_handles(p);
	if (open_parts(p, &err)) {
		say(&p->options, &err);
		p->status = lasts(&err) ? 2 : 1;
		stop(p);
	} else {
		p->d.ready = true;
		sl_log_info("main", "spacelandd %s listens on %s, state in %s", SL_VERSION, sl_http_url(p->d.http),
			    p->d.state_dir);
		sd_notifyf(0, "READY=1\nSTATUS=Serving %s", sl_http_url(p->d.http));
	}
	uv_run(&p->loop, UV_RUN_DEFAULT);
	int rc = uv_loop_close(&p->loop);
	if (rc) {
		sl_log_error("main", "the loop is not empty at the end: %s", uv_strerror(rc));
		p->status = 1;
	}
	uv_library_shutdown();
	sl_metrics_destroy(p->d.metrics);
	free(p->d.state_dir);
	free(p->d.tmp_dir);
	sl_bookings_destroy(p->d.bookings);
	if (p->lock_fd >= 0)
		close(p->lock_fd);
	if (!p->status && !p->restart)
		sl_log_info("main", "stopped");
	return p->status;
}

/* For --check-reload: what a reload cannot change, and would refuse with all the rest. */
static int check_running(const struct sl_config *c, struct sl_error *err)
{
	char address[300];
	bool tls = c->tls_certificate[0];
	if (!sl_state_dir_address(c->state_dir, address, sizeof address) || tls == !strncmp(address, "https://", 8))
		return 0;
	return sl_error_field(err, SL_BADPARAM, "/tls_certificate", "tls_certificate can be %s only by a restart, not by a "
			      "reload", tls ? "added" : "removed");
}

/* Runs --check-config: all that a start reads but the state folder. */
static int check(const struct program *p)
{
	const struct sl_config *c = &p->d.config;
	struct sl_error err;
	char **files = NULL;
	int count = 0;
	int rc = sl_http_check(c, &err);
	if (!rc)
		rc = sl_users_check(c, &err);
	if (!rc && p->options.reload)
		rc = check_running(c, &err);
	if (!rc)
		rc = sl_backups_check(c->backup_dir, c->state_dir[0] ? c->state_dir : NULL, &err);
	if (!rc && p->options.file)
		rc = sl_config_files(p->options.file, &files, &count, &err);
	if (rc) {
		say(&p->options, &err);
		return 2;
	}
	puts("The configuration is fine.");
	for (int i = 0; i < count && count > 1; i++)
		printf("%s %s\n", i ? "then" : "read:", files[i]);
	sl_config_files_free(files, count);
	return 0;
}

#define UNKNOWN "It cannot be known whether lines of audit.log, uploaded layouts or pictures are missing: no record " \
	"names them."

/* Runs --verify-state or --repair-state. Returns 0: no problems; 1: problems; 2: the check failed; 3: no problems are
 * left, but users and projects are gone for ever. */
static int inspect(struct program *p)
{
	struct sl_error err;
	bool gone = false;
	if (uv_loop_init(&p->loop))
		return 2;
	int rc = sl_state_dir_open(p->d.config.state_dir, false, &p->d.state_dir, &p->lock_fd, &err);
	if (!rc)
		rc = p->options.repair ? sl_state_repair(&p->loop, p->d.state_dir, stdout, &gone, &err) :
		     sl_state_verify(&p->loop, p->d.state_dir, stdout, &err);
	if (rc < 0)
		say(&p->options, &err);
	else if (rc)
		printf("%d problem%s in %s\n", rc, rc == 1 ? "" : "s", p->d.state_dir);
	else
		printf("No file and no record in %s is damaged.\n", p->d.state_dir);
	if (rc >= 0)
		puts(UNKNOWN);
	uv_loop_close(&p->loop);
	free(p->d.state_dir);
	if (p->lock_fd >= 0)
		close(p->lock_fd);
	return rc < 0 ? 2 : rc ? 1 : gone ? 3 : 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], SL_RELAY_ARGUMENT))
		return sl_relay_main();
	if (argc > 2 && !strcmp(argv[1], SL_WORKER_ARGUMENT))
		return sl_dial_main(argc - 1, argv + 1);
	if (argc == 2 && !strcmp(argv[1], SL_WORKER_ARGUMENT)) {
		give_memory_back();
		return sl_worker_main();
	}
	sl_threads_wait_briefly(argv);
	give_memory_back();
	prctl(PR_SET_NAME, "spacelandd");  /* after a restart the name would be "exe" */
	struct program p = {.lock_fd = -1, .listen_fd = -1};
	struct sl_error err;
	int status = sl_options_parse(&p.options, argc, argv);
	if (status >= 0)
		return status;
	if (sl_options_config(&p.options, &p.d.config, &err)) {
		say(&p.options, &err);
		return 2;
	}
	sl_log_init((enum sl_log_level)sl_log_level_parse(p.d.config.log_level));
	setenv("UV_THREADPOOL_SIZE", POOL, 0);
	if (p.options.dump)
		sl_config_dump(&p.d.config, stdout);
	else if (sodium_init() < 0)
		status = 1;
	else if (p.options.check)
		status = check(&p);
	else
		status = p.options.verify || p.options.repair ? inspect(&p) : run(&p);
	if (p.restart)
		start_anew(&p, argv);
	sl_config_finish(&p.d.config);
	return status < 0 ? 0 : status;
}
