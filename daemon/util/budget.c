#include "daemon/util/budget.h"

void sl_budget_init(struct sl_budget *b)
{
	*b = (struct sl_budget){.lock = PTHREAD_MUTEX_INITIALIZER};
}

void sl_budget_set(struct sl_budget *b, enum sl_resource what, uint64_t limit)
{
	pthread_mutex_lock(&b->lock);
	b->limit[what] = limit;
	pthread_mutex_unlock(&b->lock);
}

uint64_t sl_budget_taken(struct sl_budget *b, enum sl_resource what)
{
	pthread_mutex_lock(&b->lock);
	uint64_t bytes = b->taken[what];
	pthread_mutex_unlock(&b->lock);
	return bytes;
}

/* own: total of the requesting work, including the refused amount. */
static int refuse(enum sl_resource what, uint64_t limit, uint64_t others, uint64_t own, struct sl_error *err)
{
	double mib = 1.0 / (1 << 20);
	const char *name = what == SL_MEMORY ? "memory" : "disk";
	if (own > limit)
		return sl_error_set(err, SL_TOOBIG, "Reading the file needs more than the %.0f MiB of %s that uploads may "
				    "use%s.", (double)limit * mib, name, what == SL_MEMORY ? " (upload_memory_bytes)" : "");
	return sl_error_set(err, what == SL_MEMORY ? SL_NOMEM : SL_DISKFULL, "Other uploads now use %.0f of %.0f MiB "
			    "of %s; try again later.", (double)others * mib, (double)limit * mib, name);
}

static int take(struct sl_account *account, enum sl_resource what, uint64_t bytes, struct sl_error *err)
{
	struct sl_budget *b = account->arg;
	uint64_t own = account->taken[what];
	pthread_mutex_lock(&b->lock);
	uint64_t limit = b->limit[what], taken = b->taken[what];
	bool fits = !limit || (bytes <= limit && taken <= limit - bytes);
	if (fits)
		b->taken[what] += bytes;
	pthread_mutex_unlock(&b->lock);
	return fits ? 0 : refuse(what, limit, taken - own, own + bytes, err);
}

static void give(struct sl_account *account, enum sl_resource what, uint64_t bytes)
{
	struct sl_budget *b = account->arg;
	pthread_mutex_lock(&b->lock);
	b->taken[what] -= bytes < b->taken[what] ? bytes : b->taken[what];
	pthread_mutex_unlock(&b->lock);
}

struct sl_account sl_budget_account(struct sl_budget *b)
{
	return (struct sl_account){.take = take, .give = give, .arg = b};
}
