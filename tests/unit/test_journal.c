/* SPDX-License-Identifier: MIT */
/* test_journal.c - the invariants J1 to J11 of journal.c, on a disk in memory that
 * is stopped after each of its operations. */
#include "check.h"
#include "sim_disk.h"

#define MARK 8
#define HEAD 64
#define END 3000 /* of FILE at first */
#define STATES 12
#define RANDOM_LOSSES 60 /* states of a loss of power, where there are many */

/* What FILE is after each commit. */
struct state {
	uint64_t tag;
	struct sim_bytes file;
};
static struct state states[STATES];
static unsigned nstates;
static struct sim_disk first; /* what a run began with */

static const struct journal_file where = {
	.fd = SIM_FD,
	.side = "/dir/side",
	.mark = MARK,
	.head = 0,
	.head_len = HEAD,
};

static void random_bytes(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)sim_dice(256);
}

static void make_first(void)
{
	memset(&first, 0, sizeof(first));
	first.nfiles = 1;
	first.files[0].size = END;
	random_bytes(first.files[0].p, END);
	first.files[0].p[MARK] = 2;
	sim_start(&first);
	states[0] = (struct state){ .tag = 0, .file = first.files[0] };
	nstates = 1;
}

/* ---- a transaction, and what it makes ---- */

static void put(struct journal *j, struct sim_bytes *want, uint64_t at,
		size_t n)
{
	uint8_t bytes[2000];

	random_bytes(bytes, n);
	if (at <= MARK && at + n > MARK)
		bytes[MARK - at] = 3;
	CHECK_EQ(journal_pwrite(j, bytes, n, at), 0);
	if (at > want->size)
		memset(want->p + want->size, 0, at - want->size);
	memcpy(want->p + at, bytes, n);
	if (at + n > want->size)
		want->size = at + n;
}

static void check_view(struct journal *j, const struct sim_bytes *want)
{
	uint8_t bytes[SIM_MAX];

	memset(bytes, 0xee, sizeof(bytes));
	CHECK_EQ(journal_pread(j, bytes, sizeof(bytes), 0), 0);
	CHECK(!memcmp(bytes, want->p, want->size));
	for (size_t i = want->size; i < sizeof(bytes); i++)
		if (bytes[i]) {
			CHECK_EQ(bytes[i], 0);
			break;
		}
}

/* Some writes below the end, over it and behind it. */
static void write_some(struct journal *j, struct sim_bytes *want)
{
	uint64_t end = want->size;

	put(j, want, 0, HEAD); /* as a superblock: new with each */
	put(j, want, 700, 300);
	put(j, want, 800, 900);
	put(j, want, 750, 20);
	put(j, want, end - 10, 30);
	put(j, want, end + 500, 700);
	put(j, want, end + 20, 5);
}

static void check_equal(const struct sim_bytes *is,
			const struct sim_bytes *want)
{
	CHECK_EQ(is->size, want->size);
	CHECK(is->size == want->size && !memcmp(is->p, want->p, want->size));
}

static struct journal *open_journal(uint64_t tag)
{
	struct journal *j = NULL;

	CHECK_EQ(journal_open(&where, tag, &j), 0);
	return j;
}

/* The state to be, of this length; known before the first op of its commit. */
static void expect(const struct sim_bytes *want, uint64_t tag, uint64_t end)
{
	struct state *s = &states[nstates++];

	s->tag = tag;
	s->file = *want;
	if (end > want->size)
		memset(s->file.p + want->size, 0, end - want->size);
	s->file.size = end;
}

static void commit(struct journal *j, const struct sim_bytes *want,
		   uint64_t tag, uint64_t end)
{
	expect(want, tag, end);
	CHECK_EQ(journal_log(j, tag, end), 0);
	CHECK_EQ(journal_apply(j), 0);
	CHECK_EQ(journal_forget(j), 0);
	check_equal(&sim.files[0], &states[nstates - 1].file);
}

/* ---- what a crash may leave ---- */

/* Op number at which each commit began, and at which it was over. */
struct ops {
	unsigned from, to;
};
static struct ops spans[STATES];
/* What was logged, and given up then. */
static struct state given_up;
static struct ops given_up_in;

