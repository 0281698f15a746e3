/* The daemon's side of calls (calls.h). The port's record of a call stays until its answer has come and its caller has
 * ended it, so that answers can be checked. */
#include "daemon/worker/port_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/worker/calls.h"

struct sl__port_call {
	struct sl_link link;         /* in sl__port.calls */
	struct sl__port *port;
	struct sl_worker_call *of;   /* NULL: its caller has ended it */
	struct sl_worker_call limits;
	uint64_t number;
	char *file;                  /* owned, or NULL */
	bool answered;
};

struct sl_wire_message *sl_worker_call_message(const char *what)
{
	struct sl_wire_message *m = sl_wire_message_create("call");
	if (m && !json_object_set_new(m->head, "what", json_string(what)))
		return m;
	sl_wire_message_destroy(m);
	return NULL;
}

static void forget(struct sl__port_call *r)
{
	if (r->of)
		r->of->at = NULL;
	sl_list_unlink(&r->link);
	free(r->file);
	free(r);
}

int sl_worker_call(struct sl_device_port *port, struct sl_worker_call *c, struct sl_wire_message *m,
		   struct sl_error *err)
{
	struct sl__port *p = (struct sl__port *)port;
	struct sl__port_call *r = m ? calloc(1, sizeof *r) : NULL;
	if (!r || (c->file && !(r->file = strdup(c->file))) ||
	    json_object_set_new(m->head, "call", json_integer((json_int_t)(p->calls_made + 1)))) {
		sl_wire_message_destroy(m);
		free(r ? r->file : NULL);
		free(r);
		return sl_error_memory(err, "a message to a worker");
	}
	if (!p->wire || p->away || p->ending || p->why[0]) {
		sl_wire_message_destroy(m);
		free(r->file);
		free(r);
		return sl_error_set(err, SL_DEVLOST, "The worker of %s is not there.", p->options.id);
	}
	r->port = p;
	r->of = c;
	r->limits = *c;
	r->number = ++p->calls_made;
	c->at = r;
	sl_list_append(&p->calls, &r->link);
	sl_wire_send(p->wire, m);
	return 0;
}

uint64_t sl_worker_call_number(const struct sl_worker_call *c)
{
	return c->at ? c->at->number : 0;
}

void sl_worker_call_end(struct sl_worker_call *c)
{
	struct sl__port_call *r = c->at;
	if (!r)
		return;
	struct sl__port *p = r->port;
	bool tell = p->wire && (c->stays || !r->answered);
	struct sl_wire_message *m = tell ? sl_wire_message_create("end") : NULL;
	if (m)
		json_object_set_new(m->head, "call", json_integer((json_int_t)r->number));
	if (tell)
		sl_wire_send(p->wire, m);
	c->at = NULL;
	r->of = NULL;
	if (r->answered)
		forget(r);
}

static struct sl__port_call *call_of(const struct sl__port *p, const json_t *head)
{
	json_int_t number = json_integer_value(json_object_get(head, "call"));
	return SL_LIST_FIND(struct sl__port_call, r, &p->calls, link, number > 0 && r->number == (uint64_t)number);
}

const char *sl__port_answer(struct sl__port *p, struct sl_wire_message *m)
{
	struct sl__port_call *r = call_of(p, m->head);
	const json_t *share = json_object_get(m->head, "share");
	if (!r || r->answered)
		return "it has sent an answer for which nobody has asked";
	if (share) {
		if (r->of && r->of->progress)
			r->of->progress(r->of, fmin(fmax(json_number_value(share), 0), 1));
		return NULL;
	}
	struct sl_error told;
	sl_wire_error_value(json_object_get(m->head, "error"), &told);
	if (told.code == SL_DEVLOST)
		sl__port_end(p, told.detail);  /* only a new process opens the device again */
	r->answered = true;
	if (r->of)
		r->of->answered(r->of, m, NULL);  /* which may end it */
	else
		forget(r);
	return NULL;
}

void sl__port_lose_calls(struct sl__port *p)
{
	struct sl_error err;
	sl_error_set(&err, SL_DEVLOST, "%s", p->state.problem.code ? p->state.problem.detail : "The worker has ended.");
	for (struct sl__port_call *r; (r = SL_LIST_FIRST(struct sl__port_call, &p->calls, link));) {
		struct sl_worker_call *of = r->answered ? NULL : r->of;
		forget(r);
		if (of)
			of->answered(of, NULL, &err);
	}
}

bool sl__port_has_found(const struct sl__port *p, uint64_t key)
{
	return SL_LIST_FIND(struct sl__port_call, r, &p->calls, link, key && r->answered && r->limits.key == key) != NULL;
}

bool sl__port_calls_read(const struct sl__port *p, const char *path)
{
	return SL_LIST_FIND(struct sl__port_call, r, &p->calls, link, r->file && !r->answered && !strcmp(r->file, path)) !=
	       NULL;
}

uint64_t sl__port_answer_most(const struct sl__port *p, const json_t *head, const char *part)
{
	const struct sl__port_call *r = call_of(p, head);
	for (int i = 0; r && !r->answered && i < SL_CALL_PARTS && r->limits.part[i].name; i++)
		if (!strcmp(r->limits.part[i].name, part))
			return r->limits.part[i].bytes;
	return 0;
}
