/* layout.c -- reads layouts from files; writes layouts and other arrays. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clients/cli/common/layout.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "core/formats/layout.h"
#include "core/formats/numpy/npy.h"

int cli_layout_format(const char *path, const char **format)
{
	const char *dot = strrchr(path, '.');
	static const char *const formats[] = {"npy", "csv", "json"};
	*format = "npy";
	if (!strcmp(path, "-"))
		return CLI_OK;
	for (int i = 0; dot && i < 3; i++)
		if (!strcasecmp(dot + 1, formats[i])) {
			*format = formats[i];
			return CLI_OK;
		}
	if (dot && (!strcasecmp(dot, ".png") || !strcasecmp(dot, ".svg")))
		return cli_fail(CLI_USAGE, "%s: -o writes coordinates, to .npy, .csv or .json; embed and job fetch write "
				"pictures with --picture %s", path, path);
	return cli_fail(CLI_USAGE, "%s: the name of a layout must end in .npy, .csv or .json", path);
}

static bool is_file(const char *path, const struct stat *file)
{
	struct stat s;
	return !stat(path, &s) && S_ISREG(s.st_mode) && s.st_dev == file->st_dev && s.st_ino == file->st_ino;
}

/* Refuses an output that is also an argument or the file of another option, under this name or another one. file: NULL
 * if there is no file of this name. */
static int check_other_names(const struct cli *cli, const char *path, const struct stat *file)
{
	for (int i = 0; file && i < cli->argument_count; i++)
		if (is_file(cli->arguments[i], file))
			return cli_fail(CLI_USAGE, "%s is the input, and the result would replace it; name another file", path);
	for (int i = 0; i < cli->option_count; i++) {
		const char *value = cli->values[i];
		if (value && value != path && cli_option_is_file(&cli->options[i]) &&
		    (file ? is_file(value, file) : !strcmp(value, path)))
			return cli_fail(CLI_USAGE, "%s is the file of --%s as well, and the result would replace it; name another "
					"file", path, cli->options[i].name);
	}
	return CLI_OK;
}

int cli_output_check(const struct cli *cli, const char *path)
{
	struct stat s;
	if (!path)
		return CLI_OK;
	if (!strcmp(path, "-"))
		return !isatty(STDOUT_FILENO) ? CLI_OK :
		       cli_fail(CLI_USAGE, "the result is binary and would go to the terminal; name a file, or redirect the "
				"output with >");
	if (!stat(path, &s)) {
		if (S_ISDIR(s.st_mode))
			return cli_fail(CLI_FAILED, "%s: is a folder; name a file", path);
		int status = check_other_names(cli, path, &s);
		return !status && access(path, W_OK) ? cli_fail(CLI_FAILED, "%s: %s", path, strerror(errno)) : status;
	}
	const char *slash = strrchr(path, '/');
	char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int status = !folder ? cli_fail(CLI_FAILED, "out of memory") :
		     access(folder, W_OK | X_OK) ? cli_fail(CLI_FAILED, "%s: %s", path, strerror(errno)) :
		     check_other_names(cli, path, NULL);
	free(folder);
	return status;
}

FILE *cli_output_open(const char *path)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "wbe") : stdout;
	if (!file)
		cli_fail(CLI_FAILED, "%s: %s", path, strerror(errno));
	return file;
}

int cli_output_close(FILE *file, const char *path, bool bad, const struct sl_error *err)
{
	bad = (file == stdout ? fflush(file) : fclose(file)) || bad;
	return bad ? cli_fail(CLI_FAILED, "%s: %s", path, err && err->detail[0] ? err->detail : strerror(errno)) : CLI_OK;
}

int cli_array_write(const char *path, const char *type, const uint32_t shape[3], const void *data)
{
	char header[SL_NPY_HEADER_BYTES];
	size_t size = type[2] == '8' ? 8 : 4, count = shape[0];
	for (int i = 1; i < 3; i++)
		count *= shape[i] ? shape[i] : 1;
	FILE *file = cli_output_open(path);
	if (!file)
		return CLI_FAILED;
	sl_npy_header_of(header, type, shape);
	bool bad = fwrite(header, sizeof header, 1, file) != 1 || fwrite(data, size, count, file) != count;
	return cli_output_close(file, path, bad, NULL);
}

int cli_layout_read(const char *path, float **y, uint64_t *n, uint64_t *dims)
{
	struct sl_source *source = NULL;
	struct sl_error err;
	int status = CLI_OK;
	*y = NULL;
	if (sl_source_open_path(&source, path, NULL, &err) || sl_npy_read(y, n, dims, NULL, source, &err))
		status = cli_fail_error(path, &err);
	sl_source_close(source);
	if (!status && (*dims < 1 || *dims > 3)) {
		status = cli_fail(CLI_BADINPUT, "%s has %" PRIu64 " columns; a layout must have 1, 2 or 3", path, *dims);
		free(*y);
		*y = NULL;
	}
	return status;
}

int cli_init_read(const char *path, float **y, uint64_t *n, uint64_t *dims)
{
	if (access(path, F_OK))
		return cli_fail(CLI_BADINPUT, "--init must be random, spectral, pca, auto, the id of a job or a file, and "
				"there is no file %s", path);
	return cli_layout_read(path, y, n, dims);
}

static json_t *layout_json(const struct sl_graph *g, int dims, const float *y)
{
	json_t *rows = json_array(), *names = json_array(), *labels = json_array();
	for (uint32_t i = 0; i < g->n; i++) {
		json_t *row = json_array();
		for (int d = 0; d < dims; d++)
			json_array_append_new(row, json_real((double)y[(size_t)i * (size_t)dims + (size_t)d]));
		json_array_append_new(rows, row);
		if (sl_graph_name(g, i))
			json_array_append_new(names, json_string(sl_graph_name(g, i)));
		if (g->label)
			json_array_append_new(labels, json_string(sl_graph_label(g, i)));
	}
	json_t *object = json_pack("{s:i, s:I, s:o}", "dims", dims, "nodes", (json_int_t)g->n, "layout", rows);
	if (object && json_array_size(names))
		json_object_set(object, "names", names);
	if (object && json_array_size(labels))
		json_object_set(object, "labels", labels);
	json_decref(names);
	json_decref(labels);
	return object;
}

int cli_layout_write(const char *path, const struct sl_graph *g, int dims, const float *y)
{
	const char *format;
	struct sl_error err = {0};
	bool bad = false;
	FILE *f = cli_output_open(path);
	if (!f)
		return CLI_FAILED;
	cli_layout_format(path, &format);
	if (!strcmp(format, "npy")) {
		bad = sl_layout_write_npy(f, y, g->n, dims, &err) != 0;
	} else if (!strcmp(format, "csv")) {
		bad = sl_layout_write_csv(f, g, y, g->n, dims, &err) != 0;
	} else {
		json_t *object = layout_json(g, dims, y);
		bad = !object || json_dumpf(object, f, JSON_COMPACT | JSON_REAL_PRECISION(9)) || fputc('\n', f) == EOF;
		json_decref(object);
	}
	return cli_output_close(f, path, bad, &err);
}
