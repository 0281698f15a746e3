/* A trace has a point for each iteration below `dense`, then for each tenth, hundredth and so on, so that it stays
 * short however long the run is. */
#include "core/method/progress.h"

#include <stdlib.h>
#include <string.h>

struct header {
	char magic[8];
	int32_t iteration, asked, count, unused;
	double seconds;
};

void sl_progress_finish(struct sl_progress *p)
{
	free(p->trace);
	*p = (struct sl_progress){0};
}

bool sl_progress_traced(int iteration, int dense)
{
	int every = 1;
	while (iteration / every >= dense)
		every *= 10;
	return iteration % every == 0;
}

int sl_progress_next_traced(int iteration, int dense)
{
	int every = 1;
	while ((iteration + 1) / every >= dense)
		every *= 10;
	return (iteration / every + 1) * every;
}

struct sl_trace_point *sl_progress_note(struct sl_progress *p, double measure, struct sl_error *err)
{
	if (p->count == p->room) {
		int room = p->room ? 2 * p->room : 64;
		struct sl_trace_point *grown = realloc(p->trace, (size_t)room * sizeof *grown);
		if (!grown) {
			sl_error_memory(err, "the trace");
			return NULL;
		}
		p->trace = grown;
		p->room = room;
	}
	struct sl_trace_point *point = &p->trace[p->count++];
	memset(point, 0, sizeof *point);  /* padding, too, since saved states contain the structure */
	point->iteration = p->iteration;
	point->seconds = p->seconds;
	point->measure = measure;
	return point;
}

int sl_progress_save(const struct sl_progress *p, const char magic[8], void **out, uint64_t *bytes,
		     struct sl_error *err)
{
	struct header h = {.iteration = p->iteration, .asked = p->asked, .count = p->count, .seconds = p->seconds};
	size_t trace_bytes = (size_t)p->count * sizeof *p->trace, first = sizeof h + trace_bytes;
	memcpy(h.magic, magic, sizeof h.magic);
	char *whole = malloc(first + *bytes);
	if (whole) {
		memcpy(whole, &h, sizeof h);
		if (trace_bytes)
			memcpy(whole + sizeof h, p->trace, trace_bytes);
		if (*bytes)
			memcpy(whole + first, *out, *bytes);
	}
	free(*out);
	*out = whole;
	*bytes += first;
	return whole ? 0 : sl_error_memory(err, "a state of the run");
}

int sl_progress_load(struct sl_progress *p, const char magic[8], const void **saved, uint64_t *bytes,
		     struct sl_error *err)
{
	const char *at = *saved;
	struct header h = {.count = -1};
	if (*bytes >= sizeof h)
		memcpy(&h, at, sizeof h);
	size_t trace_bytes = (size_t)(h.count > 0 ? h.count : 0) * sizeof *p->trace, first = sizeof h + trace_bytes;
	if (memcmp(h.magic, magic, sizeof h.magic) || h.count < 0 || h.iteration < 0 || *bytes < first)
		return sl_error_set(err, SL_BADDATA, "The state does not belong to this method.");
	sl_progress_finish(p);
	if (h.count && !(p->trace = malloc(trace_bytes)))
		return sl_error_memory(err, "the trace");
	if (h.count)
		memcpy(p->trace, at + sizeof h, trace_bytes);
	p->count = p->room = h.count;
	p->iteration = h.iteration;
	p->asked = h.asked;
	p->seconds = h.seconds;
	*saved = at + first;
	*bytes -= first;
	return 0;
}
