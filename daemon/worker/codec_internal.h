/* codec_internal.h -- what the two files of the codec share. Missing members read as 0, false or "". */
#ifndef SL_WORKER_CODEC_INTERNAL_H
#define SL_WORKER_CODEC_INTERNAL_H

#include "daemon/worker/codec.h"

#define SL__COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

const char *sl__text_at(const json_t *object, const char *key);
int64_t sl__whole_at(const json_t *object, const char *key);
double sl__real_at(const json_t *object, const char *key);
bool sl__is_at(const json_t *object, const char *key);
/* SL_BADDATA: "The message has WHAT." */
int sl__wrong(struct sl_error *err, const char *what);
/* The index of a name; -1: it is none of them. */
int sl__kind_number(const char *name, const char *const *names, int count);

#endif
