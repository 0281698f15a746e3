/* Compares the decisions with a table of roles, verbs and relations; checks that each route is in the table once. */
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

static void every_route_once(void **state)
{
	for (int i = 0; i < sl_routes_count; i++)
		for (int k = 0; k < i; k++)
			if (!strcmp(sl_routes[i].method, sl_routes[k].method) &&
			    !strcmp(sl_routes[i].pattern, sl_routes[k].pattern))
				fail_msg("%s %s is in the table twice", sl_routes[i].method, sl_routes[i].pattern);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(decisions), cmocka_unit_test(every_route_once)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
