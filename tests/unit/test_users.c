/* The decision by a table of roles, verbs and relations; that every route has a rule, and every rule is there once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "daemon/http/http.h"
#include "daemon/users/users.h"

static const struct {
	enum sl_verb verb;
	bool thing;
	int status[5][3];  /* by role, then relation: none, reader, owner */
} table[] = {
	{SL_VERB_OPEN, false, {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}},
	{SL_VERB_LOOK, false, {{401, 401, 401}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {403, 403, 403}}},
	{SL_VERB_READ, true, {{401, 401, 401}, {404, 0, 0}, {404, 0, 0}, {0, 0, 0}, {404, 403, 403}}},
	{SL_VERB_WATCH, true, {{401, 401, 401}, {404, 0, 0}, {404, 0, 0}, {0, 0, 0}, {404, 0, 0}}},
	{SL_VERB_CREATE, false, {{401, 401, 401}, {403, 403, 403}, {0, 0, 0}, {0, 0, 0}, {403, 403, 403}}},
	{SL_VERB_CHANGE, true, {{401, 401, 401}, {404, 403, 403}, {404, 403, 0}, {0, 0, 0}, {404, 403, 403}}},
	{SL_VERB_DELETE, true, {{401, 401, 401}, {404, 403, 403}, {404, 403, 0}, {0, 0, 0}, {404, 403, 403}}},
	{SL_VERB_MANAGE, false, {{401, 401, 401}, {403, 403, 403}, {403, 403, 403}, {0, 0, 0}, {403, 403, 403}}},
	{SL_VERB_MANAGE, true, {{401, 401, 401}, {403, 403, 403}, {403, 403, 403}, {0, 0, 0}, {404, 403, 403}}},
};

static void decisions(void **state)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		for (int role = 0; role < 5; role++)
			for (int relation = 0; relation < 3; relation++)
				if (sl_rights_decide((enum sl_role)role, table[i].verb, table[i].thing,
						     (enum sl_relation)relation) != table[i].status[role][relation])
					fail_msg("row %zu, role %d, relation %d", i, role, relation);
}

static void every_route_has_a_rule(void **state)
{
	for (int i = 0; i < sl_routes_count; i++) {
		const struct sl_rule *rule = sl_rule_find(sl_routes[i].method, sl_routes[i].pattern);
		if (!rule)
			fail_msg("%s %s has no rule in daemon/users/rules.c", sl_routes[i].method, sl_routes[i].pattern);
		bool named = strstr(sl_routes[i].pattern, "{id}") || strstr(sl_routes[i].pattern, "{graph}");
		if (named != (rule->parameter != NULL))
			fail_msg("%s %s: the rule is about no thing of the path", sl_routes[i].method, sl_routes[i].pattern);
		bool open = sl_routes[i].flags & SL_ROUTE_PUBLIC;
		if (open != (rule->verb == SL_VERB_OPEN))
			fail_msg("%s %s: rule and SL_ROUTE_PUBLIC differ", sl_routes[i].method, sl_routes[i].pattern);
	}
}

static void every_rule_once(void **state)
{
	for (int i = 0; i < sl_rules_count; i++)
		assert_ptr_equal(sl_rule_find(sl_rules[i].method, sl_rules[i].pattern), &sl_rules[i]);
	assert_null(sl_rule_find("GET", "/v1/nothing"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(decisions), cmocka_unit_test(every_route_has_a_rule),
					   cmocka_unit_test(every_rule_once)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
