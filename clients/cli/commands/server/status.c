/* status.c -- spaceland status */
#include <string.h>

#include "clients/cli/commands/commands.h"
#include "clients/cli/common/messages.h"
#include "clients/cli/server/http.h"

/* Prints the problems of devices, each only once. */
static void print_problems(const json_t *devices)
{
	bool first = true;
	for (size_t i = 0; i < json_array_size(devices); i++) {
		const char *problem = cli_text(json_array_get(devices, i), "problem");
		bool told = !*problem;
		for (size_t k = 0; k < i && !told; k++)
			told = !strcmp(cli_text(json_array_get(devices, k), "problem"), problem);
		if (told)
			continue;
		printf("%s%s", first ? "\n" : "", cli_text(json_array_get(devices, i), "id"));
		for (size_t k = i + 1; k < json_array_size(devices); k++)
			if (!strcmp(cli_text(json_array_get(devices, k), "problem"), problem))
				printf(", %s", cli_text(json_array_get(devices, k), "id"));
		printf(": %s\n", problem);
		first = false;
	}
}

static void print_devices(const json_t *devices)
{
	static const char *const titles[] = {"DEVICE", "NAME", "STATE", "MEMORY", "OF", "RUNNING", "QUEUED", "GRAPHS",
					     "PLANS"};
	struct table *t = table_create(9, 0x1f8, titles);
	size_t i;
	json_t *d;
	json_array_foreach(devices, i, d) {
		char used[24], total[24], running[24], queued[24], graphs[24], plans[24], name[320], state[32];
		const json_t *worker = json_object_get(d, "worker");
		bool elsewhere = json_is_object(worker), connected = !strcmp(cli_text(worker, "state"), "connected");
		snprintf(name, sizeof name, "%s%s%s", cli_text(d, "name"), elsewhere ? ", on " : "", cli_text(worker, "name"));
		snprintf(state, sizeof state, "%s", elsewhere && !connected ? cli_text(worker, "state") : cli_text(d, "state"));
		const char *const cells[] = {
			cli_text(d, "id"), name, state,
			cli_bytes_text(cli_number(d, "memory_used"), used),
			cli_bytes_text(cli_number(d, "memory_total"), total),
			cli_count_text(cli_number(d, "jobs_running"), running),
			cli_count_text(cli_number(d, "jobs_queued"), queued),
			cli_count_text(cli_number(d, "graphs_resident"), graphs), cli_count_text(cli_number(d, "plans"), plans),
		};
		table_row(t, cells);
	}
	table_print(t, stdout);
	table_destroy(t);
	print_problems(devices);
}

static void print(const char *server, const json_t *status, const json_t *devices)
{
	const json_t *jobs = json_object_get(status, "jobs");
	char up[24];
	printf("spacelandd %s at %s, up %s\n", cli_text(status, "version"), server,
	       cli_seconds_text(cli_number(status, "uptime_seconds"), up));
	printf("frames  %s\n", *cli_text(status, "stream") ? cli_text(status, "stream") : "no ZeroMQ stream");
	printf("graphs  %.0f\n", cli_number(status, "graphs"));
	printf("jobs    %.0f running, %.0f queued, %.0f paused, %.0f done, %.0f failed, %.0f cancelled\n\n",
	       cli_number(jobs, "running"), cli_number(jobs, "queued"), cli_number(jobs, "paused"),
	       cli_number(jobs, "done"), cli_number(jobs, "failed"), cli_number(jobs, "cancelled"));
	print_devices(devices);
}

int cmd_status(struct cli *cli)
{
	json_t *server = NULL, *devices = NULL;
	const char *url;
	int status = http_server(cli, &url);
	if (!status)
		status = http_get(cli, "/v1/status", &server);
	if (!status)
		status = http_get(cli, "/v1/devices", &devices);
	if (!status && cli->json) {
		json_object_set_new(server, "server", json_string(url));
		json_object_set(server, "devices", json_object_get(devices, "items"));
		status = cli_print_json(server);
	} else if (!status) {
		print(url, server, json_object_get(devices, "items"));
	}
	json_decref(server);
	json_decref(devices);
	return status;
}
