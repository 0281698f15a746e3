/* Values are read from /proc when somebody asks for metrics, never before. */
#include "daemon/process.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "daemon/util/metrics.h"

static struct sl_metric *memory, *descriptors, *descriptor_limit, *processor, *start;
static double counted;  /* seconds of processor time already added to the counter */

static double resident_bytes(void)
{
	unsigned long long all, resident = 0;
	FILE *file = fopen("/proc/self/statm", "re");
	if (!file)
		return 0;
	if (fscanf(file, "%llu %llu", &all, &resident) != 2)
		resident = 0;
	fclose(file);
	return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static double open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = -3;  /* ".", ".." and this one */
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count < 0 ? 0 : count;
}

static void collect(void *arg)
{
	struct rusage usage;
	struct rlimit limit;
	sl_metric_set(memory, resident_bytes());
	sl_metric_set(descriptors, open_descriptors());
	if (!getrlimit(RLIMIT_NOFILE, &limit))
		sl_metric_set(descriptor_limit, (double)limit.rlim_cur);
	if (getrusage(RUSAGE_SELF, &usage))
		return;
	double now = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
	sl_metric_add(processor, now - counted);
	counted = now;
}

void sl_process_metrics(struct sl_metrics *m)
{
	counted = 0;
	memory = sl_metrics_register(m, SL_GAUGE, "process_resident_memory_bytes", NULL, "Resident memory.");
	descriptors = sl_metrics_register(m, SL_GAUGE, "process_open_fds", NULL, "Open file descriptors.");
	descriptor_limit = sl_metrics_register(m, SL_GAUGE, "process_max_fds", NULL, "Limit of open file descriptors.");
	processor = sl_metrics_register(m, SL_COUNTER, "process_cpu_seconds_total", NULL, "Processor time of all threads.");
	start = sl_metrics_register(m, SL_GAUGE, "process_start_time_seconds", NULL,
				    "When the program started, in seconds since 1970.");
	sl_metric_set(start, (double)time(NULL));
	sl_metrics_on_collect(m, collect, NULL);
}
