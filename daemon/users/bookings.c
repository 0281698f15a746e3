/* Limits follow the configuration and the free space of the disk, read at most every FRESH_MS; what was taken stays
 * taken when a limit falls. Budgets do the counting (util/budget.h). */
#include "daemon/users/bookings.h"

#include <stdlib.h>
#include <sys/statvfs.h>

#include "core/host_memory.h"
#include "daemon/config/daemon.h"
#include "daemon/users/limits.h"
#include "daemon/util/budget.h"
#include "daemon/util/metrics.h"

#define FRESH_MS 500  /* limits are computed anew after this time: files of the system are read for them */

struct sl_bookings {
	struct sl_daemon *d;
	struct sl_budget budget[SL_BOOK_DISK + 1];
	uint64_t fresh_until;   /* uv_now() */
	uint64_t (*disk_use)(void *arg, const char *account);
	void *disk_use_arg;
	struct sl_metric *booked[SL_BOOK_DISK + 1];
};

/* Half of the free space, including what is booked, and a quarter of what the state folder may have. */
static uint64_t disk_limit(struct sl_bookings *b)
{
	struct statvfs st;
	uint64_t most = (uint64_t)b->d->config.max_state_bytes / 4;
	if (statvfs(b->d->tmp_dir, &st))
		return 1;
	uint64_t half = ((uint64_t)st.f_bavail * st.f_frsize + sl_budget_taken(&b->budget[SL_BOOK_DISK])) / 2;
	half += !half;
	return most && most < half ? most : half;
}

static void refresh(struct sl_bookings *b)
{
	const struct sl_config *c = &b->d->config;
	uint64_t now = uv_now(b->d->loop);
	if (now < b->fresh_until)
		return;
	b->fresh_until = now + FRESH_MS;
	uint64_t memory = sl_host_memory();
	sl_budget_set(&b->budget[SL_BOOK_READING], c->upload_memory_bytes ? (uint64_t)c->upload_memory_bytes : memory / 2);
	sl_budget_set(&b->budget[SL_BOOK_BODY], c->request_memory_bytes ? (uint64_t)c->request_memory_bytes : memory / 8);
	sl_budget_set(&b->budget[SL_BOOK_DISK], disk_limit(b));
}

static void on_collect(void *arg)
{
	struct sl_bookings *b = arg;
	for (int i = 0; i <= SL_BOOK_DISK; i++)
		sl_metric_set(b->booked[i], (double)sl_budget_taken(&b->budget[i]));
}

int sl_bookings_create(struct sl_bookings **out, struct sl_daemon *d, struct sl_error *err)
{
	struct sl_bookings *b = calloc(1, sizeof *b);
	if (!b)
		return sl_error_memory(err, "the start");
	b->d = d;
	sl_budget_init(&b->budget[SL_BOOK_BODY], "memory that bodies of requests may use (request_memory_bytes)",
		       "requests");
	sl_budget_init(&b->budget[SL_BOOK_READING], "memory that uploads may use (upload_memory_bytes)", "uploads");
	sl_budget_init(&b->budget[SL_BOOK_DISK], "disk that uploads may use", "uploads");
	static const char help[] = "Memory and disk booked by uploads.";
	b->booked[SL_BOOK_READING] = sl_metrics_register(d->metrics, SL_GAUGE, "spaceland_upload_booked_bytes",
							 "of=\"memory\"", help);
	b->booked[SL_BOOK_DISK] = sl_metrics_register(d->metrics, SL_GAUGE, "spaceland_upload_booked_bytes", "of=\"disk\"",
						      help);
	b->booked[SL_BOOK_BODY] = sl_metrics_register(d->metrics, SL_GAUGE, "spaceland_request_booked_bytes", NULL,
						      "Memory booked by bodies of requests.");
	sl_metrics_on_collect(d->metrics, on_collect, b);
	*out = b;
	return 0;
}

void sl_bookings_destroy(struct sl_bookings *b)
{
	free(b);
}

void sl_bookings_disk_part(struct sl_bookings *b, struct sl_account *account)
{
	const struct sl_users *users = b->d->users;
	int64_t limit = (int64_t)sl_bookings_limit(b, SL_BOOK_DISK);
	double own = sl_users_limit(users, account->owner, SL_LIMIT_DISK_BYTES);
	uint64_t part = sl_users_part(users, account->owner, limit) < limit ? (uint64_t)limit / 2 : 0;
	if (own > 0) {
		double left = own - (double)sl_bookings_disk_use(b, account->owner);
		uint64_t most = left < 1 ? 1 : (uint64_t)left;
		part = part && part < most ? part : most;
	}
	account->part[SL_DISK] = part;
}

struct sl_account sl_bookings_account(struct sl_bookings *b, enum sl_booking kind, const char *user)
{
	refresh(b);
	struct sl_account account = sl_budget_account(&b->budget[kind], &b->budget[SL_BOOK_DISK], user);
	int64_t limit = (int64_t)sl_budget_limit(&b->budget[kind]), part = sl_users_part(b->d->users, user, limit);
	if (part < limit)
		account.part[SL_MEMORY] = kind == SL_BOOK_BODY ? (uint64_t)part : (uint64_t)limit - (uint64_t)part;
	if (kind != SL_BOOK_BODY)
		sl_bookings_disk_part(b, &account);
	return account;
}

uint64_t sl_bookings_limit(struct sl_bookings *b, enum sl_booking of)
{
	refresh(b);
	return sl_budget_limit(&b->budget[of]);
}

uint64_t sl_bookings_taken(struct sl_bookings *b, enum sl_booking of)
{
	return sl_budget_taken(&b->budget[of]);
}

void sl_bookings_on_disk_use(struct sl_bookings *b, uint64_t (*fn)(void *arg, const char *account), void *arg)
{
	b->disk_use = fn;
	b->disk_use_arg = arg;
}

uint64_t sl_bookings_disk_use(const struct sl_bookings *b, const char *account)
{
	return b->disk_use ? b->disk_use(b->disk_use_arg, account) : 0;
}
