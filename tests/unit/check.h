/* SPDX-License-Identifier: MIT */
/* check.h - the whole unit test harness: a test is a function, CHECK says what
 * must hold, RUN runs it and names it. A failed check prints and the program
 * ends with 1 after the last test. */
#ifndef H5FS_CHECK_H
#define H5FS_CHECK_H

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int check_failures;

#define CHECK(cond)                                                            \
	do {                                                                   \
		if (!(cond)) {                                                 \
			printf("%s:%d: not true: %s\n", __FILE__, __LINE__,    \
			       #cond);                                         \
			check_failures++;                                      \
		}                                                              \
	} while (0)
#define CHECK_EQ(a, b)                                                         \
	do {                                                                   \
		long long a_ = (long long)(a), b_ = (long long)(b);            \
		if (a_ != b_) {                                                \
			printf("%s:%d: %s is %lld, want %s = %lld\n",          \
			       __FILE__, __LINE__, #a, a_, #b, b_);            \
			check_failures++;                                      \
		}                                                              \
	} while (0)
#define CHECK_STR(a, b)                                                        \
	do {                                                                   \
		const char *a_ = (a), *b_ = (b);                               \
		if (!a_ || strcmp(a_, b_) != 0) {                              \
			printf("%s:%d: %s is \"%s\", want \"%s\"\n", __FILE__, \
			       __LINE__, #a, a_ ? a_ : "(null)", b_);          \
			check_failures++;                                      \
		}                                                              \
	} while (0)
#define RUN(test)                                                              \
	do {                                                                   \
		int before_ = check_failures;                                  \
		test();                                                        \
		printf("%s %s\n", check_failures == before_ ? "ok" : "FAILED", \
		       #test);                                                 \
	} while (0)
#define CHECK_RESULT() (check_failures ? 1 : 0)

#endif
