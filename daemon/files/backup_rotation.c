/* Names have the time, so their order is that of age. */
#include "daemon/files/backup_rotation.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/files/backup_copy.h"
#include "daemon/util/log.h"

#define FEW 20  /* files: a state as small as this has no half */

/* "auto-2026-11-28T130000Z" */
static int is_scheduled(const struct dirent *e)
{
	static const char form[] = SL_BACKUP_AUTO "dddd-dd-ddTddddddZ";
	const char *name = e->d_name;
	if (strlen(name) != sizeof form - 1)
		return 0;
	for (size_t i = 0; form[i]; i++)
		if (i >= strlen(SL_BACKUP_AUTO) && form[i] == 'd' ? name[i] < '0' || name[i] > '9' : name[i] != form[i])
			return 0;
	return 1;
}

static uint64_t count_files(const char *folder)
{
	static const char *const parts[] = {"graphs", "jobs"};
	uint64_t count = 0;
	for (int i = 0; i < 2; i++) {
		char path[4200];
		snprintf(path, sizeof path, "%s/%s", folder, parts[i]);
		DIR *dir = opendir(path);
		for (struct dirent *e; dir && (e = readdir(dir));)
			count += e->d_name[0] != '.';
		if (dir)
			closedir(dir);
	}
	return count;
}

static bool is_whole(const char *folder)
{
	char path[4200];
	snprintf(path, sizeof path, "%s/spacelandd.db", folder);
	return access(path, F_OK) == 0;
}

int sl_backup_rotate(const char *dir, int keep, uint64_t made)
{
	struct dirent **entry = NULL;
	int count = scandir(dir, &entry, is_scheduled, alphasort), removed = 0;
	for (int i = 0; i < count; i++) {
		char folder[4096];
		bool old = snprintf(folder, sizeof folder, "%s/%s", dir, entry[i]->d_name) < (int)sizeof folder &&
			   i < count - keep && is_whole(folder);
		uint64_t files = old && removed >= 0 ? count_files(folder) : 0;
		if (old && files > FEW && files > 2 * made) {
			sl_log_warning("backup", "%s stays, with those after it: it has %llu files, and the newest backup %llu. "
				       "If that is right, remove it", folder, (unsigned long long)files, (unsigned long long)made);
			removed = -1;
		} else if (old && removed >= 0) {
			sl_backup_remove(folder);
			sl_log_info("backup", "%s is removed (backup_keep)", folder);
			removed++;
		}
		free(entry[i]);
	}
	free(entry);
	return removed;
}
