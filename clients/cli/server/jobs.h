/* jobs.h -- what several commands do with graphs and jobs of a server (graph.c, job.c). */
#ifndef CLI_JOBS_H
#define CLI_JOBS_H

#include <jansson.h>

#include "clients/cli/common/command.h"

/* Uploads a file with the options that say what it is; *reply is the graph's record, owned by the caller. */
int cli_graph_upload(struct cli *cli, const char *path, json_t **reply);
/* Follows a job until it ends. With `cancel`, an interrupt cancels the job; without, it only
 * stops watching. *record is the job's last record, owned by the caller. */
int cli_job_follow(struct cli *cli, const char *id, bool cancel, json_t **record);
/* Fetches layout and picture into files. NULL: not wanted. */
int cli_job_fetch(struct cli *cli, const char *id, const char *layout, const char *picture);
/* Fetches an array that the job has given, "labels" for example, into a file. */
int cli_job_fetch_array(struct cli *cli, const char *id, const char *name, const char *file);
/* Submits the job of a request, to which it adds the project and the dry run that were asked for. */
int cli_job_request(struct cli *cli, json_t *request, json_t **record);
/* --state: uploads the file, whose id goes into uploaded and, as input, into the request; forget it when the job has
 * been submitted. */
int cli_job_state(struct cli *cli, json_t *request, char uploaded[64]);
void cli_job_forget_state(struct cli *cli, const char *uploaded);
/* Uploads an initial layout, submits the job. *record: owned by the caller. */
int cli_job_submit(struct cli *cli, const char *graph_id, json_t **record);
/* *record: the job as it is after the change, owned by the caller. */
int cli_job_patch(struct cli *cli, const char *id, json_t *change, json_t **record);
/* PATCH {member: value} of each job that the arguments name; tells their states. */
int cli_job_patch_all(struct cli *cli, const char *member, bool value);

#endif
