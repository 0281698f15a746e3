/* nvml.h -- utilisation, temperature, power and memory errors of GPUs, from NVIDIA's management library
 * (libnvidia-ml.so.1).
 *
 * The library is opened at run time when the first GPU is watched; nothing links it. A separate thread reads all
 * watched GPUs every two seconds. A driver that hangs blocks only this thread, and the readings then say that it does
 * not answer. The functions below only copy readings, so they never wait for the driver. */
#ifndef SL_NVML_H
#define SL_NVML_H

#include <stdint.h>
#include <time.h>

#define SL_GPUS_WATCHED 64
#define SL_PCI_BYTES 24

struct sl_nvml;

/* NaN: the GPU does not report the value, or not yet. */
enum sl_gpu_value {
	SL_GPU_UTILIZATION,        /* 0 to 1: part of the last second, or so, in which a kernel ran */
	SL_GPU_TEMPERATURE,        /* degrees Celsius */
	SL_GPU_POWER,              /* watts */
	SL_GPU_POWER_LIMIT,
	SL_GPU_MEMORY,             /* bytes */
	SL_GPU_MEMORY_USED,        /* ... of all programs */
	SL_GPU_ECC_CORRECTED,      /* errors of its memory since the driver was loaded */
	SL_GPU_ECC_UNCORRECTED,
	SL_GPU_VALUES
};

struct sl_gpu_reading {
	char pci[SL_PCI_BYTES];
	char problem[200];         /* why there are no values; "": there are */
	double value[SL_GPU_VALUES];
	time_t read;               /* when; 0: never */
};

/* NULL: no memory. */
struct sl_nvml *sl_nvml_create(void);
/* Does not wait for a driver that hangs. NULL is fine. */
void sl_nvml_destroy(struct sl_nvml *n);
/* Starts reading the GPU with this PCI bus id ("0000:01:00.0"). Watching it again returns the same number. Returns its
 * number, from 0 on; -1: pci is empty, there are too many GPUs, or the thread could not be started. */
int sl_nvml_watch(struct sl_nvml *n, const char *pci);
int sl_nvml_count(struct sl_nvml *n);
void sl_nvml_read(struct sl_nvml *n, int number, struct sl_gpu_reading *out);

#endif
