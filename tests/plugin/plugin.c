/* plugin.c -- a plug-in with the name of the CUDA engine's, for tests/api: see resident_engine.h. It also searches
 * neighbours, with the Euclidean metric only, and computes the passes of k-means (kmeans_passes.h), of mixtures
 * (gmm_passes.h) and of Sammon's mapping (sammon_passes.h), and the steps of signals (signal_passes.h). Environment:
 *
 *   SPACELAND_TEST_GPUS=N       number of GPUs; 1 by default
 *   SPACELAND_TEST_DRIVER=old   no GPU is usable
 *   SPACELAND_TEST_PCI=ADDRESS  their PCI address, for nvml.c
 *   SPACELAND_TEST_HYBRID=full  the hybrid engines' devices do not open
 *   SPACELAND_TEST_LACKS=NAME   the engines do not have this operation, "kmeans.passes"
 *   SPACELAND_TEST_PACE=SECONDS an iteration takes so long, computes nothing, and makes the layout a little larger:
 *                               like a recorded job, which leaves the processor to the streams
 *   SPACELAND_TEST_CRASH=RATE,K an embedding with this learning rate crashes the process in its K-th run of iterations;
 *                               with ",team" after it in another thread of the OpenMP team, with ",abort" by abort(),
 *                               with ",stack" by an overflow of the stack;
 *                               with ",together" embeddings run side by side; with ",search" searches in
 *                               K points crash instead
 *   SPACELAND_TEST_USES=FILE    a line for each use of a device, "open PID", "search PID" or "axes PID", is appended
 *   SPACELAND_TEST_SEARCH=HOW   lost,K: the first K searches in FILE find the device lost; slow,S: searches take S
 *                               seconds more, and tell their progress */
#include <math.h>
#include <fcntl.h>
#include <omp.h>
#include <time.h>
#include <unistd.h>

#include "core/points/points.h"
#include "tests/plugin/gmm_passes.h"
#include "tests/plugin/kmeans_passes.h"
#include "tests/plugin/points_passes.h"
#include "tests/plugin/resident_engine.h"
#include "tests/plugin/sammon_passes.h"
#include "tests/plugin/signal_passes.h"

#define EXPORT __attribute__((visibility("default")))

static struct sl_engine engines[3];  /* cuda, hybrid, hybrid-double */

static bool says(const char *name, const char *value)
{
	const char *text = getenv(name);
	return text && !strcmp(text, value);
}

static struct {
	double rate;
	int runs;
	const char *how;
} crash;

static void (*volatile again)(void);

static void overflow(void)
{
	volatile char fill[4096];
	fill[0] = 1;
	again();
	fill[1] = fill[0];
}

static void crash_now(void)
{
	int *volatile nowhere = NULL;
	if (strstr(crash.how, "stack")) {
		again = overflow;
		overflow();
	}
	if (strstr(crash.how, "abort"))
		abort();
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == (strstr(crash.how, "team") ? 1 : 0))
		*nowhere = 1;
}

/* Appends a line to the file of uses; returns how many lines begin with this word. */
static int use(const char *word)
{
	const char *path = getenv("SPACELAND_TEST_USES");
	char line[64], text[1 << 16];
	int count = 0, fd = path ? open(path, O_RDWR | O_APPEND | O_CREAT, 0644) : -1;
	if (fd < 0)
		return 0;
	snprintf(line, sizeof line, "%s %d\n", word, getpid());
	if (write(fd, line, strlen(line)) < 0)
		abort();
	ssize_t bytes = pread(fd, text, sizeof text - 1, 0);
	close(fd);
	text[bytes < 0 ? 0 : bytes] = '\0';
	for (const char *at = text; (at = strstr(at, word)); at++)
		count++;
	return count;
}

static int (*opens)(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err);

static int recorded_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
{
	use("open");
	return opens(out, options, err);
}

static int passes(int index, uint64_t memory_bytes, const struct sl_points *p, const int *cancel,
		  struct sl_points_passes *out, struct sl_error *err)
{
	use("axes");
	plain_points_open(p, out);
	return 0;
}

static void be_slow(const struct sl_neighbours_params *params, double seconds)
{
	for (int i = 0; i < 100 && !(params->cancel && __atomic_load_n(params->cancel, __ATOMIC_RELAXED)); i++) {
		nanosleep(&(struct timespec){.tv_sec = (time_t)(seconds / 100), .tv_nsec = (long)(1e7 * seconds)}, NULL);
		if (params->progress)
			params->progress(params->arg, i / 100.0);
	}
}

static int find(int index, uint64_t memory_bytes, const struct sl_points *p, const struct sl_neighbours_params *params,
		struct sl_neighbours **out, struct sl_error *err)
{
	if (crash.how && strstr(crash.how, "search") && p->n_user == (uint32_t)crash.runs) {
		nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);  /* the upload is answered meanwhile */
		crash_now();
	}
	const char *how = getenv("SPACELAND_TEST_SEARCH");
	int searches = use("search");
	if (how && !strncmp(how, "lost,", 5) && searches <= atoi(how + 5))
		return sl_error_set(err, SL_DEVLOST, "The device failed: SPACELAND_TEST_SEARCH asked for it.");
	if (how && !strncmp(how, "slow,", 5))
		be_slow(params, atof(how + 5));
	if (params->metric != SL_EUCLIDEAN)
		return sl_error_set(err, SL_BADPARAM, "not this metric");
	int code = sl_neighbours_find(out, p, params, err);
	if (!code)
		snprintf((*out)->method, sizeof (*out)->method, "device");
	return code;
}

