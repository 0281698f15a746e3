/* One rule a route. tests/api/test_users.py holds it to the OpenAPI file, and tests/unit/test_users.c the decision to a
 * table of roles, verbs and relations. */
#include <string.h>

#include "daemon/users/users.h"

const struct sl_rule sl_rules[] = {
	{"GET", "/", SL_VERB_OPEN, NULL},
	{"GET", "/metrics", SL_VERB_LOOK, NULL},
	{"GET", "/ui/{file}", SL_VERB_OPEN, NULL},
	{"GET", "/v1/access/{id}", SL_VERB_READ, "id"},
	{"PUT", "/v1/access/{id}", SL_VERB_CHANGE, "id"},
	{"GET", "/v1/audit", SL_VERB_MANAGE, NULL},
	{"GET", "/v1/backups", SL_VERB_MANAGE, NULL},
	{"POST", "/v1/backups", SL_VERB_MANAGE, NULL},
	{"GET", "/v1/backups/{name}", SL_VERB_MANAGE, NULL},
	{"GET", "/v1/batches", SL_VERB_LOOK, NULL},
	{"POST", "/v1/batches", SL_VERB_CREATE, NULL},
	{"DELETE", "/v1/batches/{id}", SL_VERB_DELETE, "id"},
	{"GET", "/v1/batches/{id}", SL_VERB_READ, "id"},
	{"POST", "/v1/collection", SL_VERB_MANAGE, NULL},
	{"GET", "/v1/devices", SL_VERB_LOOK, NULL},
	{"GET", "/v1/events", SL_VERB_LOOK, NULL},
	{"GET", "/v1/graphs", SL_VERB_LOOK, NULL},
	{"POST", "/v1/graphs", SL_VERB_CREATE, NULL},
	{"DELETE", "/v1/graphs/{graph}", SL_VERB_DELETE, "graph"},
	{"GET", "/v1/graphs/{graph}", SL_VERB_READ, "graph"},
	{"PATCH", "/v1/graphs/{graph}", SL_VERB_CHANGE, "graph"},
	{"GET", "/v1/graphs/{graph}/edges", SL_VERB_READ, "graph"},
	{"GET", "/v1/graphs/{graph}/labels", SL_VERB_READ, "graph"},
	{"DELETE", "/v1/graphs/{graph}/labels/{column}", SL_VERB_CHANGE, "graph"},
	{"GET", "/v1/graphs/{graph}/labels/{column}", SL_VERB_READ, "graph"},
	{"PUT", "/v1/graphs/{graph}/labels/{column}", SL_VERB_CHANGE, "graph"},
	{"POST", "/v1/graphs/{graph}/load", SL_VERB_CHANGE, "graph"},
	{"GET", "/v1/graphs/{graph}/names", SL_VERB_READ, "graph"},
	{"GET", "/v1/graphs/{graph}/neighbours", SL_VERB_READ, "graph"},
	{"GET", "/v1/graphs/{graph}/nodes", SL_VERB_READ, "graph"},
	{"POST", "/v1/graphs/{graph}/unload", SL_VERB_CHANGE, "graph"},
	{"GET", "/v1/health/live", SL_VERB_OPEN, NULL},
	{"GET", "/v1/health/ready", SL_VERB_OPEN, NULL},
	{"GET", "/v1/jobs", SL_VERB_LOOK, NULL},
	{"POST", "/v1/jobs", SL_VERB_CREATE, NULL},
	{"DELETE", "/v1/jobs/{id}", SL_VERB_DELETE, "id"},
	{"GET", "/v1/jobs/{id}", SL_VERB_WATCH, "id"},
	{"PATCH", "/v1/jobs/{id}", SL_VERB_CHANGE, "id"},
	{"GET", "/v1/jobs/{id}/events", SL_VERB_WATCH, "id"},
	{"GET", "/v1/jobs/{id}/frame", SL_VERB_WATCH, "id"},
	{"GET", "/v1/jobs/{id}/frames", SL_VERB_WATCH, "id"},
	{"GET", "/v1/jobs/{id}/layout", SL_VERB_WATCH, "id"},
	{"GET", "/v1/jobs/{id}/links", SL_VERB_CHANGE, "id"},
	{"POST", "/v1/jobs/{id}/links", SL_VERB_CHANGE, "id"},
	{"DELETE", "/v1/jobs/{id}/links/{link}", SL_VERB_CHANGE, "id"},
	{"GET", "/v1/jobs/{id}/picture.png", SL_VERB_WATCH, "id"},
	{"GET", "/v1/jobs/{id}/picture.svg", SL_VERB_WATCH, "id"},
	{"DELETE", "/v1/jobs/{id}/quality", SL_VERB_CHANGE, "id"},
	{"GET", "/v1/jobs/{id}/quality", SL_VERB_READ, "id"},
	{"GET", "/v1/jobs/{id}/trace", SL_VERB_WATCH, "id"},
	{"POST", "/v1/jobs/{id}/transform", SL_VERB_READ, "id"},
	{"POST", "/v1/jobs/dry-run", SL_VERB_LOOK, NULL},
	{"GET", "/v1/layouts", SL_VERB_LOOK, NULL},
	{"POST", "/v1/layouts", SL_VERB_CREATE, NULL},
	{"DELETE", "/v1/layouts/{id}", SL_VERB_DELETE, "id"},
	{"GET", "/v1/layouts/{id}", SL_VERB_READ, "id"},
	{"DELETE", "/v1/login", SL_VERB_OPEN, NULL},
	{"POST", "/v1/login", SL_VERB_OPEN, NULL},
	{"GET", "/v1/me", SL_VERB_LOOK, NULL},
	{"GET", "/v1/openapi.yaml", SL_VERB_OPEN, NULL},
	{"DELETE", "/v1/plans", SL_VERB_MANAGE, NULL},
	{"GET", "/v1/plans", SL_VERB_LOOK, NULL},
	{"GET", "/v1/projects", SL_VERB_LOOK, NULL},  /* it shows those of which one is a member */
	{"POST", "/v1/projects", SL_VERB_MANAGE, NULL},
	{"DELETE", "/v1/projects/{project}", SL_VERB_MANAGE, NULL},
	{"GET", "/v1/projects/{project}", SL_VERB_LOOK, NULL},
	{"PATCH", "/v1/projects/{project}", SL_VERB_MANAGE, NULL},
	{"DELETE", "/v1/projects/{project}/members/{user}", SL_VERB_MANAGE, NULL},
	{"PUT", "/v1/projects/{project}/members/{user}", SL_VERB_MANAGE, NULL},
	{"GET", "/v1/status", SL_VERB_LOOK, NULL},
	{"POST", "/v1/stream/keys", SL_VERB_LOOK, NULL},
	{"GET", "/v1/users", SL_VERB_MANAGE, NULL},
	{"POST", "/v1/users", SL_VERB_MANAGE, NULL},
	{"DELETE", "/v1/users/{user}", SL_VERB_MANAGE, NULL},
	{"GET", "/v1/users/{user}", SL_VERB_MANAGE, NULL},
	{"PATCH", "/v1/users/{user}", SL_VERB_MANAGE, NULL},
	{"POST", "/v1/users/{user}/tokens", SL_VERB_MANAGE, NULL},
	{"DELETE", "/v1/users/{user}/tokens/{token}", SL_VERB_MANAGE, NULL},
};

const int sl_rules_count = sizeof sl_rules / sizeof *sl_rules;

const struct sl_rule *sl_rule_find(const char *method, const char *pattern)
{
	for (int i = 0; i < sl_rules_count; i++)
		if (!strcmp(sl_rules[i].pattern, pattern) && !strcmp(sl_rules[i].method, method))
			return &sl_rules[i];
	return NULL;
}

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
