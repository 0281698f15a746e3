/* Opens NVML at run time and calls it. The functions used are declared here, since NVML's header comes only with the
 * CUDA toolkit. */
#include "daemon/device/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/util/log.h"

#define LIBRARY "libnvidia-ml.so.1"
#define INTERVAL_S 2
#define PATIENCE_S 5   /* a round that takes longer is reported as a problem */
#define END_MS 200     /* time for the thread to end, unless it hangs in the driver */

typedef int nvml_result;  /* 0: success */
typedef struct nvml_device *nvml_handle;
struct nvml_utilization { unsigned gpu, memory; };          /* percent */
struct nvml_memory { unsigned long long total, free, used; };

struct library {
	void *file;
	bool ready;  /* init has succeeded */
	nvml_result (*init)(void), (*shutdown)(void);
	const char *(*error)(nvml_result code);
	nvml_result (*find)(const char *pci, nvml_handle *out);
	nvml_result (*utilization)(nvml_handle gpu, struct nvml_utilization *out);
	nvml_result (*temperature)(nvml_handle gpu, int sensor, unsigned *out);
	nvml_result (*power)(nvml_handle gpu, unsigned *out), (*power_limit)(nvml_handle gpu, unsigned *out);
	nvml_result (*memory)(nvml_handle gpu, struct nvml_memory *out);
	nvml_result (*ecc)(nvml_handle gpu, int kind, int since, unsigned long long *out);
};

/* Shared by the owner and the thread; the last of them frees it, so the owner need not wait for a thread that hangs in
 * the driver. */
struct sl_nvml {
	pthread_mutex_t lock;  /* guards all below but library; never held while the driver is called */
	pthread_cond_t wake;
	int holders, count;
	bool stop, runs;
	pthread_t thread;
	struct timespec began; /* start of the current round; tv_sec 0: no round runs */
	struct sl_gpu_reading reading[SL_GPUS_WATCHED];
	struct library library;  /* used only by the thread */
};

static struct timespec now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t;
}

/* ---- the thread: the only one that calls the driver --------------------------------------- */

static const char *words(const struct library *l, nvml_result code, char *text, size_t bytes)
{
	const char *name = l->error ? l->error(code) : NULL;
	snprintf(text, bytes, "%s (NVML error %d)", name ? name : "unknown error", code);
	return text;
}

/* Functions init and find are required; the others are optional, since a driver's version may lack one. */
static bool open_library(struct library *l, char *problem, size_t bytes)
{
	char text[120];
	nvml_result code;
	if (!l->file) {
		if (!(l->file = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL))) {
			const char *why = dlerror();
			snprintf(problem, bytes, "NVIDIA's management library cannot be opened: %.120s", why ? why : LIBRARY);
			return false;
		}
		*(void **)&l->init = dlsym(l->file, "nvmlInit_v2");
		*(void **)&l->shutdown = dlsym(l->file, "nvmlShutdown");
		*(void **)&l->error = dlsym(l->file, "nvmlErrorString");
		*(void **)&l->find = dlsym(l->file, "nvmlDeviceGetHandleByPciBusId_v2");
		*(void **)&l->utilization = dlsym(l->file, "nvmlDeviceGetUtilizationRates");
		*(void **)&l->temperature = dlsym(l->file, "nvmlDeviceGetTemperature");
		*(void **)&l->power = dlsym(l->file, "nvmlDeviceGetPowerUsage");
		*(void **)&l->power_limit = dlsym(l->file, "nvmlDeviceGetEnforcedPowerLimit");
		*(void **)&l->memory = dlsym(l->file, "nvmlDeviceGetMemoryInfo");
		*(void **)&l->ecc = dlsym(l->file, "nvmlDeviceGetTotalEccErrors");
	}
	if (!l->init || !l->find) {
		snprintf(problem, bytes, LIBRARY " lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2");
		return false;
	}
	if (!l->ready && (code = l->init())) {
		snprintf(problem, bytes, "NVML does not start: %s", words(l, code, text, sizeof text));
		return false;
	}
	return l->ready = true;
}

/* Closes the library, so that the next round opens it again; a lost GPU may be back then. */
static void give_up(struct library *l)
{
	if (l->ready && l->shutdown)
		l->shutdown();
	l->ready = false;
}

static void ask_values(const struct library *l, nvml_handle gpu, double value[SL_GPU_VALUES])
{
	struct nvml_utilization busy;
	struct nvml_memory memory;
	unsigned number;
	unsigned long long errors;
	if (l->utilization && !l->utilization(gpu, &busy))
		value[SL_GPU_UTILIZATION] = busy.gpu / 100.0;
	if (l->temperature && !l->temperature(gpu, 0, &number))
		value[SL_GPU_TEMPERATURE] = number;
	if (l->power && !l->power(gpu, &number))
		value[SL_GPU_POWER] = number / 1000.0;
	if (l->power_limit && !l->power_limit(gpu, &number))
		value[SL_GPU_POWER_LIMIT] = number / 1000.0;
	if (l->memory && !l->memory(gpu, &memory)) {
		value[SL_GPU_MEMORY] = (double)memory.total;
		value[SL_GPU_MEMORY_USED] = (double)memory.used;
	}
	for (int kind = 0; l->ecc && kind < 2; kind++)  /* corrected, uncorrected; 0: since the driver was loaded */
		if (!l->ecc(gpu, kind, 0, &errors))
			value[SL_GPU_ECC_CORRECTED + kind] = (double)errors;
}

