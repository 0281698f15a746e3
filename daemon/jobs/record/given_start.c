/* Reads the given start of a job of a method on points: labels of the rows, or means. */
#include <math.h>
#include <stdlib.h>

#include "daemon/jobs/record/spec.h"

#define LABELS_MOST 1000000

static int read_labels(const json_t *initial, struct sl_job_spec *spec, struct sl_error *err)
{
	size_t n = spec->graph->nodes;
	json_int_t most = -1;
	char pointer[64];
	if (json_array_size(initial) != n)
		return sl_error_field(err, SL_BADPARAM, "/initial", "initial has %zu labels; there are %zu rows.",
				      json_array_size(initial), n);
	for (size_t i = 0; i < n; i++) {
		const json_t *label = json_array_get(initial, i);
		json_int_t value = json_is_integer(label) ? json_integer_value(label) : -2;
		if (value < -1 || value >= LABELS_MOST) {
			snprintf(pointer, sizeof pointer, "/initial/%zu", i);
			return sl_error_field(err, SL_BADPARAM, pointer, "A label must be a whole number from 0 on, below %d, or "
					      "-1 for none.", LABELS_MOST);
		}
		most = value > most ? value : most;
	}
	if (most < 0)
		return sl_error_field(err, SL_BADPARAM, "/initial", "initial has no label; one from 0 on is needed at least.");
	spec->work.start = SL_START_LABELS;
	spec->work.parts = (uint32_t)most + 1;
	return 0;
}

static int read_means(const json_t *initial, struct sl_job_spec *spec, struct sl_error *err)
{
	size_t d = spec->work.columns;
	char pointer[64];
	for (size_t i = 0; i < json_array_size(initial); i++) {
		const json_t *row = json_array_get(initial, i);
		if (!json_is_array(row) || json_array_size(row) != d) {
			snprintf(pointer, sizeof pointer, "/initial/%zu", i);
			return sl_error_field(err, SL_BADPARAM, pointer, "A mean must be an array of %zu number%s, one for each "
					      "column.", d, d == 1 ? "" : "s");
		}
		for (size_t k = 0; k < d; k++)
			if (!json_is_number(json_array_get(row, k)) ||
			    !isfinite((float)json_number_value(json_array_get(row, k)))) {
				snprintf(pointer, sizeof pointer, "/initial/%zu/%zu", i, k);
				return sl_error_field(err, SL_BADPARAM, pointer, "A mean must have finite numbers.");
			}
	}
	spec->work.start = SL_START_MEANS;
	spec->work.parts = (uint32_t)json_array_size(initial);
	return 0;
}

int sl__job_spec_start(const json_t *initial, struct sl_job_spec *spec, struct sl_error *err)
{
	if (!spec->work.method->start)
		return sl_error_field(err, SL_BADPARAM, "/initial", "Method %s has no initial layout; the layout that it is "
				      "to be computed from is input.", spec->work.method->name);
	if (!json_is_array(initial) || json_array_size(initial) == 0)
		return sl_error_field(err, SL_BADPARAM, "/initial", "initial must be an array of labels, one for each row, or "
				      "of means, each an array of numbers.");
	int code = json_is_array(json_array_get(initial, 0)) ? read_means(initial, spec, err) :
							       read_labels(initial, spec, err);
	spec->start = initial;
	return code ? code : spec->work.method->start(&spec->work.params, spec->work.parts, err);
}

int sl__job_spec_start_values(const struct sl_job_spec *spec, double **out, struct sl_error *err)
{
	size_t rows = json_array_size(spec->start), d = (size_t)sl__work_start_columns(&spec->work);
	double *value = malloc((rows * d + 1) * sizeof *value);
	if (!value)
		return sl_error_memory(err, "a start of %zu rows", rows);
	for (size_t i = 0; i < rows; i++) {
		const json_t *row = json_array_get(spec->start, i);
		for (size_t k = 0; k < d; k++)
			value[i * d + k] = json_number_value(json_is_array(row) ? json_array_get(row, k) : row);
	}
	*out = value;
	return 0;
}
