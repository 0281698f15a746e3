/* nvml.c -- NVIDIA's management library for tests/api: one GPU at 0000:3B:00.0. The file that SPACELAND_TEST_NVML names
 * selects the behaviour; it is read at each call:
 *
 *   values T       replies, with the temperature T
 *   few            replies only with values that every GPU has: no utilization, no power limit, no ECC
 *   errors         no longer finds the GPU
 *   none           fails to start, as without a driver
 *   hang           does not return from calls until the file changes */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct utilization { unsigned gpu, memory; };
struct memory { unsigned long long total, free, used; };

static int temperature;

static int says(const char *word)
{
	char text[64] = "";
	const char *path = getenv("SPACELAND_TEST_NVML");
	FILE *file = path ? fopen(path, "r") : NULL;
	if (file && fgets(text, sizeof text, file) && !strncmp(text, "values ", 7))
		temperature = atoi(text + 7);
	if (file)
		fclose(file);
	return !strncmp(text, word, strlen(word));
}

static void hang(void)
{
	while (says("hang"))
		usleep(20000);
}

EXPORT int nvmlInit_v2(void);
EXPORT int nvmlShutdown(void);
EXPORT const char *nvmlErrorString(int code);
EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **out);
EXPORT int nvmlDeviceGetUtilizationRates(void *gpu, struct utilization *out);
EXPORT int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *out);
EXPORT int nvmlDeviceGetPowerUsage(void *gpu, unsigned *out);
EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *gpu, unsigned *out);
EXPORT int nvmlDeviceGetMemoryInfo(void *gpu, struct memory *out);
EXPORT int nvmlDeviceGetTotalEccErrors(void *gpu, int kind, int since, unsigned long long *out);

int nvmlInit_v2(void) { return says("none") ? 9 : 0; }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code == 9 ? "Driver Not Loaded" : "GPU is lost"; }

int nvmlDeviceGetHandleByPciBusId_v2(const char *pci, void **out)
{
	hang();
	*out = &temperature;
	return says("errors") || strcasecmp(pci, "0000:3b:00.0") ? 15 : 0;
}

int nvmlDeviceGetUtilizationRates(void *gpu, struct utilization *out)
{
	*out = (struct utilization){.gpu = 42, .memory = 7};
	return says("few") ? 3 : 0;
}

int nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned *out)
{
	int code = sensor ? 2 : !says("values") && !says("few");
	*out = (unsigned)temperature;
	return code;
}

int nvmlDeviceGetPowerUsage(void *gpu, unsigned *out)
{
	*out = 123500;
	return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void *gpu, unsigned *out)
{
	*out = 700000;
	return says("few") ? 3 : 0;
}

int nvmlDeviceGetMemoryInfo(void *gpu, struct memory *out)
{
	*out = (struct memory){.total = 80ull << 30, .free = 79ull << 30, .used = 1ull << 30};
	return 0;
}

int nvmlDeviceGetTotalEccErrors(void *gpu, int kind, int since, unsigned long long *out)
{
	*out = kind ? 1 : 12;
	return says("few") || since ? 3 : 0;
}
