/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs with a scripted server: messages as they are sent, results by response code, lost answers, several
 * servers, signatures. tests/functional/test_rfc2136.py talks to real servers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/mem.h"
#include "dns/request.h"
#include "dns/tsig/server.h"
#include "dns/types.h"
#include "net/loop.h"
#include "provider/provider.h"
#include "provider/shared/job.h"
#include "testing/fake_upstream.h"

#define KEY_TEXT "hmac-sha256:key:c2VjcmV0"

static uint64_t test_now_ns;

static uint64_t read_test_clock(void)
{
	return test_now_ns;
}

static const struct clock_source test_clock = { read_test_clock, read_test_clock };

struct rig {
	struct loop *loop;
	struct fakeup *fakes[2];
	const struct provider *provider;
	struct provider_account *account;
	struct provider_job job;
	struct provider_change change;
	bool is_done;
	char server[2][32]; /* as texts have them */
};

static void on_done(struct provider_job *job)
{
	CONTAINER_OF(job, struct rig, job)->is_done = true;
}

static void open_marked(struct rig *rig, const char *zone, bool has_key, bool has_marks)
{
	char servers[64];
	test_now_ns = 5000 * NS_PER_S;
	clock_set_source(&test_clock);
	*rig = (struct rig){ .loop = loop_new(), .provider = provider_find("rfc2136") };
	for (size_t i = 0; i < 2; i++) {
		rig->fakes[i] = fakeup_new();
		snprintf(rig->server[i], sizeof(rig->server[i]), "127.0.0.1:%u",
			 fakeup_port(rig->fakes[i]));
	}
	snprintf(servers, sizeof(servers), "%s,%s", rig->server[0], rig->server[1]);
	struct provider_credential credentials[] = {
		{ "Server", slice_of(servers) },
		{ "Zone", slice_of(zone) },
		{ "TSIGKeyName", slice_of(has_key ? "key" : "") },
		{ "TSIGSecret", slice_of(has_key ? "c2VjcmV0" : "") },
		{ "OwnerRecords", SLICE("true") },
	};
	struct provider_account_conf conf = { .loop = rig->loop,
					      .credentials = credentials,
					      .n_credentials =
						      ARRAY_LEN(credentials) - !has_marks };
	char err[200] = "";
	if (rig->provider->open(&conf, &rig->account, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
}

/* `zone` "": the server is asked. */
static void rig_open(struct rig *rig, const char *zone, bool has_key)
{
	open_marked(rig, zone, has_key, false);
}

static void rig_close(struct rig *rig)
{
	provider_change_clear(&rig->change);
	provider_job_clear(&rig->job);
	rig->provider->close(rig->account);
	fakeup_free(rig->fakes[0]);
	fakeup_free(rig->fakes[1]);
	loop_free(rig->loop);
	clock_set_source(NULL);
}

static void turn(struct rig *rig)
{
	for (int i = 0; i < 6; i++) {
		test_now_ns += NS_PER_MS;
		loop_turn(rig->loop, false);
	}
}

static void start(struct rig *rig, enum provider_job_kind kind, const struct provider_edit *edits,
		  size_t count)
{
	provider_change_clear(&rig->change);
	provider_job_clear(&rig->job);
	rig->change = (struct provider_change){ .edits = edits,
						.n_edits = count,
						.code = PROVIDER_UNKNOWN };
	rig->is_done = false;
	rig->job = (struct provider_job){ .kind = kind,
					  .zone = "example",
					  .name = "a.b.example",
					  .changes = &rig->change,
					  .n_changes = count != 0,
					  .end_by_ns = test_now_ns + 30 * NS_PER_S,
					  .done = on_done };
	rig->provider->start(rig->account, &rig->job);
	turn(rig);
}

static const char *one_value[] = { "192.0.2.1" };
static const struct provider_edit put_a = {
	.set = { .name = "a.example",
		 .type = DNS_TYPE_A,
		 .ttl_s = 60,
		 .values = one_value,
		 .n_values = 1 },
};

static const struct provider_edit drop_a = { .set = { .name = "a.example", .type = DNS_TYPE_A } };

static void expect_question(struct rig *rig, size_t server, const char *text)
{
	const char *found = fakeup_next(rig->fakes[server]);
	assert_non_null(found);
	assert_string_equal(found, text);
}

static void reply(struct rig *rig, size_t server, uint16_t rcode, const char *answer)
{
	fakeup_reply(rig->fakes[server],
		     &(struct fakeup_reply){ .rcode = rcode, .answer = answer });
	turn(rig);
}

/* `error` has a @ where the first server's address is. */
static void expect_end(struct rig *rig, enum provider_code code, const char *error)
{
	char text[PROVIDER_ERROR_BYTES + 40] = "";
	const char *at = strchr(error, '@');
	assert_true(rig->is_done);
	if (at != NULL)
		snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - error), error, rig->server[0],
			 at + 1);
	assert_string_equal(rig->job.error, at != NULL ? text : error);
	assert_int_equal(rig->job.code, code);
}

