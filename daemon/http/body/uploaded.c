/* Takes parts of an upload, which are used after the request has been answered. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/account.h"
#include "core/formats/read.h"
#include "daemon/http/http_internal.h"

void sl_uploaded_of(struct sl_request *r, struct sl_uploaded *out, struct sl_part *part, const char *name)
{
	*out = (struct sl_uploaded){.path = part->path, .data = part->data, .bytes = part->bytes,
				    .folder = r->http->d->tmp_dir};
	for (int what = 0; what < SL_RESOURCES; what++) {
		sl_account_move(&out->held, &r->account, (enum sl_resource)what, part->held[what]);
		part->held[what] = 0;
	}
	snprintf(out->name, sizeof out->name, "%s", part->filename ? part->filename : name);
	part->path = part->data = NULL;
}

int sl_uploaded_take(struct sl_request *r, struct sl_uploaded *out, struct sl_error *err)
{
	struct sl_part *file = sl_request_part(r, "file");
	if (!file || sl_request_parts(r) != 1)
		return sl_error_set(err, SL_BADPARAM, "The form must have one part, named 'file'.");
	sl_uploaded_of(r, out, file, "upload");
	return 0;
}

int sl_uploaded_open(const struct sl_uploaded *u, struct sl_account *account, struct sl_source **out,
		     struct sl_error *err)
{
	*out = NULL;
	if (!account)
		return sl_error_set(err, SL_INTERNAL, "%s would be read without an account of its memory", u->name);
	int rc = u->path ? sl_source_open_path(out, u->path, u->name, err)
			 : sl_source_open_memory(out, u->data ? u->data : "", u->bytes, u->name, err);
	if (rc)
		return rc;
	sl_source_set_account(*out, account);
	sl_source_set_folder(*out, u->folder);
	return 0;
}

void sl_uploaded_finish(struct sl_uploaded *u)
{
	if (u->path)
		unlink(u->path);
	free(u->path);
	free(u->data);
	sl_account_close(&u->held);
	*u = (struct sl_uploaded){.path = NULL};
}
