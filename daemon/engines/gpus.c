/* Reports the GPUs' state as NVIDIA's driver gives it, as JSON of a device and as metrics. Loop thread. */
#include <math.h>
#include <stdlib.h>

#include "daemon/device/nvml.h"
#include "daemon/engines/engines_internal.h"

struct sl_gpus {
	struct sl_metrics *metrics;
	struct sl_nvml *nvml;
	struct sl_metric *answers[SL_GPUS_WATCHED];
	struct sl_metric *metric[SL_GPUS_WATCHED][SL_GPU_VALUES];  /* NULL: the GPU has never reported this value */
};

/* In the order of enum sl_gpu_value. */
static const struct {
	enum sl_metric_kind kind;
	const char *json, *metric, *labels, *help;
} values[SL_GPU_VALUES] = {
	{SL_GAUGE, "utilization", "spaceland_gpu_utilization_ratio", "", "Share of time in which the GPU computes."},
	{SL_GAUGE, "temperature_celsius", "spaceland_gpu_temperature_celsius", "", "Temperature of the GPU."},
	{SL_GAUGE, "power_watts", "spaceland_gpu_power_watts", "", "Power drawn by the GPU."},
	{SL_GAUGE, "power_limit_watts", "spaceland_gpu_power_limit_watts", "", "Power limit of the GPU."},
	{SL_GAUGE, "memory_bytes", "spaceland_gpu_memory_bytes", "", "Memory of the GPU."},
	{SL_GAUGE, "memory_used_bytes", "spaceland_gpu_memory_used_bytes", "", "Memory of the GPU in use by all "
		"programs."},
	{SL_COUNTER, "ecc_errors_corrected", "spaceland_gpu_ecc_errors_total", ",kind=\"corrected\"",
	 "Memory errors of the GPU since its driver was loaded."},
	{SL_COUNTER, "ecc_errors_uncorrected", "spaceland_gpu_ecc_errors_total", ",kind=\"uncorrected\"",
	 "Memory errors of the GPU since its driver was loaded."},
};

struct sl_gpus *sl__gpus_create(struct sl_metrics *metrics)
{
	struct sl_gpus *g = calloc(1, sizeof *g);
	if (!g)
		return NULL;
	g->metrics = metrics;
	if (!(g->nvml = sl_nvml_create())) {
		free(g);
		return NULL;
	}
	return g;
}

void sl__gpus_destroy(struct sl_gpus *g)
{
	if (!g)
		return;
	sl_nvml_destroy(g->nvml);
	free(g);
}

void sl__gpu_watch(struct sl_gpus *g, struct sl_server_device *d)
{
	d->gpu = sl_nvml_watch(g->nvml, d->state.info.pci);
}

static json_t *number(double value, int i)
{
	if (isnan(value))
		return json_null();
	return i == SL_GPU_UTILIZATION || i == SL_GPU_POWER || i == SL_GPU_POWER_LIMIT ? json_real(value) :
										       json_integer((json_int_t)value);
}

json_t *sl__gpu_json(struct sl_gpus *g, const struct sl_server_device *d)
{
	struct sl_gpu_reading r;
	if (d->gpu < 0)
		return json_null();
	sl_nvml_read(g->nvml, d->gpu, &r);
	json_t *gpu = json_pack("{s:s, s:o}", "pci", r.pci, "problem", r.problem[0] ? json_string(r.problem) : json_null());
	for (int i = 0; i < SL_GPU_VALUES; i++)
		json_object_set_new(gpu, values[i].json, number(r.value[i], i));
	return gpu;
}

/* A value that a GPU has never reported has no metric; a value that is missing now is NaN, which is not printed. */
static void collect(struct sl_gpus *g, int number)
{
	struct sl_gpu_reading r;
	char labels[80];
	sl_nvml_read(g->nvml, number, &r);
	snprintf(labels, sizeof labels, "gpu=\"%s\"", r.pci);
	if (!g->answers[number])
		g->answers[number] = sl_metrics_register(g->metrics, SL_GAUGE, "spaceland_gpu_answers", labels,
							 "1: NVIDIA's driver reports the GPU's state; 0: it does not.");
	sl_metric_set(g->answers[number], !r.problem[0]);
	for (int i = 0; i < SL_GPU_VALUES; i++) {
		struct sl_metric **m = &g->metric[number][i];
		if (isnan(r.value[i]) && !*m)
			continue;
		if (!*m) {
			snprintf(labels, sizeof labels, "gpu=\"%s\"%s", r.pci, values[i].labels);
			*m = sl_metrics_register(g->metrics, values[i].kind, values[i].metric, labels, values[i].help);
		}
		sl_metric_set(*m, r.value[i]);
	}
}

void sl__gpus_collect(struct sl_gpus *g)
{
	int count = sl_nvml_count(g->nvml);
	for (int i = 0; i < count; i++)
		collect(g, i);
}
