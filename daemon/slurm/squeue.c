/* Reads the listing of Slurm's queue. */
#include "daemon/slurm/squeue.h"

#include <stdlib.h>
#include <string.h>

#define FIELDS 7

/* Copies a field of a line, which ends at `end`; the last field may have any characters. */
static const char *take(const char *at, const char *end, bool last, char *out, size_t bytes)
{
	const char *stop = last ? end : memchr(at, '|', (size_t)(end - at));
	if (!stop)
		return NULL;
	size_t length = (size_t)(stop - at) < bytes - 1 ? (size_t)(stop - at) : bytes - 1;
	memcpy(out, at, length);
	out[length] = 0;
	return last ? end : stop + 1;
}

/* "N/A": 0 */
static int64_t seconds(const char *text)
{
	char *rest;
	int64_t s = strtoll(text, &rest, 10);
	return *rest ? 0 : s;
}

static bool parse(const char *at, const char *end, struct sl_squeue_line *out)
{
	char id[24], state[32], start[32], end_time[32];
	const struct { char *text; size_t bytes; } fields[FIELDS] = {
		{id, sizeof id}, {out->name, sizeof out->name}, {state, sizeof state}, {start, sizeof start},
		{end_time, sizeof end_time}, {out->node, sizeof out->node}, {out->reason, sizeof out->reason},
	};
	for (int i = 0; i < FIELDS; i++)
		if (!(at = take(at, end, i == FIELDS - 1, fields[i].text, fields[i].bytes)))
			return false;
	char *rest;
	out->id = strtoull(id, &rest, 10);
	if (!out->id || *rest)
		return false;
	out->state = sl_slurm_state(state);
	out->start_s = seconds(start);
	out->end_s = seconds(end_time);
	return true;
}

bool sl_squeue_is_stuck(const struct sl_squeue_line *line)
{
	return line->state == SL_SLURM_WAITS && strstr(line->reason, "requeued held");
}

bool sl_squeue_next(const char **at, struct sl_squeue_line *out)
{
	while (**at) {
		const char *line = *at, *end = strchr(line, '\n');
		end = end ? end : line + strlen(line);
		*at = *end ? end + 1 : end;
		if (parse(line, end, out))
			return true;
	}
	return false;
}
