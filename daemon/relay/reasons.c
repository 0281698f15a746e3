/* The words for what libzmq's monitors report of failed handshakes. */
#include <zmq.h>

#include "daemon/relay/relay_internal.h"

#define METADATA "its properties are damaged, or its socket is neither SUB nor XSUB"

const char sl__reason_of_metadata[] = METADATA;

static const struct {
	uint32_t code;
	const char *words;
} reasons[] = {
	{ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH, "it does not use the mechanism that this server demands (CURVE where "
						     "requests need tokens, else NULL)"},
	{ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC, "its encryption fails; it was given another server's key"},
	{ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE, "its keys are not valid"},
	{ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA, METADATA},
	{ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_READY, "its READY is damaged"},
	{ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_HELLO, "its HELLO is not one of CURVE 1.0"},
	{ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_INITIATE, "its INITIATE is damaged"},
	{ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR, "its ERROR is damaged"},
	{ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND, "its handshake has an unexpected command"},
};

const char *sl__reason(uint16_t event, uint32_t value)
{
	if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
		return "its key is unknown, or is no longer valid";
	for (size_t i = 0; event == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL && i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].code == value)
			return reasons[i].words;
	return "its handshake failed";
}
