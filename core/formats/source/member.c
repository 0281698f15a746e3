/* The open member of a zip archive. */
#include <stdlib.h>

#include <zip.h>

#include "core/formats/numpy/archive.h"
#include "core/formats/source/container.h"
#include "core/formats/source/source_internal.h"

void sl__archive_close(struct sl__archive *f)
{
	if (f->zip)
		zip_discard(f->zip);
	f->zip = NULL;
}

void sl__container_close(struct sl_source *s)
{
	if (s->zip_member)
		zip_fclose(s->zip_member);
	s->zip_member = NULL;
	if (s->archive)
		sl__archive_close(s->archive);
	free(s->archive);
	s->archive = NULL;
}

int64_t sl__container_read(struct sl_source *s, void *out, size_t want, struct sl_error *err)
{
	zip_int64_t got = zip_fread(s->zip_member, out, want);
	if (got < 0)
		return sl_error_at(err, SL_BADDATA, s->name, 0, "The member cannot be decompressed: %s.",
				   zip_file_strerror(s->zip_member));
	return got;
}
