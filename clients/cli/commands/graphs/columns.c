/* columns.c -- spaceland graph columns: lists, sets and deletes columns of any kind; a folder of images is
 * packed. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/common/options.h"
#include "clients/cli/common/progress.h"
#include "clients/cli/server/http.h"
#include "core/formats/text/date.h"

/* ---- showing ------------------------------------------------------------------------------------ */

static void range_text(const json_t *column, char out[64])
{
	const json_t *low = json_object_get(column, "min"), *high = json_object_get(column, "max");
	const char *kind = cli_text(column, "kind");
	char first[SL_DATE_BYTES], last[SL_DATE_BYTES];
	snprintf(out, 64, "-");
	if (json_is_number(low) && !strcmp(kind, "date"))
		snprintf(out, 64, "%s to %s", sl_date_text((int64_t)json_number_value(low), first),
			 sl_date_text((int64_t)json_number_value(high), last));
	else if (json_is_number(low))
		snprintf(out, 64, "%g to %g", json_number_value(low), json_number_value(high));
	else if (!strcmp(kind, "category"))
		snprintf(out, 64, "%.0f categories", cli_number(column, "categories"));
	else if (!strcmp(kind, "text") || !strcmp(kind, "link"))
		snprintf(out, 64, "up to %.0f bytes", cli_number(column, "longest"));
	else if (!strcmp(kind, "image"))
		snprintf(out, 64, "%.0f x %.0f pixels", cli_number(json_object_get(column, "images"), "width"),
			 cli_number(json_object_get(column, "images"), "height"));
}

static void count_text(const json_t *column, const char *key, char out[24])
{
	const json_t *count = json_object_get(column, key);
	snprintf(out, 24, json_is_integer(count) ? "%.0f" : "-", json_number_value(count));
}

static int show(struct cli *cli, const json_t *columns)
{
	static const char *const titles[] = {"COLUMN", "KIND", "READ", "MISSING", "RANGE", "FIRST"};
	json_t *column;
	size_t i;
	if (cli->json)
		return cli_print_json(columns);
	if (!json_array_size(columns)) {
		cli_note(cli, "no columns");
		return CLI_OK;
	}
	struct table *t = table_create(6, 1 << 2 | 1 << 3, titles);
	json_array_foreach(columns, i, column) {
		char range[64], read[24], missing[24];
		const json_t *first = json_array_get(json_object_get(column, "examples"), 0);
		range_text(column, range);
		count_text(column, "read", read);
		count_text(column, "missing", missing);
		const char *const cells[] = {cli_text(column, "name"), cli_text(column, "kind"), read, missing, range,
					     json_string_value(first)};
		table_row(t, cells);
	}
	table_print(t, stdout);
	table_destroy(t);
	return CLI_OK;
}

static int list(struct cli *cli, const char *graph)
{
	json_t *reply = NULL;
	int status = http_send(cli, "GET", http_path("graphs", graph, "columns", NULL), NULL, &reply);
	if (!status)
		status = show(cli, json_object_get(reply, "columns"));
	json_decref(reply);
	return status;
}

/* ---- a folder of images ---------------------------------------------------------------------------- */

static bool is_image(const char *name)
{
	static const char *const endings[] = {".png", ".jpg", ".jpeg", ".gif", ".webp"};
	const char *dot = strrchr(name, '.');
	for (size_t k = 0; dot && k < sizeof endings / sizeof *endings; k++)
		if (!strcasecmp(dot, endings[k]))
			return true;
	return false;
}

/* Adds the images of a folder and of its folders, stored as they are. */
static int add_folder(zip_t *zip, const char *path, const char *prefix, size_t *images, size_t *others)
{
	DIR *dir = opendir(path);
	int status = dir ? CLI_OK : cli_fail(CLI_BADINPUT, "%s: %s", path, strerror(errno));
	for (struct dirent *e; !status && (e = readdir(dir));) {
		char *file = NULL, *name = NULL;
		struct stat st;
		if (e->d_name[0] == '.')
			continue;
		if (asprintf(&file, "%s/%s", path, e->d_name) < 0 || asprintf(&name, "%s%s", prefix, e->d_name) < 0) {
			status = cli_fail(CLI_FAILED, "out of memory");
		} else if (!stat(file, &st) && S_ISDIR(st.st_mode)) {
			char *below = NULL;
			status = asprintf(&below, "%s/", name) < 0 ? cli_fail(CLI_FAILED, "out of memory")
								   : add_folder(zip, file, below, images, others);
			free(below);
		} else if (!is_image(e->d_name)) {
			++*others;
		} else {
			zip_source_t *source = zip_source_file(zip, file, 0, -1);
			zip_int64_t at = source ? zip_file_add(zip, name, source, ZIP_FL_ENC_UTF_8) : -1;
			if (at < 0 || zip_set_file_compression(zip, (zip_uint64_t)at, ZIP_CM_STORE, 0))
				status = cli_fail(CLI_BADINPUT, "%s: %s", file, zip_strerror(zip));
			++*images;
		}
		free(file);
		free(name);
	}
	if (dir)
		closedir(dir);
	return status;
}

