/* verify.h -- checks that all files and records of a stopped daemon are undamaged and belong together, and restores
 * lost records from the files (--verify-state, --repair-state).
 *
 * Each problem found is printed on a line that begins with the file. Blocks; for the command line. */
#ifndef SL_VERIFY_H
#define SL_VERIFY_H

#include <stdio.h>
#include <uv.h>

#include "core/error.h"

/* Files and records of the state folder; nothing is changed. Returns the number of problems, or a negative code. */
int sl_state_verify(uv_loop_t *loop, const char *dir, FILE *out, struct sl_error *err);

/* Makes the data base anew if it is damaged (the old one is kept as FILE.damaged.1), and missing records from the seals
 * of undamaged files in graphs/, jobs/ and lost+found/; files of the latter come back. Changes of a record since the
 * file was written, a name for example, are lost. Returns the number of problems left, or a negative code. */
int sl_state_repair(uv_loop_t *loop, const char *dir, FILE *out, struct sl_error *err);

#endif
