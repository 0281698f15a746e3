/* commands.h -- one function per command, defined in the file of its name or of its group. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include <jansson.h>

#include "clients/cli/common/command.h"

/* files/methods.c: commands that the methods add, `job NAME` and `NAME`: fills up to `most`, and returns how many there
 * are. */
int cli_method_commands(struct cli_command *out, int most);
struct sl_method;
/* The option that writes an array of the method without a server: "output" for the first one of a method without a
 * layout, else the array's name, or NAME-file if a parameter has that name. Returns out. */
const char *cli_array_option(const struct sl_method *m, int array, char out[64]);
/* The names of all arrays that methods give, which are options of `job fetch`; and its options, those of `before`
 * first. Static. */
int cli_method_outputs(const char *name[], int most);
const struct cli_option *cli_fetch_options(const struct cli_option *before);

int cmd_admin_backup(struct cli *cli);
int cmd_admin_banner(struct cli *cli);
int cmd_admin_drain(struct cli *cli);
int cmd_admin_gc(struct cli *cli);
int cmd_admin_undrain(struct cli *cli);
int cmd_admin_worker_token(struct cli *cli);
int cmd_admin_retention(struct cli *cli);
int cmd_job_keep(struct cli *cli);
int cmd_job_names(struct cli *cli);
int cmd_project_job_time(struct cli *cli);
int cmd_project_keep(struct cli *cli);
int cmd_batch_cancel(struct cli *cli);
int cmd_batch_list(struct cli *cli);
int cmd_batch_show(struct cli *cli);
int cmd_batch_submit(struct cli *cli);
int cmd_bench(struct cli *cli);
int cmd_embed(struct cli *cli);
int cmd_graph_add(struct cli *cli);
int cmd_graph_columns(struct cli *cli);
/* graphs/columns.c: sets the columns of a file, or the one called `column`, and tells what was guessed. only, kind: as
 * in PUT /v1/graphs/ID/columns; NULL is fine. *reply: new reference. */
int cli_columns_set(struct cli *cli, const char *graph, const char *file, const char *column, const char *only,
		    const char *kind, json_t **reply);
int cmd_graph_labels(struct cli *cli);
int cmd_graph_list(struct cli *cli);
int cmd_graph_rm(struct cli *cli);
int cmd_graph_rows(struct cli *cli);
int cmd_graph_show(struct cli *cli);
int cmd_job_cancel(struct cli *cli);
int cmd_job_fetch(struct cli *cli);
int cmd_job_method(struct cli *cli);
int cmd_job_predict(struct cli *cli);
int cmd_job_sample(struct cli *cli);
int cmd_job_list(struct cli *cli);
/* jobs/submit.c: reports a submitted job, or the result of a dry run; watches the job if --watch is given. */
int cli_job_submitted(struct cli *cli, const json_t *job);
int cmd_job_pause(struct cli *cli);
int cmd_job_resume(struct cli *cli);
int cmd_job_rm(struct cli *cli);
int cmd_job_show(struct cli *cli);
int cmd_job_steer(struct cli *cli);
int cmd_job_submit(struct cli *cli);
int cmd_job_watch(struct cli *cli);
int cmd_generate(struct cli *cli);
int cmd_method(struct cli *cli);
int cmd_project_add(struct cli *cli);
int cmd_project_limits(struct cli *cli);
int cmd_project_list(struct cli *cli);
int cmd_project_member(struct cli *cli);
int cmd_project_remove(struct cli *cli);
int cmd_project_share(struct cli *cli);
int cmd_project_show(struct cli *cli);
int cmd_quality(struct cli *cli);
int cmd_share(struct cli *cli);
int cmd_status(struct cli *cli);
int cmd_transform(struct cli *cli);
int cmd_queue(struct cli *cli);
int cmd_admin_accounting(struct cli *cli);
int cmd_admin_audit(struct cli *cli);
int cmd_admin_top(struct cli *cli);
int cmd_token_add(struct cli *cli);
int cmd_token_list(struct cli *cli);
int cmd_token_revoke(struct cli *cli);
int cmd_token_rotate(struct cli *cli);
int cmd_user_add(struct cli *cli);
int cmd_user_delete(struct cli *cli);
int cmd_user_disable(struct cli *cli);
int cmd_user_enable(struct cli *cli);
int cmd_user_limits(struct cli *cli);
int cmd_user_list(struct cli *cli);
int cmd_user_project(struct cli *cli);
int cmd_user_rename(struct cli *cli);
int cmd_user_restore(struct cli *cli);
int cmd_user_revoke(struct cli *cli);
int cmd_user_role(struct cli *cli);
int cmd_user_show(struct cli *cli);
int cmd_user_token(struct cli *cli);
int cmd_user_transfer(struct cli *cli);
int cmd_version(struct cli *cli);
int cmd_view(struct cli *cli);

#endif
