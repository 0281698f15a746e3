/* error.h -- error codes, and where and why an operation failed.
 *
 * Every fallible function returns 0 or one of the negative codes below. It fills the caller's struct sl_error with the
 * file and line, or the field of a request, and with a sentence that says how to correct it. A function that succeeds
 * leaves the error alone. The error may always be NULL. Thread-safe: there is no shared state. */
#ifndef SL_ERROR_H
#define SL_ERROR_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, HTTP status, problem type (last part of its URI), title */
#define SL_ERRORS(X) \
	X(NOMEM,     503, "out-of-memory",        "Out of host memory") \
	X(DEVMEM,    503, "out-of-device-memory", "Out of device memory") \
	X(DEVLOST,   500, "device-lost",          "The compute device was lost") \
	X(NODEVICE,  503, "no-device",            "No usable compute device") \
	X(IO,        500, "io",                   "Reading or writing failed") \
	X(BADFORMAT, 400, "bad-format",           "The file's format is not recognised or not supported") \
	X(BADDATA,   400, "bad-data",             "The file is malformed") \
	X(BADGRAPH,  400, "bad-graph",            "The graph is not valid") \
	X(BADPARAM,  400, "bad-parameter",        "A parameter is not valid") \
	X(TOOBIG,    413, "too-big",              "A size limit was exceeded") \
	X(NOTFOUND,  404, "not-found",            "No such thing") \
	X(CONFLICT,  409, "conflict",             "Not possible in the present state") \
	X(CANCELLED, 409, "cancelled",            "Cancelled") \
	X(INTERNAL,  500, "internal",             "Internal error") \
	X(DISKFULL,  507, "disk-full",            "No room on the disk") \
	X(READONLY,  503, "read-only",            "The disk cannot be written") \
	X(LOCKED,    503, "locked",               "Another program has locked the data base")

enum sl_error_ordinal {
	SL_ERROR_NONE_,
#define X(name, status, type, title) SL_ERROR_##name##_,
	SL_ERRORS(X)
#undef X
};

/* SL_NOMEM = -1, SL_DEVMEM = -2, ... */
enum sl_error_code {
	SL_OK = 0,
#define X(name, status, type, title) SL_##name = -SL_ERROR_##name##_,
	SL_ERRORS(X)
#undef X
};

struct sl_error {
	int code;           /* SL_OK or one of the negative codes */
	char file[256];     /* "graph.mtx", "graph.npz: indices.npy", or "" */
	int64_t line;       /* 1-based, 0: none */
	char pointer[128];  /* JSON pointer (RFC 6901) of the field, or "" */
	char detail[768];   /* one or two sentences: what is wrong, what to do */
};

/* All return `code`, so that `return sl_error_set(err, SL_BADDATA, ...)` reads well. */
int sl_error_set(struct sl_error *err, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same, and names the file and line (0: none) at fault. */
int sl_error_at(struct sl_error *err, int code, const char *file, int64_t line, const char *format, ...)
	__attribute__((format(printf, 5, 6)));
/* The same, and names the parameter at fault as a JSON pointer, such as "/dims". */
int sl_error_field(struct sl_error *err, int code, const char *pointer, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* SL_NOMEM: "There is not enough memory for WHAT.", where WHAT is such as "a graph of %u nodes". _at: names the file
 * as well. */
int sl_error_memory(struct sl_error *err, const char *what, ...)
	__attribute__((format(printf, 2, 3)));
int sl_error_memory_at(struct sl_error *err, const char *file, const char *what, ...)
	__attribute__((format(printf, 3, 4)));
/* The beginning of these sentences, for other codes and replies: SL_NO_MEMORY "a reply." */
#define SL_NO_MEMORY "There is not enough memory for "

const char *sl_error_name(int code);   /* "BADDATA" */
const char *sl_error_type(int code);   /* "bad-data" */
const char *sl_error_title(int code);  /* "The file is malformed" */
int sl_error_status(int code);         /* HTTP status, 200 for SL_OK */

/* "graph.mtx:17: detail", "/dims: detail" or "detail", into out. Returns out. */
char *sl_error_format(const struct sl_error *err, char *out, int bytes);

/* "1 columns" becomes "1 column" in a message that is made from numbers, in place; errors do so themselves. Only nouns
 * that messages count (error.c), and nothing between quotation marks, which are users' words. Verbs stay as they are: a
 * sentence with a verb behind its noun needs two wordings. */
void sl_singular(char *text);

#ifdef __cplusplus
}
#endif
#endif