static bool is_given_up(const struct sim_bytes *f, unsigned k)
{
	return k > given_up_in.from && k < given_up_in.to &&
	       f->size == given_up.file.size &&
	       !memcmp(f->p, given_up.file.p, f->size);
}

/* FILE as a program sees it: refused, or one of the two. */
static int state_of(const struct sim_bytes *f, bool whole)
{
	for (unsigned i = nstates; i-- > 0;) {
		const struct sim_bytes *s = &states[i].file;

		if ((whole ? f->size == s->size : f->size >= s->size) &&
		    !memcmp(f->p, s->p, s->size))
			return (int)i;
	}
	return -1;
}

/* States that op k of the run may have left: *lo to *hi. */
static void allowed(unsigned k, int *lo, int *hi)
{
	*lo = *hi = 0;
	for (unsigned i = 1; i < nstates; i++) {
		if (k > spans[i].from)
			*hi = (int)i;
		if (k >= spans[i].to)
			*lo = (int)i;
	}
}

static int recover(enum recovery *ret_recovery, uint64_t *ret_tag)
{
	CLEANUP(freep) char *why = NULL;
	int r = journal_recover(&where, ret_recovery, ret_tag, &why);

	if (r < 0 && why)
		printf("# %s\n", why);
	return r;
}

/* Before recovery a program refuses FILE or reads a state whole; after it FILE is
 * one, and the tag is that one's. */
static void check_recovery(const struct sim_disk *d, unsigned k, bool cut)
{
	enum recovery recovery = RECOVERY_NONE;
	int lo, hi, before, after;
	uint64_t tag = 99;

	allowed(k, &lo, &hi);
	before = state_of(&d->files[0], false);
	CHECK(d->files[0].p[MARK] == JOURNAL_MARK || before >= lo ||
	      is_given_up(&d->files[0], k));
	CHECK(before <= hi);
	sim_start(d);
	CHECK_EQ(recover(&recovery, &tag), 0);
	CHECK(recovery != RECOVERY_ASIDE);
	if (is_given_up(&sim.files[0], k)) {
		CHECK_EQ(tag, given_up.tag);
		return;
	}
	after = state_of(&sim.files[0], cut);
	CHECK(after >= lo && after <= hi);
	CHECK(before < 0 || after >= before);
	if (after >= 0 && (tag || after))
		CHECK_EQ(tag, states[after].tag); /* J11 */
}

/* Recovery itself is stopped at each of its ops, and starts again. */
static void check_recovery_stopped(const struct sim_disk *d, unsigned k)
{
	static struct sim_disk from, half;
	static struct sim_op ops[SIM_OPS];
	enum recovery recovery;
	unsigned n;
	uint64_t tag;

	from = *d;
	sim_start(&from);
	CHECK_EQ(recover(&recovery, &tag), 0);
	n = sim_nops;
	memcpy(ops, sim_ops, n * sizeof(*ops));
	for (unsigned i = 0; i <= n; i++)
		for (unsigned part = 0; part < 3; part++) {
			/* the trace of the first recovery again */
			memcpy(sim_ops, ops, n * sizeof(*ops));
			sim_nops = n;
			if (part < 2)
				sim_killed(&from, i, part * 2, &half);
			else
				sim_power_lost(&from, i, sim_dice(1u << 24),
					       &half);
			sim_nops = 0; /* ops[] owns the bytes */
			check_recovery(&half, k, false);
			sim_start(&half);
		}
	for (unsigned i = 0; i < n; i++)
		free(ops[i].bytes);
}

/* ---- the run whose every op is a crash ---- */