/* Packs a folder into a temporary file; *out: its path, malloc'd, to be removed. */
static int pack(struct cli *cli, const char *folder, char **out)
{
	const char *tmp = getenv("TMPDIR");
	size_t images = 0, others = 0;
	int error, fd, status = CLI_OK;
	if (asprintf(out, "%s/spaceland-images-XXXXXX", tmp && *tmp ? tmp : "/tmp") < 0)
		return cli_fail(CLI_FAILED, "out of memory");
	if ((fd = mkstemp(*out)) < 0)
		return cli_fail(CLI_FAILED, "%s: %s", *out, strerror(errno));
	close(fd);
	zip_t *zip = zip_open(*out, ZIP_CREATE | ZIP_TRUNCATE, &error);
	if (!zip)
		return cli_fail(CLI_FAILED, "%s cannot be written", *out);
	status = add_folder(zip, folder, "", &images, &others);
	if (!status && !images)
		status = cli_fail(CLI_BADINPUT, "%s has no images; they must end with .png, .jpg, .jpeg, .gif or .webp",
				folder);
	if (status)
		zip_discard(zip);
	else if (zip_close(zip)) {
		status = cli_fail(CLI_FAILED, "%s: %s", *out, zip_strerror(zip));
		zip_discard(zip);
	}
	if (!status && others)
		cli_tell(cli, folder, "%zu files are no images, and are left out", others);
	return status;
}

/* ---- setting ------------------------------------------------------------------------------------------ */

static void on_sent(void *arg, double sent, double total)
{
	progress_bytes(arg, sent, total);
	if (sent >= total)
		progress_phase(arg, "the server reads it");
}

/* Tells what the server guessed and what found no partner. */
static void tell(struct cli *cli, const char *file, const json_t *reply, const json_t *columns)
{
	json_t *one;
	size_t i;
	json_array_foreach(json_object_get(json_object_get(reply, "taken"), "notes"), i, one)
		cli_tell(cli, file, "%s", cli_text(one, "text"));
	json_array_foreach(columns, i, one)
		if (*cli_text(one, "why"))
			cli_tell(cli, file, "column %s: %s", cli_text(one, "name"), cli_text(one, "why"));
}

static char *set_path(const char *graph, const char *column, const char *only, const char *kind)
{
	const char *const parameters[][2] = {{only, "column"}, {kind, "kind"}};
	char *path = http_path("graphs", graph, "columns", column), *out = NULL;
	size_t bytes;
	FILE *f = path ? open_memstream(&out, &bytes) : NULL;
	if (f)
		fputs(path, f);
	for (size_t k = 0, given = 0; f && k < 2; k++) {
		char *escaped = parameters[k][0] ? cli_escape(parameters[k][0]) : NULL;
		if (escaped)
			fprintf(f, "%c%s=%s", given++ ? '&' : '?', parameters[k][1], escaped);
		free(escaped);
	}
	free(path);
	if (f)
		fclose(f);
	return out;
}

int cli_columns_set(struct cli *cli, const char *graph, const char *file, const char *column, const char *only,
		    const char *kind, json_t **reply)
{
	char *packed = NULL, *path = set_path(graph, column, only, kind);
	struct progress progress;
	struct stat st;
	json_t *columns = NULL;
	int status = path ? CLI_OK : CLI_FAILED;
	bool folder = !stat(file, &st) && S_ISDIR(st.st_mode);
	if (!status && folder && !column)
		status = cli_fail(CLI_USAGE, "%s is a folder; --name gives its images the name of a column", file);
	if (!status && folder)
		status = pack(cli, file, &packed);
	if (!status) {
		progress_init(&progress, cli, "upload");
		struct http_request q = {.method = "PUT", .path = path, .upload = packed ? packed : file, .input = file,
					 .progress = progress.terminal ? on_sent : NULL, .arg = &progress};
		status = http_do(cli, &q, reply);
		progress_finish(&progress, true);
	}
	if (!status) {
		columns = column ? json_pack("[O]", *reply) : json_incref(json_object_get(*reply, "columns"));
		tell(cli, file, *reply, columns);
		json_decref(columns);
	}
	if (packed)
		unlink(packed);
	free(packed);
	free(path);
	return status;
}

static int set(struct cli *cli, const char *graph, const char *file)
{
	const char *column = cli_option(cli, "name");
	json_t *reply = NULL, *columns = NULL;
	int status = cli_columns_set(cli, graph, file, column, cli_option(cli, "columns"), cli_option(cli, "kind"), &reply);
	if (!status) {
		columns = column ? json_pack("[O]", reply) : json_incref(json_object_get(reply, "columns"));
		status = cli->json ? cli_print_json(reply) : show(cli, columns);
	}
	json_decref(columns);
	json_decref(reply);
	return status;
}

int cmd_graph_columns(struct cli *cli)
{
	const char *graph = cli->arguments[0], *file = cli->argument_count > 1 ? cli->arguments[1] : NULL;
	const char *gone = cli_option(cli, "delete");
	static const char *const setting[] = {"name", "columns", "kind", NULL};
	for (const char *const *option = setting; *option; option++)
		if (!file && cli_option(cli, *option))
			return cli_fail(CLI_USAGE, "graph columns: --%s is for a FILE to set", *option);
	if (gone && file)
		return cli_fail(CLI_USAGE, "graph columns: --delete takes no FILE");
	if (gone)
		return http_change(cli, "DELETE", http_path("graphs", graph, "columns", gone), NULL);
	return file ? set(cli, graph, file) : list(cli, graph);
}