static void clear(struct sl_gpu_reading *r)
{
	r->problem[0] = '\0';
	for (int i = 0; i < SL_GPU_VALUES; i++)
		r->value[i] = NAN;
}

static void ask(struct library *l, struct sl_gpu_reading *r)
{
	nvml_handle gpu = NULL;
	nvml_result code;
	char text[120];
	clear(r);
	if (!open_library(l, r->problem, sizeof r->problem))
		return;
	if ((code = l->find(r->pci, &gpu))) {
		snprintf(r->problem, sizeof r->problem, "NVML does not find the GPU: %s", words(l, code, text, sizeof text));
		give_up(l);
		return;
	}
	ask_values(l, gpu, r->value);
	r->read = time(NULL);
}

/* Logs a problem once, not in every round. */
static void tell(const struct sl_gpu_reading *before, const struct sl_gpu_reading *after)
{
	if (!after->problem[0] || !strcmp(before->problem, after->problem))
		return;
	sl_log_warning("device", "GPU %s: its temperature, power and errors are not known: %s", after->pci, after->problem);
}

static void round_of_questions(struct sl_nvml *n, struct sl_gpu_reading *reading)
{
	int count = n->count;
	n->began = now();
	memcpy(reading, n->reading, (size_t)count * sizeof *reading);
	pthread_mutex_unlock(&n->lock);
	for (int i = 0; i < count; i++)
		ask(&n->library, &reading[i]);
	pthread_mutex_lock(&n->lock);
	for (int i = 0; i < count; i++) {
		tell(&n->reading[i], &reading[i]);
		n->reading[i] = reading[i];
	}
	n->began.tv_sec = 0;
}

/* Call with the lock held; releases it. */
static void let_go(struct sl_nvml *n)
{
	bool last = --n->holders == 0;
	pthread_mutex_unlock(&n->lock);
	if (!last)
		return;
	pthread_cond_destroy(&n->wake);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

static void *work(void *arg)
{
	static struct sl_gpu_reading reading[SL_GPUS_WATCHED];  /* there is one such thread */
	struct sl_nvml *n = arg;
	pthread_mutex_lock(&n->lock);
	while (!n->stop) {
		round_of_questions(n, reading);
		struct timespec until = now();
		until.tv_sec += INTERVAL_S;
		int known = n->count;
		while (!n->stop && n->count == known && !pthread_cond_timedwait(&n->wake, &n->lock, &until))
			;
	}
	pthread_mutex_unlock(&n->lock);
	give_up(&n->library);
	if (n->library.file)
		dlclose(n->library.file);
	pthread_mutex_lock(&n->lock);
	let_go(n);
	return NULL;
}

/* ---- the loop's side ------------------------------------------------------------------------ */

struct sl_nvml *sl_nvml_create(void)
{
	struct sl_nvml *n = calloc(1, sizeof *n);
	pthread_condattr_t monotonic;
	if (!n)
		return NULL;
	n->holders = 1;
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&n->wake, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return n;
}

void sl_nvml_destroy(struct sl_nvml *n)
{
	struct timespec until;
	if (!n)
		return;
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_signal(&n->wake);
	bool runs = n->runs;
	pthread_t thread = n->thread;
	let_go(n);
	if (!runs)
		return;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += END_MS * 1000000L;
	until.tv_sec += until.tv_nsec / 1000000000L;
	until.tv_nsec %= 1000000000L;
	if (pthread_timedjoin_np(thread, NULL, &until))
		pthread_detach(thread);
}

/* Call with the lock held. */
static int add(struct sl_nvml *n, const char *pci)
{
	struct sl_gpu_reading *r = &n->reading[n->count];
	if (n->count == SL_GPUS_WATCHED || strlen(pci) >= sizeof r->pci)
		return -1;
	clear(r);
	strcpy(r->pci, pci);
	if (!n->runs) {
		n->holders++;
		n->runs = !pthread_create(&n->thread, NULL, work, n);
		if (!n->runs) {
			n->holders--;
			return -1;
		}
	}
	pthread_cond_signal(&n->wake);
	return n->count++;
}

int sl_nvml_watch(struct sl_nvml *n, const char *pci)
{
	int found = -1;
	if (!pci[0])
		return -1;
	pthread_mutex_lock(&n->lock);
	for (int i = 0; i < n->count; i++)
		if (!strcmp(n->reading[i].pci, pci))
			found = i;
	if (found < 0)
		found = add(n, pci);
	pthread_mutex_unlock(&n->lock);
	return found;
}

int sl_nvml_count(struct sl_nvml *n)
{
	pthread_mutex_lock(&n->lock);
	int count = n->count;
	pthread_mutex_unlock(&n->lock);
	return count;
}

void sl_nvml_read(struct sl_nvml *n, int number, struct sl_gpu_reading *out)
{
	pthread_mutex_lock(&n->lock);
	*out = n->reading[number];
	long waiting = n->began.tv_sec ? now().tv_sec - n->began.tv_sec : 0;
	pthread_mutex_unlock(&n->lock);
	if (waiting > PATIENCE_S) {
		clear(out);
		snprintf(out->problem, sizeof out->problem, "NVIDIA's driver has not answered for %ld s", waiting);
	} else if (!out->read && !out->problem[0]) {
		snprintf(out->problem, sizeof out->problem, "NVIDIA's driver has not answered yet");
	}
}
