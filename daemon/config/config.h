/* config.h -- the options of the daemon.
 *
 * One table (sl_config_table) names every option with its type, range, default, unit and
 * meaning; the file reader, --set, --dump-config and the shipped config/spacelandd.conf all
 * follow it. Order of precedence: defaults, files, command line. The loop thread owns the
 * values; other threads get copies of what they need when they are created. */
#ifndef SL_CONFIG_H
#define SL_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "core/error.h"

struct sl_config {
	/* where */
	char *state_dir;               /* "": chosen from the environment; sl_daemon.state_dir has the result */
	char *listen;                  /* "127.0.0.1:7070", "[::1]:0"; port 0: any free one */
	char *base_url;                /* "https://lab.example/spaceland/", config/base.h; "": none */
	char *zmq;                     /* endpoint of the frame publisher; "": off */
	char *backup_dir;              /* absolute; "": no backups */
	double backup_interval_s;      /* between scheduled backups; 0: none */
	int64_t backup_keep;           /* of scheduled ones; 0: all */
	char *token_file;              /* one token a line; "": no tokens needed (loopback only) */
	char *trusted_proxies;         /* addresses and networks; "": none */
	char *proxy_user_header;       /* request header in which a proxy names the user; "": none */
	char *proxy_role_header;       /* request header with the user's role; "": none */
	char *proxy_groups_header;     /* request header with the user's groups; "": none */
	char *proxy_group_roles;       /* "GROUP=ROLE, ..." */
	char *proxy_group_projects;    /* "GROUP=PROJECT, ..." */
	char *proxy_new_users;         /* unknown users named by a proxy: refuse, or add as reader or user */
	char *tls_certificate;         /* PEM, with the chain; "": plain HTTP */
	char *tls_key;                 /* PEM, without a passphrase */
	char *allowed_hosts;           /* further names that Host and Origin may carry, comma separated */
	char *allowed_origins;         /* origins of pages that may use this server, comma separated */
	char *request_log;             /* off, problems, all */
	char *log_level;               /* error, warning, info, debug */
	/* compute */
	char *engine;                  /* auto, cuda, hybrid, hybrid-double, slurm, cpu */
	char *engines;                 /* further engines that jobs may select: "all", or a list */
	char *workers;                 /* gpus, all, off, remote: which devices are processes */
	char *worker_listen;           /* where workers of other machines connect, ADDRESS:PORT; "": nowhere */
	char *worker_host;             /* this machine's name for them; "": the address, or the machine's own name */
	char *worker_tls_certificate;  /* PEM; "": the server's, or one of its own */
	char *worker_tls_key;
	double worker_grace_s;         /* how long such a worker may be unheard */
	char *plugin_dir;              /* folder of spaceland-cuda.so; "": beside the program, then the system's */
	int64_t threads;               /* of the CPU and hybrid engines; 0: one per core */
	int64_t gpus_per_device;       /* GPUs that engine cuda uses as one device */
	int64_t divide_nodes;          /* from which they divide a graph */
	double slice_ms;               /* length of one slice of a job */
	int64_t plan_cache_bytes;      /* per device */
	int64_t device_memory_bytes;   /* per device; 0: the device's own default */
	double checkpoint_interval_s;  /* 0: only at shutdown */
	/* allocations of Slurm (daemon/slurm/) */
	int64_t slurm_max_workers;     /* at the same time; 0: engine slurm is not offered */
	char *slurm_engine;            /* with which workers compute: cuda, hybrid, hybrid-double, cpu */
	char *slurm_partition;         /* this and the next: as options of sbatch; "": none */
	char *slurm_qos;
	char *slurm_account;           /* "PROJECT=ACCOUNT, ...", one without project for all others */
	char *slurm_gres;
	int64_t slurm_cpus;            /* for each worker; 0: Slurm's default */
	double slurm_time_s;           /* time limit of an allocation; 0: the partition's */
	int64_t slurm_memory_bytes;    /* 0: from the forecast of the jobs that wait */
	char *slurm_arguments;         /* further ones of sbatch, separated by blanks */
	char *slurm_prologue;          /* lines of the batch script before the worker */
	char *slurm_program;           /* path of spacelandd on the nodes; "": as here */
	char *slurm_cache_dir;         /* on the nodes; "": the worker's default */
	char *slurm_output;            /* pattern of the file for what workers print; "": none */
	char *slurm_bin_dir;           /* of sbatch, squeue and scancel; "": PATH */
	double slurm_idle_s;           /* a worker without jobs ends after this time */
	double slurm_interval_s;       /* shortest time between two listings of the queue */
	int64_t slurm_max_losses;      /* a job that loses its worker so often without getting further fails */
	/* streams */
	double frame_rate;             /* frames a second of one job, at most */
	int64_t frame_max_points;      /* points of one frame, at most; 0: all */
	int64_t zmq_high_water_mark;   /* messages kept for a slow subscriber */
	int64_t max_subscribers;
	/* limits */
	int64_t max_connections;
	int64_t max_connections_per_address;  /* 0: no limit */
	int64_t max_upload_bytes;      /* one request body, as sent */
	int64_t max_decompressed_bytes;
	int64_t max_request_bytes;     /* a JSON body */
	int64_t max_nodes;
	int64_t max_entries;
	int64_t max_columns;           /* of a table of points */
	int64_t max_neighbours;        /* neighbours that are searched for each point */
	int64_t max_exact_nodes;       /* nodes of a job that computes all pairs */
	int64_t max_graphs;
	int64_t max_layouts;           /* layouts that clients uploaded as initial layouts */
	double layout_lifetime_s;
	int64_t max_jobs;              /* not finished yet: queued, running and paused */
	double max_job_seconds;        /* a job may be running; 0: no limit */
	int64_t max_streams;           /* open event and frame streams */
	int64_t upload_memory_bytes;   /* for all uploads being read; 0: half of the host's memory */
	int64_t request_memory_bytes;  /* for the bodies of all requests; 0: an eighth of the host's memory */
	int64_t reply_memory_bytes;    /* for all long replies being made or sent; 0: a quarter of the host's memory */
	double shutdown_grace_s;       /* between SIGTERM and the closing of the port */
	double request_timeout_s;      /* idle connection, and the longest wait for a reply */
	/* limits of each user (users/limits.h); 0: none */
	double user_device_seconds;    /* in 24 hours */
	int64_t user_device_bytes;
	int64_t user_disk_bytes;
	int64_t user_queued_jobs;
	int64_t user_running_jobs;
	int64_t user_upload_bytes;
	double user_requests_per_second;
	int64_t user_streams;
	/* keeping */
	int64_t graph_memory_bytes;    /* graphs kept in host memory */
	double share_half_life_s;      /* half-life of the device time that a user has used */
	double result_retention_s;     /* age at which finished jobs are removed; 0: never */
	int64_t max_state_bytes;       /* limit of the state folder; 0: no limit */
	double collect_after_s;        /* results and graphs used more recently are not removed */
	int64_t low_disk_bytes;        /* below it, the server is not ready */
	int64_t max_finished_jobs;     /* the oldest are removed beyond it; 0: no limit */
};