static void run_transactions(void)
{
	static struct sim_bytes want, dropped;
	static const uint64_t tags[] = { 11, 22, 33, 44 };
	struct journal *j;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	for (unsigned i = 0; i < 4; i++) {
		uint64_t end;

		if (i == 1) { /* one is given up before its commit, */
			dropped = want;
			write_some(j, &dropped);
			CHECK_EQ(journal_abort(j, false), 0);
		}
		if (i == 2) { /* and one after it was logged */
			dropped = want;
			write_some(j, &dropped);
			given_up = (struct state){ 29, dropped };
			given_up_in.from = sim_nops;
			CHECK_EQ(journal_log(j, 29, dropped.size), 0);
			CHECK_EQ(journal_abort(j, false), 0);
			given_up_in.to = sim_nops;
			check_equal(&sim.files[0], &want);
		}
		if (i == 3) { /* a second session, with the log there */
			journal_close(j);
			j = open_journal(33);
		}
		write_some(j, &want);
		check_view(j, &want);
		end = i == 1 ? want.size + 100 : i == 2 ? 2500 : want.size;
		spans[i + 1].from = sim_nops;
		commit(j, &want, tags[i], end);
		spans[i + 1].to = sim_nops;
		want = states[nstates - 1].file;
		check_view(j, &want);
	}
	journal_close(j);
}

/* Runs it again for each op, as recovery has a trace of its own. */
static void each_op(void (*check)(unsigned k))
{
	static struct sim_op ops[SIM_OPS];
	unsigned n;

	run_transactions();
	n = sim_nops;
	memcpy(ops, sim_ops, n * sizeof(*ops));
	for (unsigned k = 0; k <= n; k++) {
		memcpy(sim_ops, ops, n * sizeof(*ops));
		sim_nops = n;
		check(k);
	}
	memcpy(sim_ops, ops, n * sizeof(*ops));
	sim_nops = n;
}

/* The disk is made, the trace of the run kept. */
static void with_trace(void (*check)(const struct sim_disk *d, unsigned k),
		       const struct sim_disk *d, unsigned k)
{
	static struct sim_op ops[SIM_OPS];
	unsigned n = sim_nops;

	memcpy(ops, sim_ops, n * sizeof(*ops));
	sim_nops = 0;
	check(d, k);
	for (unsigned i = 0; i < sim_nops; i++)
		free(sim_ops[i].bytes);
	memcpy(sim_ops, ops, n * sizeof(*ops));
	sim_nops = n;
}

static void check_cut(const struct sim_disk *d, unsigned k)
{
	check_recovery(d, k, true);
}

static void check_uncut(const struct sim_disk *d, unsigned k)
{
	check_recovery(d, k, false);
}

static void killed_at(unsigned k)
{
	static struct sim_disk d;

	for (unsigned part = 0; part < 4; part++) {
		sim_killed(&first, k, part, &d);
		/* torn in op k: that one has begun */
		with_trace(check_cut, &d, part ? k + 1 : k);
	}
}

static void J3_killed_at_any_point(void)
{
	each_op(killed_at);
}

static void power_lost_at(unsigned k)
{
	static struct sim_disk d;
	unsigned n = sim_losses(k);

	if (n <= 6)
		for (uint64_t choice = 0; choice < 1u << n; choice++) {
			sim_power_lost(&first, k, choice, &d);
			with_trace(check_uncut, &d, k);
		}
	for (unsigned i = 0; i < RANDOM_LOSSES; i++) {
		uint64_t choice = sim_dice(1u << 24) |
				  (uint64_t)sim_dice(1u << 24) << 24 |
				  (uint64_t)(i % 4 != 0) << 63;

		sim_power_lost(&first, k, choice, &d);
		with_trace(check_uncut, &d, k);
	}
}

static void J3_power_lost_at_any_point(void)
{
	each_op(power_lost_at);
}

static void recovery_stopped_at(unsigned k)
{
	static struct sim_disk d;

	sim_killed(&first, k, 0, &d);
	with_trace(check_recovery_stopped, &d, k);
	sim_power_lost(&first, k,
		       sim_dice(1u << 24) | (uint64_t)sim_dice(2) << 63, &d);
	with_trace(check_recovery_stopped, &d, k);
}

static void J3_recovery_stopped_at_any_point(void)
{
	each_op(recovery_stopped_at);
}

/* ---- the others, one by one ---- */

static void J1_the_file_is_not_written_before_a_commit(void)
{
	static struct sim_bytes want;
	struct journal *j;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	write_some(j, &want);
	check_view(j, &want);
	CHECK(!memcmp(sim.files[0].p, first.files[0].p, END));
	CHECK_EQ(journal_log(j, 1, want.size), 0);
	CHECK(!memcmp(sim.files[0].p, first.files[0].p, END));
	check_view(j, &want);
	journal_close(j);
}

