/* SPDX-License-Identifier: GPL-3.0-or-later */
/* UPDATE messages of changes: prerequisites (as answers in the dump), then records (as authority). */
#include "provider/rfc2136/message_priv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "dns/dump_test.h"
#include "dns/types.h"
#include "provider/shared/job.h"

static const uint8_t zone[] = "\7example";
static const char *const one[] = { "192.0.2.1" };
static const char *const two[] = { "192.0.2.1", "192.0.2.2" };
static const char *const target[] = { "b.example" };

#define SET(set_name, set_type, list)                                                       \
	{                                                                                   \
		.name = set_name, .type = DNS_TYPE_##set_type, .ttl_s = 60, .values = list, \
		.n_values = ARRAY_LEN(list), .owner = "me"                                  \
	}
#define NO_SET(set_name, set_type)                                           \
	{                                                                    \
		.name = set_name, .type = DNS_TYPE_##set_type, .owner = "me" \
	}

struct row {
	struct provider_edit edits[2];
	size_t n_edits;
	bool has_marks;
	uint8_t owned;
	const char *text; /* without header and zone */
};

#define NX(name, type)	"answer " name " 0 NONE " type " \n"
#define DEL(name, type) "authority " name " 0 ANY " type " \n"

static const struct row rows[] = {
	{ { { SET("a.example", A, two), PROVIDER_GUARD_NONE, { 0 }, false } },
	  1,
	  false,
	  0,
	  DEL("a.example.", "A") "authority a.example. 60 IN A 192.0.2.1\n"
				 "authority a.example. 60 IN A 192.0.2.2\n" },
	{ { { SET("a.example", A, one), PROVIDER_GUARD_ABSENT, { 0 }, false } },
	  1,
	  false,
	  0,
	  NX("a.example.", "A") "authority a.example. 60 IN A 192.0.2.1\n" },
	{ { { SET("a.example", A, one), PROVIDER_GUARD_EQUAL, SET("a.example", A, two), false } },
	  1,
	  false,
	  0,
	  "answer a.example. 0 IN A 192.0.2.1\nanswer a.example. 0 IN A 192.0.2.2\n" DEL(
		  "a.example.", "A") "authority a.example. 60 IN A 192.0.2.1\n" },
	{ { { NO_SET("a.example", A), PROVIDER_GUARD_EQUAL, SET("a.example", A, one), false } },
	  1,
	  false,
	  0,
	  "answer a.example. 0 IN A 192.0.2.1\n" DEL("a.example.", "A") },
	/* A CNAME is alone at its name. */
	{ { { SET("a.example", CNAME, target), PROVIDER_GUARD_ABSENT, { 0 }, false } },
	  1,
	  false,
	  0,
	  NX("a.example.", "ANY") "authority a.example. 60 IN CNAME b.example.\n" },
	/* The deletion comes first, whatever the order of edits; nothing else may be in the way. */
	{ { { SET("a.example", CNAME, target), PROVIDER_GUARD_ABSENT, { 0 }, false },
	    { NO_SET("a.example", A), PROVIDER_GUARD_EQUAL, SET("a.example", A, one), false } },
	  2,
	  false,
	  0,
	  NX("a.example.", "CNAME") NX("a.example.", "AAAA") NX("a.example.", "TXT")
		  NX("a.example.", "MX") NX("a.example.", "NS") NX("a.example.", "SRV") NX(
			  "a.example.", "NAPTR") NX("a.example.", "DNAME") NX("a.example.", "SVCB")
			  NX("a.example.", "HTTPS") "answer a.example. 0 IN A 192.0.2.1\n" DEL(
				  "a.example.",
				  "A") "authority a.example. 60 IN CNAME b.example.\n" },
	/* Marks. */
	{ { { SET("a.example", A, one), PROVIDER_GUARD_OWNED, { 0 }, false } },
	  1,
	  true,
	  RFC2136_OWNED_MISSING,
	  NX("a.example.", "A") NX("a.example.", "CNAME")
		  DEL("_fairlead-owner-a.a.example.",
		      "TXT") "authority a.example. 60 IN A 192.0.2.1\n"
			     "authority _fairlead-owner-a.a.example. 60 IN TXT \"me\"\n" },
	{ { { NO_SET("a.example", A), PROVIDER_GUARD_OWNED, { 0 }, false } },
	  1,
	  true,
	  RFC2136_OWNED_MARKED,
	  "answer _fairlead-owner-a.a.example. 0 IN TXT \"me\"\n" DEL("a.example.", "A")
		  DEL("_fairlead-owner-a.a.example.", "TXT") },
	/* Written before the account had marks. */
	{ { { SET("a.example", A, one), PROVIDER_GUARD_OWNED, SET("a.example", A, two), true } },
	  1,
	  true,
	  RFC2136_OWNED_UNMARKED,
	  "answer a.example. 0 IN A 192.0.2.1\nanswer a.example. 0 IN A 192.0.2.2\n" NX(
		  "_fairlead-owner-a.a.example.", "TXT") DEL("a.example.", "A")
		  DEL("_fairlead-owner-a.a.example.",
		      "TXT") "authority a.example. 60 IN A 192.0.2.1\n"
			     "authority _fairlead-owner-a.a.example. 60 IN TXT \"me\"\n" },
};