#define SOA " 60 IN SOA ns.example. host.example. 1 2 3 4 5"

/* A write begins with the question to which zone the name belongs: to the one that is written to. */
static void start_write(struct rig *rig, size_t server, const struct provider_edit *edit)
{
	struct fakeup_reply reply = { .rcode = DNS_RCODE_NXDOMAIN,
				      .authority = "example." SOA,
				      .set_flags = DNS_FLAG_AA };
	start(rig, PROVIDER_APPLY, edit, 1);
	expect_question(rig, server, "tcp a.example. IN SOA");
	fakeup_reply(rig->fakes[server], &reply);
	turn(rig);
}

/* The server is asked whether it has the zone. */
static void answer_zone(struct rig *rig, const struct fakeup_reply *answer)
{
	expect_question(rig, 0, "tcp example. IN SOA");
	fakeup_reply(rig->fakes[0], answer);
	turn(rig);
}

/* ---- results ---- */

static void response_codes(void **state)
{
	static const struct {
		uint16_t rcode;
		enum provider_code code;
		const char *error;
	} rows[] = {
		{ DNS_RCODE_FORMERR, PROVIDER_INVALID,
		  "@: does not understand the update of zone 'example' (FORMERR)" },
		{ DNS_RCODE_SERVFAIL, PROVIDER_UNSURE,
		  "@: failed to update the zone 'example'; the server's log says why (SERVFAIL)" },
		{ DNS_RCODE_NOTIMP, PROVIDER_UNAUTHORIZED,
		  "@: does not accept updates, also of zone 'example' (NOTIMP)" },
		{ DNS_RCODE_REFUSED, PROVIDER_UNAUTHORIZED,
		  "@: does not allow these changes of zone 'example' with this key: see "
		  "allow-update and update-policy (BIND) or acl (Knot) in its configuration "
		  "(REFUSED)" },
		{ DNS_RCODE_NOTAUTH, PROVIDER_NO_ZONE,
		  "@: has no zone 'example', or is not its primary (NOTAUTH)" },
		{ DNS_RCODE_NOTZONE, PROVIDER_INVALID,
		  "@: names are outside of the zone 'example' (NOTZONE)" },
		{ 11, PROVIDER_UNSURE, "@ answers with DSOTYPENI" },
	};
	struct rig rig;
	(void)state;
	rig_open(&rig, "example", false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		start_write(&rig, 0, &put_a);
		expect_question(&rig, 0, "tcp example. IN SOA");
		reply(&rig, 0, rows[i].rcode, NULL);
		if (rows[i].rcode == DNS_RCODE_NOTAUTH)
			answer_zone(&rig, &(struct fakeup_reply){ .rcode = DNS_RCODE_REFUSED });
		expect_end(&rig, rows[i].code, rows[i].error);
		assert_int_equal(rig.change.code, PROVIDER_UNKNOWN);
		if (rows[i].code == PROVIDER_UNSURE)
			assert_true(rig.job.was_answered);
	}
	rig_close(&rig);
}

