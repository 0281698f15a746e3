/* The table of error codes is made from SL_ERRORS (error.h); code -i is its entry i. A message that is too long is
 * cut. */
#include "core/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/singular.h"

static const struct {
	const char *name, *type, *title;
	int status;
} errors[] = {
	{"OK", "about:blank", "OK", 200},
#define X(name, status, type, title) {#name, type, title, status},
	SL_ERRORS(X)
#undef X
};

static int ordinal(int code)
{
	int count = (int)(sizeof errors / sizeof *errors);
	return code <= 0 && -code < count ? -code : SL_ERROR_INTERNAL_;
}

const char *sl_error_name(int code) { return errors[ordinal(code)].name; }
const char *sl_error_type(int code) { return errors[ordinal(code)].type; }
const char *sl_error_title(int code) { return errors[ordinal(code)].title; }
int sl_error_status(int code) { return errors[ordinal(code)].status; }

static int fill(struct sl_error *err, int code, const char *file, int64_t line, const char *pointer,
		const char *format, va_list args)
{
	if (!err)
		return code;
	memset(err, 0, sizeof *err);
	err->code = code;
	err->line = line;
	snprintf(err->file, sizeof err->file, "%s", file ? file : "");
	snprintf(err->pointer, sizeof err->pointer, "%s", pointer ? pointer : "");
	vsnprintf(err->detail, sizeof err->detail, format, args);
	sl_singular(err->detail);
	return code;
}

int sl_error_set(struct sl_error *err, int code, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(err, code, NULL, 0, NULL, format, args);
	va_end(args);
	return code;
}

int sl_error_at(struct sl_error *err, int code, const char *file, int64_t line, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(err, code, file, line, NULL, format, args);
	va_end(args);
	return code;
}

int sl_error_field(struct sl_error *err, int code, const char *pointer, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fill(err, code, NULL, 0, pointer, format, args);
	va_end(args);
	return code;
}

char *sl_error_format(const struct sl_error *err, char *out, int bytes)
{
	if (err->file[0] && err->line > 0)
		snprintf(out, (size_t)bytes, "%s:%lld: %s", err->file, (long long)err->line, err->detail);
	else if (err->file[0])
		snprintf(out, (size_t)bytes, "%s: %s", err->file, err->detail);
	else if (err->pointer[0])
		snprintf(out, (size_t)bytes, "%s: %s", err->pointer, err->detail);
	else
		snprintf(out, (size_t)bytes, "%s", err->detail);
	return out;
}
