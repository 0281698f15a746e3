/* What the graphs of an account take on the disk, those that are being uploaded too. */
#include <stddef.h>

#include "daemon/graphs/graphs_internal.h"
#include "daemon/users/limits.h"
#include "daemon/users/users.h"

uint64_t sl_graphs_disk_use(struct sl_graphs *s, const char *account)
{
	uint64_t bytes = s->on_disk_use ? s->on_disk_use(s->on_disk_use_arg, account) : 0;
	for (int i = 0; i < s->count; i++) {
		const struct sl__graph *g = s->graph[i];
		if (sl_users_counts_toward_quota(s->d->users, account, g->record.id))
			bytes += sl__graph_disk_booked(g);
	}
	return bytes + sl__uploads_bytes(s, account);
}

uint64_t sl_graph_booked(const struct sl_graph_record *g)
{
	return sl__graph_disk_booked((const struct sl__graph *)((const char *)g - offsetof(struct sl__graph, record)));
}

bool sl_graphs_exceed(struct sl_graphs *s, const char *account, uint64_t more, struct sl_limit_hit *hit)
{
	const struct sl_users *users = s->d->users;
	return sl_users_limit(users, account, SL_LIMIT_DISK_BYTES) > 0 &&
	       sl_users_exceeds(users, account, SL_LIMIT_DISK_BYTES, (double)sl_graphs_disk_use(s, account), (double)more,
				hit);
}
