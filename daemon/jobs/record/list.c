/* Pages of jobs: filtered, sorted, continued by a cursor. Loop thread.
 *
 * A cursor is "TIME-ID" of the last job on the page, with the time by which the list is sorted. It stays valid
 * when that job is deleted. Jobs that have not started or ended yet are the latest. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "daemon/jobs/jobs_internal.h"
#include "daemon/users/users.h"

static const char *const orders[] = {"created", "started", "finished"};

struct place {
	uint64_t ms;
	char id[SL_ULID_BYTES];
};

struct selection {
	unsigned states;       /* bit k: jobs of state k */
	int order;             /* index in orders */
	bool latest_first;
	bool goes_on;          /* the page begins after `last` */
	struct place last;
};

struct found {
	struct place place;
	const struct sl_job *job;
};

static struct place place_of(const struct sl_job *job, int order)
{
	uint64_t ms = order == 0 ? job->record.created_ms : order == 1 ? job->record.started_ms : job->record.finished_ms;
	struct place place = {.ms = ms ? ms : INT64_MAX};
	memcpy(place.id, job->record.id, sizeof place.id);
	return place;
}

static int compare(const struct place *a, const struct place *b)
{
	return a->ms != b->ms ? (a->ms < b->ms ? -1 : 1) : strcmp(a->id, b->id);
}

static int earliest_first(const void *a, const void *b)
{
	return compare(&((const struct found *)a)->place, &((const struct found *)b)->place);
}

static int latest_first(const void *a, const void *b)
{
	return earliest_first(b, a);
}

static int read_states(const char *text, unsigned *states, struct sl_error *err)
{
	*states = text ? 0 : ~0u;
	while (text) {
		size_t length = strcspn(text, ",");
		int state = 0;
		while (state < SL_JOB_STATES && (strncmp(text, sl_job_state_name[state], length) ||
						 sl_job_state_name[state][length]))
			state++;
		if (state == SL_JOB_STATES)
			return sl_error_field(err, SL_BADPARAM, "?state",
					      "state must be one of queued, running, paused, done, failed, "
					      "cancelled, or several with commas between them.");
		*states |= 1u << state;
		text = text[length] ? text + length + 1 : NULL;
	}
	return 0;
}

static int read_order(const char *text, struct selection *s, struct sl_error *err)
{
	s->latest_first = !text || *text == '-';
	if (!text)
		return 0;
	for (text += s->latest_first; s->order < 3; s->order++)
		if (!strcmp(text, orders[s->order]))
			return 0;
	return sl_error_field(err, SL_BADPARAM, "?sort", "sort must be one of created, started, finished, or one of these "
				     "after a minus sign, for the latest first.");
}

static int read_cursor(const char *text, struct selection *s, struct sl_error *err)
{
	char *end;
	if (!text)
		return 0;
	s->goes_on = true;
	s->last.ms = strtoull(text, &end, 10);
	if (*end != '-' || !sl_ulid_valid(end + 1))
		return sl_error_field(err, SL_BADPARAM, "?cursor", "cursor must be the value of next on the previous "
				      "page.");
	memcpy(s->last.id, end + 1, sizeof s->last.id);
	return 0;
}

static bool wanted(const struct sl_job *job, const struct sl_job_query *q, const struct selection *s)
{
	struct place place = place_of(job, s->order);
	int after = s->goes_on ? compare(&place, &s->last) : 0;
	return s->states & 1u << job->life.state && (!q->graph || !strcmp(job->record.graph, q->graph)) &&
	       (!q->name || (job->record.name && strcasestr(job->record.name, q->name))) &&
	       (!q->project || !strcmp(job->record.project, q->project)) &&
	       (!s->goes_on || (s->latest_first ? after < 0 : after > 0)) && sl_request_lists(q->r, job->record.id);
}

/* All matching jobs, in the requested order. */
static struct found *find(const struct sl_jobs *j, const struct sl_job_query *q, const struct selection *s,
			  size_t *count)
{
	size_t most = 1, used = 0;
	for (int k = 0; k < SL_JOB_STATES; k++)
		most += (size_t)j->count[k];
	struct found *found = malloc(most * sizeof *found);
	SL_LIST_EACH_BACK(const struct sl_job, job, &j->all, listed.all) {
		if (!found)
			break;
		if (!wanted(job, q, s))
			continue;
		found[used++] = (struct found){place_of(job, s->order), job};
		if (s->order == 0 && s->latest_first && used > (size_t)q->limit)
			break;  /* the list is in this order already */
	}
	if (found)
		qsort(found, used, sizeof *found, s->latest_first ? latest_first : earliest_first);
	*count = used;
	return found;
}

int sl_jobs_list(const struct sl_jobs *j, const struct sl_job_query *q, char (**ids)[SL_ULID_BYTES], size_t *count,
		 char next[SL_JOB_CURSOR_BYTES], struct sl_error *err)
{
	struct selection s = {0};
	int code = read_states(q->state, &s.states, err);
	if (!code)
		code = read_order(q->sort, &s, err);
	if (!code)
		code = read_cursor(q->cursor, &s, err);
	if (!code && q->graph && !sl_ulid_valid(q->graph))
		code = sl_error_field(err, SL_BADPARAM, "?graph", "graph must be the id of a graph, 26 characters.");
	if (code)
		return code;
	size_t all;
	struct found *found = find(j, q, &s, &all);
	*ids = calloc((size_t)q->limit, sizeof **ids);
	if (!found || !*ids) {
		free(found);
		free(*ids);
		return sl_error_memory(err, "a list of jobs");
	}
	next[0] = '\0';
	for (*count = 0; *count < all && *count < (size_t)q->limit; (*count)++)
		memcpy((*ids)[*count], found[*count].place.id, sizeof **ids);
	if (all > *count) {
		const struct place *last = &found[*count - 1].place;
		snprintf(next, SL_JOB_CURSOR_BYTES, "%llu-%s", (unsigned long long)last->ms, last->id);
	}
	free(found);
	return 0;
}

void sl_jobs_name_users_of(const struct sl_jobs *j, const char *graph, char *out, size_t size)
{
	const char *separator = ". They are: ";
	size_t used = 0;
	out[0] = '\0';
	SL_LIST_EACH(const struct sl_job, job, &j->all, listed.all) {
		if (strcmp(job->record.graph, graph) || sl__job_ended(job))
			continue;
		json_t *access = sl_users_access_json(j->d->users, job->record.id);
		const char *owner = json_string_value(json_array_get(json_object_get(access, "owners"), 0));
		int length = snprintf(out + used, size - used, "%s%s%s%s", separator, job->record.id, owner ? " of " : "",
				      owner ? owner : "");
		json_decref(access);
		if (length < 0 || (size_t)length >= size - used) {
			out[used] = '\0';  /* the last one does not fit */
			return;
		}
		used += (size_t)length;
		separator = ", ";
	}
}
