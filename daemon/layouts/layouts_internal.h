/* layouts_internal.h -- the fields of the store of uploaded layouts. */
#ifndef SL_LAYOUTS_INTERNAL_H
#define SL_LAYOUTS_INTERNAL_H

#include <uv.h>

#include "daemon/config/daemon.h"
#include "daemon/layouts/layouts.h"
#include "daemon/util/list.h"

struct sl__layout {
	struct sl_link link;         /* in sl_layouts.all */
	struct sl_layout_record record;
	uint64_t made_ms;            /* wall clock */
	int holders;                 /* number of jobs that copy it */
	bool gone;                   /* deleted; the file is removed when the last holder has released it */
	struct sl_request *deletion; /* the request that waits for the removal, or NULL */
};

struct sl_layouts {
	struct sl_daemon *d;
	char *folder;                /* STATE_DIR/layouts */
	struct sl_list all;          /* struct sl__layout, by age: the oldest first */
	struct sl_list uploads;      /* struct sl__layout_upload: the first is read, the others wait */
	uv_timer_t timer;
	int removals;                /* number of removals in progress on the pool */
	int closing;                 /* number of parts that are not closed yet; 0: not closing */
	void (*closed)(void *arg);
	void *closed_arg;
};

struct sl__layout *sl__layout_insert(struct sl_layouts *s, const struct sl_layout_record *record, uint64_t made_ms);
void sl__layouts_remove_file(struct sl_layouts *s, const char *id);

/* upload.c */
void sl__layout_uploads_cancel(struct sl_layouts *s);
/* layouts.c: the last upload has ended. */
void sl__layouts_idle(struct sl_layouts *s);

#endif