/* NOTAUTH: the zone is gone only if the server does not serve it. */
static void not_authoritative(void **state)
{
#define NO_ZONE "@: has no zone 'example', or is not its primary (NOTAUTH)"
	static const struct {
		struct fakeup_reply reply;
		enum provider_code code;
		const char *error;
	} rows[] = {
		{ { .answer = "example." SOA, .set_flags = DNS_FLAG_AA },
		  PROVIDER_UNAUTHORIZED,
		  "@: serves the zone 'example', but does not accept updates of it: it is not its "
		  "primary, or it demands a key (NOTAUTH)" },
		/* from a cache; of the zone above; none */
		{ { .answer = "example." SOA }, PROVIDER_NO_ZONE, NO_ZONE },
		{ { .rcode = DNS_RCODE_NXDOMAIN, .authority = "." SOA, .set_flags = DNS_FLAG_AA },
		  PROVIDER_NO_ZONE,
		  NO_ZONE },
		{ { .rcode = DNS_RCODE_NOTAUTH }, PROVIDER_NO_ZONE, NO_ZONE },
	};
	struct rig rig;
	(void)state;
	rig_open(&rig, "example", false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		start_write(&rig, 0, &put_a);
		expect_question(&rig, 0, "tcp example. IN SOA");
		reply(&rig, 0, DNS_RCODE_NOTAUTH, NULL);
		answer_zone(&rig, &rows[i].reply);
		expect_end(&rig, rows[i].code, rows[i].error);
	}
	/* Whether the zone is gone is not known. */
	start_write(&rig, 0, &put_a);
	expect_question(&rig, 0, "tcp example. IN SOA");
	reply(&rig, 0, DNS_RCODE_NOTAUTH, NULL);
	for (size_t i = 0; i < 2; i++) {
		expect_question(&rig, i, "tcp example. IN SOA");
		reply(&rig, i, DNS_RCODE_SERVFAIL, NULL);
	}
	assert_true(rig.is_done);
	assert_int_equal(rig.job.code, PROVIDER_TRANSIENT);
	rig_close(&rig);
#undef NO_ZONE
}

#define UNSHOWN "the server has accepted the A record set 'a.example', but does not show it"

