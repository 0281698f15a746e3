/* files.h -- the files that a command names, as one. */
#ifndef CLI_FILES_H
#define CLI_FILES_H

#include "clients/cli/common/command.h"
#include "core/formats/read.h"

/* Opens files, which are read as one (core/formats/read.h, sl_source_join()). Returns a code. */
int cli_files_open(struct sl_source **out, char *const *path, int count, struct sl_error *err);
/* Writes several files as one to a temporary file, and notes what was done to join them. *out: its path, which the
 * caller removes and frees. */
int cli_files_join(const struct cli *cli, char *const *path, int count, char **out);

#endif
