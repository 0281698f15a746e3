/* config.h -- the options of the daemon.
 *
 * One table (sl_config_table) names every option with its type, range, default, unit and
 * meaning; the file reader, --set, --dump-config and the shipped config/spacelandd.conf all
 * follow it. Order of precedence: defaults, file, command line. The loop thread owns the
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
	char *state_dir;               /* "": by the environment; sl_daemon.state_dir is the resolved one */
	char *listen;                  /* "127.0.0.1:7070", "[::1]:0"; port 0: any free one */
	char *zmq;                     /* endpoint of the frame publisher; "": off */
	char *backup_dir;              /* absolute; "": no backups */
	char *token_file;              /* one token a line; "": no tokens needed (loopback only) */
	char *trusted_proxies;         /* addresses and networks; "": none */
	char *proxy_user_header;       /* in which they name the user; "": they do not */
	char *proxy_role_header;       /* and the role; "": they do not */
	char *proxy_new_users;         /* refuse, reader, user */
	char *tls_certificate;         /* PEM, with the chain; "": plain HTTP */
	char *tls_key;                 /* PEM, without a passphrase */
	char *allowed_hosts;           /* further names that Host and Origin may carry, comma separated */
	char *allowed_origins;         /* of pages that may use this server, comma separated */
	char *request_log;             /* off, problems, all */
	char *log_level;               /* error, warning, info, debug */
	/* compute */
	char *engine;                  /* auto, cuda, hybrid, hybrid-double, cpu */
	char *engines;                 /* further ones that jobs may ask for: "all", or a list */
	char *plugin_dir;              /* folder of spaceland-cuda.so; "": beside the program, then the system's */
	int64_t threads;               /* of the CPU and hybrid engines; 0: one per core */
	double slice_ms;               /* length of one slice of a job */
	int64_t plan_cache_bytes;      /* per device */
	int64_t device_memory_bytes;   /* per device; 0: the device's own default */
	double checkpoint_interval_s;  /* 0: only at shutdown */
	/* streams */
	double frame_rate;             /* most frames a second of one job */
	int64_t frame_max_points;      /* most points of one frame; 0: all */
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
	int64_t max_neighbours;        /* a point, that are searched */
	int64_t max_exact_nodes;       /* of a job with all pairs */
	int64_t max_graphs;
	int64_t max_layouts;           /* uploaded for jobs to begin with */
	double layout_lifetime_s;
	int64_t max_jobs;              /* not finished yet: queued, running and paused */
	int64_t max_streams;           /* open event and frame streams */
	int64_t upload_memory_bytes;   /* of uploads that are read at the same time; 0: half of the host's */
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
	double share_half_life_s;      /* after it, half of the device time that a user has had is forgotten */
	double result_retention_s;     /* finished jobs are removed after it; 0: kept for ever */
	int64_t max_state_bytes;       /* of the state folder; 0: no bound */
	double collect_after_s;        /* what was used within it stays */
	int64_t max_finished_jobs;     /* the oldest are removed beyond it; 0: no limit */
};

enum sl_option_type { SL_OPTION_TEXT, SL_OPTION_WORD, SL_OPTION_INT, SL_OPTION_BYTES, SL_OPTION_NUMBER };

struct sl_option_info {
	const char *name;
	enum sl_option_type type;
	size_t offset;             /* of the field in struct sl_config */
	double min, max;           /* inclusive; for numbers */
	const char *const *words;  /* WORD: NULL-terminated */
	const char *initial;       /* default as text, the way a file would say it */
	const char *unit;          /* "bytes", "s", "ms", "1/s" or "" */
	bool runtime;              /* may change while the daemon runs (SIGHUP) */
	const char *doc;           /* sentences for the file and --dump-config */
};

extern const struct sl_option_info sl_config_table[];
extern const int sl_config_count;

const struct sl_option_info *sl_config_find(const char *name);  /* NULL: none of that name */

int sl_config_init(struct sl_config *c, struct sl_error *err);  /* the defaults */
void sl_config_finish(struct sl_config *c);

/* `name = value` lines; # starts a comment; values may be quoted. Errors name file and line. */
int sl_config_read(struct sl_config *c, const char *path, struct sl_error *err);
/* One option by text: "512 MiB", "10", "cpu". err->pointer is "/name". */
int sl_config_set(struct sl_config *c, const char *name, const char *text, struct sl_error *err);
/* What depends on several options: token_file when listening beyond loopback, ... */
int sl_config_check(const struct sl_config *c, struct sl_error *err);
/* Is the word in a list of words, "cuda, cpu"? "all" has every one. */
bool sl_config_lists(const char *list, const char *word);
/* The value as a file would say it, into out. Returns out. */
char *sl_config_text(const struct sl_config *c, const struct sl_option_info *o, char *out, size_t bytes);
/* The whole file, documented; commented-out lines where values are the defaults. */
void sl_config_dump(const struct sl_config *c, FILE *out);

/* "127.0.0.1:7070" or "[::1]:0" into a host (no brackets) and a port. */
int sl_config_address(const char *listen, char *host, size_t host_bytes, uint16_t *port, struct sl_error *err);
bool sl_config_loopback(const char *host);

#endif