static void messages(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct strbuf text = STRBUF_INIT;
		uint8_t msg[2000], owned[PROVIDER_EDITS_MAX] = { rows[i].owned };
		struct provider_change change = { .edits = rows[i].edits,
						  .n_edits = rows[i].n_edits,
						  .code = PROVIDER_UNKNOWN };
		struct rfc2136_batch batch = { .zone = zone,
					       .changes = &change,
					       .n_changes = 1,
					       .has_marks = rows[i].has_marks,
					       .owned = owned };
		assert_int_equal(rfc2136_message_check(&batch), 0);
		int n = rfc2136_message_write(&batch, 1, msg, sizeof(msg));
		assert_true(n > 0);
		assert_int_equal(dns_dump(msg, (size_t)n, &text), 0);
		const char *body = strstr(text.s, "IN SOA\n");
		assert_non_null(body);
		assert_string_equal(body + 7, rows[i].text);
		/* The zone has one label here, which measuring does not expect. */
		assert_true(rfc2136_message_measure(&change).bytes + 100 > (size_t)n);
		assert_int_equal(rfc2136_message_write(&batch, 1, msg, 30), ERR_SPACE);
		strbuf_done(&text);
	}
}

/* The account has had marks: ours go with their sets, those of others stay. */
static void marks_of_before(void **state)
{
	const struct provider_edit edits[] = {
		{ NO_SET("a.example", A), PROVIDER_GUARD_EQUAL, SET("a.example", A, one), false },
	};
	struct provider_change change = { .edits = edits, .n_edits = 1, .code = PROVIDER_UNKNOWN };
	struct rfc2136_batch batch = {
		.zone = zone, .changes = &change, .n_changes = 1, .drops_marks = true
	};
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	uint8_t msg[2000];
	(void)state;
	assert_int_equal(rfc2136_message_check(&batch), 0);
	int n = rfc2136_message_write(&batch, 1, msg, sizeof(msg));
	assert_true(n > 0);
	assert_int_equal(dns_dump(msg, (size_t)n, &text), 0);
	assert_string_equal(
		strstr(text.s, "IN SOA\n") + 7,
		"answer a.example. 0 IN A 192.0.2.1\n" DEL(
			"a.example.",
			"A") "authority _fairlead-owner-a.a.example. 0 NONE TXT \"me\"\n");
}

/* Exactly what was written goes again. */
static void undoing(void **state)
{
	static const struct provider_edit edits[] = {
		{ SET("a.example", A, two), PROVIDER_GUARD_ABSENT, { 0 }, false },
		{ SET("b.example", CNAME, target), PROVIDER_GUARD_ABSENT, { 0 }, false },
	};
	const struct provider_edit *both[] = { &edits[0], &edits[1] };
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct rfc2136_batch batch = { .zone = zone, .has_marks = true };
	uint8_t msg[2000];
	(void)state;
	int n = rfc2136_message_undo(&batch, both, 2, msg, sizeof(msg));
	assert_true(n > 0);
	assert_int_equal(dns_dump(msg, (size_t)n, &text), 0);
	assert_string_equal(strstr(text.s, "IN SOA\n") + 7,
			    "authority a.example. 0 NONE A 192.0.2.1\n"
			    "authority a.example. 0 NONE A 192.0.2.2\n"
			    "authority _fairlead-owner-a.a.example. 0 NONE TXT \"me\"\n"
			    "authority b.example. 0 NONE CNAME b.example.\n"
			    "authority _fairlead-owner-cname.b.example. 0 NONE TXT \"me\"\n");
	assert_int_equal(rfc2136_message_undo(&batch, both, 2, msg, 80), ERR_SPACE);
}

