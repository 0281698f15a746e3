/* The commands of the loop to a device, whatever stands behind its port. */
#include "daemon/device/port.h"

#include <stdlib.h>
#include <string.h>

void sl_device_job_finish(struct sl_device_job *job)
{
	if (job->run)
		job->method->destroy(job->run);
	free(job->init);
	free(job->checkpoint);
	free(job->source.data);
	free(job->source.neighbours);
	free(job->source.start);
}

void sl__device_job_destroy(struct sl_device_job *job)
{
	if (job)
		sl_device_job_finish(job);
	free(job);
}

void sl__command_destroy(struct sl_command *c)
{
	if (!c)
		return;
	sl__device_job_destroy(c->add);
	sl_device_event_destroy(c->owed.answer);
	sl_device_event_destroy(c->owed.ended);
	sl_device_event_destroy(c->owed.dropped);
	free(c);
}

bool sl__command_answered(enum sl_command_kind kind)
{
	return kind == SL__ADD || kind == SL__PAUSE || kind == SL__SNAPSHOT || kind == SL__CHECKPOINT ||
	       kind == SL__LEAVE || kind == SL__ASK_STATE || kind == SL__PLANS_CLEAR;
}

static int post(struct sl_device_port *p, const struct sl_command *command)
{
	return p->functions->post(p, command);
}

int sl_device_add(struct sl_device_port *p, const struct sl_device_job *job)
{
	struct sl_device_job *copy = malloc(sizeof *copy);
	if (!copy)
		return SL_NOMEM;
	*copy = *job;
	int code = post(p, &(struct sl_command){.kind = SL__ADD, .key = job->job, .add = copy});
	if (code)
		free(copy);
	return code;
}

int sl_device_steer(struct sl_device_port *p, uint64_t job, const void *params, size_t bytes)
{
	struct sl_command c = {.kind = SL__STEER, .key = job};
	memcpy(&c.params, params, bytes);
	return post(p, &c);
}

int sl_device_set_priority(struct sl_device_port *p, uint64_t job, int priority)
{
	return post(p, &(struct sl_command){.kind = SL__PRIORITY, .key = job, .priority = priority});
}

int sl_device_snapshot(struct sl_device_port *p, uint64_t job, bool quantise)
{
	return post(p, &(struct sl_command){.kind = SL__SNAPSHOT, .key = job, .quantise = quantise});
}

int sl_device_pin_graph(struct sl_device_port *p, uint64_t graph, bool pinned)
{
	return post(p, &(struct sl_command){.kind = SL__PIN, .key = graph, .pinned = pinned});
}

int sl_device_charge(struct sl_device_port *p, const char *group, const char *client, double ms)
{
	struct sl_command c = {.kind = SL__CHARGE, .ms = ms};
	snprintf(c.group, sizeof c.group, "%s", group);
	snprintf(c.client, sizeof c.client, "%s", client);
	return post(p, &c);
}

static int send_plain(struct sl_device_port *p, enum sl_command_kind kind, uint64_t key)
{
	return post(p, &(struct sl_command){.kind = kind, .key = key});
}

int sl_device_pause(struct sl_device_port *p, uint64_t job) { return send_plain(p, SL__PAUSE, job); }

int sl_device_resume(struct sl_device_port *p, uint64_t job, unsigned holds)
{
	return post(p, &(struct sl_command){.kind = SL__RESUME, .key = job, .holds = holds});
}

int sl_device_cancel(struct sl_device_port *p, uint64_t job) { return send_plain(p, SL__CANCEL, job); }
int sl_device_finish(struct sl_device_port *p, uint64_t job) { return send_plain(p, SL__FINISH, job); }
int sl_device_checkpoint(struct sl_device_port *p, uint64_t job) { return send_plain(p, SL__CHECKPOINT, job); }
int sl_device_leave(struct sl_device_port *p, uint64_t job) { return send_plain(p, SL__LEAVE, job); }
int sl_device_drop_graph(struct sl_device_port *p, uint64_t graph) { return send_plain(p, SL__DROP_GRAPH, graph); }
int sl_device_drop_neighbours(struct sl_device_port *p, uint64_t key)
{
	return send_plain(p, SL__DROP_NEIGHBOURS, key);
}

int sl_device_ask_state(struct sl_device_port *p) { return send_plain(p, SL__ASK_STATE, 0); }
int sl_device_plans_clear(struct sl_device_port *p) { return send_plain(p, SL__PLANS_CLEAR, 0); }
int sl_device_stop(struct sl_device_port *p) { return send_plain(p, SL__STOP, 0); }

int sl_device_opened(struct sl_device_port *p, struct sl_error *err)
{
	return p->functions->opened(p, err);
}

double sl_device_silent_s(const struct sl_device_port *p)
{
	return p->functions->silent_s(p);
}

void sl_device_destroy(struct sl_device_port *p, void (*closed)(void *arg), void *arg)
{
	p->functions->destroy(p, closed, arg);
}
