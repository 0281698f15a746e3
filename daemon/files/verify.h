/* verify.h -- checks that all files and records of a stopped daemon are undamaged and match each other, and restores
 * lost records from the files (--verify-state, --repair-state).
 *
 * Each problem is printed on a line that begins with the name of the file. Functions block; for the command line. */
#ifndef SL_VERIFY_H
#define SL_VERIFY_H

#include <stdbool.h>
#include <stdio.h>
#include <uv.h>

#include "core/error.h"

/* Checks files and records of the state folder, and changes nothing. Returns the number of problems, or a negative
 * code. */
int sl_state_verify(uv_loop_t *loop, const char *dir, FILE *out, struct sl_error *err);

/* Repairs the state folder. A damaged data base is kept as FILE.damaged.1 and replaced by a new one. Missing records
 * are restored from the seals of undamaged files in graphs/, jobs/ and lost+found/; files of lost+found/ are moved
 * back. Users, projects and rights come from people.json (upkeep/spare.h). Changes of a record after the file was
 * written, such as a new name, are lost. What is gone for ever is printed; *gone: users and projects are, too. Returns
 * the number of remaining problems, or a negative code. */
int sl_state_repair(uv_loop_t *loop, const char *dir, FILE *out, bool *gone, struct sl_error *err);

#endif
