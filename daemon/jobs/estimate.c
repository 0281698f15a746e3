/* What a job would take: memory and time. Loop thread. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "daemon/jobs/jobs_internal.h"

/* From what iterations take on one core: entries, nodes, and the nodes of the padded grid, whose side
 * follows from how wide layouts of n nodes become. */
static double guess_cpu_seconds(struct sl_jobs *j, const struct sl_job_spec *spec)
{
	const struct sl_params *p = &spec->params;
	double n = spec->graph->nodes, h = p->dims == 1 ? 0.25 : p->dims == 2 ? 0.35 : 0.9;
	double wide = p->dims == 1 ? n / 60 : p->dims == 2 ? 1.4 * sqrt(n) : 2.9 * cbrt(n);
	double side = p->grid_side ? p->grid_side : fmax(wide / h, 24);
	double grid = 4e-9 * pow(2 * side, p->dims), pairs = 4e-10 * n * n;
	double repulsion = p->repulsion == SL_REPULSION_EXACT || (p->repulsion == SL_REPULSION_AUTO && pairs < grid)
				   ? pairs : grid + n * 1e-8 * pow(3, p->dims);
	double threads = j->d->config.threads > 0 ? (double)j->d->config.threads : (double)sysconf(_SC_NPROCESSORS_ONLN);
	return p->iterations * (1e-5 + (repulsion + 2e-9 * 2 * (double)sl__job_entries(p, spec->graph) + 3e-8 * n) / threads);
}

/* From what iterations take on an H200 (docs/performance.md): a time that each has, the entries, and nodes of the
 * grid, which has fewer of them than the CPU's. */
static double guess_gpu_seconds(const struct sl_job_spec *spec)
{
	const struct sl_params *p = &spec->params;
	double n = spec->graph->nodes, entries = (double)sl__job_entries(p, spec->graph);
	double grid = p->dims == 3 ? 3e-9 * n : 3e-10 * n;
	double repulsion = p->repulsion == SL_REPULSION_EXACT ? 4e-13 * n * n : grid;
	return p->iterations * (2.5e-5 + repulsion + 5e-12 * entries);
}

static double guess_seconds(struct sl_jobs *j, const struct sl_job_spec *spec)
{
	double cpu = guess_cpu_seconds(j, spec), gpu = guess_gpu_seconds(spec);
	if (!strcmp(spec->engine->name, "cpu"))
		return cpu;
	if (!strcmp(spec->engine->name, "cuda"))
		return gpu;
	return gpu + cpu / 2;  /* attraction on the CPU, beside the rest */
}

void sl__job_reply_estimate(struct sl_request *r, const struct sl_job_spec *spec)
{
	struct sl_jobs *j = sl_request_daemon(r)->jobs;
	uint64_t host, device;
	sl__job_bytes(spec->engine->functions, &spec->params, spec->graph->nodes, sl__job_entries(&spec->params, spec->graph), &host,
		      &device);
	json_t *parameters = sl__params_json(&spec->params);
	sl_reply_json(r, 200, json_pack("{s:b, s:s, s:I, s:I, s:f, s:o}", "dry_run", 1, "engine", spec->engine->name,
					"host_bytes", (json_int_t)host,
					"device_bytes", (json_int_t)device, "seconds", guess_seconds(j, spec),
					"parameters", parameters));
}

