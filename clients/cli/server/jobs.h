/* jobs.h -- operations on graphs and jobs of a server that several commands share (graph.c, job.c). */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include <jansson.h>

#include "clients/cli/common/command.h"

/* Uploads a file with the options that describe it. *reply: the graph's record, owned by the caller. *made: false if
 * the server had this content already; or NULL. */
int cli_graph_upload(struct cli *cli, const char *path, json_t **reply, bool *made);
/* The same for several files that are one table or graph; notes how they were joined. */
int cli_files_upload(struct cli *cli, char **path, int count, json_t **reply, bool *made);
/* Follows a job until it ends. With `cancel`, an interrupt cancels the job; without, it only
 * stops watching. *record is the job's last record, owned by the caller. */
int cli_job_follow(struct cli *cli, const char *id, bool cancel, json_t **record);
/* Fetches layout and picture into files. NULL: not fetched. */
int cli_job_fetch(struct cli *cli, const char *id, const char *layout, const char *picture);
/* Fetches an array of the job's results, for example "labels", into a file. */
int cli_job_fetch_array(struct cli *cli, const char *id, const char *name, const char *file);
/* Submits a job; adds --project and --dry-run to the request. */
int cli_job_request(struct cli *cli, json_t *request, json_t **record);
/* Uploads the file of --state, stores its id in `uploaded` and adds it to the request as input. After submitting the
 * job, call cli_job_forget_state(). */
int cli_job_state(struct cli *cli, json_t *request, char uploaded[64]);
void cli_job_forget_state(struct cli *cli, const char *uploaded);
/* Uploads an initial layout, submits the job. name: of the job, if --name gives none; may be NULL.
 * *record: owned by the caller. */
int cli_job_submit(struct cli *cli, const char *graph_id, const char *name, json_t **record);
/* Changes a job. *record: the job after the change, owned by the caller. */
int cli_job_patch(struct cli *cli, const char *id, json_t *change, json_t **record);
/* Sends PATCH {member: value} for each job in the arguments; notes what tell() says of each; NULL: its new state. */
int cli_job_patch_all(struct cli *cli, const char *member, bool value,
		      void (*tell)(struct cli *cli, const char *name, const json_t *job));

#endif
