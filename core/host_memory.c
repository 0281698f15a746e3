/* Finds the memory that this process may use. /proc/self/cgroup has a line for each hierarchy: "0::/a/b" for cgroups of
 * version 2, "7:memory:/a/b" for the memory of version 1. The lowest limit of the group and all groups above it counts.
 * Inside a container the path may be a path of the host that does not exist here; then the root of the mount is the
 * container's group. */
#include "core/host_memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOUNT "/sys/fs/cgroup"

/* Reads the limit in a file; UINT64_MAX: no limit ("max"), or no such file. Version 1 writes a huge number. */
static uint64_t read_limit(const char *folder, const char *path, const char *name)
{
	char file[PATH_MAX], text[64];
	if (snprintf(file, sizeof file, "%s%s/%s", folder, path, name) >= (int)sizeof file)
		return UINT64_MAX;
	FILE *f = fopen(file, "re");
	if (!f)
		return UINT64_MAX;
	uint64_t limit = UINT64_MAX;
	if (fgets(text, sizeof text, f) && text[0] >= '0' && text[0] <= '9')
		limit = strtoull(text, NULL, 10);
	fclose(f);
	return limit;
}

/* The least limit from the group up to the root. Overwrites path. */
static uint64_t least(const char *folder, char *path, const char *name)
{
	uint64_t limit = read_limit(folder, "", name);
	for (char *slash = path + strlen(path); slash; slash = strrchr(path, '/')) {
		*slash = '\0';
		uint64_t here = *path ? read_limit(folder, path, name) : UINT64_MAX;
		limit = here < limit ? here : limit;
	}
	return limit;
}

static bool lists(const char *controllers, const char *name)
{
	size_t length = strlen(name);
	for (const char *at = controllers; (at = strstr(at, name)); at += length)
		if ((at == controllers || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
			return true;
	return false;
}

/* One line of /proc/self/cgroup, without its end. */
static uint64_t limit_of(char *line, const char *mount)
{
	char folder[PATH_MAX], *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return UINT64_MAX;
	*path++ = '\0';
	controllers++;
	if (!*controllers)
		return least(mount, path, "memory.max");
	if (!lists(controllers, "memory") || snprintf(folder, sizeof folder, "%s/memory", mount) >= (int)sizeof folder)
		return UINT64_MAX;
	return least(folder, path, "memory.limit_in_bytes");
}

uint64_t sl__host_memory_of(const char *groups, const char *mount, uint64_t physical)
{
	char line[PATH_MAX];
	uint64_t bytes = physical;
	FILE *f = fopen(groups, "re");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		uint64_t limit = limit_of(line, mount);
		if (limit && limit < bytes)
			bytes = limit;
	}
	if (f)
		fclose(f);
	return bytes;
}

uint64_t sl_host_memory(void)
{
	uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE);
	return sl__host_memory_of("/proc/self/cgroup", MOUNT, physical);
}
