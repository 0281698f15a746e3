/* The options, in the order of the file. tests/unit/test_config.c holds the shipped
 * config/spacelandd.conf to this table. */
#include "core/engine/load.h"
#include "daemon/config/config.h"

static const char *const request_logs[] = {"off", "problems", "all", NULL};
static const char *const new_users[] = {"refuse", "reader", "user", NULL};
static const char *const log_levels[] = {"error", "warning", "info", "debug", NULL};

#define AT(field) offsetof(struct sl_config, field)
#define TEXT(field, initial, runtime, doc) \
	{#field, SL_OPTION_TEXT, AT(field), 0, 0, NULL, initial, "", runtime, doc}
#define WORD(field, words, initial, runtime, doc) \
	{#field, SL_OPTION_WORD, AT(field), 0, 0, words, initial, "", runtime, doc}
#define INT(field, min, max, initial, unit, runtime, doc) \
	{#field, SL_OPTION_INT, AT(field), min, max, NULL, initial, unit, runtime, doc}
#define BYTES(field, min, max, initial, runtime, doc) \
	{#field, SL_OPTION_BYTES, AT(field), min, max, NULL, initial, "bytes", runtime, doc}
#define NUMBER(field, min, max, initial, unit, runtime, doc) \
	{#field, SL_OPTION_NUMBER, AT(field), min, max, NULL, initial, unit, runtime, doc}

#define KIB 1024.0
#define MIB (1024.0 * KIB)
#define GIB (1024.0 * MIB)
#define TIB (1024.0 * GIB)

const struct sl_option_info sl_config_table[] = {
	TEXT(state_dir, "", false,
	     "Folder of graphs, jobs and results. Empty: $STATE_DIRECTORY when systemd sets it, "
	     "/var/lib/spaceland for root, else $XDG_STATE_HOME/spaceland or ~/.local/state/spaceland."),
	TEXT(backup_dir, "", false,
	     "Absolute path of the folder in which administrators make backups (POST /v1/backups), each in a folder of its "
	     "own. Better on another disk than state_dir. Empty: no backups."),
	TEXT(listen, "127.0.0.1:7070", false,
	     "Address and port of the HTTP server; an IPv6 address stands in brackets, [::1]:7070. "
	     "Port 0 takes any free one, which STATE_DIR/spacelandd.addr then tells. "
	     "An address beyond loopback needs token_file."),
	TEXT(zmq, "tcp://127.0.0.1:7071", false,
	     "ZeroMQ endpoint on which layouts are published while they form. Empty: off."),
	TEXT(token_file, "", true,
	     "File of bearer tokens, one a line, at least 16 characters each; lines that start with # are "
	     "comments. When set, each request needs one of them (Authorization: Bearer TOKEN), but for "
	     "/v1/health. Empty: no tokens, and loopback only. The file is read again with the configuration."),
	TEXT(trusted_proxies, "", false,
	     "Addresses and networks of proxies that log users in, comma separated: 127.0.0.1, 10.1.0.0/16. Whoever can "
	     "send requests from there can be any user."),
	TEXT(proxy_user_header, "", false,
	     "Header in which these proxies name the user, X-Forwarded-User for example. From other addresses requests "
	     "with it are refused. The proxy must remove what clients send of it. Needs token_file and trusted_proxies. "
	     "Empty: users log in with tokens only."),
	TEXT(proxy_role_header, "", false,
	     "Header in which these proxies tell the user's role (reader, user, administrator), which the server keeps. "
	     "Empty: roles are set with spaceland user role."),
	WORD(proxy_new_users, new_users, "refuse", false,
	     "What happens to a user of the proxy whom the server does not know: refuse, or added as a reader or as a user "
	     "(unless proxy_role_header tells the role)."),
	TEXT(tls_certificate, "", true,
	     "File of the server's TLS certificate (PEM), followed by those of intermediate authorities. When set, the "
	     "server speaks HTTPS only, TLS 1.2 or later. A reload reads it again, for new connections; a certificate or "
	     "key that cannot be used then is refused and logged, and the old one stays. Turning TLS on or off takes a "
	     "restart. Empty: plain HTTP."),
	TEXT(tls_key, "", true,
	     "File of that certificate's private key (PEM, without a passphrase). Only the server should be able to read "
	     "it."),
	TEXT(allowed_hosts, "", true,
	     "Further host names, without ports and comma separated, under which browsers and programs may address this "
	     "server (headers Host and Origin): the names of a reverse proxy, say. The listening address and, on "
	     "loopback, localhost are always allowed."),
	TEXT(allowed_origins, "", true,
	     "Web pages of other origins that may use this server from a browser (CORS), comma separated, each with its "
	     "scheme and port: https://lab.example, http://localhost:5173."),
	WORD(log_level, log_levels, "info", true, "What is logged: error, warning, info or debug."),
	WORD(request_log, request_logs, "off", true,
	     "Which requests get a line in the log (level info, topic request): off; problems, those answered with a "
	     "status of 400 or more or not at all; or all. A line is a JSON object with id (the header X-Request-Id), "
	     "method, route, path, status, bytes, seconds, user and address."),

	WORD(engine, sl_engine_words, SL_ENGINE_AUTO, false,
	     "What computes the jobs that do not say what they want: cuda (NVIDIA GPUs, by the plug-in "
	     "spaceland-cuda.so); hybrid (attraction on the CPU, the rest on a GPU at the same time; graphs stay in the "
	     "host's memory, so they may be larger than the GPU's); "
	     "hybrid-double (the same, attraction in double precision); cpu; or auto: GPUs if there are any, else the "
	     "CPU."),
	TEXT(engines, "all", false,
	     "Engines that a job may ask for besides that one: all, or a list out of them, "
	     "separated by commas; empty: none. Their devices are opened when the first job asks for them."),
	TEXT(plugin_dir, "", false,
	     "Folder of spaceland-cuda.so. Empty: beside the program, then ../lib/spaceland from there."),
	INT(threads, 0, 4096, "0", "", false, "Threads of the CPU engine and the hybrid ones. 0: one for each core."),
	NUMBER(slice_ms, 1, 10000, "10", "ms", false,
	       "Compute time that a job gets before the next one's turn. Pausing, steering and cancelling act at "
	       "the end of a slice."),
	BYTES(plan_cache_bytes, MIB, TIB, "256 MiB", false,
	      "Memory for cached FFT plans and kernel spectra, for each device."),
	BYTES(device_memory_bytes, 0, 1024 * TIB, "0", false,
	      "Memory for graphs and embeddings, for each device. 0: nine tenths of what a GPU has free, half of "
	      "the host's memory for the CPU."),
	NUMBER(checkpoint_interval_s, 0, 86400, "30", "s", true,
	       "How often a running job is saved, so that it goes on from there after a crash. 0: only when the "
	       "daemon is stopped."),

	NUMBER(frame_rate, 0.1, 240, "10", "1/s", true, "Most frames a second of one running job."),
	INT(frame_max_points, 0, 4294967295.0, "0", "", true,
	    "Most points of a published frame; larger graphs are sampled evenly. 0: all points."),
	INT(zmq_high_water_mark, 1, 1000000, "64", "jobs", false,
	    "Jobs whose newest frame is kept for a ZeroMQ subscriber that is still taking another one. Final frames "
	    "are kept beyond that."),
	INT(max_subscribers, 1, 10000, "256", "", false, "ZeroMQ subscribers at the same time."),

	INT(max_connections, 4, 65000, "1024", "", false,
	    "HTTP connections at the same time. Beyond it the connection that has been idle for the longest is closed; "
	    "when all are busy, /v1/health and /metrics are still answered, and everything else gets 503."),
	INT(max_connections_per_address, 0, 65000, "0", "", true,
	    "HTTP connections of one client address at the same time. 0: half of max_connections, but for loopback, from "
	    "where a proxy or a shell's users come, all of them."),
	BYTES(max_upload_bytes, KIB, 16 * TIB, "8 GiB", true, "Largest upload, as sent."),
	BYTES(upload_memory_bytes, 0, 1024 * TIB, "0", true,
	      "Memory that uploads may take together while they are read and stored. It is booked before it is taken; an "
	      "upload that needs more is refused. Large ones wait for each other. 0: half of the host's memory."),
	BYTES(max_decompressed_bytes, KIB, 16 * TIB, "64 GiB", true,
	      "Largest uploaded file after gzip or zstd decompression."),
	BYTES(max_request_bytes, KIB, GIB, "1 MiB", true, "Largest body of a request that is not an upload."),
	INT(max_nodes, 1, 4294967294.0, "200000000", "", true, "Most nodes of a graph, and points of a table."),
	INT(max_entries, 1, 1e18, "8000000000", "", true,
	    "Most entries (edges, both directions) of a graph, and numbers of a table of points."),
	INT(max_columns, 1, 4294967294.0, "1000000", "", true, "Most columns of a table of points."),
	INT(max_neighbours, 1, 65535, "3000", "", true,
	    "Most neighbours of each point that are searched; a job takes three times its perplexity."),
	INT(max_exact_nodes, 1, 4294967294.0, "50000", "", true,
	    "Most nodes that a job may ask exact repulsion for, whose cost grows with their square."),
	INT(max_graphs, 1, 1e9, "10000", "", true, "Most graphs that are kept."),
	INT(max_jobs, 1, 1e6, "256", "", true, "Most jobs that are not finished: queued, running or paused."),
	INT(max_layouts, 1, 1e6, "256", "", true,
	    "Most uploaded layouts that are kept for jobs to begin with; of one user a quarter of them."),
	NUMBER(layout_lifetime_s, 1, 31536000, "3600", "s", true,
	       "How long an uploaded layout is kept. A job has a copy of its own once it is accepted."),
	INT(max_streams, 1, 65000, "256", "", true, "Most event and frame streams that are open at the same time."),
	NUMBER(request_timeout_s, 1, 86400, "120", "s", false,
	       "How long a connection may be idle, a request may take to arrive (a long body: as long as it brings 4 KiB a "
	       "second), and a request may wait for its reply."),

	NUMBER(user_device_seconds, 0, 1e9, "0", "s", true,
	       "Device time that a user may take in 24 hours; then new jobs are refused, and those that have no place yet "
	       "wait. 0: no limit, here and in the following ones. They are for users with tokens of their own, but not "
	       "for administrators; spaceland user limits sets other ones for a user."),
	BYTES(user_device_bytes, 0, 1024 * TIB, "0", true,
	      "Device memory that a user's jobs may take at the same time; further ones wait."),
	BYTES(user_disk_bytes, 0, 1024 * TIB, "0", true,
	      "Disk that a user's graphs and layouts may take. A graph of several owners counts for each."),
	INT(user_queued_jobs, 0, 1e6, "0", "", true, "Jobs of a user that are queued or paused."),
	INT(user_running_jobs, 0, 1e6, "0", "", true, "Jobs of a user that have a place on a device; further ones wait."),
	BYTES(user_upload_bytes, 0, 16 * TIB, "0", true, "Largest upload of a user, as sent."),
	NUMBER(user_requests_per_second, 0, 1e6, "0", "1/s", true,
	       "Requests of a user a second. As many as two seconds' may come at once."),
	INT(user_streams, 0, 65000, "0", "", true, "Event and frame streams of a user that are open at the same time."),

	BYTES(graph_memory_bytes, 0, 1024 * TIB, "4 GiB", true,
	      "Host memory for loaded graphs that no job uses at the moment; the least recently used ones are "
	      "unloaded beyond it. Pinned graphs stay."),
	NUMBER(share_half_life_s, 1, 1e9, "3600", "s", true,
	       "Of several users, the one that has had the least device time gets the next place for a large job. "
	       "After this time, "
	       "half of what a user has had is forgotten."),
	NUMBER(result_retention_s, 0, 1e10, "2592000", "s", true,
	       "How long finished jobs and their results are kept. 0: for ever."),
	INT(max_finished_jobs, 0, 1e9, "10000", "", true,
	    "Most finished jobs that are kept; the oldest are removed beyond it. 0: no limit."),
	BYTES(max_state_bytes, 0, 1024 * TIB, "0", true,
	      "Most bytes of the state folder. Beyond it results of finished jobs, and graphs, are removed, those first "
	      "that were used longest ago, until nine tenths are left. Pinned graphs, graphs of jobs that are not "
	      "finished, and jobs with a public link stay. 0: no bound."),
	NUMBER(collect_after_s, 0, 1e10, "3600", "s", true,
	       "What was used within this time is not removed for max_state_bytes."),
};

const int sl_config_count = sizeof sl_config_table / sizeof *sl_config_table;
