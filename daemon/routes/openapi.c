#include <string.h>

#include "daemon/frames.h"
#include "daemon/routes/routes.h"

/* proto/openapi.yaml, put into the program by the assembler. */
__asm__(".section .rodata\n"
	".global sl_openapi_begin\n"
	".global sl_openapi_end\n"
	"sl_openapi_begin:\n"
	".incbin \"" SL_OPENAPI_FILE "\"\n"
	"sl_openapi_end:\n"
	".byte 0\n"
	".previous\n");
extern const unsigned char sl_openapi_begin[], sl_openapi_end[];

/* GET /v1/openapi.yaml: the contract. */
void sl_route_openapi(struct sl_request *r)
{
	size_t bytes = (size_t)(sl_openapi_end - sl_openapi_begin);
	struct sl_buffer *b = sl_buffer_create(bytes);
	if (!b) {
		sl_reply_problem(r, SL_NOMEM, "no memory for the document");
		return;
	}
	memcpy(b->data, sl_openapi_begin, bytes);
	sl_reply_buffer(r, "application/yaml", "openapi-" SL_VERSION, b);
}
