/* The list: order, unlinking, removing items during a walk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "daemon/util/list.h"

struct item {
	int number;
	struct sl_link link;
};

static void expect(struct sl_list *list, const int *numbers, int count)
{
	int i = 0;
	SL_LIST_EACH(struct item, item, list, link) {
		assert_true(i < count);
		assert_int_equal(item->number, numbers[i++]);
		assert_ptr_equal(item->link.in, list);
	}
	assert_int_equal(i, count);
	assert_int_equal(list->count, count);
	for (struct sl_link *link = list->last; link; link = link->previous)
		assert_int_equal(SL_LIST_ITEM(struct item, link, link)->number, numbers[--i]);
	assert_int_equal(i, 0);
}

static void order(void **state)
{
	struct sl_list list = {0};
	struct item items[5] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}, {.number = 4}};
	assert_null(SL_LIST_FIRST(struct item, &list, link));
	assert_null(SL_LIST_LAST(struct item, &list, link));
	sl_list_append(&list, &items[2].link);
	sl_list_append(&list, &items[4].link);
	sl_list_prepend(&list, &items[0].link);
	sl_list_insert(&list, &items[2].link, &items[1].link);
	sl_list_insert(&list, &items[4].link, &items[3].link);
	expect(&list, (int[]){0, 1, 2, 3, 4}, 5);
	assert_ptr_equal(SL_LIST_FIND(struct item, item, &list, link, item->number > 2), &items[3]);
	assert_null(SL_LIST_FIND(struct item, item, &list, link, item->number > 4));
	assert_int_equal(sl_list_hash("abcd", 2), sl_list_hash("ab", 9));
	assert_int_not_equal(sl_list_hash("ab", 2), sl_list_hash("ba", 2));
	sl_list_unlink(&items[0].link);
	sl_list_unlink(&items[2].link);
	sl_list_unlink(&items[4].link);
	sl_list_unlink(&items[2].link);  /* in no list: nothing happens */
	expect(&list, (int[]){1, 3}, 2);
	sl_list_prepend(&list, &items[2].link);
	expect(&list, (int[]){2, 1, 3}, 3);
	assert_null(SL_LIST_NEXT(struct item, &items[3], link));
	struct sl_list other = {0};
	sl_list_append(&other, &items[0].link);
	sl_list_move(&other, &list);
	expect(&other, (int[]){0, 2, 1, 3}, 4);
	expect(&list, NULL, 0);
	sl_list_move(&other, &list);  /* nothing to move */
	expect(&other, (int[]){0, 2, 1, 3}, 4);
}

static void backward(void **state)
{
	struct sl_list list = {0};
	struct item items[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
	int i = 4;
	for (int k = 0; k < 4; k++)
		sl_list_append(&list, &items[k].link);
	SL_LIST_EACH_BACK(struct item, item, &list, link) {
		assert_int_equal(item->number, --i);
		sl_list_unlink(&item->link);
	}
	assert_int_equal(i, 0);
	expect(&list, NULL, 0);
}

static void items_go_during_a_walk(void **state)
{
	struct sl_list list = {0}, other = {0};
	for (int i = 0; i < 100; i++) {
		struct item *item = calloc(1, sizeof *item);
		assert_non_null(item);
		item->number = i;
		sl_list_append(&list, &item->link);
	}
	SL_LIST_EACH(struct item, item, &list, link) {
		sl_list_unlink(&item->link);
		if (item->number % 2)
			sl_list_append(&other, &item->link);
		else
			free(item);
	}
	assert_int_equal(list.count, 0);
	assert_null(list.first);
	assert_null(list.last);
	assert_int_equal(other.count, 50);
	SL_LIST_EACH(struct item, item, &other, link)
		free(item);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(order),
		cmocka_unit_test(backward), cmocka_unit_test(items_go_during_a_walk)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