/* NOERROR, but the server ignored it, or does not show it yet: a prerequisite finds out. */
static void read_back(void **state)
{
	static const struct {
		const char *answer;
		int held; /* the response code of the prerequisite; -1: it is not asked */
		enum provider_code code;
		const char *error;
	} rows[] = {
		{ "a.example. 60 IN A 192.0.2.1", -1, PROVIDER_UNKNOWN, "" },
		{ "a.example. 61 IN A 192.0.2.3", DNS_RCODE_NXRRSET, PROVIDER_CONFLICT,
		  "the A record set 'a.example' was written, but the server has another by now: "
		  "\"192.0.2.3\" (TTL 61)" },
		{ "a.example. 60 IN CNAME b.example.\nb.example. 60 IN A 192.0.2.1",
		  DNS_RCODE_NXRRSET, PROVIDER_CONFLICT,
		  "'a.example' has a record of type CNAME \"b.example\", and a CNAME is alone at "
		  "its name: the A record set was not written" },
		{ "", DNS_RCODE_NXRRSET, PROVIDER_CONFLICT,
		  "the server has accepted the A record set 'a.example', but does not serve it: "
		  "another writer has removed it" },
		{ "", DNS_RCODE_NOERROR, PROVIDER_UNKNOWN, UNSHOWN },
		{ "a.example. 60 IN A 192.0.2.3", DNS_RCODE_NOERROR, PROVIDER_UNKNOWN, UNSHOWN },
		{ "a.example. 60 IN CNAME b.example.", DNS_RCODE_NOERROR, PROVIDER_UNKNOWN,
		  UNSHOWN },
		{ "", DNS_RCODE_REFUSED, PROVIDER_UNKNOWN, UNSHOWN },
	};
	struct rig rig;
	(void)state;
	rig_open(&rig, "example", false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		start_write(&rig, 0, &put_a);
		expect_question(&rig, 0, "tcp example. IN SOA");
		reply(&rig, 0, DNS_RCODE_NOERROR, NULL);
		expect_question(&rig, 0, "tcp a.example. IN A");
		reply(&rig, 0, DNS_RCODE_NOERROR, rows[i].answer);
		if (rows[i].held >= 0) {
			expect_question(&rig, 0, "tcp example. IN SOA");
			reply(&rig, 0, (uint16_t)rows[i].held, NULL);
		}
		expect_end(&rig, PROVIDER_OK, "");
		assert_int_equal(rig.change.code, rows[i].code);
		assert_string_equal(rig.change.error, rows[i].error);
		assert_int_equal(rig.change.is_unsettled,
				 rows[i].code == PROVIDER_UNKNOWN && rows[i].held >= 0);
	}
	/* It may be there or not: somebody has to look again. */
	start_write(&rig, 0, &put_a);
	expect_question(&rig, 0, "tcp example. IN SOA");
	reply(&rig, 0, DNS_RCODE_NOERROR, NULL);
	expect_question(&rig, 0, "tcp a.example. IN A");
	reply(&rig, 0, DNS_RCODE_REFUSED, NULL);
	expect_end(&rig, PROVIDER_UNSURE,
		   "the server has accepted the update, but reading it back failed: @: does not "
		   "answer queries for 'a.example': it has no such zone, or allow-query (BIND) or "
		   "acl (Knot) does not allow them (REFUSED)");
	rig_close(&rig);
}

/* Accepted before: is it shown by now? */
static void settle(void **state)
{
	static const struct {
		uint16_t rcode;
		const char *answer;
		enum provider_code code;
		bool is_unsettled;
		const char *error;
	} rows[] = {
		{ DNS_RCODE_NOERROR, "a.example. 60 IN A 192.0.2.1", PROVIDER_OK, false, "" },
		{ DNS_RCODE_NXDOMAIN, NULL, PROVIDER_OK, true, UNSHOWN },
		{ DNS_RCODE_NOERROR, "a.example. 60 IN A 192.0.2.3", PROVIDER_OK, true,
		  "the server has accepted the A record set 'a.example', but still shows "
		  "\"192.0.2.3\" (TTL 60)" },
		{ DNS_RCODE_REFUSED, NULL, PROVIDER_TRANSIENT, false, "" },
	};
	struct rig rig;
	(void)state;
	rig_open(&rig, "example", false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		start(&rig, PROVIDER_SETTLE, &put_a, 1);
		expect_question(&rig, 0, "tcp a.example. IN A");
		reply(&rig, 0, rows[i].rcode, rows[i].answer);
		assert_true(rig.is_done);
		assert_int_equal(rig.job.code, rows[i].code);
		assert_int_equal(rig.change.is_unsettled, rows[i].is_unsettled);
		assert_string_equal(rig.change.error, rows[i].error);
	}
	rig_close(&rig);
}

/* A set that may be there although queries do not show it: what deletes it asks the server for its mark, and does not
 * require that there is no set. */