enum sl_option_type { SL_OPTION_TEXT, SL_OPTION_WORD, SL_OPTION_INT, SL_OPTION_BYTES, SL_OPTION_NUMBER };

struct sl_option_info {
	const char *name;
	enum sl_option_type type;
	size_t offset;             /* of the field in struct sl_config */
	double min, max;           /* inclusive; for numbers */
	const char *const *words;  /* WORD: NULL-terminated */
	const char *initial;       /* the default as text, as the configuration file has it */
	const char *unit;          /* "bytes", "s", "ms", "1/s" or "" */
	bool runtime;              /* may change while the daemon runs (SIGHUP) */
	const char *doc;           /* sentences for the file and --dump-config */
};

extern const struct sl_option_info sl_config_table[];
extern const int sl_config_count;

const struct sl_option_info *sl_config_find(const char *name);  /* NULL: no option has that name */

int sl_config_init(struct sl_config *c, struct sl_error *err);  /* the defaults */
void sl_config_finish(struct sl_config *c);

/* The files of a configuration: `path`, then those in the folder `path`.d whose names end with .conf and do not begin
 * with a dot, in the order of their bytes. A later file overrides an earlier one. *out: zero-terminated strings, freed
 * by sl_config_files_free(). */
int sl_config_files(const char *path, char ***out, int *count, struct sl_error *err);
void sl_config_files_free(char **files, int count);
/* Reads these files: `name = value` lines; # starts a comment; values may be quoted. Errors name file and line. */
int sl_config_read(struct sl_config *c, const char *path, struct sl_error *err);
/* The file and line from which an option has its value, for messages. 0: no file sets it, or it cannot be read; then
 * file is `path`. */
int64_t sl_config_place(const char *path, const char *name, char *file, size_t bytes);
/* Sets one option from text: "512 MiB", "10", "cpu". err->pointer is "/name". */
int sl_config_set(struct sl_config *c, const char *name, const char *text, struct sl_error *err);
/* Checks options that depend on each other: token_file when listening beyond loopback, ... */
int sl_config_check(const struct sl_config *c, struct sl_error *err);
/* The next word of a list separated by commas or blanks, from *at on, which moves behind it; NULL: none. Not
 * zero-terminated; *length: its bytes. */
const char *sl_config_word(const char **at, size_t *length);
/* True if the word is in a list such as "cuda, cpu"; the list "all" has every word. */
bool sl_config_lists(const char *list, const char *word);
bool sl_config_same(const struct sl_config *a, const struct sl_config *b, const struct sl_option_info *o);
/* Exchanges the values of one option. */
void sl_config_swap(struct sl_config *a, struct sl_config *b, const struct sl_option_info *o);
/* Writes the value for a message, as the configuration file has it, cut to the room. Returns out. */
char *sl_config_text(const struct sl_config *c, const struct sl_option_info *o, char *out, size_t bytes);
/* Writes a whole configuration file with its documentation; options that have their defaults are commented out. */
void sl_config_dump(const struct sl_config *c, FILE *out);

/* Splits "127.0.0.1:7070" or "[::1]:0" into host (without brackets) and port. */
int sl_config_address(const char *listen, char *host, size_t host_bytes, uint16_t *port, struct sl_error *err);
bool sl_config_loopback(const char *host);

#endif
