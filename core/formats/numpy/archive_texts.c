/* archive_texts.c -- names and labels of rows in an archive of NumPy arrays. */
#include <inttypes.h>
#include <stdlib.h>

#include "core/formats/numpy/archive.h"

#define LONGEST 65536  /* bytes of an element */

static int memory_error(struct sl__archive *f, uint64_t n, const char *of)
{
	return sl_error_memory(f->err, "the names or labels of %" PRIu64 " %s", n, of);
}

int sl__archive_texts(struct sl__archive *f, const char *name, uint64_t n, const char *of, struct sl__names *names,
		      uint32_t *value)
{
	struct sl__member m = {0};
	bool found;
	unsigned char *element = NULL;
	char *text = NULL;
	int rc = sl__member_open(f, &m, name, &found);
	const struct sl__npy *a = &m.array;

	if (!rc && (a->count != n || a->size > LONGEST || !sl__npy_is_text(a)))
		rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "The array has %" PRIu64 " elements of type '%s'; it must have "
				 "a string or an integer for each of the %" PRIu64 " %s.", a->count, a->descr, n, of);
	if (!rc) {
		element = malloc((size_t)a->size + 8);
		text = malloc((size_t)a->size + 32);
		rc = element && text ? 0 : memory_error(f, n, of);
	}
	for (uint64_t i = 0; !rc && i < n; i++) {
		rc = sl__member_read(f, &m, 1, element);
		if (rc)
			break;
		size_t length = sl__npy_to_text(a, element, text);
		if (!sl__valid_utf8(text, length))
			rc = sl_error_at(f->err, SL_BADDATA, m.name, 0, "Element %" PRIu64 " (counted from 0) is not valid UTF-8.",
					i);
		else if (value ? sl__names_add(names, text, length, &value[i]) : sl__names_append(names, text, length))
			rc = memory_error(f, n, of);
	}
	free(element);
	free(text);
	sl__member_close(&m);
	return rc;
}
