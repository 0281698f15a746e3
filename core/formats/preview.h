/* preview.h -- predicts from the beginning of a file how the whole file will be read: its kind and, for a table of
 * text, the role of each column. For users who choose options before they upload. It applies the rules of the readers.
 *
 * Any thread. */
#ifndef SL_PREVIEW_H
#define SL_PREVIEW_H

#include <stddef.h>

#include "core/formats/read_points.h"

#define SL_PREVIEW_EXAMPLES 3
#define SL_PREVIEW_COORDINATES 1000   /* columns of numbers that are listed, at most */

enum sl_column_role { SL_ROLE_COORDINATE, SL_ROLE_NAME, SL_ROLE_LABEL, SL_ROLE_IGNORED };

struct sl_preview_column {
	uint32_t number;             /* from 1 */
	char title[64];              /* "": it has none */
	enum sl_column_role role;
	int examples;
	char example[SL_PREVIEW_EXAMPLES][48];
};

struct sl_preview {
	enum sl_input_kind kind;     /* AUTO: the beginning does not show it */
	char format[8];              /* npy, npz, mtx, edges, csv, zip or tar */
	char sign[160];              /* of a text: why it is of this kind; "": options say so */
	/* only of a table of text: */
	bool header;                 /* the first line is a header */
	uint32_t columns, coordinates;
	uint32_t listed;             /* length of `column`: all columns but coordinates beyond the first few */
	struct sl_preview_column *column;
	struct sl_taken *taken;      /* what would be taken of the beginning; NULL: not a table of text */
	uint32_t main_label;         /* number of the column that becomes `label`; 0: none */
	struct sl_error problem;     /* why the file would be refused; code 0: no reason is known */
};

const char *sl_column_role_name(enum sl_column_role role);

/* bytes: the beginning of the file, compressed or not; some hundred kilobytes suffice. account: books the memory
 * (core/account.h), borrowed; NULL: no limit. The caller calls
 * sl_preview_finish(), also after an error. 0 or SL_NOMEM. */
int sl_preview_make(struct sl_preview *out, const struct sl_input_options *options, const char *name,
		    const void *bytes, size_t size, struct sl_account *account, struct sl_error *err);
void sl_preview_finish(struct sl_preview *p);

#endif
