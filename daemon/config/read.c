/* Reads the configuration file and the files of its folder. No library is used: the format is only `name = value`, and
 * an error must name the file, the line, the option and the right values. */
#include "daemon/config/config.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/formats/text/encoding.h"

static char *trim(char *text)
{
	text += strspn(text, " \t\r\n");
	size_t length = strlen(text);
	while (length && strchr(" \t\r\n", text[length - 1]))
		text[--length] = '\0';
	return text;
}

/* Reads the value, which is quoted or ends at a comment. */
static int unquote(char **value, const char *path, int64_t line, struct sl_error *err)
{
	char *text = *value;
	if (*text != '"') {
		/* a # inside a word does not begin a comment */
		for (char *at = text; *at; at++) {
			if (*at == '#' && (at == text || at[-1] == ' ' || at[-1] == '\t')) {
				*at = '\0';
				break;
			}
		}
		*value = trim(text);
		return 0;
	}
	char *end = strchr(text + 1, '"');
	if (!end)
		return sl_error_at(err, SL_BADPARAM, path, line, "the closing \" is missing");
	char *rest = trim(end + 1);
	if (*rest && *rest != '#')
		return sl_error_at(err, SL_BADPARAM, path, line, "nothing but a comment may follow the closing \"");
	*end = '\0';
	*value = text + 1;
	return 0;
}

static int read_line(struct sl_config *c, char *line, const char *path, int64_t number, bool *seen,
		     struct sl_error *err)
{
	char *name = trim(line);
	if (!*name || *name == '#')
		return 0;
	char *equals = strchr(name, '=');
	if (!equals)
		return sl_error_at(err, SL_BADPARAM, path, number, "'name = value' is expected, not '%.64s'", name);
	*equals = '\0';
	char *value = trim(equals + 1);
	name = trim(name);
	int rc = unquote(&value, path, number, err);
	if (rc)
		return rc;
	struct sl_error why;
	rc = sl_config_set(c, name, value, &why);
	if (rc)
		return sl_error_at(err, rc, path, number, "%s", why.detail);
	int index = (int)(sl_config_find(name) - sl_config_table);
	if (seen[index])
		return sl_error_at(err, SL_BADPARAM, path, number, "%s is set a second time; remove one of the "
				   "lines", name);
	seen[index] = true;
	return 0;
}

/* The line of one file that sets an option; 0: none. */
static int64_t line_of(const char *path, const char *name)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	int64_t number = 0, found = 0;
	for (ssize_t length; file && !found && (length = getline(&line, &room, file)) >= 0;) {
		char *text = line + (number++ ? 0 : sl_text_mark(line, (size_t)length));
		char *equals = strchr(text, '=');
		if (equals) {
			*equals = '\0';
			found = strcmp(trim(text), name) ? 0 : number;
		}
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

static int read_file(struct sl_config *c, const char *path, struct sl_error *err)
{
	struct stat st;
	if (!stat(path, &st) && S_ISFIFO(st.st_mode))
		return sl_error_at(err, SL_BADPARAM, path, 0, "this is a pipe, which a reload cannot read again; use a "
				   "regular file");
	FILE *file = fopen(path, "re");
	if (!file)
		return sl_error_at(err, SL_IO, path, 0, "cannot be opened: %s", strerror(errno));
	char *line = NULL;
	size_t room = 0;
	int64_t number = 0;
	int rc = 0;
	bool *seen = calloc((size_t)sl_config_count, sizeof *seen);
	if (!seen)
		rc = sl_error_memory(err, "the configuration");
	for (ssize_t length; !rc && (length = getline(&line, &room, file)) >= 0;) {
		const char *encoding = number ? NULL : sl_text_encoding(line, (size_t)length);
		size_t mark = number++ ? 0 : sl_text_mark(line, (size_t)length);
		if (encoding)
			rc = sl_error_at(err, SL_BADPARAM, path, number, "This is a %s text; convert it (iconv -f %s -t UTF-8).",
					 encoding, encoding);
		else if (memchr(line, 0, (size_t)length))
			rc = sl_error_at(err, SL_BADPARAM, path, number, "there is a zero byte in the line; this must be a text");
		else
			rc = read_line(c, line + mark, path, number, seen, err);
	}
	if (!rc && ferror(file))
		rc = sl_error_at(err, SL_IO, path, 0, "cannot be read: %s", strerror(errno));
	free(seen);
	free(line);
	fclose(file);
	return rc;
}

/* ---- the folder beside the file ---------------------------------------------------------------- */

#define FOLDER ".d"
#define ENDING ".conf"

static int is_part(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name), ending = strlen(ENDING);
	return entry->d_name[0] != '.' && length > ending && !strcmp(entry->d_name + length - ending, ENDING);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

void sl_config_files_free(char **files, int count)
{
	for (int i = 0; i < count; i++)
		free(files[i]);
	free(files);
}

int sl_config_files(const char *path, char ***out, int *count, struct sl_error *err)
{
	struct dirent **parts = NULL;
	char *folder, **files = NULL;
	*count = 0;
	if (asprintf(&folder, "%s" FOLDER, path) < 0)
		return sl_error_memory(err, "the configuration");
	int found = scandir(folder, &parts, is_part, by_bytes);
	int rc = 0;
	if (found < 0 && errno != ENOENT)
		rc = sl_error_at(err, SL_IO, folder, 0, "cannot be read: %s", strerror(errno));
	if (!rc && !(files = calloc((size_t)(found > 0 ? found : 0) + 1, sizeof *files)))
		rc = sl_error_memory(err, "the configuration");
	if (!rc && !(files[(*count)++] = strdup(path)))
		rc = sl_error_memory(err, "the configuration");
	for (int i = 0; i < found; i++) {
		if (!rc && asprintf(&files[*count], "%s/%s", folder, parts[i]->d_name) < 0)
			rc = sl_error_memory(err, "the configuration");
		*count += !rc;
		free(parts[i]);
	}
	free(parts);
	free(folder);
	if (rc && files)
		sl_config_files_free(files, *count);
	else
		*out = files;
	return rc;
}

int sl_config_read(struct sl_config *c, const char *path, struct sl_error *err)
{
	char **files;
	int count, rc = sl_config_files(path, &files, &count, err);
	if (rc)
		return rc;
	for (int i = 0; !rc && i < count; i++)
		rc = read_file(c, files[i], err);
	sl_config_files_free(files, count);
	return rc;
}

int64_t sl_config_place(const char *path, const char *name, char *file, size_t bytes)
{
	char **files;
	struct sl_error err;
	int count;
	int64_t line = 0;
	snprintf(file, bytes, "%s", path);
	if (sl_config_files(path, &files, &count, &err))
		return 0;
	for (int i = count - 1; i >= 0 && !line; i--)
		if ((line = line_of(files[i], name)))
			snprintf(file, bytes, "%s", files[i]);
	sl_config_files_free(files, count);
	return line;
}
