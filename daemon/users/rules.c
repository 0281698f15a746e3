/* Decides who may do what. tests/unit/test_users.c compares the decisions with a table of roles, verbs and
 * relations. */
#include "daemon/users/users.h"

enum sl_verb sl_topic_verb(enum sl_topic_kind kind)
{
	static const enum sl_verb verb[] = {
#define X(kind, verb) SL_VERB_##verb,
		SL_TOPIC_RULES(X)
#undef X
	};
	return kind < SL_TOPIC_KINDS ? verb[kind] : SL_VERB_MANAGE;
}

int sl_rights_decide(enum sl_role role, enum sl_verb verb, bool thing, enum sl_relation relation)
{
	if (role == SL_ROLE_LINK && verb != SL_VERB_OPEN)
		return thing && relation == SL_RELATION_NONE ? 404 : verb == SL_VERB_WATCH ? 0 : 403;
	if (verb == SL_VERB_OPEN || role == SL_ROLE_ADMINISTRATOR)
		return 0;
	if (role == SL_ROLE_NONE)
		return 401;
	if (verb == SL_VERB_MANAGE)
		return 403;
	if (thing && relation == SL_RELATION_NONE)
		return 404;
	if (verb == SL_VERB_LOOK || verb == SL_VERB_READ || verb == SL_VERB_WATCH)
		return 0;
	if (role == SL_ROLE_READER)
		return 403;
	return !thing || relation == SL_RELATION_OWNER ? 0 : 403;
}
