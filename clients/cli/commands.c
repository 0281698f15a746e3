/* commands.c -- the table of sub-commands: names, arguments, options, texts; commands/files/methods.c adds those of
 * methods. */
#include <stdlib.h>
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/commands/options.h"
#include "core/engine/load.h"

#define ANY 1000000

/* Options of uploads; CLI_INPUT_PARAMS adds those that describe the input. */
#define UPLOAD_OPTIONS \
	{0, "name", "NAME", "Name of the graph on the server, and of the job of embed. Default: the file's name."}, \
	LABELS_OPTIONS

#define PROJECT_OPTION \
	{0, "project", "PROJECT", "Project that this counts for; none: no project. Default: your default project."}

#define USER_OPTION {'u', "user", "USER", "Only what this user owns; of deleted users give the id."}

#define TIME_LIMIT_OPTION \
	{0, "time-limit", "TIME", CLI_TIME_LIMIT_TEXT}

#define JOB_OPTIONS \
	{0, "init", "HOW", "Start from: random (Gaussian), spectral (slowest modes of the random walk on the graph), pca " \
	 "(points: along their principal axes), an .npy file of shape (nodes, dims), or the id of a finished job on the " \
	 "same graph."}, \
	{0, "engine", "NAME", "What computes: " SL_ENGINES_TEXT ". auto: what the server is " \
	 "configured for; without a server a GPU if there is one. Default: auto."}, \
	TIME_LIMIT_OPTION

#define GPUS_OPTION(only) \
	{0, "gpus", "N", only "a number of GPUs that compute the layout together, 1 to 16, or auto: as many as save time " \
	 "or are needed for their memory. The layout is the same. More than one need engine cuda and NCCL. Default: auto."}

static const struct cli_option embed_options[] = {
	RESULT_OPTIONS, UPLOAD_OPTIONS, JOB_OPTIONS, PROJECT_OPTION,
	{0, "local", NULL, "Compute in this process, without a server."},
	{0, "threads", "N", "With --local: number of threads. Default: one for each processor."},
	GPUS_OPTION("With --local: "),
	{0, NULL, NULL, NULL},
};

static const struct cli_option graph_add_options[] = {
	UPLOAD_OPTIONS,
	{0, "columns", "TABLE", "Set the columns of this CSV or TSV file afterwards, of any kind, as graph columns does."},
	{0, "together", NULL, "The files are one table or graph: texts with the same columns, or .npy arrays of the same "
			"columns and type."},
	PROJECT_OPTION,
	{0, NULL, NULL, NULL},
};

