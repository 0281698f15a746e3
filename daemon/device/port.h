/* port.h -- what stands behind a port (device.h): the functions of a thread or of a worker, and the commands that they
 * get. For daemon/device/ and daemon/worker/ only. Loop thread. */
#ifndef SL_DEVICE_PORT_H
#define SL_DEVICE_PORT_H

#include "daemon/device/device.h"

/* The events that are allocated together with a command, for its answers. Owned; NULL: not allocated, or sent
 * already. */
struct sl_owed {
	struct sl_device_event *answer;   /* to the command itself; ADD: STARTED */
	struct sl_device_event *ended;    /* ADD: the job's last event */
	struct sl_device_event *dropped;  /* ADD: GRAPH_DROPPED */
};

enum sl_command_kind { SL__ADD, SL__STEER, SL__PRIORITY, SL__PAUSE, SL__RESUME, SL__CANCEL, SL__FINISH, SL__SNAPSHOT,
		       SL__CHECKPOINT, SL__LEAVE, SL__CHARGE, SL__DROP_GRAPH, SL__DROP_NEIGHBOURS, SL__PIN,
		       SL__EXPANDED, SL__ASK_STATE, SL__PLANS_CLEAR, SL__STOP };

/* A command for a job that is not on the device is ignored, except that its answer is sent. */
struct sl_command {
	struct sl_message message;
	enum sl_command_kind kind;
	uint64_t key;                /* of the job or graph */
	struct sl_method_params params;
	int priority;
	unsigned holds;              /* RESUME */
	bool quantise, pinned;
	char group[64], client[64];  /* CHARGE */
	double ms;
	struct sl_device_job *add;   /* owned */
	struct sl_owed owed;
};

/* Allocates an event with all memory that its kind needs. NULL: out of memory. Loop or thread. */
struct sl_device_event *sl__event_create(enum sl_event_kind kind);
/* True if each command of this kind gets an answer. */
bool sl__command_answered(enum sl_command_kind kind);
/* Frees the job or command and all that it owns. NULL is fine. */
void sl__device_job_destroy(struct sl_device_job *job);
void sl__command_destroy(struct sl_command *c);

struct sl_port_functions {
	/* Takes a copy of the command, and what command->add owns, if it returns 0; else SL_NOMEM. */
	int (*post)(struct sl_device_port *p, const struct sl_command *command);
	int (*opened)(struct sl_device_port *p, struct sl_error *err);
	double (*silent_s)(const struct sl_device_port *p);
	void (*destroy)(struct sl_device_port *p, void (*closed)(void *arg), void *arg);
};

/* The first member of the structure of a thread or a worker. */
struct sl_device_port {
	const struct sl_port_functions *functions;
};

#endif