static void deletion_of_an_unshown_set(void **state)
{
	struct provider_edit drop = drop_a;
	struct rig rig;
	size_t n;
	(void)state;
	drop.set.owner = "me";
	drop.guard = PROVIDER_GUARD_OWNED;
	drop.before = put_a.set;
	open_marked(&rig, "example", false, true);
	for (int i = 0; i < 2; i++) {
		drop.may_lack_mark = i == 1; /* it was shown before: it is gone */
		start(&rig, PROVIDER_APPLY, &drop, 1);
		for (int k = 0; k < 2; k++) { /* the set and its mark, in any order */
			const char *question = fakeup_next(rig.fakes[0]);
			assert_non_null(question);
			assert_non_null(strstr(question, "a.example. IN "));
			reply(&rig, 0, DNS_RCODE_NXDOMAIN, NULL);
		}
		expect_question(&rig, 0, "tcp example. IN SOA");
		const uint8_t *msg = fakeup_query(rig.fakes[0], &n);
		assert_int_equal(msg[7], 1); /* one prerequisite */
		assert_int_equal(memmem(msg, n, "\2me", 3) != NULL, i == 0);
		reply(&rig, 0, i == 0 ? DNS_RCODE_NXRRSET : DNS_RCODE_NOERROR, NULL);
		if (i == 0) {
			expect_question(&rig, 0, "tcp a.example. IN A");
			reply(&rig, 0, DNS_RCODE_NXDOMAIN, NULL);
		}
		expect_end(&rig, i == 0 ? PROVIDER_CONFLICT : PROVIDER_OK, "");
	}
	rig_close(&rig);
}

/* The name belongs to a zone below: the set is removed again, unless it may be glue. */
static void below_a_delegation(void **state)
{
	struct provider_edit put = put_a;
	struct fakeup_reply referral = { .authority = "a.example. 60 IN NS ns.elsewhere." };
	struct rig rig;
	size_t n;
	(void)state;
	rig_open(&rig, "example", false);
	for (int i = 0; i < 3; i++) {
		put.guard = i == 2 ? PROVIDER_GUARD_NONE : PROVIDER_GUARD_ABSENT;
		start_write(&rig, 0, &put);
		expect_question(&rig, 0, "tcp example. IN SOA");
		reply(&rig, 0, DNS_RCODE_NOERROR, NULL);
		expect_question(&rig, 0, "tcp a.example. IN A");
		fakeup_reply(rig.fakes[0], &referral);
		turn(&rig);
		if (i != 2) {
			expect_question(&rig, 0, "tcp example. IN SOA");
			const uint8_t *msg = fakeup_query(rig.fakes[0], &n);
			assert_int_equal(msg[2] >> 3 & 0xf, DNS_OPCODE_UPDATE);
			assert_int_equal(msg[9], 1); /* one deletion, of class NONE */
			assert_memory_equal(msg + n - 14, "\0\1\0\xfe\0\0\0\0\0\4\xc0\0\2\1", 14);
			reply(&rig, 0, i == 0 ? DNS_RCODE_NOERROR : DNS_RCODE_REFUSED, NULL);
		}
		expect_end(&rig, PROVIDER_OK, "");
		assert_int_equal(rig.change.code, PROVIDER_OTHER_ZONE);
		assert_non_null(strstr(rig.change.error, i == 1 ? "could not be removed again"
								: "name that zone in spec.zone"));
	}
	rig_close(&rig);
}