static void what_cannot_be_sent(void **state)
{
	static const char *const word[] = { "word" };
	static const struct {
		struct provider_edit edit;
		const char *error;
	} bad[] = {
		{ { SET("a.example", A, word), PROVIDER_GUARD_NONE, { 0 }, false },
		  "A record set 'a.example', value 'word': this is not a value of the type" },
		{ { SET("a.example", MX, word), PROVIDER_GUARD_NONE, { 0 }, false },
		  "MX record set 'a.example', value 'word': records of this type are not "
		  "supported" },
		{ { SET("a.badexample", A, one), PROVIDER_GUARD_NONE, { 0 }, false },
		  "'a.badexample' is outside of the zone 'example.'" },
		{ { SET("a..example", A, one), PROVIDER_GUARD_NONE, { 0 }, false },
		  "'a..example' is not a domain name" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct provider_change change = { .edits = &bad[i].edit,
						  .n_edits = 1,
						  .code = PROVIDER_UNKNOWN };
		struct rfc2136_batch batch = { .zone = zone, .changes = &change, .n_changes = 1 };
		assert_int_equal(rfc2136_message_check(&batch), 1);
		assert_int_equal(change.code, PROVIDER_INVALID);
		assert_string_equal(change.error, bad[i].error);
	}
}

#define LABEL_49 "0123456789012345678901234567890123456789012345678."
#define NAME_253                                                                             \
	LABEL_49 LABEL_49 LABEL_49 LABEL_49 "012345678901234567890123456789012345678901234." \
					    "example"

/* DR-P6: the longest name leaves no space for an owner record, which an account without such records does not mind. */
static void longest_name(void **state)
{
	static const struct {
		bool has_marks, drops_marks;
		const char *error; /* NULL: it is sent */
	} cases[] = {
		{ true, false,
		  "the owner record of '0123456789012345678901234567890123456789...' would have a "
		  "name of more than 253 characters: use a shorter name, or set the Secret's key "
		  "'OwnerRecords' to 'false'" },
		{ false, true, NULL },
		{ false, false, NULL },
	};
	uint8_t msg[2000];
	(void)state;
	assert_int_equal(strlen(NAME_253), 253);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct provider_edit edit = {
			SET(NAME_253, A, one), PROVIDER_GUARD_NONE, { 0 }, false
		};
		struct provider_change change = { .edits = &edit, .n_edits = 1 };
		struct rfc2136_batch batch = { .zone = zone,
					       .changes = &change,
					       .n_changes = 1,
					       .has_marks = cases[i].has_marks,
					       .drops_marks = cases[i].drops_marks };
		assert_int_equal(rfc2136_message_check(&batch), cases[i].error != NULL);
		if (cases[i].error != NULL)
			assert_string_equal(change.error, cases[i].error);
		else
			assert_true(rfc2136_message_write(&batch, 1, msg, sizeof(msg)) > 0);
	}
}

/* DR-P1: names as Gardener makes them, a thousand of them in two messages. */
static void a_thousand_new_records(void **state)
{
	enum { COUNT = 1000 };
	static char names[COUNT][80];
	struct provider_edit *edits = xcalloc(COUNT, sizeof(*edits));
	struct provider_change *changes = xcalloc(COUNT, sizeof(*changes));
	uint8_t *msg = xmalloc(RFC2136_MESSAGE_MAX);
	size_t bytes = 0;
	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof(names[i]),
			 "api.cluster-%04zu.project.internal.example.com", i);
		edits[i] = (struct provider_edit){ .set = { .name = names[i],
							    .type = DNS_TYPE_A,
							    .ttl_s = 120,
							    .values = (const char *const *)one,
							    .n_values = 1 },
						   .guard = PROVIDER_GUARD_ABSENT };
		changes[i] = (struct provider_change){ .edits = &edits[i], .n_edits = 1 };
		bytes += rfc2136_message_measure(&changes[i]).bytes;
	}
	assert_true(bytes <= 2 * RFC2136_BATCH_BYTES);
	struct rfc2136_batch batch = { .zone = (const uint8_t *)"\7example\3com",
				       .changes = changes,
				       .n_changes = COUNT / 2 };
	int n = rfc2136_message_write(&batch, COUNT / 2, msg, RFC2136_MESSAGE_MAX);
	assert_true(n > 0 && (size_t)n <= bytes / 2 + 100);
	free(msg);
	free(changes);
	free(edits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages),	cmocka_unit_test(marks_of_before),
		cmocka_unit_test(undoing),	cmocka_unit_test(what_cannot_be_sent),
		cmocka_unit_test(longest_name), cmocka_unit_test(a_thousand_new_records),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
