/* list.h -- the options of the daemon, in the order of the configuration file: TEXT, WORD, INT, BYTES and NUMBER say
 * name, range, default, unit, whether the option may change while the server runs (SIGHUP), and what it means. Without
 * a guard: config.h makes the fields of struct sl_config from it, config.c the table. tests/unit/test_config.c
 * compares config/spacelandd.conf with it. */
	TEXT(state_dir, "", false,
	     "Folder of graphs, jobs and results. Empty: $STATE_DIRECTORY when systemd sets it, "
	     "/var/lib/spaceland for root, else $XDG_STATE_HOME/spaceland or ~/.local/state/spaceland.")
	TEXT(backup_dir, "", false,
	     "Absolute path of the folder for backups (POST /v1/backups, by administrators), each in a folder of its "
	     "own. It should be on another disk than state_dir. Empty: no backups.")
	NUMBER(backup_interval_s, 0, 31536000, "0", "s", true,
	       "Time between scheduled backups into backup_dir, 86400 for one a day; their names begin with auto-. 0: "
	       "none.")
	INT(backup_keep, 0, 10000, "7", "", true,
	    "Number of scheduled backups that are kept; older ones are removed, but not if they have more than twice as "
	    "many files as the newest. Backups with names of your own always stay. 0: all are kept.")
	TEXT(listen, "127.0.0.1:7070", false,
	     "Address and port of the HTTP server; an IPv6 address stands in brackets, [::1]:7070. Port 0 takes any "
	     "free port and writes it into STATE_DIR/spacelandd.addr. An address other than loopback needs "
	     "token_file.")
	TEXT(base_url, "", true,
	     "Address of this server behind a reverse proxy, as browsers have it: https://lab.example/spaceland/. Then "
	     "its host belongs to allowed_hosts, its path may precede the path of a request (so a proxy may remove it or "
	     "not), and cookies, the header Location and public links have it. Empty: no proxy, or one without a path "
	     "of its own.")
	TEXT(zmq, "tcp://127.0.0.1:7071", false,
	     "ZeroMQ endpoint on which layouts are published while they form. Empty: off.")
	TEXT(token_file, "", true,
	     "File of bearer tokens, one a line, at least 16 characters each; lines that start with # are comments. "
	     "When set, each request except those for /v1/health needs a token (Authorization: Bearer TOKEN). Empty: "
	     "no tokens, and loopback only. The file is read again with the configuration. Other users of the machine "
	     "should not be able to read it.")
	TEXT(trusted_proxies, "", false,
	     "Addresses and networks of proxies that log users in, separated by commas: 127.0.0.1, 10.1.0.0/16. "
	     "Whoever can send requests from there can act as any user.")
	TEXT(proxy_user_header, "", false,
	     "Header in which these proxies name the user, for example X-Forwarded-User. Requests with this header "
	     "from other addresses are refused. The proxy must remove the header if a client sends it. Needs "
	     "token_file and trusted_proxies. Empty: users log in with tokens only.")
	TEXT(proxy_role_header, "", false,
	     "Header in which these proxies send the user's role (reader, user, administrator), which the server "
	     "stores. Empty: roles are set with spaceland user role.")
	TEXT(proxy_groups_header, "", false,
	     "Header in which these proxies send the user's groups, separated by commas or semicolons, for example "
	     "X-Forwarded-Groups. Empty: groups are not used.")
	TEXT(proxy_group_roles, "", false,
	     "Roles of these groups: staff=administrator, students=user. A user has the highest role of the groups, at "
	     "each login; one without such a group is treated by proxy_new_users. Empty: groups give no role.")
	TEXT(proxy_group_projects, "", false,
	     "Projects of these groups: genes-lab=genes, all=common. At each login a user becomes a member of these "
	     "projects, and leaves those of them that no group gives. Empty: groups give no projects.")
	WORD(proxy_new_users, new_users, "refuse", false,
	     "What happens to a user named by the proxy whom the server does not know: refuse, or add with the role "
	     "reader or user (unless proxy_role_header has the role).")
	TEXT(tls_certificate, "", true,
	     "File of the server's TLS certificate (PEM), followed by those of intermediate authorities. When set, the "
	     "server speaks HTTPS only, TLS 1.2 or later. A reload reads it again, for new connections; if certificate "
	     "or key cannot be used, this is logged and the old ones stay. Turning TLS on or off needs a restart. "
	     "Empty: plain HTTP.")
	TEXT(tls_key, "", true,
	     "File of that certificate's private key (PEM, without a passphrase). Other users of the machine should not "
	     "be able to read it.")
	TEXT(allowed_hosts, "", true,
	     "Further host names, without ports and separated by commas, under which clients may address this server "
	     "(headers Host and Origin), for example those of a reverse proxy. The listening address and, on loopback, "
	     "localhost are always allowed.")
	TEXT(allowed_origins, "", true,
	     "Other origins whose pages may use this server from a browser (CORS), separated by commas, each with "
	     "scheme and port: https://lab.example, http://localhost:5173.")
	WORD(log_level, log_levels, "info", true, "What is logged: error, warning, info or debug.")
	WORD(request_log, request_logs, "off", true,
	     "Which requests get a line in the log (level info, topic request): off; problems, those answered with a "
	     "status of 400 or more or not at all; or all. A line is a JSON object with id (the header X-Request-Id), "
	     "method, route, path, status, bytes, seconds, user and address.")

	WORD(engine, sl_engine_words, SL_ENGINE_AUTO, false,
	     "Engine for jobs that do not name one: cuda (NVIDIA GPUs, with the plug-in spaceland-cuda.so); hybrid "
	     "(attraction on the CPU while a GPU does the rest; graphs stay in host memory, so they may exceed the "
	     "GPU's memory); hybrid-double (the same, with attraction in double precision); slurm (workers in "
	     "allocations of a cluster, see slurm_max_workers); cpu; or auto: GPUs if there are any, else the CPU.")
	TEXT(engines, "all", false,
	     "Further engines that a job may name: all, or a list separated by commas; empty: none. Their devices are "
	     "opened when the first job needs them.")
	WORD(workers, workers, "gpus", false,
	     "Which devices are processes of their own: gpus, all (the CPU engine, too), off, or remote: this machine has "
	     "none, and jobs are computed by workers on others only (worker_listen). If such a process ends, by "
	     "a fault of its GPU or otherwise, the server and other devices go on; it is started again, and its jobs go on "
	     "from their checkpoints. With off, a fault that makes a GPU unusable for the process restarts the server.")
	TEXT(worker_listen, "", false,
	     "Address and port on which workers of other machines connect (spacelandd --worker --connect), over TLS and "
	     "with a token that spaceland admin worker-token makes: 0.0.0.0:7072. Their devices compute jobs like those "
	     "of this machine. Port 0 takes any free port. Empty: no such workers.")
	TEXT(worker_host, "", false,
	     "Name by which they reach this machine, for scripts that the server writes. Empty: the address of "
	     "worker_listen, or this machine's host name if that is 0.0.0.0 or [::].")
	TEXT(worker_tls_certificate, "", false,
	     "File of the certificate (PEM) of that port. Empty: the one in tls_certificate; without it, one that the "
	     "server makes and keeps in STATE_DIR/worker.pem, which workers recognise by its pin.")
	TEXT(worker_tls_key, "", false, "File of that certificate's private key (PEM, without a passphrase).")
	NUMBER(worker_grace_s, 5, 86400, "60", "s", true,
	       "How long a worker of another machine may be unheard, for example since the network is down. It computes "
	       "on, and goes on if it comes back in time; then its jobs go on elsewhere, from their checkpoints.")
	TEXT(plugin_dir, "", false,
	     "Folder of spaceland-cuda.so. Empty: beside the program, then ../lib/spaceland from there.")
	INT(threads, 0, 4096, "0", "", false, "Threads of the CPU engine and of the hybrid engines. 0: one for each "
	    "core.")
	INT(gpus_per_device, 1, 16, "1", "", false,
	    "GPUs that engine cuda uses as one device: they compute large graphs together, by NCCL, with the layouts that "
	    "one computes. The last device has the GPUs that are left.")
	INT(divide_nodes, 2, 1000000000, "500000", "", false,
	    "Nodes from which such a device divides a graph among its GPUs, and points from which it divides k-means; the "
	    "first of them computes smaller ones, for which exchanges would take longer than they save.")
	NUMBER(slice_ms, 1, 10000, "10", "ms", false,
	       "Length of a slice: the compute time that a job gets before the next job runs. Commands (a new job, "
	       "pausing, steering, cancelling) act after about a quarter of it.")
	BYTES(plan_cache_bytes, MIB, TIB, "256 MiB", false,
	      "Memory for cached FFT plans and kernel spectra, for each device.")
	BYTES(device_memory_bytes, 0, 1024 * TIB, "0", false,
	      "Memory for graphs and embeddings, on each GPU or for the CPU. 0: nine tenths of the free memory of a GPU; "
	      "for the CPU, half of the host's memory.")
	NUMBER(checkpoint_interval_s, 0, 86400, "30", "s", true,
	       "Time between two checkpoints of a running job, from which it continues after a crash. 0: only when the "
	       "daemon is stopped.")

	INT(slurm_max_workers, 0, 64, "0", "", true,
	    "Maximum number of allocations that the server may have in Slurm at the same time, waiting ones "
	    "included. Each runs a worker, for jobs whose engine is slurm (docs/cluster.md). 0: none; at the "
	    "start, this means that the engine is not offered.")
	WORD(slurm_engine, slurm_engines, "cuda", false,
	     "Engine with which the workers compute. This machine needs its plug-in, for forecasts, but no GPU.")
	TEXT(slurm_partition, "", true,
	     "Partition for allocations. Empty: Slurm's default.")
	TEXT(slurm_qos, "", true,
	     "Quality of service (QOS) of allocations. Empty: the account's default.")
	TEXT(slurm_account, "", true,
	     "Accounts of projects, and one for all other jobs: lab, genes=g123, cells=c7. An allocation is "
	     "charged to the account of the job for which it is requested. Empty: the default account of the user "
	     "that runs the server.")
	TEXT(slurm_gres, "", true,
	     "Generic resources of an allocation, as in sbatch --gres: gpu:1, gpu:a100:1. Empty: none.")
	INT(slurm_cpus, 0, 4096, "0", "", true,
	    "Processors of an allocation (sbatch --cpus-per-task). 0: Slurm's default.")
	NUMBER(slurm_time_s, 0, 31536000, "0", "s", true,
	       "Time limit of an allocation; jobs that are not done by then go on in another one. 0: the "
	       "partition's.")
	BYTES(slurm_memory_bytes, 0, 1024 * TIB, "0", true,
	      "Memory of an allocation. 0: as the largest of the waiting jobs will need, and 1 GiB at least.")
	TEXT(slurm_arguments, "", true,
	     "Further arguments of sbatch, separated by blanks: --constraint=a100 --exclusive.")
	TEXT(slurm_prologue, "", true,
	     "Commands of the batch script before the worker starts: module load cuda/12. Empty: none.")
	TEXT(slurm_program, "", true,
	     "Path of spacelandd on the nodes. Empty: that of this server's program.")
	TEXT(slurm_cache_dir, "", true,
	     "Folder on the nodes where workers keep the graphs and points that they have fetched; it may have variables: "
	     "$TMPDIR/spaceland. Empty: ~/.cache/spaceland/worker.")
	TEXT(slurm_output, "", true,
	     "File for what workers print, as in sbatch --output: /shared/spaceland/slurm-%j.log. Empty: it is "
	     "not kept.")
	TEXT(slurm_bin_dir, "", true,
	     "Folder of sbatch, squeue and scancel. Empty: those that the PATH of the server has.")
	TEXT(slurm_rest_url, "", true,
	     "Address of slurmrestd, which is then asked instead of sbatch, squeue and scancel: http://head:6820, "
	     "https://head:6820, or unix:/run/slurmrestd.socket. Empty: these programs.")
	TEXT(slurm_rest_token_file, "", true,
	     "File with the JSON web token for slurmrestd, as `scontrol token` prints it. It is read for each request, "
	     "so it may be renewed at any time.")
	NUMBER(slurm_idle_s, 0, 1e6, "120", "s", true,
	       "How long a worker stays without any job before its allocation ends.")
	NUMBER(slurm_interval_s, 1, 3600, "10", "s", true,
	       "Shortest time between two listings of Slurm's queue. One listing is for all jobs; while Slurm "
	       "does not answer, the time grows.")
	INT(slurm_max_losses, 1, 1000, "5", "", true,
	    "A job fails when it has lost its worker so often without getting further meanwhile.")

	NUMBER(frame_rate, 0.1, 240, "10", "1/s", true, "Maximum number of frames per second of a running job.")
	INT(frame_max_points, 0, 4294967295.0, "0", "", true,
	    "Maximum number of points in a published frame; larger graphs are sampled evenly. 0: no limit.")
	INT(zmq_high_water_mark, 1, 1000000, "64", "jobs", false,
	    "Number of jobs whose newest frame waits for a ZeroMQ subscriber that is still reading another frame. "
	    "Final frames always wait.")
	INT(max_subscribers, 1, 10000, "256", "", false, "Maximum number of ZeroMQ subscribers at the same time.")

	INT(max_connections, 4, 65000, "1024", "", false,
	    "Maximum number of HTTP connections at the same time. Beyond it, the connection that has been idle longest "
	    "is closed. When all are busy, /v1/health and /metrics are still answered, and other requests get 503.")
	INT(max_connections_per_address, 0, 65000, "0", "", true,
	    "Maximum number of HTTP connections of one client address, or IPv6 network (/64), at the same time. 0: half of "
	    "max_connections; all of them for loopback, which a proxy or many users may share.")
	BYTES(max_upload_bytes, KIB, 16 * TIB, "8 GiB", true, "Largest upload, as sent.")
	BYTES(upload_memory_bytes, 0, 1024 * TIB, "0", true,
	      "Memory that all uploads together may use while they are read and stored. It is booked before it is "
	      "used; an upload that needs more is refused. One user's may use three quarters of it. Large uploads wait "
	      "for each other. 0: half of the host's memory.")
	BYTES(request_memory_bytes, 0, 1024 * TIB, "0", true,
	      "Memory that the bodies of all requests together may use, from their first byte until they have been "
	      "read; one user's may use a quarter of it. Uploads beyond it go to files, and other requests get 503. 0: "
	      "an eighth of the host's memory.")
	BYTES(reply_memory_bytes, 0, 1024 * TIB, "0", false,
	      "Memory that all replies longer than 256 KiB together may use while they are made and sent; one user's "
	      "may use a quarter of it. Arrays as .npy are sent from files and need none. 0: a quarter of the host's "
	      "memory.")
	BYTES(max_decompressed_bytes, KIB, 16 * TIB, "64 GiB", true,
	      "Largest uploaded file after gzip or zstd decompression.")
	BYTES(max_request_bytes, KIB, GIB, "1 MiB", true, "Largest body of a request that is not an upload.")
	INT(max_nodes, 1, 4294967294.0, "200000000", "", true, "Maximum number of nodes of a graph, and of points of a "
	    "table.")
	INT(max_entries, 1, 1e18, "8000000000", "", true,
	    "Maximum number of entries of a graph (an edge has two), and of numbers in a table of points.")
	INT(max_columns, 1, 4294967294.0, "1000000", "", true, "Maximum number of columns of a table of points.")
	INT(max_neighbours, 1, 65535, "3000", "", true,
	    "Maximum number of neighbours searched for each point. A job needs three times its perplexity.")
	INT(max_exact_nodes, 1, 4294967294.0, "50000", "", true,
	    "Maximum number of nodes in a job with exact repulsion, whose cost grows with the square of that number.")
	INT(max_graphs, 1, 1e9, "10000", "", true,
	    "Maximum number of stored graphs. One user may have a quarter of them.")
	INT(max_jobs, 1, 1e6, "1024", "", true,
	    "Maximum number of unfinished jobs: queued, running or paused. One user may have a quarter of them.")
	NUMBER(max_job_seconds, 0, 1e9, "0", "s", true,
	       "How long a job may be running, by the clock; pauses and waiting do not count. Then it ends, and its "
	       "present layout is its result. A project may have a shorter limit (job_seconds), and so may a job "
	       "(time_limit). 0: no limit.")
	INT(max_layouts, 1, 1e6, "256", "", true,
	    "Maximum number of uploaded layouts, from which jobs can start. One user may have a quarter of them.")
	NUMBER(layout_lifetime_s, 1, 31536000, "3600", "s", true,
	       "How long an uploaded layout is kept. An accepted job has its own copy.")
	INT(max_streams, 1, 65000, "256", "", true, "Maximum number of event and frame streams open at the same time, with "
	    "long polls and requests that wait for the end of a job. One user may have a quarter of them.")
	NUMBER(request_timeout_s, 1, 86400, "120", "s", false,
	       "How long a connection may be idle, a request may take to arrive (a long body may take longer, at 4 KiB "
	       "or more a second), and a request may wait for its reply.")

	NUMBER(shutdown_grace_s, 0, 3600, "0", "s", true,
	       "How long the server goes on serving after SIGTERM, while /v1/health/ready answers 503 and new jobs are "
	       "refused, so that load balancers and proxies send nothing more when the port closes. A second signal ends "
	       "this time.")

	NUMBER(user_device_seconds, 0, 1e9, "0", "s", true,
	       "Device time that a user may use in 24 hours. Beyond it, new jobs are refused, and jobs that have no "
	       "place on a device yet wait. This and the following limits apply to users with their own tokens, but "
	       "not to administrators; 0 means no limit. spaceland user limits sets other limits for one user.")
	BYTES(user_device_bytes, 0, 1024 * TIB, "0", true,
	      "Device memory that a user's jobs may use at the same time; further jobs wait.")
	BYTES(user_disk_bytes, 0, 1024 * TIB, "0", true,
	      "Disk space for a user's graphs and layouts. A graph with several owners counts for each of them.")
	INT(user_queued_jobs, 0, 1e6, "0", "", true, "Maximum number of a user's jobs that are queued or paused.")
	INT(user_running_jobs, 0, 1e6, "0", "", true, "Maximum number of a user's jobs that have a place on a device; "
	    "further jobs wait.")
	BYTES(user_upload_bytes, 0, 16 * TIB, "0", true, "Largest upload of a user, as sent.")
	NUMBER(user_requests_per_second, 0, 1e6, "0", "1/s", true,
	       "Maximum number of a user's requests per second. Twice as many may come at once.")
	INT(user_streams, 0, 65000, "0", "", true, "Maximum number of a user's event and frame streams open at the "
	    "same time.")

	BYTES(graph_memory_bytes, 0, 1024 * TIB, "4 GiB", true,
	      "Host memory for loaded graphs that no job uses. Beyond it, the least recently used ones are unloaded. "
	      "Pinned graphs stay.")
	NUMBER(share_half_life_s, 1, 1e9, "3600", "s", true,
	       "The next place for a large job goes to the user who has used the least device time. Used time counts "
	       "half after this time, a quarter after twice this time, and so on.")
	NUMBER(result_retention_s, 0, 1e10, "2592000", "s", true,
	       "How long finished jobs and their results are kept. 0: without limit. Jobs that are kept (spaceland job "
	       "keep) or whose project is, and jobs with a public link stay. A changed value that would delete results "
	       "within a day, sooner than the old one, takes effect only when an administrator confirms it (spaceland "
	       "admin retention).")
	INT(max_finished_jobs, 0, 1e9, "10000", "", true,
	    "Maximum number of finished jobs; beyond it, the oldest are removed. Those that stay (result_retention_s) do "
	    "not count; a user may keep a quarter of this number. 0: no limit. A lower value must be confirmed likewise.")
	BYTES(max_state_bytes, 0, 1024 * TIB, "0", true,
	      "Maximum size of the state folder. Beyond it, results of finished jobs and graphs are removed, least "
	      "recently used first, until the folder is at nine tenths of this size. Pinned graphs, graphs of "
	      "unfinished jobs, and jobs that are kept or have a public link stay, with their graphs. Uploads that are "
	      "being received or unpacked may take a quarter of this size in addition. 0: no limit.")
	BYTES(low_disk_bytes, 0, 1024 * TIB, "1 GiB", true,
	      "Free space on the disk of the state folder below which /v1/health/ready answers 507, so that somebody is "
	      "told before uploads are refused. On small disks a twentieth of their size counts, if it is less. 0: off.")
	NUMBER(collect_after_s, 0, 1e10, "3600", "s", true,
	       "Graphs and results used within this time are not removed for max_state_bytes.")

#undef TEXT
#undef WORD
#undef INT
#undef BYTES
#undef NUMBER