/* A write begins with the question for the zone of the name: nothing is sent to a shorter one. */
static void name_of_a_longer_zone(void **state)
{
	static const struct {
		struct fakeup_reply first, second; /* for the name, and for the one above */
		const char *longer_zone;	   /* NULL: the update is sent */
		bool is_ours;			   /* of this server */
	} rows[] = {
		{ { .answer = "a.example." SOA, .set_flags = DNS_FLAG_AA },
		  { 0 },
		  "a.example",
		  true },
		{ { .authority = "A.example." SOA, .set_flags = DNS_FLAG_AA },
		  { 0 },
		  "a.example",
		  true },
		{ { .authority = "a.example. 60 IN NS ns.elsewhere." }, { 0 }, "a.example", false },
		{ { .authority = "example. 60 IN NS ns.elsewhere." }, { 0 }, NULL, false },
		{ { .rcode = DNS_RCODE_REFUSED }, { 0 }, NULL, false },
		/* An alias hides it. */
		{ { .answer = "a.example. 60 IN CNAME b.example.\nb.example." SOA,
		    .set_flags = DNS_FLAG_AA },
		  { .answer = "example." SOA, .set_flags = DNS_FLAG_AA },
		  NULL,
		  false },
	};
	struct provider_edit put = put_a;
	struct rig rig;
	(void)state;
	put.guard = PROVIDER_GUARD_ABSENT;
	rig_open(&rig, "example", false);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		start(&rig, PROVIDER_APPLY, &put, 1);
		expect_question(&rig, 0, "tcp a.example. IN SOA");
		fakeup_reply(rig.fakes[0], &rows[i].first);
		turn(&rig);
		if (rows[i].second.answer != NULL) {
			expect_question(&rig, 0, "tcp example. IN SOA");
			fakeup_reply(rig.fakes[0], &rows[i].second);
			turn(&rig);
		}
		if (rows[i].longer_zone == NULL) {
			expect_question(&rig, 0, "tcp example. IN SOA");
			reply(&rig, 0, DNS_RCODE_FORMERR, NULL);
			assert_int_equal(rig.job.code, PROVIDER_INVALID);
			continue;
		}
		expect_end(&rig, PROVIDER_OTHER_ZONE, "names of the batch belong to other zones");
		assert_int_equal(rig.change.code, PROVIDER_OTHER_ZONE);
		assert_non_null(strstr(rig.change.error, "belongs to the zone 'a.example'"));
		if (rows[i].is_ours)
			assert_string_equal(rig.change.longer_zone, rows[i].longer_zone);
		else
			assert_null(rig.change.longer_zone);
	}
	rig_close(&rig);
}

/* ---- lost answers, several servers ---- */

static void lost_answers(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, "example", false);
	start_write(&rig, 0, &put_a);
	expect_question(&rig, 0, "tcp example. IN SOA");
	fakeup_hang_up(rig.fakes[0], false);
	turn(&rig);
	expect_end(&rig, PROVIDER_UNSURE,
		   "the update was sent, but its answer did not come: cannot reach @: EOF");
	assert_null(fakeup_next(rig.fakes[1])); /* it may have been applied: nobody else is asked */
	start_write(&rig, 0, &put_a);
	expect_question(&rig, 0, "tcp example. IN SOA");
	test_now_ns += 11 * NS_PER_S;
	turn(&rig);
	expect_end(&rig, PROVIDER_UNSURE,
		   "the update was sent, but its answer did not come: @ did not answer in time");
	/* Cancelled: nothing comes. */
	start_write(&rig, 0, &put_a);
	rig.provider->cancel(rig.account, &rig.job);
	turn(&rig);
	assert_false(rig.is_done);
	rig_close(&rig);
}

static void second_server(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, "example", false);
	fakeup_stop_tcp(rig.fakes[0]);
	for (int i = 0; i < 2; i++) {
		start_write(&rig, 1, &put_a);
		expect_question(&rig, 1, "tcp example. IN SOA");
		reply(&rig, 1, DNS_RCODE_NOERROR, NULL);
		expect_question(&rig, 1, "tcp a.example. IN A");
		reply(&rig, 1, DNS_RCODE_NOERROR, "a.example. 60 IN A 192.0.2.1");
		expect_end(&rig, PROVIDER_OK, "");
	}
	fakeup_stop_tcp(rig.fakes[1]);
	start(&rig, PROVIDER_APPLY, &put_a, 1);
	expect_end(&rig, PROVIDER_TRANSIENT,
		   "none of the 2 servers answers; the last: cannot reach @: connection refused");
	rig_close(&rig);
}

/* ---- zones ---- */

