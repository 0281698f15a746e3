/* list.h -- the methods of the tests' programs: those of core/, and a guest. */
#include "core/method/list.h"
METHOD(degree)  /* tests/guest/degree.c */