/* A run that stops with a whole commit in the log, FILE unmarked; its log's file. */
static unsigned logged(uint64_t end)
{
	static struct sim_bytes want;
	struct journal *j;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	write_some(j, &want);
	if (!end)
		end = want.size;
	expect(&want, 5, end);
	CHECK_EQ(journal_log(j, 5, end), 0);
	journal_close(j);
	return 1;
}

static void J2_each_byte_of_the_log_counts(void)
{
	static struct sim_disk d;
	unsigned log = logged(0);

	d = sim;
	for (size_t i = LOG_RECORDS; i < d.files[log].size; i++) {
		enum recovery recovery = RECOVERY_NONE;
		uint64_t tag;

		sim_start(&d);
		sim.files[log].p[i] ^= 1u << sim_dice(8);
		CHECK_EQ(recover(&recovery, &tag), 0);
		CHECK_EQ(recovery, RECOVERY_UNDONE);
		check_equal(&sim.files[0], &states[0].file);
	}
}

static void J2_a_commit_that_was_given_up_never_counts(void)
{
	static struct sim_disk d;
	static uint8_t bytes[3][100];
	struct journal *j;
	enum recovery recovery;
	uint64_t tag;

	make_first();
	random_bytes(bytes[0], sizeof(bytes));
	j = open_journal(0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(journal_pwrite(j, bytes[i], 100, 100 + 200u * i), 0);
	CHECK_EQ(journal_log(j, 5, END), 0);
	CHECK_EQ(journal_abort(j, false), 0);
	/* the same again, of which only the beginning is written */
	CHECK_EQ(journal_pwrite(j, bytes[0], 100, 100), 0);
	journal_close(j);
	d = sim;
	sim_start(&d);
	CHECK_EQ(recover(&recovery, &tag), 0);
	check_equal(&sim.files[0], &states[0].file);
	CHECK_EQ(tag, 0);
}

static void check_aside(const char *name)
{
	static struct sim_bytes before;
	enum recovery recovery = RECOVERY_NONE;
	CLEANUP(freep) char *why = NULL;
	uint64_t tag = 99;
	bool found = false;

	before = sim.files[0];
	CHECK_EQ(journal_recover(&where, &recovery, &tag, &why), 0);
	CHECK_EQ(recovery, RECOVERY_ASIDE);
	CHECK(why && strstr(why, name));
	CHECK_EQ(tag, 0);
	check_equal(&sim.files[0], &before);
	for (int i = 0; i < SIM_NAMES; i++) {
		CHECK(!sim.inode[i] || strcmp(sim.names[i], "journal") != 0);
		found |= sim.inode[i] && !strcmp(sim.names[i], name);
	}
	CHECK(found);
}

static void J6_a_log_of_a_file_that_was_changed_is_set_aside(void)
{
	static struct sim_disk d;

	logged(0);
	d = sim;
	sim_start(&d);
	sim.files[0].p[800] ^= 1; /* which the log replaces */
	check_aside("journal.aside-1");

	sim_start(&d);
	strcpy(sim.names[1], "journal.aside-1");
	sim.inode[1] = 2;
	sim.nfiles = 3;
	sim.files[0].p[1] ^= 1;
	check_aside("journal.aside-2");

	sim_start(&d);
	sim.files[0].size = END; /* its tail was cut */
	check_aside("journal.aside-1");
}

static void J6_what_was_applied_already_is_not_applied_again(void)
{
	static struct sim_disk d;
	enum recovery recovery = RECOVERY_NONE;
	uint64_t tag = 0;

	logged(0);
	d = sim;
	d.files[0] = states[1].file;
	sim_start(&d);
	CHECK_EQ(recover(&recovery, &tag), 0);
	CHECK_EQ(recovery, RECOVERY_FINISHED);
	CHECK_EQ(tag, 5);
	check_equal(&sim.files[0], &states[1].file);
	for (unsigned i = 0; i < sim_nops; i++)
		CHECK(sim_ops[i].file != 0);
	CHECK_EQ(recover(&recovery, &tag), 0); /* and now it is empty */
	CHECK_EQ(recovery, RECOVERY_NONE);
	CHECK_EQ(tag, 5);
}

/* A tail in FILE, and no commit. */
static void with_tail(void)
{
	static struct sim_bytes want;
	struct journal *j;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	put(j, &want, END + 10, 500);
	journal_close(j);
	CHECK_EQ(sim.files[0].size, END + 510);
}

static void J7_only_the_tail_of_its_own_file_is_cut(void)
{
	enum recovery recovery = RECOVERY_NONE;
	struct journal_found found;
	uint64_t tag;

	with_tail();
	CHECK_EQ(journal_look(&where, &found), 0);
	CHECK(found.tail && found.log && !found.marked);
	CHECK_EQ(recover(&recovery, &tag), 0);
	CHECK_EQ(recovery, RECOVERY_UNDONE);
	CHECK_EQ(sim.files[0].size, END);

	with_tail();
	sim.files[0].p[3] ^= 1; /* another head: somebody wrote there */
	CHECK_EQ(journal_look(&where, &found), 0);
	CHECK(!found.tail);
	CHECK_EQ(recover(&recovery, &tag), 0);
	CHECK_EQ(sim.files[0].size, END + 510);
}

static void J7_what_others_appended_is_not_cut(void)
{
	static struct sim_bytes want;
	static struct sim_disk d, lost;
	enum recovery recovery;
	struct journal *j;
	uint64_t tag;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	write_some(j, &want);
	commit(j, &want, 5, want.size);
	journal_close(j);
	d = sim;
	memset(d.files[0].p + want.size, 'x', 100); /* between two sessions */
	want.size = d.files[0].size = want.size + 100;
	memcpy(want.p, d.files[0].p, want.size);
	sim_start(&d);
	j = open_journal(5);
	CHECK_EQ(journal_pwrite(j, "tail", 4, want.size), 0);
	journal_close(j);
	sim_power_lost(&d, sim_nops, 0, &lost);
	sim_start(&lost);
	CHECK_EQ(recover(&recovery, &tag), 0);
	check_equal(&sim.files[0], &want);
}

static void J7_a_marked_file_without_a_log_is_refused(void)
{
	enum recovery recovery;
	CLEANUP(freep) char *missing = NULL;
	CLEANUP(freep) char *damaged = NULL;
	CLEANUP(freep) char *cut = NULL;
	unsigned log;
	uint64_t tag;

	make_first();
	sim.files[0].p[MARK] = JOURNAL_MARK;
	CHECK_EQ(journal_recover(&where, &recovery, &tag, &missing), -EIO);
	CHECK(missing && strstr(missing, "/dir/side/journal is missing"));

	log = logged(0);
	sim.files[0].p[MARK] = JOURNAL_MARK;
	sim.files[log].p[LOG_RECORDS + 40] ^= 1;
	CHECK_EQ(journal_recover(&where, &recovery, &tag, &damaged), -EIO);
	CHECK(damaged && strstr(damaged, "is damaged"));
	CHECK_EQ(sim_ops[sim_nops - 1].kind, SIM_SYNC_PARENT); /* untouched */

	logged(0);
	sim.files[0].p[MARK] = JOURNAL_MARK;
	sim.files[0].size = END;
	CHECK_EQ(journal_recover(&where, &recovery, &tag, &cut), -EIO);
	CHECK(cut && strstr(cut, "was cut since"));
}

/* One transaction in which call k fails; where it was when it did. */
enum reached { IN_WRITES, IN_LOG, IN_APPLY, IN_FORGET, ALL };

static enum reached run_failing(struct journal *j, struct sim_bytes *want)
{
	static struct sim_bytes into;
	uint8_t bytes[600];
	int r = 0;

	into = *want;
	random_bytes(bytes, sizeof(bytes));
	for (unsigned i = 0; r == 0 && i < 3; i++)
		r = journal_pwrite(j, bytes, sizeof(bytes),
				   END - 1000 + 700 * i);
	if (r < 0)
		return IN_WRITES;
	for (unsigned i = 0; i < 3; i++)
		memcpy(into.p + END - 1000 + 700 * i, bytes, sizeof(bytes));
	into.size = END + 1000;
	expect(&into, 6, into.size);
	if (journal_log(j, 6, into.size) < 0)
		return IN_LOG;
	if (journal_apply(j) < 0)
		return IN_APPLY;
	return journal_forget(j) < 0 ? IN_FORGET : ALL;
}

static void check_failed_for_good(struct journal *j)
{
	uint8_t byte = 0;

	CHECK_EQ(journal_error(j), -EIO);
	CHECK_EQ(journal_pwrite(j, &byte, 1, 0), -EIO);
	CHECK_EQ(journal_pread(j, &byte, 1, 0), -EIO);
	CHECK_EQ(journal_log(j, 9, END), -EIO);
	CHECK_EQ(journal_apply(j), -EIO);
	CHECK_EQ(journal_forget(j), -EIO);
	CHECK_EQ(journal_abort(j, false), -EIO);
}

/* The error at call k, `times` times; false: there is no such call. */
static bool error_at(int k, int times, int error)
{
	static struct sim_bytes want;
	static struct sim_disk d;
	enum recovery recovery;
	enum reached reached;
	struct journal *j;
	bool failed;
	uint64_t tag;

	make_first();
	j = open_journal(0);
	sim_fail_at = k;
	sim_fail_times = times;
	sim_fail_errno = error;
	reached = run_failing(j, &states[0].file);
	want = reached >= IN_APPLY ? states[1].file : states[0].file;
	if (reached < IN_APPLY)
		CHECK(journal_error(j) == -error || journal_error(j) == -EIO);
	failed = reached < IN_APPLY && journal_abort(j, false) < 0;
	sim_fail_at = -1;
	if (reached < IN_APPLY && !failed) { /* J9 */
		check_equal(&sim.files[0], &states[0].file);
		nstates = 1;
		want = states[0].file;
		write_some(j, &want);
		commit(j, &want, 8, want.size);
	} else if (reached != ALL) {
		check_failed_for_good(j); /* J8 */
	}
	journal_close(j);
	d = sim;
	sim_start(&d);
	CHECK_EQ(recover(&recovery, &tag), 0);
	if (failed) /* it was not known any more */
		CHECK(state_of(&sim.files[0], false) >= 0);
	else
		check_equal(&sim.files[0], &want);
	return reached != ALL;
}

static void J8_J9_an_error_anywhere(void)
{
	static const struct {
		int times, error;
	} how[] = { { 1, EIO }, { 1, ENOSPC }, { 3, EIO }, { 1000, EIO } };

	for (size_t i = 0; i < ARRAY_SIZE(how); i++) {
		int k = 0;

		while (error_at(k, how[i].times, how[i].error))
			k++;
		CHECK(k > 10);
	}
}

static void J9_an_error_is_kept_until_the_abort(void)
{
	static struct sim_bytes want;
	uint8_t byte = 1;
	struct journal *j;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	put(j, &want, END + 5, 10);
	sim_fail_at = (int)sim_calls;
	sim_fail_times = 1;
	sim_fail_errno = EDQUOT;
	CHECK_EQ(journal_pwrite(j, &byte, 1, END + 30), -EDQUOT);
	sim_fail_at = -1;
	CHECK_EQ(journal_pwrite(j, &byte, 1, END + 30), -EDQUOT);
	CHECK_EQ(journal_log(j, 1, END + 31), -EDQUOT);
	CHECK_EQ(journal_abort(j, false), 0);
	CHECK_EQ(journal_error(j), 0);
	check_equal(&sim.files[0], &first.files[0]);
	journal_close(j);
}

/* What is written into a hole must find room before it is too late. */
static void J9_holes_are_filled_before_the_commit(void)
{
	static struct sim_bytes want;
	struct journal *j;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	put(j, &want, 100, 50);
	sim_sparse = true;
	CHECK_EQ(journal_log(j, 1, END), -ENOSPC);
	sim_sparse = false;
	for (unsigned i = 0; i < sim_nops; i++)
		CHECK(sim_ops[i].kind != SIM_SYNC);
	CHECK_EQ(journal_abort(j, false), 0);
	check_equal(&sim.files[0], &first.files[0]);
	want = first.files[0];
	put(j, &want, 100, 50);
	commit(j, &want, 2, END);
	journal_close(j);
}

static void J9_a_file_that_others_changed_is_left_alone(void)
{
	static struct sim_bytes want;
	enum recovery recovery;
	struct journal *j;
	uint64_t tag;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	write_some(j, &want);
	CHECK_EQ(journal_log(j, 1, want.size), 0);
	sim.files[0].p[2000] ^= 1;
	want = sim.files[0];
	CHECK_EQ(journal_abort(j, true), 0);
	journal_close(j);
	check_equal(&sim.files[0], &want);
	sim.files[0].p[0] ^= 1;
	CHECK_EQ(recover(&recovery, &tag), 0);
	CHECK(recovery != RECOVERY_ASIDE && recovery != RECOVERY_FINISHED);
}

static void J10_nothing_is_made_before_the_first_write(void)
{
	static struct sim_bytes want;
	struct journal *j;
	uint8_t byte;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	CHECK_EQ(journal_pread(j, &byte, 1, 0), 0);
	CHECK(!journal_is_dirty(j));
	CHECK_EQ(journal_abort(j, false), 0);
	CHECK_EQ(sim_nops, 0);
	put(j, &want, 100, 10); /* in the buffer */
	CHECK(journal_is_dirty(j));
	CHECK_EQ(sim_nops, 0);
	check_view(j, &want);
	CHECK_EQ(journal_abort(j, false), 0);
	CHECK_EQ(sim_nops, 0);
	journal_close(j);
	journal_remove(where.side);
	CHECK(!sim.side);
}

static void J10_a_removed_log_is_noticed(void)
{
	static struct sim_bytes want;
	struct journal *j;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	put(j, &want, END + 5, 10);
	for (int i = 0; i < SIM_NAMES; i++)
		sim.inode[i] = 0;
	CHECK_EQ(journal_log(j, 1, want.size), -ENOENT);
	CHECK_EQ(journal_abort(j, false), 0);
	check_equal(&sim.files[0], &first.files[0]);
	want = first.files[0];
	write_some(j, &want);
	commit(j, &want, 2, want.size); /* in a new one */
	journal_close(j);
}

static void J11_the_tag_outlives_the_session(void)
{
	static struct sim_bytes want;
	enum recovery recovery;
	struct journal *j;
	uint64_t tag = 0;

	make_first();
	want = first.files[0];
	j = open_journal(0);
	write_some(j, &want);
	commit(j, &want, 41, want.size);
	journal_close(j);
	CHECK_EQ(recover(&recovery, &tag), 0);
	CHECK_EQ(recovery, RECOVERY_NONE);
	CHECK_EQ(tag, 41);
	j = open_journal(tag);
	write_some(j, &want); /* and a transaction that did not end */
	journal_close(j);
	CHECK_EQ(recover(&recovery, &tag), 0);
	CHECK_EQ(recovery, RECOVERY_UNDONE);
	CHECK_EQ(tag, 41);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	journal_io = &sim_io;
	RUN(J1_the_file_is_not_written_before_a_commit);
	RUN(J2_each_byte_of_the_log_counts);
	RUN(J2_a_commit_that_was_given_up_never_counts);
	RUN(J3_killed_at_any_point);
	RUN(J3_power_lost_at_any_point);
	RUN(J3_recovery_stopped_at_any_point);
	RUN(J6_a_log_of_a_file_that_was_changed_is_set_aside);
	RUN(J6_what_was_applied_already_is_not_applied_again);
	RUN(J7_only_the_tail_of_its_own_file_is_cut);
	RUN(J7_what_others_appended_is_not_cut);
	RUN(J7_a_marked_file_without_a_log_is_refused);
	RUN(J8_J9_an_error_anywhere);
	RUN(J9_an_error_is_kept_until_the_abort);
	RUN(J9_holes_are_filled_before_the_commit);
	RUN(J9_a_file_that_others_changed_is_left_alone);
	RUN(J10_nothing_is_made_before_the_first_write);
	RUN(J10_a_removed_log_is_noticed);
	RUN(J11_the_tag_outlives_the_session);
	return CHECK_RESULT();
}
