/* codec.h -- commands and events of a device as messages (proto/worker.md). Any thread. */
#ifndef SL_WORKER_CODEC_H
#define SL_WORKER_CODEC_H

#include "daemon/device/port.h"
#include "daemon/worker/wire.h"

/* A number of any size in JSON: null stands for NaN, "inf" and "-inf" for infinite numbers. */
json_t *sl_wire_real(double x);
double sl_wire_real_value(const json_t *value);
/* A text; if it is no UTF-8, perhaps since it was cut, each byte that is not ASCII becomes "?". NULL: no memory. */
json_t *sl_wire_text(const char *text);
json_t *sl_wire_error(const struct sl_error *err);
void sl_wire_error_value(const json_t *value, struct sl_error *err);

/* The message for a command; NULL: no memory. ADD: takes init, checkpoint and start out of command->add, also if there
 * is no memory. method: of the job, for STEER. */
struct sl_wire_message *sl_command_message(const struct sl_command *command, const struct sl_method *method);
/* The command of a message, as the daemon has sent it, without the events that it owes. ADD: *neighbours are those that
 * have no file, or NULL; the caller's. SL_BADDATA, SL_NOMEM. */
int sl_command_of_message(struct sl_wire_message *m, struct sl_command **out, struct sl_neighbours **neighbours,
			  struct sl_error *err);

/* The message for an event; takes arrays out of it. method: of its job, NULL if there is none. NULL: no memory. */
struct sl_wire_message *sl_event_message(struct sl_device_event *e, const struct sl_method *method);
/* The event of a message. method: of its job, NULL if there is none. SL_BADDATA: the message is none of an event. */
int sl_event_of_message(struct sl_wire_message *m, const struct sl_method *method, struct sl_device_event **out,
			struct sl_error *err);

/* ---- what the files of the codec share; missing members read as 0, false or "" ---- */

#define SL__COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

const char *sl__text_at(const json_t *object, const char *key);
int64_t sl__whole_at(const json_t *object, const char *key);
double sl__real_at(const json_t *object, const char *key);
bool sl__is_at(const json_t *object, const char *key);
/* SL_BADDATA: "The message has WHAT." */
int sl__wrong(struct sl_error *err, const char *what);
/* The index of a name; -1: it is none of them. */
int sl__kind_number(const char *name, const char *const *names, int count);

#endif
