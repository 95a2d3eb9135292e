/* SPDX-License-Identifier: MIT */
/* test_faults.c - a fault is told once, and the newest are kept. */
#include "h5fs/base.h"

#include "check.h"

static void check_printed(struct faults *f, const char *want)
{
	struct strbuf s = STRBUF_INIT;
	CLEANUP(freep) char *text = NULL;

	CHECK_EQ(faults_print(f, &s), 0);
	text = strbuf_steal(&s);
	CHECK_STR(text, want);
}

static void same_path_and_reason_is_told_once(void)
{
	CLEANUP(faults_freep) struct faults *f = NULL;

	CHECK_EQ(faults_new(&f), 0);
	check_printed(f, "");
	CHECK(faults_add(f, "/a", "broken chunk", "rewrite it"));
	CHECK(!faults_add(f, "/a", "broken chunk", "another remedy"));
	CHECK(faults_add(f, "/a", "unknown filter", NULL));
	CHECK(faults_add(f, "/b", "broken chunk", "rewrite it"));
	CHECK_EQ(faults_count(f), 3);
	check_printed(f, "/a\tbroken chunk\trewrite it\n"
			 "/a\tunknown filter\t\n"
			 "/b\tbroken chunk\trewrite it\n");
}

static void one_line_a_fault(void)
{
	CLEANUP(faults_freep) struct faults *f = NULL;

	CHECK_EQ(faults_new(&f), 0);
	CHECK(faults_add(f, "/a\tb", "two\nlines", "x\n"));
	check_printed(f, "/a\\tb\ttwo\\nlines\tx\\n\n");
}

static void newest_thousand_stay(void)
{
	CLEANUP(faults_freep) struct faults *f = NULL;
	struct strbuf s = STRBUF_INIT;
	char path[20];

	CHECK_EQ(faults_new(&f), 0);
	for (int i = 0; i < 1500; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		CHECK(faults_add(f, path, "r", "m"));
	}
	CHECK_EQ(faults_count(f), 1000);
	CHECK_EQ(faults_print(f, &s), 0);
	CHECK(strncmp(s.buf, "/500\tr\tm\n/501\t", 14) == 0);
	CHECK(strstr(s.buf, "\n/1499\tr\tm\n"));
	CHECK(!faults_add(f, "/1499", "r", "m"));
	CHECK(faults_add(f, "/499", "r", "m"));
	strbuf_done(&s);
}

static void large_texts_are_cut_but_told_apart(void)
{
	CLEANUP(faults_freep) struct faults *f = NULL;
	struct strbuf s = STRBUF_INIT;
	CLEANUP(freep) char *path = malloc(100001);

	memset(path, 'x', 100000);
	path[100000] = '\0';
	CHECK_EQ(faults_new(&f), 0);
	CHECK(faults_add(f, path, path, path));
	CHECK(!faults_add(f, path, path, path));
	path[99999] = 'y';
	CHECK(faults_add(f, path, path, path));
	CHECK_EQ(faults_print(f, &s), 0);
	CHECK(s.len < 2 * 10000);
	strbuf_done(&s);
}

static void *add_hundred(void *arg)
{
	intptr_t added = 0;
	char path[20];

	for (int i = 0; i < 100; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		added += faults_add(arg, path, "r", "m");
	}
	return (void *)added;
}

static void threads_add_each_once(void)
{
	CLEANUP(faults_freep) struct faults *f = NULL;
	intptr_t sum = 0;
	pthread_t t[4];
	void *added;

	CHECK_EQ(faults_new(&f), 0);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++)
		pthread_create(&t[i], NULL, add_hundred, f);
	for (size_t i = 0; i < ARRAY_SIZE(t); i++) {
		pthread_join(t[i], &added);
		sum += (intptr_t)added;
	}
	CHECK_EQ(sum, 100);
	CHECK_EQ(faults_count(f), 100);
}

int main(void)
{
	RUN(same_path_and_reason_is_told_once);
	RUN(one_line_a_fault);
	RUN(newest_thousand_stay);
	RUN(large_texts_are_cut_but_told_apart);
	RUN(threads_add_each_once);
	return CHECK_RESULT();
}
