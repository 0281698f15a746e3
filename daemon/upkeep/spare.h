/* spare.h -- a copy of the records of people beside the data base: STATE_DIR/people.json.
 *
 * Graphs and jobs can be made anew from their files, whose seals have their records. Users, tokens (as hashes),
 * projects, rights, public links, batches, settings and accounting have no files, so they are written to this one as
 * well: some seconds after a change, at the start and at the end. So are the ids of jobs that are kept: a job of which
 * that is forgotten would be deleted because of its age. It has a seal, as all files of the state folder; its mode is
 * that of the data base. --repair-state reads it if the data base is lost. */
#ifndef SL_SPARE_H
#define SL_SPARE_H

#include <jansson.h>
#include <uv.h>

#include "daemon/store/db.h"

struct sl_spare;

#define SL_SPARE_FILE "people.json"
/* The tables that it has, ended by SL_DB_TABLES. */
extern const enum sl_db_table sl_spare_tables[];

/* Loop thread. */
int sl_spare_create(struct sl_spare **out, uv_loop_t *loop, struct sl_db *db, const char *state_dir,
		     struct sl_error *err);
/* After the data base is closed: writes the last changes, which blocks. Then runs closed. */
void sl_spare_close(struct sl_spare *p, void (*closed)(void *arg), void *arg);

/* The copy of a data base whose loss was accepted (--accept-lost-records); it is never overwritten. */
#define SL_SPARE_BEFORE "people.json.before-loss"

/* Reads the file of this name: {"generation": NUMBER, "saved": MILLISECONDS, "tables": {"users": {ID: DOCUMENT}, ...},
 * "kept": [ID OF A JOB, ...]}, new reference.
 * SL_NOTFOUND: there is none; SL_IO: it is damaged. Blocks. */
int sl_spare_read(const char *state_dir, const char *name, json_t **out, struct sl_error *err);

#endif