static void info(struct sl_device *device, struct sl_device_info *out)
{
	const char *pci = getenv("SPACELAND_TEST_PCI");
	sl_engine_cpu()->info(device, out);
	snprintf(out->pci, sizeof out->pci, "%s", pci ? pci : "");
	snprintf(out->kind, sizeof out->kind, "cuda");
}

static void hybrid_info(struct sl_device *device, struct sl_device_info *out)
{
	info(device, out);
	snprintf(out->kind, sizeof out->kind, "hybrid");
}

static int hybrid_open(struct sl_device **out, const struct sl_device_options *options, struct sl_error *err)
{
	if (says("SPACELAND_TEST_HYBRID", "full"))
		return sl_error_set(err, SL_DEVMEM, "The GPU has no memory left (cudaStreamCreate).");
	return sl_engine_cpu()->open(out, options, err);
}

static double iteration_seconds(const struct sl_settings *s, uint32_t n, uint64_t entries, int threads)
{
	return 1e-3;
}

static double pace(void)
{
	const char *text = getenv("SPACELAND_TEST_PACE");
	return text ? atof(text) : 0;
}

static int paced_run(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err)
{
	double seconds = pace() * iterations;
	struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	nanosleep(&time, NULL);
	return sl_engine_cpu()->rescale(e, 1.001f, err);
}

static int paced_measure(struct sl_device_embedding *e, struct sl_measure *out, struct sl_error *err)
{
	*out = (struct sl_measure){.kl = 1, .z = 1, .gradient_norm = 1, .low = {-1, -1, -1}, .high = {1, 1, 1},
				   .finite = true};
	return 0;
}

static int crashing_run(struct sl_device_embedding *e, const struct sl_step *step, int iterations, struct sl_error *err)
{
	static _Atomic int runs;
	if (fabs((double)step->learning_rate - crash.rate) < 1e-3 && ++runs == crash.runs)
		crash_now();
	return sl_engine_cpu()->run(e, step, iterations, err);
}

static bool joins(const struct sl_device_embedding *e)
{
	return true;
}

/* One after the other. */
static int run_many(struct sl_run *run, int count, struct sl_error *err)
{
	for (int i = 0; i < count; i++)
		for (int k = 0; k < run[i].stretches && !run[i].code; k++) {
			struct sl_stretch *s = &run[i].stretch[k];
			run[i].code = crashing_run(run[i].embedding, &s->step, s->iterations, &run[i].err);
			if (s->measure && !run[i].code)
				run[i].code = sl_engine_cpu()->measure(run[i].embedding, &s->measured, &run[i].err);
		}
	return 0;
}

static void read_crash(void)
{
	const char *text = getenv("SPACELAND_TEST_CRASH");
	char *rest = NULL;
	if (!text)
		return;
	crash.rate = strtod(text, &rest);
	crash.runs = atoi(rest + 1);
	crash.how = rest;
	engines[0].run = crashing_run;
	if (strstr(text, "together")) {
		engines[0].joins = joins;
		engines[0].run_many = run_many;
	}
}

static struct sl_operation operations[] = {
	SL_OPERATION(SL_KMEANS_PASSES, sl_kmeans_open, plain_kmeans_passes),
	SL_OPERATION(SL_GMM_PASSES, sl_gmm_open, plain_gmm_passes),
	SL_OPERATION(SL_SAMMON_PASSES, sl_sammon_open, plain_sammon_passes),
	SL_OPERATION(SL_SIGNAL_PASSES, sl_signal_open, plain_signal_passes),
	{NULL, NULL},
};

static void leave_out(const char *name)
{
	for (struct sl_operation *o = operations; name && o->name; o++)
		if (!strcmp(o->name, name))
			o->name = "another";
}

__attribute__((constructor)) static void make_engines(void)
{
	leave_out(getenv("SPACELAND_TEST_LACKS"));
	static const char *const names[] = {"cuda", "hybrid", "hybrid-double"};
	for (int i = 0; i < 3; i++) {
		engines[i] = i ? *sl_engine_cpu() : resident_engine();
		engines[i].name = names[i];
		engines[i].info = i ? hybrid_info : info;
		engines[i].neighbours_find = find;
		engines[i].points_passes = passes;
		engines[i].operations = operations;
		engines[i].iteration_seconds = iteration_seconds;
		if (i)
			engines[i].open = hybrid_open;
		opens = sl_engine_cpu()->open;
		if (!i)
			engines[i].open = recorded_open;
		if (pace() > 0) {
			engines[i].run = paced_run;
			engines[i].measure = paced_measure;
		}
	}
	read_crash();
}

EXPORT const struct sl_engine *sl_engine_cuda(void);
EXPORT const struct sl_engine *sl_engine_hybrid(void);
EXPORT const struct sl_engine *sl_engine_hybrid_double(void);
EXPORT int sl_engine_cuda_check(struct sl_error *err);
EXPORT int sl_engine_cuda_count(void);

const struct sl_engine *sl_engine_cuda(void)
{
	return &engines[0];
}

const struct sl_engine *sl_engine_hybrid(void)
{
	return &engines[1];
}

const struct sl_engine *sl_engine_hybrid_double(void)
{
	return &engines[2];
}

int sl_engine_cuda_check(struct sl_error *err)
{
	if (says("SPACELAND_TEST_DRIVER", "old"))
		return sl_error_set(err, SL_NODEVICE, "The NVIDIA driver is too old.");
	return 0;
}

int sl_engine_cuda_count(void)
{
	const char *text = getenv("SPACELAND_TEST_GPUS");
	return text ? atoi(text) : 1;
}