static void zone_of_a_name(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig, "", false);
	struct fakeup_reply negative = { .rcode = DNS_RCODE_NXDOMAIN,
					 .authority = "example." SOA,
					 .set_flags = DNS_FLAG_AA };
	start(&rig, PROVIDER_FIND_ZONES, NULL, 0);
	expect_question(&rig, 0, "tcp a.b.example. IN SOA");
	fakeup_reply(rig.fakes[0], &negative);
	turn(&rig);
	expect_end(&rig, PROVIDER_OK, "");
	assert_true(rig.job.is_zone_of_name);
	assert_int_equal(rig.job.n_zones, 1);
	assert_string_equal(rig.job.zones[0].id, "example");
	/* An alias hides it: one label up. */
	start(&rig, PROVIDER_FIND_ZONES, NULL, 0);
	expect_question(&rig, 0, "tcp a.b.example. IN SOA");
	fakeup_reply(rig.fakes[0],
		     &(struct fakeup_reply){ .answer = "a.b.example. 60 IN CNAME x.elsewhere.",
					     .set_flags = DNS_FLAG_AA });
	turn(&rig);
	expect_question(&rig, 0, "tcp b.example. IN SOA");
	fakeup_reply(rig.fakes[0], &negative);
	turn(&rig);
	assert_int_equal(rig.job.n_zones, 1);
	/* A delegation, and a server without such a zone: none. */
	const struct fakeup_reply none[] = {
		{ .authority = "b.example. 60 IN NS ns.elsewhere." },
		{ .rcode = DNS_RCODE_REFUSED },
		{ .rcode = DNS_RCODE_NOTAUTH },
	};
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		start(&rig, PROVIDER_FIND_ZONES, NULL, 0);
		expect_question(&rig, 0, "tcp a.b.example. IN SOA");
		fakeup_reply(rig.fakes[0], &none[i]);
		turn(&rig);
		expect_end(&rig, PROVIDER_OK, "");
		assert_int_equal(rig.job.n_zones, 0);
	}
	rig_close(&rig);
}

/* ---- signatures ---- */

static void sign_reply(struct rig *rig, uint8_t rcode, uint64_t ahead_s, const char *key_text)
{
	struct dns_tsig_key key = { 0 };
	struct dns_tsig tsig = { 0 };
	uint64_t now_s = test_now_ns / NS_PER_S + ahead_s;
	uint8_t out[600];
	size_t n, head = DNS_HEADER_BYTES;
	const uint8_t *request = fakeup_query(rig->fakes[0], &n);
	assert_int_equal(dns_tsig_key_parse(&key, slice_of(key_text), (struct err_text){ 0 }), 0);
	struct dns_tsig_report report = dns_tsig_verify_request(&tsig, &key, 1, request, n, now_s);
	memset(out, 0, head);
	dns_put16(out + 2, (uint16_t)(DNS_FLAG_QR | DNS_OPCODE_UPDATE << 11 |
				      (report.result == DNS_TSIG_OK ? rcode : DNS_RCODE_NOTAUTH)));
	int len = dns_tsig_sign_answer(&tsig, out, head, sizeof(out), now_s);
	assert_true(len > 0);
	fakeup_bytes(rig->fakes[0], out, (size_t)len);
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
	turn(rig);
}

