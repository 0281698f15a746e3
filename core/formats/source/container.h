/* container.h -- archives (.zip, .tar, .tar.gz, .tar.zst) that hold one file that can be read. Internal to
 * core/formats/. */
#ifndef SL_CONTAINER_H
#define SL_CONTAINER_H

#include "core/formats/source/source.h"

/* If the source is an archive, makes the one member that can be read the source: its name becomes "ring.zip: ring.mtx".
 * An archive of NumPy arrays (.npz) stays as it is. The first call decides; call it before the first byte is read, as
 * sl__source_peek_text() does. BADFORMAT: the archive holds no such file, several, or the document of another
 * program. */
int sl__source_unpack(struct sl_source *s, struct sl_error *err);
/* A sentence about the member that was chosen; "": the source is no archive. */
const char *sl__source_note(const struct sl_source *s);

/* True if the bytes begin with a header of a tar archive. */
bool sl__is_tar(const unsigned char *bytes, size_t size);

/* For source.c and decode.c: reads stored bytes of a zip archive's member; closes the archive. */
int64_t sl__container_read(struct sl_source *s, void *out, size_t want, struct sl_error *err);
void sl__container_close(struct sl_source *s);

/* Whether name, without .gz or .zst, ends in `ending`. */
bool sl__name_ends_in(const char *name, const char *ending);

#endif
