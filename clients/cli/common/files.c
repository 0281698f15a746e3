/* files.c -- opens and joins the files that a command names. */
#include "clients/cli/common/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clients/cli/common/messages.h"

int cli_files_open(struct sl_source **out, char *const *path, int count, struct sl_error *err)
{
	if (count == 1)
		return sl_source_open_path(out, path[0], NULL, err);
	struct sl_source **part = calloc((size_t)count, sizeof *part);
	int code = part ? 0 : sl_error_memory(err, "%d files", count), opened = 0;
	for (; opened < count && !code; opened++)
		code = sl_source_open_path(&part[opened], path[opened], NULL, err);
	if (!code)
		code = sl_source_join(out, part, count, err);
	for (int k = 0; code && part && k < opened; k++)
		sl_source_close(part[k]);
	free(part);
	return code;
}

static int temporary(char **path, FILE **file)
{
	const char *folder = getenv("TMPDIR");
	*path = NULL;
	*file = NULL;
	if (asprintf(path, "%s/spaceland-XXXXXX", folder && *folder ? folder : "/tmp") < 0)
		return cli_fail(CLI_FAILED, "out of memory");
	int fd = mkstemp(*path);
	*file = fd < 0 ? NULL : fdopen(fd, "wb");
	if (*file)
		return CLI_OK;
	int status = cli_fail(CLI_FAILED, "%s: %s", *path, strerror(errno));
	if (fd >= 0)
		close(fd);
	free(*path);
	return status;
}

int cli_files_join(const struct cli *cli, char *const *path, int count, char **out)
{
	struct sl_source *source = NULL;
	struct sl_error err;
	FILE *file;
	bool changes;
	const char *text;
	int code = cli_files_open(&source, path, count, &err);
	if (code)
		return cli_fail_error(path[0], &err);
	int status = temporary(out, &file);
	if (!status) {
		if (sl_source_copy(source, file, &err))
			status = cli_fail_error(NULL, &err);
		if (fclose(file) && !status)
			status = cli_fail(CLI_FAILED, "%s: %s", *out, strerror(errno));
		if (status) {
			remove(*out);
			free(*out);
		}
	}
	for (int k = 0; !status && (text = sl_source_join_note(source, k, &changes)); k++)
		cli_tell(cli, path[0], "%s", text);
	sl_source_close(source);
	return status;
}
