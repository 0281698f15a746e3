/* problem.h -- an error as the document that a client gets (RFC 9457).
 *
 * {"type": "urn:spaceland:problem:bad-parameter", "title": "A parameter is not valid",
 *  "status": 400, "detail": "dims must be 1, 2 or 3, not 4", "pointer": "/dims"}
 * with "file" and "line" when a file is at fault, "pointer" for a field of a JSON body,
 * "parameter" for a query parameter (err->pointer "?limit") and "header" for a request
 * header (err->pointer "@Host"). */
#ifndef SL_PROBLEM_H
#define SL_PROBLEM_H

#include <jansson.h>

#include "core/error.h"

#define SL_PROBLEM_TYPE "application/problem+json"
#define SL_PROBLEM_URN "urn:spaceland:problem:"

/* New reference, NULL when out of memory. */
json_t *sl_problem_json(const struct sl_error *err);

/* Problems of the protocol that no error code stands for: status 404, 405, 411, 412, 414,
 * 415, 416, 421, 403, 401, 408, ... New reference. */
json_t *sl_problem_http(int status, const char *detail);

#endif
