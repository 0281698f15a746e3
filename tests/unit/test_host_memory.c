/* The detected memory, with test files instead of those of the operating system. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/host_memory.h"

#define GIB (1ull << 30)

static char root[] = "/tmp/spaceland-host-memory-XXXXXX", groups[PATH_MAX], mount[PATH_MAX];

static int set_up(void **state)
{
	if (!mkdtemp(root))
		return -1;
	snprintf(groups, sizeof groups, "%s/cgroup", root);
	snprintf(mount, sizeof mount, "%s/fs", root);
	return mkdir(mount, 0700);
}

static int tear_down(void **state)
{
	char command[PATH_MAX + 16];
	snprintf(command, sizeof command, "rm -rf '%s'", root);
	return system(command);
}

/* Writes a file below the root, and makes its folders. */
static void put(const char *path, const char *text)
{
	char file[PATH_MAX];
	snprintf(file, sizeof file, "%s/%s", root, path);
	for (char *slash = strchr(file + strlen(root) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(file, 0700);
		*slash = '/';
	}
	FILE *f = fopen(file, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static uint64_t memory(void)
{
	return sl__host_memory_of(groups, mount, 64 * GIB);
}

static void no_groups(void **state)
{
	assert_int_equal(memory(), 64 * GIB);
	put("cgroup", "");
	assert_int_equal(memory(), 64 * GIB);
	put("cgroup", "nonsense\n0:\n::::\n0::/not/there\n");
	assert_int_equal(memory(), 64 * GIB);
}

static void version_2(void **state)
{
	put("cgroup", "0::/system.slice/spacelandd.service\n");
	put("fs/system.slice/spacelandd.service/memory.max", "max\n");
	assert_int_equal(memory(), 64 * GIB);
	put("fs/system.slice/memory.max", "8589934592\n");
	assert_int_equal(memory(), 8 * GIB);
	put("fs/system.slice/spacelandd.service/memory.max", "1073741824\n");
	assert_int_equal(memory(), GIB);
	put("fs/system.slice/memory.max", "536870912\n");  /* a limit of the parent group counts, too */
	assert_int_equal(memory(), GIB / 2);
	put("fs/system.slice/memory.max", "max\n");
	put("fs/system.slice/spacelandd.service/memory.max", "999999999999999\n");  /* more than the machine has */
	assert_int_equal(memory(), 64 * GIB);
}

static void version_1(void **state)
{
	put("cgroup", "9:cpu,cpuacct:/a\n8:memoryless:/a\n4:hugetlb,memory:/docker/abc\n1:name=systemd:/\n");
	put("fs/memory/memory.limit_in_bytes", "9223372036854771712\n");
	assert_int_equal(memory(), 64 * GIB);
	put("fs/memory/docker/abc/memory.limit_in_bytes", "2147483648\n");
	assert_int_equal(memory(), 2 * GIB);
}

/* The path is the host's, but the container sees its own group at the root. */
static void inside_a_container(void **state)
{
	put("cgroup", "0::/\n");
	put("fs/memory.max", "3221225472\n");
	assert_int_equal(memory(), 3 * GIB);
	put("cgroup", "0::/kubepods/pod1/of-the-host\n");
	assert_int_equal(memory(), 3 * GIB);
}

static void this_machine(void **state)
{
	uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGE_SIZE);
	assert_true(sl_host_memory() > 0 && sl_host_memory() <= physical);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_groups), cmocka_unit_test(version_2), cmocka_unit_test(version_1),
		cmocka_unit_test(inside_a_container), cmocka_unit_test(this_machine),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
