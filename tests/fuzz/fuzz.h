/* fuzz.h -- helpers of the readers' fuzzers: limits that exclude merely large inputs, and the invariants that every
 * graph must have. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/account.h"
#include "core/formats/read.h"
#include "core/taken/taken.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define PROMISE(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "%s:%d: broken promise: %s\n", __FILE__, __LINE__, #condition); \
			abort(); \
		} \
	} while (0)

/* An account that grants everything: with it readers take the paths of what clients send. */
static inline int fuzz_take(struct sl_account *account, enum sl_resource what, uint64_t bytes, struct sl_error *err)
{
	(void)account, (void)what, (void)bytes, (void)err;
	return 0;
}

static inline void fuzz_give(struct sl_account *account, enum sl_resource what, uint64_t bytes)
{
	PROMISE(account->taken[what] + bytes >= bytes);
}

/* Makes it the account of the source, and names the folder for what is decompressed. */
static inline void fuzz_account(struct sl_account *account, struct sl_source *s)
{
	*account = (struct sl_account){.take = fuzz_take, .give = fuzz_give};
	sl_source_set_account(s, account);
	sl_source_set_folder(s, "/tmp");
}

static const struct sl_read_options fuzz_limits = {.max_bytes = 1 << 22, .max_nodes = 1 << 16, .max_entries = 1 << 18};

static inline void check_graph(const struct sl_graph *g)
{
	uint64_t kept = g->m + g->report.isolated;

	PROMISE(g->n > 0 && g->n <= fuzz_limits.max_nodes && g->m <= fuzz_limits.max_entries);
	PROMISE(g->start[0] == 0 && g->start[g->n] == g->m);
	PROMISE(kept > 0 && g->report.leaves <= g->n && g->report.largest_component <= g->n);
	for (uint32_t j = 0; j < g->n; j++) {
		PROMISE(g->start[j] <= g->start[j + 1]);
		for (uint64_t k = g->start[j]; k < g->start[j + 1]; k++) {
			PROMISE(g->node[k] < g->n && g->node[k] != j);
			PROMISE(k == g->start[j] || g->node[k - 1] < g->node[k]);
			PROMISE(!g->weight || (g->weight[k] > 0 && g->weight[k] <= 3.40282347e38f));
		}
	}
	PROMISE(!g->taken || sl_taken_adds_up(g->taken));
	for (uint32_t i = 0; g->name_bytes && i < g->n; i++)
		PROMISE(strlen(sl_graph_name(g, i)) + 1 == g->name_at[i + 1] - g->name_at[i]);
	for (uint32_t i = 0; g->label && i < g->n; i++)
		PROMISE(g->label[i] == SL_UNLABELLED || (g->label[i] < g->labels && *sl_graph_label(g, i)));
}

/* An error must have a code, a place and a text. */
static inline void check_error(int rc, const struct sl_error *err)
{
	PROMISE(rc < 0 && err->code == rc && err->detail[0] && err->file[0]);
	PROMISE(rc == SL_BADFORMAT || rc == SL_BADDATA || rc == SL_BADGRAPH || rc == SL_TOOBIG);
}

static inline void read_one(const uint8_t *bytes, size_t size, enum sl_graph_format format, bool directed)
{
	struct sl_read_options options = fuzz_limits;
	struct sl_source *s;
	struct sl_graph *g;
	struct sl_error err = {0};

	options.format = format;
	options.directed = directed;
	if (sl_source_open_memory(&s, bytes, size, "input", &err))
		return;
	struct sl_account account;
	fuzz_account(&account, s);
	int rc = sl_graph_read(&g, &options, s, &err);
	sl_source_close(s);
	if (rc)
		check_error(rc, &err);
	else
		check_graph(g);
	PROMISE(rc == 0 || g == NULL);
	sl_graph_destroy(g);
}

#endif
