/* Parses the JSON of a body, once. The thread pool parses and frees a large body, since a megabyte takes 50 ms or more.
 * Only one large body is parsed at a time, since it may take a hundred times its size in memory. The next one is of the
 * sender whose last turn was the longest ago; bodies of one sender keep their order. So a body waits for at most one
 * body of each other sender. A sender is a user, also by links; where requests have no tokens, it is an address. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/http/http_internal.h"
#include "daemon/users/bookings.h"
#include "daemon/json/json.h"
#include "daemon/util/pool.h"

#define SMALL_BYTES (16 << 10)  /* parsed on the loop */
#define SENDER_BYTES (INET6_ADDRSTRLEN + 1)

struct sl__documents {
	uv_loop_t *loop;
	struct sl_list waiting;  /* struct parsing, in the order of arrival */
	uint64_t turns;          /* number of turns so far */
	bool busy, closed;
};

struct parsing {
	struct sl_link link;
	struct sl__documents *documents;
	struct sl_request *r;  /* NULL: the client is gone, or got 503 */
	char sender[SENDER_BYTES];
	uint64_t last_turn;    /* number of its sender's last turn, or of the last one when the sender came */
	void (*then)(struct sl_request *r);
	char *body;            /* the request's, while it is parsed */
	size_t bytes;
	struct sl_account held;     /* of the body; the request's, while it is parsed */
	struct sl_account account;  /* of the tree */
	json_t *document;
	int code;
	struct sl_error err;
};

struct sl__documents *sl__documents_create(uv_loop_t *loop)
{
	struct sl__documents *documents = calloc(1, sizeof *documents);
	if (documents)
		documents->loop = loop;
	return documents;
}

static int parse(json_t **out, const char *body, size_t bytes, struct sl_account *account, struct sl_error *err)
{
	return sl_json_object(out, body ? body : "", bytes, "request body", account, err);
}

static void parse_work(void *arg)
{
	struct parsing *p = arg;
	p->code = parse(&p->document, p->body, p->bytes, &p->account, &p->err);
}

static void free_work(void *arg)
{
	struct parsing *p = arg;
	json_decref(p->document);
	sl_account_close(&p->account);
}

static void next(struct sl__documents *documents);

static void free_body(struct parsing *p)
{
	free(p->body);
	sl_account_close(&p->held);
}

static void freed(void *arg)
{
	struct parsing *p = arg;
	struct sl__documents *documents = p->documents;
	free(p);
	documents->busy = false;
	next(documents);
}

static void parsed(void *arg)
{
	struct parsing *p = arg;
	struct sl_request *r = p->r;
	if (r) {
		r->body = p->body;
		sl_account_move(&r->account, &p->held, SL_MEMORY, p->held.taken[SL_MEMORY]);
		r->document = p->document;
		r->document_code = p->code;
		r->document_err = p->err;
		r->parsed = true;
		r->gone = NULL;  /* it would set p->r to NULL */
		p->then(r);      /* also if the request was answered: it exists until the loop's next turn */
		r->document = NULL;
		r->parsed = false;
	} else {
		free_body(p);
	}
	sl_pool_run(p->documents->loop, free_work, freed, p);
}

/* The first waiting body of the sender whose last turn was the longest ago. */
static struct parsing *first_of(const struct sl__documents *documents)
{
	struct parsing *first = NULL;
	SL_LIST_EACH(struct parsing, p, &documents->waiting, link)
		if (!first || p->last_turn < first->last_turn)
			first = p;
	return first;
}

static void next(struct sl__documents *documents)
{
	struct parsing *first = documents->busy ? NULL : first_of(documents);
	if (first) {
		sl_list_unlink(&first->link);
		documents->busy = true;
		documents->turns++;
		SL_LIST_EACH(struct parsing, p, &documents->waiting, link)
			if (!strcmp(p->sender, first->sender))
				p->last_turn = documents->turns;
		sl_pool_run(documents->loop, parse_work, parsed, first);
	} else if (documents->closed && !documents->busy) {
		free(documents);
	}
}

/* A sender that comes anew does not get a turn before those that wait already and have had fewer turns. */
static void join(struct sl__documents *documents, struct parsing *p)
{
	bool known = false;
	p->last_turn = documents->turns;
	SL_LIST_EACH(struct parsing, other, &documents->waiting, link) {
		if (!known && other->last_turn < p->last_turn)
			p->last_turn = other->last_turn;
		if (!strcmp(other->sender, p->sender)) {
			p->last_turn = other->last_turn;
			known = true;
		}
	}
	sl_list_append(&documents->waiting, &p->link);
	next(documents);
}

/* The client is gone, or got 503: a body that waits is freed at once. */
static void gone(void *arg)
{
	struct parsing *p = arg;
	p->r = NULL;
	if (!p->link.in)
		return;
	sl_list_unlink(&p->link);
	free_body(p);
	free(p);
}

static void name_sender(const struct sl_request *r, char out[SENDER_BYTES])
{
	const char *whose = r->who.account[0] ? r->who.account : sl_request_whose(r);
	if (whose[0])
		snprintf(out, SENDER_BYTES, "%s", whose);
	else
		sl__address_text(&r->client, out);
}

/* Call it when all requests have ended. */
void sl__documents_close(struct sl__documents *documents)
{
	if (!documents)
		return;
	documents->closed = true;
	if (!documents->busy)
		next(documents);
}

/* Parses a large body on the pool. True: then(r) runs later, and r is parked until then. */
bool sl__document_wait(struct sl_request *r, void (*then)(struct sl_request *r))
{
	struct parsing *p = r->body_bytes > SMALL_BYTES ? calloc(1, sizeof *p) : NULL;
	if (!p)
		return false;
	*p = (struct parsing){.documents = r->http->documents, .r = r, .then = then, .body = r->body,
			      .bytes = r->body_bytes};
	r->body = NULL;
	sl_account_move(&p->held, &r->account, SL_MEMORY, r->account.taken[SL_MEMORY]);
	p->account = sl_bookings_account(r->http->d->bookings, SL_BOOK_READING, r->who.account);
	name_sender(r, p->sender);
	sl_request_park(r, gone, p);
	join(p->documents, p);
	return true;
}

int sl__document(struct sl_request *r, json_t **out, struct sl_error *err)
{
	if (!r->parsed)
		r->document_code = parse(&r->document, r->body, r->body_bytes, &r->account, &r->document_err);
	r->parsed = true;
	*out = r->document;
	if (r->document_code && err)
		*err = r->document_err;
	return r->document_code;
}

void sl__document_free(struct sl_request *r)
{
	json_decref(r->document);
	r->document = NULL;
}

int sl_request_json(struct sl_request *r, json_t **out, struct sl_error *err)
{
	if (!r->body_bytes && r->route->flags & SL_BODY_OPTIONAL) {
		*out = json_object();
		return *out ? 0 : sl_error_memory(err, "the request");
	}
	int rc = sl__document(r, out, err);
	json_incref(*out);
	return rc;
}
