/* A mutex guards the total and the list of owners; an owner without bytes has no entry. Nothing else is locked with
 * it. Invariant: the total is the sum of the owners' bytes, and each account gives back what it took, once. */
#include "daemon/util/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct share {
	struct sl_link link;
	char owner[SL_OWNER_BYTES];
	uint64_t taken;
};

void sl_budget_init(struct sl_budget *b, const char *use, const char *users)
{
	*b = (struct sl_budget){.lock = PTHREAD_MUTEX_INITIALIZER, .use = use, .users = users};
}

void sl_budget_set(struct sl_budget *b, uint64_t limit)
{
	pthread_mutex_lock(&b->lock);
	b->limit = limit;
	pthread_mutex_unlock(&b->lock);
}

uint64_t sl_budget_limit(struct sl_budget *b)
{
	pthread_mutex_lock(&b->lock);
	uint64_t bytes = b->limit;
	pthread_mutex_unlock(&b->lock);
	return bytes;
}

uint64_t sl_budget_taken(struct sl_budget *b)
{
	pthread_mutex_lock(&b->lock);
	uint64_t bytes = b->taken;
	pthread_mutex_unlock(&b->lock);
	return bytes;
}

static struct share *share_of(const struct sl_budget *b, const char *owner)
{
	return owner[0] ? SL_LIST_FIND(struct share, s, &b->shares, link, !strcmp(s->owner, owner)) : NULL;
}

static struct share *share_create(struct sl_budget *b, const char *owner)
{
	struct share *s = calloc(1, sizeof *s);
	if (!s)
		return NULL;
	snprintf(s->owner, sizeof s->owner, "%s", owner);
	sl_list_append(&b->shares, &s->link);
	return s;
}

/* A consistent view of a budget, for the message of a refusal. */
struct view {
	uint64_t limit, taken, part, share;
};

/* held: what the requesting use has; more: the refused amount. */
static int refuse(const struct sl_budget *b, enum sl_resource what, const struct view *v, uint64_t held, uint64_t more,
		  struct sl_error *err)
{
	double mib = 1.0 / (1 << 20);
	int later = what == SL_MEMORY ? SL_NOMEM : SL_DISKFULL;
	uint64_t others = v->taken > held ? v->taken - held : 0, before = v->share;
	uint64_t own = more > UINT64_MAX - held ? UINT64_MAX : held + more;
	if (own > v->limit && v->limit)
		return sl_error_set(err, SL_TOOBIG, "This needs more than the %.0f MiB of %s.", (double)v->limit * mib, b->use);
	if (v->part && own > v->part)
		return sl_error_set(err, SL_TOOBIG, "This needs more than the %.0f MiB that one user may take of the %s.",
				    (double)v->part * mib, b->use);
	if (v->part && before + own > v->part)
		return sl_error_set(err, later, "Your %s now use %.0f MiB, and a user may take at most %.0f MiB of the %s; try "
				    "again later.", b->users, (double)before * mib, (double)v->part * mib, b->use);
	return sl_error_set(err, later, "Other %s now use %.0f MiB of the %.0f MiB of %s; try again later.", b->users,
			    (double)others * mib, (double)v->limit * mib, b->use);
}

/* The last LAST_PART-th of a budget is for owners who hold less than a LITTLE_PART-th of it, so that two who take all
 * that they may do not leave a third without room for a small request. */
#define LAST_PART 8
#define LITTLE_PART 32

static bool is_for_others(const struct sl_budget *b, uint64_t part, uint64_t share, uint64_t bytes)
{
	return part && share + bytes > b->limit / LITTLE_PART && b->taken + bytes > b->limit - b->limit / LAST_PART;
}

/* Returns 1 if it fits, 0 if not, -1: no memory. */
static int reserve(struct sl_budget *b, const struct sl_account *account, uint64_t part, uint64_t bytes, struct view *v)
{
	struct share *s = share_of(b, account->owner);
	*v = (struct view){b->limit, b->taken, part, s ? s->taken : 0};
	if (b->limit && (bytes > b->limit || b->taken > b->limit - bytes))
		return 0;
	if (part && (bytes > part || v->share > part - bytes))
		return 0;
	if (b->limit && is_for_others(b, part, v->share, bytes))
		return 0;
	if (account->owner[0] && !s && !(s = share_create(b, account->owner)))
		return -1;
	b->taken += bytes;
	if (s)
		s->taken += bytes;
	return 1;
}

static int take(struct sl_account *account, enum sl_resource what, uint64_t bytes, struct sl_error *err)
{
	struct sl_budget *b = account->of[what];
	struct view v;
	pthread_mutex_lock(&b->lock);
	int fits = reserve(b, account, account->part[what], bytes, &v);
	pthread_mutex_unlock(&b->lock);
	if (fits < 0)
		return sl_error_memory(err, "the request");
	v.share -= account->taken[what] < v.share ? account->taken[what] : v.share;
	return fits ? 0 : refuse(b, what, &v, account->taken[what], bytes, err);
}

static void give(struct sl_account *account, enum sl_resource what, uint64_t bytes)
{
	struct sl_budget *b = account->of[what];
	pthread_mutex_lock(&b->lock);
	struct share *s = share_of(b, account->owner);
	b->taken -= bytes < b->taken ? bytes : b->taken;
	if (s && s->taken > bytes) {
		s->taken -= bytes;
	} else if (s) {
		sl_list_unlink(&s->link);
		free(s);
	}
	pthread_mutex_unlock(&b->lock);
}

struct sl_account sl_budget_account(struct sl_budget *memory, struct sl_budget *disk, const char *owner)
{
	struct sl_account account = {.take = take, .give = give, .of = {[SL_MEMORY] = memory, [SL_DISK] = disk}};
	snprintf(account.owner, sizeof account.owner, "%s", owner);
	return account;
}