static void signatures(void **state)
{
	static const struct {
		const char *key;
		uint64_t ahead_s;
		enum provider_code code;
		const char *error;
	} rows[] = {
		{ KEY_TEXT, 0, PROVIDER_NO_ZONE,
		  "@: has no zone 'example', or is not its primary (NOTAUTH)" },
		{ KEY_TEXT, 3600, PROVIDER_TRANSIENT,
		  "@: the server's clock is 3600 seconds ahead of this machine's (BADTIME): set "
		  "the "
		  "clocks" },
		{ "hmac-sha256:key:c2VjcmVU", 0, PROVIDER_UNAUTHENTICATED,
		  "@: the server has another secret for TSIG key 'key.' (BADSIG)" },
	};
	struct rig rig;
	(void)state;
	rig_open(&rig, "example", true);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		start(&rig, PROVIDER_APPLY, &drop_a, 1);
		expect_question(&rig, 0, "tcp example. IN SOA");
		sign_reply(&rig, DNS_RCODE_NOTAUTH, rows[i].ahead_s, rows[i].key);
		if (rows[i].code == PROVIDER_NO_ZONE)
			answer_zone(&rig, &(struct fakeup_reply){ .rcode = DNS_RCODE_REFUSED });
		expect_end(&rig, rows[i].code, rows[i].error);
	}
	/* Nobody signed it: an error tells what did not happen, anything else tells nothing. */
	start(&rig, PROVIDER_APPLY, &drop_a, 1);
	expect_question(&rig, 0, "tcp example. IN SOA");
	reply(&rig, 0, DNS_RCODE_NOTAUTH, NULL);
	answer_zone(&rig, &(struct fakeup_reply){ .rcode = DNS_RCODE_REFUSED });
	expect_end(&rig, PROVIDER_NO_ZONE,
		   "@: has no zone 'example', or is not its primary (NOTAUTH, not signed)");
	static const uint16_t rcodes[] = { DNS_RCODE_NOERROR, DNS_RCODE_YXRRSET };
	static const char *const names[] = { "NOERROR", "YXRRSET" };
	for (size_t i = 0; i < ARRAY_LEN(rcodes); i++) {
		char error[100];
		snprintf(error, sizeof(error),
			 "@: the answer (%s) is not signed with TSIG key 'key.'", names[i]);
		start(&rig, PROVIDER_APPLY, &drop_a, 1);
		expect_question(&rig, 0, "tcp example. IN SOA");
		reply(&rig, 0, rcodes[i], NULL);
		expect_end(&rig, PROVIDER_UNSURE, error);
	}
	start(&rig, PROVIDER_READ, &drop_a, 1);
	expect_question(&rig, 0, "tcp a.example. IN A");
	reply(&rig, 0, DNS_RCODE_NOERROR, "a.example. 60 IN A 192.0.2.1");
	expect_end(&rig, PROVIDER_UNAUTHENTICATED,
		   "@: the answer (NOERROR) is not signed with TSIG key 'key.'");
	rig_close(&rig);
}

/* ---- reading ---- */

/* Found by a query; whether a wildcard stands behind it is asked by a prerequisite. */
static void wildcards(void **state)
{
	static const uint16_t rcodes[] = { DNS_RCODE_NOERROR, DNS_RCODE_NXRRSET,
					   DNS_RCODE_REFUSED };
	struct rig rig;
	(void)state;
	rig_open(&rig, "example", false);
	for (size_t i = 0; i < ARRAY_LEN(rcodes); i++) {
		start(&rig, PROVIDER_READ, &drop_a, 1);
		expect_question(&rig, 0, "tcp a.example. IN A");
		reply(&rig, 0, DNS_RCODE_NOERROR,
		      "a.example. 60 IN A 192.0.2.1\na.example. 60 IN A 192.0.2.0");
		expect_question(&rig, 0, "tcp example. IN SOA");
		reply(&rig, 0, rcodes[i], NULL);
		expect_end(&rig, PROVIDER_OK, "");
		assert_int_equal(rig.change.found[0].n_values,
				 rcodes[i] == DNS_RCODE_NXRRSET ? 0 : 2);
	}
	start(&rig, PROVIDER_READ, &drop_a, 1);
	expect_question(&rig, 0, "tcp a.example. IN A");
	reply(&rig, 0, DNS_RCODE_NOERROR, "a.example. 60 IN CNAME b.example.");
	assert_int_equal(rig.change.found[0].n_values, 0);
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(response_codes), cmocka_unit_test(not_authoritative),
		cmocka_unit_test(read_back),	  cmocka_unit_test(below_a_delegation),
		cmocka_unit_test(settle),	  cmocka_unit_test(name_of_a_longer_zone),
		cmocka_unit_test(lost_answers),	  cmocka_unit_test(second_server),
		cmocka_unit_test(zone_of_a_name), cmocka_unit_test(signatures),
		cmocka_unit_test(wildcards),	  cmocka_unit_test(deletion_of_an_unshown_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