static const struct cli_option submit_options[] = {
	JOB_OPTIONS,
	{0, "name", "NAME", "Name of the job, for people."},
	{0, "priority", "N", "-10 to 10; each step doubles the job's share of its device. Default: 0."},
	{0, "after", "JOB", "Start when this job is done; with --init of the same job, start from its layout."},
	PROJECT_OPTION,
	{0, "dry-run", NULL, "Submit nothing; print the engine, memory and time that the job would take."},
	{'w', "watch", NULL, "Watch the job until it ends."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option fetch_options[] = {
	RESULT_OPTIONS,
	{0, "trace", "FILE", "Write the trace (KL divergence, gradient norm and extent during the run) to this file, "
	 "as JSON."},
	{0, NULL, NULL, NULL},
};

#define FILE_OPTION {'o', "output", "FILE", \
	"Write the result to this file: .npy, .csv or .json; - is .npy to standard output."}

static const struct cli_option job_predict_options[] = {
	FILE_OPTION,
	{0, "give", "WORD", "labels (the most likely component of each point), responsibilities (the probability of each "
	 "component), or log_likelihoods (the logarithm of the density). Default: labels."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option job_sample_options[] = {
	FILE_OPTION,
	{0, "count", "N", "Number of points. Default: 100."},
	{0, "seed", "N", "The same seed gives the same points. Default: 0."},
	{0, "give", "WORD", "points, or labels: the component that each point is drawn from. Default: points."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option generate_options[] = {
	{'o', "output", "FILE", "Write the graph to this file, in MatrixMarket's format."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option job_list_options[] = {
	{0, "state", "STATE", "Only jobs that are queued, running, paused, done, failed or cancelled."},
	{0, "graph", "GRAPH", "Only jobs on this graph."},
	USER_OPTION,
	{0, NULL, NULL, NULL},
};

static const struct cli_option queue_options[] = {USER_OPTION, {0, NULL, NULL, NULL}};

static const struct cli_option steer_options[] = {
	{0, "priority", "N", "-10 to 10; each step doubles the job's share of its device."},
	{0, "name", "NAME", "Name of the job, for people."},
	{0, "time-limit", "TIME", "When it has been running for so long, also before now, it ends with its present layout: "
	 "2h, 90min; none: no limit of its own."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option quality_options[] = {
	{0, "graph", "FILE", "The layout is a file; it was made from the graph in this file."},
	{0, "points", "FILE", "The layout is a file; it was made from the points in this file."},
	{0, "neighbours", "FILE", "The layout is a file; it was made from the neighbours in this file (indices and "
	 "distances, .npz)."},
	LABELS_OPTIONS,
	{0, "k", "N", "Number of neighbours for recall and trustworthiness, 1 to 256. Default: 10."},
	{0, "metric", "WORD", "With --points: euclidean, cosine, correlation, inner_product, l1, lp, linf, hamming or "
	 "jaccard. Default: euclidean."},
	{0, "metric-p", "X", "With --metric lp: the exponent. Default: 2."},
	{0, "perplexity", "X", "With --points or --neighbours: perplexity for the KL divergence. Default: 30."},
	{0, "lambda", "X", "With --graph: lambda for the KL divergence. Default: 10."},
	{0, "dof", "X", "With a layout in a file: degrees of freedom of its kernel. Default: 1."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option transform_options[] = {
	{'o', "output", "FILE", "Write the positions of the new points to this file: .npy (float32, one row per point), "
	 ".csv or .json."},
	{0, "points", "FILE", "The layout is an .npy file, made from the points in this file; no server is needed."},
	{0, "metric", "WORD", "With --points: euclidean, cosine, correlation, inner_product, l1, lp, linf, hamming or "
	 "jaccard. Default: euclidean."},
	{0, "metric-p", "X", "With --metric lp: the exponent. Default: 2."},
	{0, "pca", "N", "With --points: the layout was made from their first N principal components. New points may have "
	 "the original columns, or N columns."},
	{0, "dof", "X", "With --points: degrees of freedom of the layout's kernel. Default: 1."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option graph_labels_options[] = {
	{0, "order", "LIST", "The categories in the order of legends, separated by commas, or @FILE with one a line. Those "
	 "that are not named follow as they are."},
	{0, "colors", "LIST", "Their colours, as #rrggbb in the order of legends, or as CATEGORY=#rrggbb for some of them; "
	 "separated by commas, or @FILE with one a line."},
	{0, "reset", NULL, "The server's order and colours again: the category of most nodes comes first and has the first "
	 "colour."},
	{0, "rename", "NAME", "Another name of the column."},
	{0, "delete", NULL, "Delete the column."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option graph_columns_options[] = {
	{0, "name", "NAME", "The name of the one column that FILE has: an array, a zip or a folder of images."},
	{0, "columns", "LIST", "Columns of a text to set, by title or number, separated by commas. Default: all."},
	{0, "kind", "KIND", "category, number, date, text or link for all columns, or TITLE:KIND for some, separated by "
			"commas. "
	 "Default: recognised by all values."},
	{0, "delete", "NAME", "Delete a column."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option graph_rows_options[] = {
	{0, "search", "WORDS", "Words that must all be in the texts of a node: 'neural map', '\"neural map\"' for words "
			"that "
	 "follow each other, 'neur*' for words that begin so."},
	{0, "in", "NAME", "The column of texts to search. Default: all."},
	{0, "range", "RANGES", "Numbers and dates: 'year:1990..2000;day:2020-01-01..', both ends included."},
	{0, "category", "LIST", "'type:cat;type:dog': nodes of these categories."},
	{0, "nodes", "LIST", "Only these nodes, in this order: numbers separated by commas."},
	{0, "sort", "NAME", "A column, -COLUMN for the opposite direction, node or name. Default: node, of a search the "
			"best "
	 "first."},
	{0, "columns", "LIST", "Columns to show, separated by ';'. Default: all."},
	{0, "limit", "N", "Rows to show. Default: 20."},
	{'o', "output", "FILE", "Write all rows as CSV; - for standard output."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option graph_list_options[] = {
	{0, "name", "NAME", "Only graphs of exactly this name."},
	USER_OPTION,
	{0, NULL, NULL, NULL},
};

static const struct cli_option bench_options[] = {
	{0, "nodes", "N", "Instead of FILE: make a graph of N nodes, from --seed."},
	{0, "synthetic", "KIND", "Its kind: clusters, mesh, random, small_world or attachment. Default: clusters."},
	{0, "neighbours", "K", "Number of neighbours per node, with --nodes or if FILE has points."},
	{0, "engine", "NAME", SL_ENGINES_TEXT "; auto: a GPU if there is one. Default: auto."},
	{0, "threads", "N", "Threads to compute with. Default: one for each processor."},
	GPUS_OPTION(""),
	{0, "repeat", "N", "How many times to run the job. Default: 3."},
	{0, "stretches", NULL, "Report every 50 iterations on standard error."},
	{0, "no-phases", NULL, "Do not measure phases and copy bandwidth."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option view_options[] = {
	{0, "no-browser", NULL, "Only print the address."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option admin_gc_options[] = {
	{0, "dry-run", NULL, "Remove nothing, and list what would be removed."},
	{0, "bytes", "SIZE", "Size to reach, for example 200GB. Default: the server's max_state_bytes."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option admin_retention_options[] = {
	{0, "confirm", NULL, "Put the options that are to be confirmed into force."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option admin_banner_options[] = {
	{0, "until", "TIME", "When it ends: for example 12h, or 2026-12-24T18:00:00Z. Default: when it is removed."},
	{0, "remove", NULL, "Remove the banner."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option admin_drain_options[] = {
	{0, "by", "TIME", "When jobs that still run are saved: for example 2h, 0s (now), or 2026-12-24T18:00:00Z. Default: "
	 "they finish."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option job_names_options[] = {
	{0, "columns", "LIST", "Columns to name from, with ; between them. Default: texts and categories."},
	{0, "of", "JOB", "Name the clusters of this job kmeans or gmm, not the density peaks of the layout."},
	{0, "level", "N", "Only this level, from 0, the coarsest."},
	{0, "set", "CLUSTER=NAME", "Give a cluster (its id) a name; nothing behind = gives the automatic name back."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option keep_options[] = {
	{0, "no", NULL, "No longer keep them."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option admin_accounting_options[] = {
	{0, "from", "DAY", "First day, in UTC: 2026-11-28."},
	{0, "to", "DAY", "Last day, included. Default: today."},
	{0, "by", "WHAT", "One or several of day, user and project, with commas between them. Default: user."},
	{'u', "user", "USER", "Only this user."},
	{0, "project", "PROJECT", "Only this project."},
	{0, "csv", NULL, "Print CSV."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option admin_audit_options[] = {
	{'u', "user", "USER", "Only what this user did: whoever had the name then, or has it now. An id names one person."},
	{0, "object", "ID", "Only what was done to the graph, job, batch or layout of this id, or to a user or a project."},
	{0, "since", "TIME", "From this time on: a date, 2026-11-28, or a time in UTC, 2026-11-28T10:30:00Z."},
	{0, "until", "TIME", "Before this time, likewise."},
	{0, "limit", "N", "At most so many, the last ones. Default: 100."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option admin_worker_token_options[] = {
	{0, "name", "NAME", "For people: where the token is used."},
	{0, "days", "N", "Days until it expires. Default: never."},
	{0, "list", NULL, "List the tokens instead, and where workers connect."},
	{0, "revoke", "ID", "Revoke this one instead: its workers end, and their jobs go on from checkpoints."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option admin_top_options[] = {
	{0, "by", "WHAT", "user or project. Default: user."},
	{0, "sort", "COLUMN", "device_seconds, device_bytes, disk_bytes, running_jobs, queued_jobs, jobs or graphs. "
	 "Default: device_seconds."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option project_add_options[] = {
	{0, "share", "N", "Weight among projects: a project with 2 gets twice as much device time as one with 1. Default: "
	 "1."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option project_member_options[] = {
	{0, "remove", NULL, "Remove these users from the project."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option user_add_options[] = {
	{0, "role", "ROLE", "reader, user or administrator. Default: user."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option token_rotate_options[] = {
	{0, "days", "N", "Days until the new one expires. Default: the life of the old one, which is also the most."},
	{0, "overlap", "SECONDS", "Time for which the old one stays valid, for example 1h. Default: 1h."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option user_delete_options[] = {
	{0, "data", NULL, "Delete the user's jobs, graphs and layouts, too."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option user_list_options[] = {
	{0, "deleted", NULL, "Only deleted users who still own something."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option user_transfer_options[] = {
	{0, "dry-run", NULL, "Change nothing; print how many things would be transferred."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option user_token_options[] = {
	{0, "name", "NAME", "Name of the token, for people: the machine or the program that uses it."},
	{0, "days", "N", "Days until it expires. Default: never."},
	{0, NULL, NULL, NULL},
};

static const struct cli_option batch_options[] = {
	{0, "name", "NAME", "Name of the batch, for people; the jobs' names begin with it."},
	{0, "priority", "N", "-10 to 10; each step doubles a job's share of its device. Default: 0."},
	{0, "engine", "NAME", "What computes: " SL_ENGINES_TEXT "."},
	{0, "after", "JOB", "Start when this job is done."},
	TIME_LIMIT_OPTION,
	PROJECT_OPTION,
	{0, NULL, NULL, NULL},
};

static const struct cli_option share_options[] = {
	{0, "with", "USERS", "Users who may see it besides its owners: names separated by commas."},
	{0, "projects", "PROJECTS", "Projects whose members may see it: names separated by commas."},
	{0, "everybody", NULL, "Everybody who has a token may see it."},
	{0, "nobody", NULL, "Only its owners, and people with a link, may see it."},
	{0, "link", NULL, "Make a link to a job and print its address."},
	{0, "expires", "TIME", "With --link: time until it expires, for example 12h or 30d. Default: 7d."},
	{0, "name", "NAME", "With --link: the name of the link, for people."},
	{0, "labels", "COLUMNS", "With --link: columns of labels that it shows, separated by commas. Default: none."},
	{0, "names", NULL, "With --link: it shows the names of the nodes."},
	{0, "list", NULL, "Show who may see it, and its links."},
	{0, "revoke", "LINK", "Revoke the link with this id."},
	{0, NULL, NULL, NULL},
};

static const struct cli_command table[] = {
	{"admin accounting", "", 0, 0, "show what users and projects have used",
	 "Show device time, ended jobs and disk by user and project, since 400 days ago or --from. Disk is in days: 1 GB "
	 "that was held for ten days is 10 GB. GPU HOURS are those of allocations of a cluster. Others than administrators "
	 "see their own.", admin_accounting_options, CLI_NO_PARAMS, true, cmd_admin_accounting},
	{"admin audit", "", 0, 0, "show who changed what",
	 "Show changes and refusals from the server's audit log, oldest first, also from rotated files: the last 100, or "
	 "those that the options choose. For administrators.", admin_audit_options, CLI_NO_PARAMS, true, cmd_admin_audit},
	{"admin backup", "[NAME]", 0, 1, "make a backup of a server while it runs",
	 "Copy all data of the server, as of one moment after the request, to the folder NAME in the server's backup_dir; "
	 "wait until the copy is complete, and print its path on the server. Without NAME, the folder is named after the "
	 "time. For administrators. To restore, start spacelandd with a copy of that folder as its state folder.",
	 NULL, CLI_NO_PARAMS, true, cmd_admin_backup},
	{"admin banner", "[TEXT]", 0, 1, "show a text to everybody",
	 "Set a text that the dashboard, this program and Python show to all users of the server. Without TEXT, show the "
	 "banner, and whether the server is drained.", admin_banner_options, CLI_NO_PARAMS, true, cmd_admin_banner},
	{"admin drain", "[REASON]", 0, 1, "take no new jobs, before maintenance",
	 "Drain the server: it takes no new jobs, starts no waiting ones, and is not ready for load balancers. Running "
	 "jobs finish, or are saved at the time of --by, and go on from there later. This lasts until spaceland admin "
	 "undrain, also over restarts. Users see REASON.", admin_drain_options, CLI_NO_PARAMS, true, cmd_admin_drain},
	{"admin gc", "", 0, 0, "remove the least recently used results and graphs",
	 "Remove graphs, and results of jobs that have ended, the least recently used first, until the server's state "
	 "folder has at most max_state_bytes, or --bytes. The server does so by itself when the folder exceeds "
	 "max_state_bytes. It keeps pinned graphs, graphs of jobs that have not ended, jobs that are kept or have a public "
	 "link, and graphs and results that were used recently (collect_after_s).",
	 admin_gc_options, CLI_NO_PARAMS, true, cmd_admin_gc},
	{"admin retention", "", 0, 0, "show how long results are kept, or confirm a change",
	 "Show how long the server keeps jobs that have ended (result_retention_s, max_finished_jobs), how many of them "
	 "expire soon, and changes of these options that are to be confirmed. A change that would delete results within a "
	 "day takes effect only when an administrator confirms it (--confirm).",
	 admin_retention_options, CLI_NO_PARAMS, true, cmd_admin_retention},
	{"admin top", "", 0, 0, "list users or projects by what they use",
	 "List users, or projects, with the device time that they used in the last 24 hours, the device memory and the "
	 "disk that they use now, and their jobs and graphs; the largest first. -: what belongs to nobody. For "
	 "administrators.",
	 admin_top_options, CLI_NO_PARAMS, true, cmd_admin_top},
	{"admin undrain", "", 0, 0, "take jobs again, after maintenance", "End what spaceland admin drain has begun.", NULL,
	 CLI_NO_PARAMS, true, cmd_admin_undrain},
	{"admin worker-token", "", 0, 0, "make, list or revoke tokens of workers on other machines",
	 "Make a token for workers on other machines and print it, once. A worker is started there by spacelandd --worker "
	 "--connect HOST:PORT --token-file FILE --pin PIN; this command says which place and pin. Whoever has the token "
	 "gets the data of all users' jobs, and nothing else. For administrators.", admin_worker_token_options,
	 CLI_NO_PARAMS, true, cmd_admin_worker_token},
	{"batch cancel", "BATCH", 1, 1, "cancel all jobs of a batch, or delete one that has ended",
	 "Cancel the jobs of a batch that have not ended. When all have ended, delete the batch with its jobs.", NULL,
	 CLI_NO_PARAMS, true, cmd_batch_cancel},
	{"batch list", "", 0, 0, "list batches",
	 "List batches, newest first, with the number of their jobs in each state.", NULL, CLI_NO_PARAMS, true,
	 cmd_batch_list},
	{"batch show", "BATCH", 1, 1, "compare the jobs of a batch",
	 "Show the jobs of a batch side by side: the parameters that differ, state, KL divergence, time.", NULL,
	 CLI_NO_PARAMS, true,
	 cmd_batch_show},
	{"batch submit", "GRAPH PARAMETER=VALUE,...", 2, ANY, "submit a job for each combination of values",
	 "Submit jobs on a graph that is on the server, one for each combination of the given values, for example "
	 "perplexity=10,30,100 seed=1,2. The server accepts all jobs or none. Options hold for all jobs. The batch's id is "
	 "printed.",
	 batch_options, CLI_ALL_PARAMS, true, cmd_batch_submit},
	{"bench", "[FILE]", 0, 1, "measure an engine on a graph",
	 "Run the same job several times on the graph or the points in FILE, or on a graph of --nodes and --neighbours, "
	 "and print the time of an iteration, the time and the memory traffic of each of its phases, the time of the "
	 "steps before the first iteration, and the memory in use. No server is needed.\n\n"
	 "The first run makes FFT plans that the others reuse, so with several runs the figures for an iteration leave the "
	 "first one out. A phase's memory traffic is also given as a share of the speed at which the device copies its own "
	 "memory, measured at the same time.",
	 bench_options, CLI_ALL_PARAMS | CLI_INPUT_PARAMS, false, cmd_bench},
	{"embed", "FILE...", 1, ANY, "lay out a graph or a table of points: upload, compute, fetch",
	 "Lay out the graph, the points or the neighbours in FILE. Several files are read as one: texts with the same "
	 "columns, which their titles show, or .npy arrays of the same columns and type; rows are numbered on from file to "
	 "file.\n\nThe command uploads the file (the server stores the "
	 "same graph only once), submits a job, watches it, and writes the results to the files of -o and --picture. "
	 "Without these options the results stay on the server, for job fetch. An interrupt cancels the job. With --json, "
	 "the last thing on standard output is one object with nodes, entries, dims, iterations, kl, seconds: read, "
	 "search (of neighbours), prepare, embed and total, and notes: what was left out, guessed or changed.",
	 embed_options, CLI_ALL_PARAMS | CLI_INPUT_PARAMS, true, cmd_embed},
	{"generate", "SHAPE", 1, 1, "write a line, a ring, a grid or a torus as a graph",
	 "Write a graph of a regular shape: line:10000, ring:10000, grid:200x100 or torus:200x100. Node i of a grid is in "
	 "row i / 200 and column i % 200. Without -o to standard output.", generate_options, CLI_NO_PARAMS, false,
	 cmd_generate},
	{"graph add", "FILE...", 1, ANY, "upload graphs, points, neighbours",
	 "Upload each FILE and print the graph's id. The neighbours of points are searched in the background; jobs wait "
	 "for them.\n\nIf the server already has the same graph, under any name, it does not store it again.",
	 graph_add_options, CLI_INPUT_PARAMS, true, cmd_graph_add},
	{"graph columns", "GRAPH [FILE]", 1, 2, "list or set columns of any kind of a graph",
	 "List the columns of a graph: categories, numbers, dates, texts, links and images. With FILE, set them: all "
			"columns of "
	 "a CSV or TSV file, joined by the nodes' names or numbers; or, with --name, an array (.npy), a zip or a folder "
			"of images "
	 "that are called by the nodes' names or numbers, or an array of uint8 images (n x height x width).",
	 graph_columns_options, CLI_NO_PARAMS, true, cmd_graph_columns},
	{"graph labels", "GRAPH [COLUMN]", 1, 2, "show, order and colour labels of a graph",
	 "List the columns of labels of a graph or, of a column, its categories in the order of legends, with their "
	 "numbers of nodes and their colours. The options change the column for all users, legends and pictures.",
	 graph_labels_options, CLI_NO_PARAMS, true, cmd_graph_labels},
	{"graph list", "", 0, 0, "list the graphs on the server",
	 "List the graphs on the server, newest first.", graph_list_options, CLI_NO_PARAMS, true, cmd_graph_list},
	{"graph rm", "GRAPH...", 1, ANY, "delete graphs",
	 "Delete graphs from the server. One with jobs that have not ended is not deleted; results of jobs that have "
	 "ended stay.", NULL, CLI_NO_PARAMS, true, cmd_graph_rm},
	{"graph rows", "GRAPH", 1, 1, "find nodes by the values of their columns",
	 "Show the nodes that meet all conditions, with the values of their columns, or write all of them as CSV.",
	 graph_rows_options, CLI_NO_PARAMS, true, cmd_graph_rows},
	{"graph show", "GRAPH", 1, 1, "show a graph",
	 "Show a graph: its size, the irregularities found while it was read, and how they were "
	 "treated.", NULL, CLI_NO_PARAMS,
	 true, cmd_graph_show},
	{"job cancel", "JOB...", 1, ANY, "cancel jobs",
	 "Cancel jobs that have not ended. They stay listed. A job that is done or failed stays as it is, and is reported; "
	 "cancelling twice does no harm.", NULL,
	 CLI_NO_PARAMS, true, cmd_job_cancel},
	{"job fetch", "JOB", 1, 1, "fetch the results of a job",
	 "Write results of a finished job to the given files.", fetch_options, CLI_NO_PARAMS, true,
	 cmd_job_fetch},
	{"job keep", "JOB...", 1, ANY, "keep jobs that would be deleted because of their age",
	 "Keep jobs: the server does not delete them because of their age (result_retention_s), their number "
	 "(max_finished_jobs) or to make room (max_state_bytes). spaceland job show tells when a job expires.",
	 keep_options, CLI_NO_PARAMS, true, cmd_job_keep},
	{"job list", "", 0, 0, "list jobs", "List jobs, newest first.", job_list_options, CLI_NO_PARAMS, true,
	 cmd_job_list},
	{"job names", "JOB", 1, 1, "name the clusters of a layout",
	 "Show the clusters of a layout, with names from the columns of its nodes, coarse ones first; or give one a name "
	 "by hand, which the server keeps.", job_names_options, CLI_NO_PARAMS, true, cmd_job_names},
	{"job pause", "JOB...", 1, ANY, "pause jobs", "Pause jobs until they are resumed. Pausing twice does no harm.",
	 NULL, CLI_NO_PARAMS, true, cmd_job_pause},
	{"job predict", "JOB FILE", 2, 2, "apply the model of a job to new points",
	 "Upload the points in FILE, which must have the columns of the job's points, and write their components, "
	 "responsibilities or densities under the mixture of a job gmm (--give). The server does not store the points.",
	 job_predict_options, CLI_COLUMNS_PARAMS, true,
	 cmd_job_predict},
	{"job resume", "JOB...", 1, ANY, "resume paused jobs", "Resume paused jobs.", NULL, CLI_NO_PARAMS, true,
	 cmd_job_resume},
	{"job rm", "JOB...", 1, ANY, "delete jobs that have ended",
	 "Delete jobs that are done, failed or cancelled, with their results. Others are left as they are.", NULL,
	 CLI_NO_PARAMS, true, cmd_job_rm},
	{"job sample", "JOB", 1, 1, "draw points from the model of a job",
	 "Write random points that have the density of the mixture of a job gmm.", job_sample_options, CLI_NO_PARAMS, true,
	 cmd_job_sample},
	{"job show", "JOB", 1, 1, "show a job and its parameters", "Show a job: state, progress and all parameters.", NULL,
	 CLI_NO_PARAMS, true, cmd_job_show},
	{"job steer", "JOB", 1, 1, "change parameters of a job while it runs",
	 "Change parameters of a job that has not ended, from its next iteration on.", steer_options,
	 CLI_STEERABLE_PARAMS, true, cmd_job_steer},
	{"job submit", "GRAPH", 1, 1, "submit a job on a graph that is on the server",
	 "Submit a job on the graph with id GRAPH and print the job's id.", submit_options, CLI_ALL_PARAMS, true,
	 cmd_job_submit},
	{"job watch", "JOB", 1, 1, "watch a job until it ends",
	 "Watch a job until it ends; the exit status shows whether it succeeded. An interrupt ends only the "
	 "watching.", NULL, CLI_NO_PARAMS,
	 true, cmd_job_watch},
	{"project add", "PROJECT [USER...]", 1, ANY, "add a project",
	 "Add a project, a group of users that share limits and a share of the devices. This and the other commands that "
	 "change projects are for administrators.", project_add_options, CLI_NO_PARAMS, true, cmd_project_add},
	{"project job-time", "PROJECT TIME", 2, 2, "limit how long a job of a project may run",
	 "Set how long one job of a project may be running, for example 2h; then it ends, and its present layout is its "
	 "result. 0: no limit.", NULL, CLI_NO_PARAMS, true, cmd_project_job_time},
	{"project keep", "PROJECT", 1, 1, "keep all jobs of a project",
	 "Keep the jobs of a project, as spaceland job keep does for one.", keep_options, CLI_NO_PARAMS, true,
	 cmd_project_keep},
	{"project limits", "PROJECT LIMIT=NUMBER...", 2, ANY, "limit what all members may use together",
	 "Set limits of a project: device_seconds (in 24 hours), device_bytes, disk_bytes, queued_jobs, running_jobs. "
	 "Values may have units: 20GB, 512MiB, 2h. 0 or default: no limit. Jobs that were accepted before stay; those "
	 "beyond a limit wait.", NULL, CLI_NO_PARAMS, true, cmd_project_limits},
	{"project list", "", 0, 0, "list projects",
	 "List the projects of which you are a member, or, for administrators, all of them.", NULL, CLI_NO_PARAMS, true,
	 cmd_project_list},
	{"project member", "PROJECT USER...", 2, ANY, "make users members of a project",
	 "Make users members of a project, or take them out. Members see graphs and jobs that are shared with the "
	 "project, and run jobs for it. The jobs of a member who leaves go on.", project_member_options, CLI_NO_PARAMS,
	 true, cmd_project_member},
	{"project remove", "PROJECT", 1, 1, "remove a project",
	 "Remove a project. Its jobs continue without its limits. Its members no longer see graphs and jobs that were "
	 "shared with it.",
	 NULL, CLI_NO_PARAMS, true, cmd_project_remove},
	{"project share", "PROJECT N", 2, 2, "change a project's share of the devices",
	 "Set the weight of a project: while jobs of several projects run, a project with 2 gets twice as much device time "
	 "as one with 1. Jobs without a project together have the weight 1. The change applies to jobs that start later.",
	 NULL,
	 CLI_NO_PARAMS, true, cmd_project_share},
	{"project show", "PROJECT", 1, 1, "show a project's members, limits and use",
	 "Show the members and limits of a project, and how much of the limits its jobs and graphs "
	 "use.", NULL, CLI_NO_PARAMS, true,
	 cmd_project_show},
	{"quality", "JOB|FILE", 1, 1, "measure the quality of a layout",
	 "Measure the quality of a layout, of a finished job or in an .npy file, compared with its input. The measures are "
	 "KL divergence over all pairs (for more than 100,000 nodes an estimate with its error), recall (the fraction of "
	 "the k nearest neighbours that are among the k nearest in the layout), trustworthiness (points only; 1 if points "
	 "near in the layout are near in the input) and silhouette (with labels; 1 if they are well separated).",
	 quality_options, CLI_FILE_PARAMS, true, cmd_quality},
	{"queue", "", 0, 0, "list the jobs that run or wait",
	 "List the jobs of all users that run, wait or are paused, as far as you may see them, the oldest first: whose "
	 "they are, where they stand in line and what they wait for.", queue_options, CLI_NO_PARAMS, true, cmd_queue},
	{"share", "GRAPH|JOB", 1, 1, "share a graph or a job; make public links",
	 "Share a graph or a job, by its id, with other users or projects, or make a link. Until it expires, everybody who "
	 "has a link sees the job's layout, frames, picture and trace, without a token. The link is printed only once.",
	 share_options, CLI_NO_PARAMS, true, cmd_share},
	{"status", "", 0, 0, "show the server, its devices and its load",
	 "Show the server's version, devices, number of jobs and graphs.", NULL, CLI_NO_PARAMS, true, cmd_status},
	{"transform", "JOB|FILE POINTS", 2, 2, "place new points in a layout",
	 "Place the points in the file POINTS in the layout of a finished job, or in a layout in an .npy file. Each new "
	 "point starts among its nearest neighbours in the old data, and is then moved by gradient descent. The layout "
	 "itself does not change, and new points do not influence each other. New points must have the columns of the old "
	 "ones. If the old points were projected on principal axes, new points are projected, too, unless they have as "
	 "many columns as there are axes.",
	 transform_options, CLI_TRANSFORM_PARAMS | CLI_POINTS_PARAMS, true, cmd_transform},
	{"token add", "", 0, 0, "make another token for yourself",
	 "Make a token for yourself and print it. It is shown only once. It lasts at most as long as the one that you use.",
	 user_token_options, CLI_NO_PARAMS, true, cmd_token_add},
	{"token list", "", 0, 0, "list your tokens", "List your tokens: when they expire and when they were used last.",
	 NULL, CLI_NO_PARAMS, true, cmd_token_list},
	{"token revoke", "TOKEN", 1, 1, "revoke a token of yours", "Revoke one of your tokens, by its id.", NULL,
	 CLI_NO_PARAMS, true, cmd_token_revoke},
	{"token rotate", "[TOKEN]", 0, 1, "replace a token of yours by a new one",
	 "Make a new token with the name and the life of the one that you use, or of the one with this id, and print it. "
	 "The old one stays valid for an hour, or --overlap.", token_rotate_options, CLI_NO_PARAMS, true, cmd_token_rotate},
	{"user add", "USER", 1, 1, "add a user to the server",
	 "Add a user. The server must have a token_file. The commands that change users need a token of that file, or the "
	 "token of an administrator.",
	 user_add_options, CLI_NO_PARAMS, true, cmd_user_add},
	{"user delete", "USER", 1, 1, "delete a user, with or without data",
	 "Delete a user with all tokens and links. What the user owns stays, and waiting jobs wait, until you transfer it "
	 "(spaceland user transfer), delete it (the same command with --data), or restore the user. With --data, jobs are "
	 "cancelled, and all that the user alone owns is deleted as soon as nobody else's job uses it. A user of the same "
	 "name who is added later is another person.", user_delete_options, CLI_NO_PARAMS, true, cmd_user_delete},
	{"user disable", "USER", 1, 1, "keep a user out",
	 "The server refuses the user, also after a login by a proxy, with all tokens and links, and ends the user's "
	 "streams. Running jobs continue; jobs that have no place on a device wait. Limits, tokens and data stay. "
	 "spaceland user enable undoes it.", NULL, CLI_NO_PARAMS, true, cmd_user_disable},
	{"user enable", "USER", 1, 1, "let a disabled user in again",
	 "Undo spaceland user disable.", NULL, CLI_NO_PARAMS, true, cmd_user_enable},
	{"user limits", "USER LIMIT=NUMBER...", 2, ANY, "limit what a user may use",
	 "Set limits of a user: device_seconds (in 24 hours), device_bytes, disk_bytes, queued_jobs, running_jobs, "
	 "upload_bytes, requests_per_second, streams. Values may have units: 20GB, 512MiB, 2h. 0: no limit; default: the "
	 "limit in the server's configuration (user_device_seconds and so on). Jobs that were accepted before stay; those "
	 "beyond a limit wait.",
	 NULL, CLI_NO_PARAMS, true, cmd_user_limits},
	{"user list", "", 0, 0, "list users and their tokens",
	 "List users, their roles, and their tokens: when they expire and when they were used last. With --deleted, the "
	 "deleted users who still own something, and their ids.", user_list_options, CLI_NO_PARAMS,
	 true, cmd_user_list},
	{"user project", "USER PROJECT", 2, 2, "set a user's default project",
	 "Set the project that a user's jobs and graphs are for, unless the user names another (--project). none: no "
	 "project.",
	 NULL, CLI_NO_PARAMS, true, cmd_user_project},
	{"user rename", "USER NAME", 2, 2, "give a user another name",
	 "Things, tokens and limits stay. If a proxy logs users in, it must send the new name from now on.", NULL,
	 CLI_NO_PARAMS, true, cmd_user_rename},
	{"user restore", "USER [ID]", 1, 2, "bring a deleted user back",
	 "The user gets back what the server still has of the user's data, and the limits and the role of before, but no "
	 "tokens and no projects. ID tells which one, if several deleted users had this name (spaceland user list "
	 "--deleted).", NULL, CLI_NO_PARAMS, true, cmd_user_restore},
	{"user revoke", "USER [TOKEN]", 1, 2, "revoke all tokens of a user, or one",
	 "Revoke one token of a user, by its id; without TOKEN, all of them. The server refuses the next request with a "
	 "revoked token. The user stays, with limits, data and jobs, which go on; see also spaceland user disable and "
	 "delete.", NULL,
	 CLI_NO_PARAMS, true, cmd_user_revoke},
	{"user role", "USER ROLE", 2, 2, "change a user's role",
	 "Make a user a reader, a user or an administrator. A reader sees shared graphs and jobs; a user may also upload "
	 "graphs, run jobs and change his own; an administrator may do everything.",
	 NULL, CLI_NO_PARAMS, true, cmd_user_role},
	{"user show", "[USER]", 0, 1, "show a user's limits and use",
	 "Show the limits of USER and how much of them is used (administrators only). Without USER, show your own, "
	 "including the server's defaults.", NULL, CLI_NO_PARAMS, true, cmd_user_show},
	{"user token", "USER", 1, 1, "make a token for a user",
	 "Make a token and print it. It is shown only once, since the server stores only a hash. The user passes it as "
	 "--token or in the environment variable SPACELAND_TOKEN.", user_token_options, CLI_NO_PARAMS, true,
	 cmd_user_token},
	{"user transfer", "USER TO [ID...]", 2, ANY, "give a user's things to another user",
	 "Give all graphs, jobs, batches, uploaded layouts and links of USER, or those with these ids, to the user TO. "
	 "They count for the limits of TO from then on. USER may be disabled or deleted; of several deleted users of one "
	 "name, give the id.", user_transfer_options, CLI_NO_PARAMS, true, cmd_user_transfer},
	{"version", "", 0, 0, "print the version", "Print the version of this program.", NULL, CLI_NO_PARAMS, false,
	 cmd_version},
	{"view", "[JOB]", 0, 1, "open the dashboard in the browser, at a job",
	 "Open the server's dashboard in the browser (xdg-open), showing JOB if given, and print the address. The browser "
	 "gets your token, so you need not type it there; the printed address does not contain it.", view_options,
	 CLI_NO_PARAMS, true, cmd_view},
};
#define COMMANDS_MOST (int)(sizeof table / sizeof *table + 32)

static struct cli_command commands[COMMANDS_MOST];
const struct cli_command *const cli_commands = commands;
int cli_command_count;

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct cli_command *)a)->name, ((const struct cli_command *)b)->name);
}

void cli_commands_init(void)
{
	cli_command_count = sizeof table / sizeof *table;
	memcpy(commands, table, sizeof table);
	cli_command_count += cli_method_commands(commands + cli_command_count, COMMANDS_MOST - cli_command_count);
	for (int i = 0; i < cli_command_count; i++)
		if (commands[i].run == cmd_job_fetch)
			commands[i].options = cli_fetch_options(commands[i].options);
	qsort(commands, (size_t)cli_command_count, sizeof *commands, by_name);
}
