/* Selects the variant of kernels.c for this processor. A file of its own: gpu/ links it without the CPU engine. */
#include "core/cpu/kernels.h"
#include "core/variants.h"

SL_PICK_VARIANT(struct sl_cpu_kernels, sl_cpu_kernels, sl__kernels);
