/* A format is recognised by the file's first bytes, and where these do not tell, by the ending of its name. A format
 * of other programs gets an error that names it and says what to do. */
#include "core/formats/read.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "core/formats/content.h"
#include "core/formats/graphs/readers.h"
#include "core/formats/text/fields.h"
#include "core/taken/taken.h"

static const char *const format_names[] = {"auto", "mtx", "edges", "npz"};

const char *sl_graph_format_name(enum sl_graph_format format) { return format_names[format]; }

int sl_graph_format_parse(const char *name, enum sl_graph_format *out, struct sl_error *err)
{
	for (int k = 0; k < 4; k++)
		if (!strcmp(name, format_names[k])) {
			*out = (enum sl_graph_format)k;
			return 0;
		}
	return sl_error_field(err, SL_BADPARAM, "/format", "There is no graph format \"%.40s\"; use mtx, edges, "
			      "npz or auto.", name);
}

/* ---- recognition ---------------------------------------------------------- */

void sl__tell_container(const struct sl_source *source, struct sl_taken *taken)
{
	const char *separator = sl__source_separator(source, 0);
	int64_t first;
	uint64_t joined = sl__source_joined(source, &first);
	bool changes;
	for (int k = 0; taken && sl_source_join_note(source, k, &changes); k++)
		sl_taken_add_note(taken, changes, "%s", sl_source_join_note(source, k, &changes));
	if (taken && *sl__source_note(source))
		sl_taken_add_note(taken, false, "%s", sl__source_note(source));
	if (taken && strcmp(separator, sl__separator_name(0)) != 0)
		sl_taken_add_note(taken, false, "The fields are separated by %s", separator);
	if (taken && joined)
		sl_taken_add_note(taken, false, "%llu line %s inside of quoted fields %s read as %s; the first is in line %lld",
				  (unsigned long long)joined, joined == 1 ? "break" : "breaks", joined == 1 ? "is" : "are",
				  joined == 1 ? "a blank" : "blanks", (long long)first);
}

static int recognise(struct sl_source *source, enum sl_graph_format *format, struct sl_error *err)
{
	enum sl__content content;
	const char *name = sl__source_name(source);
	int rc = sl__content_find(source, &content, err);

	if (rc)
		return rc;
	if (content == SL__ARRAY)
		return sl_error_at(err, SL_BADFORMAT, name, 0, "This is a NumPy array (.npy), not a graph; save a sparse "
				   "matrix with scipy.sparse.save_npz.");
	bool matrix = sl__name_ends_in(name, ".mtx") || sl__name_ends_in(name, ".mm");
	*format = content == SL__ARCHIVE ? SL_FORMAT_NPZ : content == SL__MATRIX || matrix ? SL_FORMAT_MTX
		: SL_FORMAT_EDGES;
	return 0;
}

/* Options of edge lists would do nothing. */
static int check_columns(const struct sl_read_options *options, enum sl_graph_format format, struct sl_error *err)
{
	const char *name = options->source_column ? "source" : options->target_column ? "target" :
			   options->weight_column ? "weight" : options->bipartite == SL_SIDES_TWO ? "bipartite" : NULL;
	char pointer[16];
	snprintf(pointer, sizeof pointer, "/%s", name ? name : "");
	return !name ? 0 : sl_error_field(err, SL_BADPARAM, pointer, "%s is for edge lists, but the file is a matrix (%s).",
					  name, format_names[format]);
}

int sl_graph_read(struct sl_graph **out, const struct sl_read_options *options, struct sl_source *source,
		  struct sl_error *err)
{
	static const struct sl_read_options none;
	enum sl_graph_format format;
	int rc = 0;

	*out = NULL;
	if (!options)
		options = &none;
	sl__source_set_options(source, options);
	format = options->format;
	if (format == SL_FORMAT_AUTO) {
		rc = recognise(source, &format, err);
	} else {
		const unsigned char *bytes;
		int64_t size = sl__source_peek_text(source, &bytes, err);
		rc = size < 0 ? (int)size : 0;
		if (!rc && format == SL_FORMAT_EDGES)
			sl__source_find_bars(source);
	}
	if (rc)
		return rc;
	if (format != SL_FORMAT_EDGES)
		rc = check_columns(options, format, err);
	if (rc)
		return rc;
	sl__source_set_format(source, format);
	rc = format == SL_FORMAT_MTX ? sl__read_mtx(out, options, false, source, err)
	   : format == SL_FORMAT_NPZ ? sl__read_npz(out, options, false, source, err)
				     : sl__read_edges(out, options, source, err);
	if (!rc)
		sl__tell_container(source, (*out)->taken);
	return rc;
}
