/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each job as requests to a scripted server, and each reply as a result. tests/functional/test_powerdns.py does
 * the same with a real server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "dns/types.h"
#include "net/loop.h"
#include "provider/provider.h"
#include "provider/shared/job.h"
#include "testing/scripted_http.h"
#include "testing/testcert.h"

#define SERVERS "/api/v1/servers/localhost"
#define ZONE	SERVERS "/zones/example.com."

struct rig {
	const struct provider *provider;
	struct loop *loop;
	struct scripted_http *script;
	struct provider_account *account;
};

static void open_rig_account(struct rig *rig, const char *url,
			     const struct provider_credential *more)
{
	struct provider_credential credentials[3] = { { "server", slice_of(url) },
						      { "apiKey", SLICE("k3y") } };
	struct provider_account_conf conf = { .loop = rig->loop,
					      .credentials = credentials,
					      .n_credentials = more != NULL ? 3 : 2 };
	char err[256] = "";
	if (more != NULL)
		credentials[2] = *more;
	if (rig->provider->open(&conf, &rig->account, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
}

static void rig_up(struct rig *rig)
{
	*rig = (struct rig){ .provider = provider_find("powerdns"),
			     .loop = loop_new(),
			     .script = scripted_http_new(NULL) };
	open_rig_account(rig, scripted_http_url(rig->script), NULL);
}

static void rig_down(struct rig *rig)
{
	rig->provider->close(rig->account);
	loop_free(rig->loop);
	scripted_http_free(rig->script);
}

static void expect_call(struct rig *rig, const char *line, struct fakeapi_reply reply)
{
	scripted_http_expect(rig->script, &(struct scripted_call){ .line = line,
								   .header = "X-API-Key: k3y",
								   .reply = reply });
}

static void expect_json(struct rig *rig, const char *line, const char *body)
{
	expect_call(rig, line, (struct fakeapi_reply){ .body = body });
}

static bool is_done;

static void on_done(struct provider_job *job)
{
	assert_null(job->call);
	is_done = true;
}

static void run_job(struct rig *rig, struct provider_job *job)
{
	is_done = false;
	job->done = on_done;
	job->end_by_ns = clock_mono_ns() + 60 * NS_PER_S;
	rig->provider->start(rig->account, job);
	assert_false(is_done);
	while (!is_done)
		loop_turn(rig->loop, true);
}

static void assert_ends(const struct provider_job *job, enum provider_code code, const char *says)
{
	if (job->code != code || strstr(job->error, says) == NULL)
		fail_msg("%s: '%s', not %s: '%s'", provider_code_label(job->code), job->error,
			 provider_code_label(code), says);
	assert_null(strstr(job->error, "k3y"));
}

/* ---- sets of tests ---- */

static const char *const one_value[] = { "192.0.2.1" };
static const char *const two_values[] = { "192.0.2.1", "192.0.2.2" };
static const char *const target[] = { "b.example.org" };
static const char *const text[] = { "say \"hi\"" };

#define SET_A                                    \
	{                                        \
		.set = {.name = "a.example.com", \
			.type = DNS_TYPE_A,      \
			.ttl_s = 60,             \
			.values = two_values,    \
			.n_values = 2,           \
			.owner = "us/\"1\"" }    \
	}
#define SET_CNAME                                  \
	{                                          \
		.set = {.name = "*.c.example.com", \
			.type = DNS_TYPE_CNAME,    \
			.ttl_s = 0,                \
			.values = target,          \
			.n_values = 1 }            \
	}
#define NO_TXT                                                                          \
	{                                                                               \
		.set = {.name = "a.example.com", .type = DNS_TYPE_TXT, .values = text } \
	}

static const struct provider_edit edit_a[] = { SET_A };
static const struct provider_edit edit_more[] = { SET_CNAME, NO_TXT };

static void make_job(struct provider_job *job, enum provider_job_kind kind,
		     struct provider_change changes[2])
{
	changes[0] =
		(struct provider_change){ .edits = edit_a, .n_edits = 1, .code = PROVIDER_UNKNOWN };
	changes[1] = (struct provider_change){ .edits = edit_more,
					       .n_edits = 2,
					       .code = PROVIDER_UNKNOWN };
	*job = (struct provider_job){
		.kind = kind, .zone = "example.com.", .changes = changes, .n_changes = 2
	};
}

static void clear_job(struct provider_job *job)
{
	for (size_t i = 0; i < job->n_changes; i++)
		provider_change_clear(&job->changes[i]);
	provider_job_clear(job);
}

/* ---- zones ---- */

static void zones(void **state)
{
	struct rig rig;
	struct provider_job job = { .kind = PROVIDER_FIND_ZONES, .name = "a.example.com" };
	(void)state;
	rig_up(&rig);
	expect_json(&rig, "GET " SERVERS "/zones?dnssec=false",
		    "[{\"id\": \"Example.com.\", \"name\": \"Example.com.\", \"kind\": \"Native\"},"
		    " {\"id\": \"a=2Fb.test.\", \"name\": \"a/b.test.\"}]");
	run_job(&rig, &job);
	assert_ends(&job, PROVIDER_OK, "");
	assert_int_equal(job.n_zones, 2);
	assert_string_equal(job.zones[0].id, "Example.com.");
	assert_string_equal(job.zones[0].name, "example.com");
	assert_string_equal(job.zones[1].id, "a=2Fb.test.");
	assert_null(job.next_page);
	assert_false(job.is_zone_of_name);
	provider_job_clear(&job);
	rig_down(&rig);
}

/* ---- writes ---- */

/* Deletions come first; marks, quotes and final dots are there. */
static void body_of_a_write(void **state)
{
	static const char body[] =
		"{\"rrsets\":["
		"{\"name\":\"a.example.com.\",\"type\":\"TXT\",\"changetype\":\"DELETE\"},"
		"{\"name\":\"a.example.com.\",\"type\":\"A\",\"changetype\":\"REPLACE\",\"ttl\":60,"
		"\"records\":[{\"content\":\"192.0.2.1\",\"disabled\":false},"
		"{\"content\":\"192.0.2.2\",\"disabled\":false}],"
		"\"comments\":[{\"account\":\"fairlead\",\"content\":\"us/\\\"1\\\"\"}]},"
		"{\"name\":\"*.c.example.com.\",\"type\":\"CNAME\",\"changetype\":\"REPLACE\","
		"\"ttl\":0,"
		"\"records\":[{\"content\":\"b.example.org.\",\"disabled\":false}]}]}";
	struct rig rig;
	struct provider_change changes[2];
	struct provider_job job;
	(void)state;
	rig_up(&rig);
	make_job(&job, PROVIDER_APPLY, changes);
	scripted_http_expect(rig.script,
			     &(struct scripted_call){ .line = "PATCH " ZONE,
						      .header = "Content-Type: application/json",
						      .body = body,
						      .reply = { .status = 204, .body = "" } });
	run_job(&rig, &job);
	assert_ends(&job, PROVIDER_OK, "");
	assert_null(job.settle_token);
	/* What a change takes of the body: all but the frame. */
	size_t bytes =
		rig.provider->measure(&changes[0]).bytes + rig.provider->measure(&changes[1]).bytes;
	assert_in_range(bytes, sizeof(body) - 1 - strlen("{\"rrsets\":[]}"), sizeof(body));
	clear_job(&job);
	rig_down(&rig);
}

static const struct {
	int status;
	const char *headers, *body;
	enum provider_code read, write;
	const char *says;
	bool retries_later;
} failures[] = {
	{ 400, NULL, "Bad Request", PROVIDER_INVALID, PROVIDER_INVALID, "webserver-max-bodysize",
	  false },
	{ 401, NULL, "Unauthorized", PROVIDER_UNAUTHENTICATED, PROVIDER_UNAUTHENTICATED,
	  "answered 401: the API key is refused", false },
	{ 403, NULL, "<html>\nno", PROVIDER_UNAUTHORIZED, PROVIDER_UNAUTHORIZED, "answered 403",
	  false },
	{ 413, NULL, "", PROVIDER_INVALID, PROVIDER_INVALID, "answered 413", false },
	{ 422, NULL, "{\"error\": \"Record is bad\"}", PROVIDER_INVALID, PROVIDER_INVALID,
	  "PowerDNS: Record is bad", false },
	{ 429, "Retry-After: 7\r\n", "", PROVIDER_THROTTLED, PROVIDER_THROTTLED, "answered 429",
	  true },
	{ 500, NULL, "{\"error\": \"No database\"}", PROVIDER_TRANSIENT, PROVIDER_UNSURE,
	  "answered 500: No database", false },
	/* The author of the Secret chooses the server. */
	{ 500, NULL, "SECRET of another server", PROVIDER_TRANSIENT, PROVIDER_UNSURE,
	  "answered 500", false },
	{ 403, NULL, "{\"error\": \"SECRET\"}", PROVIDER_UNAUTHORIZED, PROVIDER_UNAUTHORIZED,
	  "answered 403", false },
	{ 422, NULL, "{\"error\": \"SECRET\", \"key\": 1}", PROVIDER_INVALID, PROVIDER_INVALID,
	  "answered 422", false },
	{ 418, NULL, "{\"error\": \"SECRET\"}", PROVIDER_INVALID, PROVIDER_INVALID, "answered 418",
	  false },
	{ 502, NULL, "", PROVIDER_TRANSIENT, PROVIDER_UNSURE, "answered 502", false },
	{ 503, NULL, "", PROVIDER_TRANSIENT, PROVIDER_UNSURE, "answered 503", false },
	{ 503, "Retry-After: 7\r\n", "", PROVIDER_THROTTLED, PROVIDER_THROTTLED, "answered 503",
	  true },
	{ 302, "Location: http://other.example/\r\n", "", PROVIDER_INVALID, PROVIDER_INVALID,
	  "other.example", false },
};

static void error_replies(void **state)
{
	static const enum provider_job_kind kinds[] = { PROVIDER_FIND_ZONES, PROVIDER_READ,
							PROVIDER_APPLY };
	static const char *const lines[] = { "GET " SERVERS "/zones?dnssec=false",
					     "GET " ZONE "?rrset_name=a.example.com.",
					     "PATCH " ZONE };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(failures) * ARRAY_LEN(kinds); i++) {
		size_t row = i / ARRAY_LEN(kinds), kind = i % ARRAY_LEN(kinds);
		struct provider_change changes[2];
		struct provider_job job;
		struct rig rig;
		rig_up(&rig);
		make_job(&job, kinds[kind], changes);
		expect_call(&rig, lines[kind],
			    (struct fakeapi_reply){ .status = failures[row].status,
						    .headers = failures[row].headers,
						    .body = failures[row].body });
		run_job(&rig, &job);
		assert_ends(&job,
			    kinds[kind] == PROVIDER_APPLY ? failures[row].write
							  : failures[row].read,
			    failures[row].says);
		assert_int_equal(job.retry_after_ns,
				 failures[row].retries_later ? 7 * NS_PER_S : 0);
		assert_null(changes[0].found);
		assert_null(strstr(job.error, "SECRET"));
		assert_true(job.was_answered || job.code != PROVIDER_UNSURE);
		clear_job(&job);
		rig_down(&rig);
	}
}

/* Sentences of PowerDNS 4.7.3, and the change that each is about (-1: none of them). */
static void bad_changes_are_named(void **state)
{
	static const struct {
		const char *sentence;
		enum provider_code code;
		int change;
	} rows[] = {
		{ "RRset *.c.example.com. IN CNAME: Name is out of zone", PROVIDER_INVALID, 1 },
		{ "RRset a.example.com. IN A: Name is out of zone", PROVIDER_INVALID, 0 },
		{ "RRset a.example.com. IN TXT: unknown type given", PROVIDER_INVALID, 1 },
		{ "RRset a.example.com. IN AAAA: Name is out of zone", PROVIDER_INVALID, -1 },
		{ "RRset a.a.example.com. IN A: Name is out of zone", PROVIDER_INVALID, -1 },
		{ "Duplicate record in RRset a.example.com. IN A with content \\\"x\\\"",
		  PROVIDER_INVALID, 0 },
		{ "Record a.example.com./A 'x': Parsing record content", PROVIDER_INVALID, 0 },
		{ "Record *.c.example.com./CNAME 'a.example.com.': Not in expected format",
		  PROVIDER_INVALID, 1 },
		{ "Name 'a.example.com.' contains unsupported characters", PROVIDER_INVALID, 0 },
		{ "Unable to parse DNS Name '*.c.example.com.'", PROVIDER_INVALID, 1 },
		{ "Something about a.example.com. IN A", PROVIDER_INVALID, -1 },
		{ "RRset x.example.com. IN A: Conflicts with pre-existing RRset", PROVIDER_CONFLICT,
		  -1 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(freep) char *body = xasprintf("{\"error\": \"%s\"}", rows[i].sentence);
		struct provider_change changes[2];
		struct provider_job job;
		struct rig rig;
		rig_up(&rig);
		make_job(&job, PROVIDER_APPLY, changes);
		expect_call(&rig, "PATCH " ZONE,
			    (struct fakeapi_reply){ .status = 422, .body = body });
		run_job(&rig, &job);
		assert_ends(&job, rows[i].code, "PowerDNS: ");
		for (int j = 0; j < 2; j++)
			assert_int_equal(changes[j].code,
					 j == rows[i].change ? rows[i].code : PROVIDER_UNKNOWN);
		clear_job(&job);
		rig_down(&rig);
	}
}

/* A collision is explained by what is there; if that cannot be read the refusal stays. */
static void collisions_are_explained(void **state)
{
	static const char refusal[] =
		"{\"error\": \"RRset a.example.com. IN A: Conflicts with pre-existing RRset\"}";
	static const char sentence[] =
		"PowerDNS: RRset a.example.com. IN A: Conflicts with pre-existing RRset";
	static const char there[] = "{\"rrsets\": [{\"name\": \"a.example.com.\", \"type\": "
				    "\"CNAME\", \"ttl\": 5, \"records\": "
				    "[{\"content\": \"B.example.\"}]}, {\"name\": "
				    "\"other.example.com.\", \"type\": \"CNAME\", "
				    "\"ttl\": 5, \"records\": [{\"content\": \"c.\"}]}]}";
	(void)state;
	for (int is_readable = 0; is_readable <= 1; is_readable++) {
		struct provider_change changes[2];
		struct provider_job job;
		struct rig rig;
		rig_up(&rig);
		make_job(&job, PROVIDER_APPLY, changes);
		expect_call(&rig, "PATCH " ZONE,
			    (struct fakeapi_reply){ .status = 422, .body = refusal });
		expect_call(
			&rig, "GET " ZONE "?rrset_name=a.example.com.",
			(struct fakeapi_reply){ .status = is_readable ? 200 : 500, .body = there });
		run_job(&rig, &job);
		assert_ends(&job, PROVIDER_CONFLICT, sentence);
		assert_int_equal(changes[0].code, PROVIDER_CONFLICT);
		assert_string_equal(changes[0].error + strlen(sentence),
				    is_readable ? "; there is CNAME \"b.example\"" : "");
		clear_job(&job);
		rig_down(&rig);
	}
}

/* ---- reads ---- */

static void reads_a_few_names(void **state)
{
	struct rig rig;
	struct provider_change changes[2];
	struct provider_job job;
	(void)state;
	rig_up(&rig);
	make_job(&job, PROVIDER_READ, changes);
	/* With the comments of other sets, as 4.7 sends them, and with bytes that are not UTF-8. */
	expect_json(
		&rig, "GET " ZONE "?rrset_name=a.example.com.",
		"{\"name\": \"example.com.\", \"rrsets\": ["
		"{\"comments\": [{\"account\": \"fairlead\", \"content\": \"x\"}], \"name\": "
		"\"*.c.example.com.\", \"records\": [], \"ttl\": 0, \"type\": \"CNAME\"},"
		"{\"comments\": [{\"account\": \"ops\", \"content\": \"hm\"}, {\"account\": "
		"\"fairlead\", \"content\": \"us/2\"}], \"name\": \"A.example.com.\", \"records\": "
		"[{\"content\": \"192.0.2.1\\u0000\"}, {\"content\": \"192.0.2.9\", \"disabled\": "
		"false}, {\"content\": \"192.0.2.10\", "
		"\"disabled\": true}, {\"content\": \"192.0.2.1\"}], \"ttl\": 120, \"type\": "
		"\"A\"},"
		"{\"name\": \"a.example.com.\", \"records\": [{\"content\": \"\xe4\"}], \"ttl\": "
		"1, "
		"\"type\": \"HINFO\"}], \"serial\": 1}");
	expect_json(&rig, "GET " ZONE "?rrset_name=%2A.c.example.com.", "{\"rrsets\": []}");
	run_job(&rig, &job);
	assert_ends(&job, PROVIDER_OK, "");
	const struct provider_rrset *found = changes[0].found;
	assert_int_equal(found[0].n_values, 4);
	assert_string_equal(found[0].values[0], "192.0.2.1");
	assert_string_equal(found[0].values[1], "192.0.2.9");
	assert_string_equal(found[0].values[2], "cut at NUL: 192.0.2.1");
	assert_string_equal(found[0].values[3], "disabled 192.0.2.10");
	assert_string_equal(found[0].owner, "us/2");
	assert_int_equal(found[0].ttl_s, 120);
	assert_int_equal(changes[1].found[0].n_values, 0);
	assert_int_equal(changes[1].found[1].n_values, 0);
	clear_job(&job);
	rig_down(&rig);
}

enum { MANY = 20 };

static void reads_the_zone_for_many(void **state)
{
	struct rig rig;
	struct provider_change changes[MANY];
	struct provider_edit edits[MANY];
	char names[MANY][32];
	CLEANUP(strbuf_done) struct strbuf reply = STRBUF_INIT;
	struct provider_job job = { .kind = PROVIDER_READ,
				    .zone = "example.com", /* people leave the dot out */
				    .changes = changes,
				    .n_changes = MANY };
	(void)state;
	rig_up(&rig);
	strbuf_adds(&reply,
		    "{\"rrsets\": [{\"name\": \"example.com.\", \"type\": \"SOA\", \"ttl\": 1, "
		    "\"records\": [{\"content\": \"x\"}]}");
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "n%u.example.com", i);
		edits[i] = (struct provider_edit){ .set = { .name = names[i],
							    .type = DNS_TYPE_A,
							    .values = one_value,
							    .n_values = 1 } };
		changes[i] = (struct provider_change){ .edits = &edits[i], .n_edits = 1 };
		if (i % 2 == 0)
			strbuf_addf(
				&reply,
				", {\"name\": \"n%u.example.com.\", \"type\": \"A\", \"ttl\": %u, "
				"\"records\": [{\"content\": \"192.0.2.1\"}]}",
				i, i);
	}
	strbuf_adds(&reply, "]}");
	expect_json(&rig, "GET " ZONE, reply.s);
	run_job(&rig, &job);
	assert_ends(&job, PROVIDER_OK, "");
	for (unsigned i = 0; i < MANY; i++) {
		assert_int_equal(changes[i].found[0].n_values, i % 2 == 0);
		assert_int_equal(changes[i].found[0].ttl_s, i % 2 == 0 ? i : 0);
	}
	clear_job(&job);
	rig_down(&rig);
}

/* What is not whole, or not of the API, is never "nothing there". */
static void replies_that_are_none(void **state)
{
	static const struct fakeapi_reply rows[] = {
		{ .body = "" },
		{ .body = "<html>" },
		{ .body = "{}" },
		{ .body = "[]" },
		{ .body = "{\"rrsets\": [{\"name\": \"a.example.com.\"}]}" },
		{ .body = "{\"rrsets\": [{\"name\": \"a.example.com.\", \"type\": \"A\", "
			  "\"records\": 1}]}" },
		{ .body = "{\"rrsets\": [{\"name\": \"a.example.com.\", \"type\": \"A\", "
			  "\"records\": [1]}]}" },
		{ .body = "{\"rrsets\": [{\"name\": \"a.example.com.\", \"type\": \"A\", \"ttl\": "
			  "1, "
			  "\"records\": [{\"content\": \"192.0.2.1\"}]}, {]}" },
		{ .body = "{\"rrsets\": [{\"name\": \"a.example.com.\", \"type\": \"A\", \"ttl\": "
			  "1, "
			  "\"records\": [{\"content\": \"192.0.2.1\"}]}" },
		{ .body = "{\"rrsets\": []}", .status = 206 },
		{ .body = "{\"rrsets\": []}", .cut_at = 40, .close = true },
		{ .body = "{\"rrsets\": []}", .cut_at = 40, .reset = true },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct provider_change changes[2];
		struct provider_job job;
		struct rig rig;
		rig_up(&rig);
		make_job(&job, PROVIDER_READ, changes);
		expect_call(&rig, "GET " ZONE "?rrset_name=a.example.com.", rows[i]);
		run_job(&rig, &job);
		assert_ends(&job, PROVIDER_TRANSIENT, "");
		assert_null(changes[0].found);
		clear_job(&job);
		rig_down(&rig);
	}
}

/* ---- zones that are not there, connections that break ---- */

static void missing_zone_is_looked_for(void **state)
{
	static const struct {
		int status;
		const char *list;
		enum provider_code code;
		const char *says;
	} rows[] = {
		{ 200, "[]", PROVIDER_NO_ZONE, "there is no zone 'example.com.'" },
		{ 404, "Not Found", PROVIDER_INVALID, "see 'server' and 'virtualHost'" },
		{ 401, "Unauthorized", PROVIDER_UNAUTHENTICATED, "401" },
		{ 200, "[{\"id\": \"example.com.\", \"name\": \"example.com.\"}]",
		  PROVIDER_TRANSIENT, "lists the zone" },
		{ 200, "<html>", PROVIDER_TRANSIENT, "not one of PowerDNS's API" },
	};
	static const enum provider_job_kind kinds[] = { PROVIDER_READ, PROVIDER_APPLY };
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows) * 2; i++) {
		struct provider_change changes[2];
		struct provider_job job;
		struct rig rig;
		rig_up(&rig);
		make_job(&job, kinds[i % 2], changes);
		expect_call(&rig,
			    i % 2 == 0 ? "GET " ZONE "?rrset_name=a.example.com." : "PATCH " ZONE,
			    (struct fakeapi_reply){ .status = 404, .body = "Not Found" });
		expect_call(&rig, "GET " SERVERS "/zones?dnssec=false&zone=example.com.",
			    (struct fakeapi_reply){ .status = rows[i / 2].status,
						    .body = rows[i / 2].list });
		run_job(&rig, &job);
		assert_ends(&job, rows[i / 2].code, rows[i / 2].says);
		clear_job(&job);
		rig_down(&rig);
	}
}

static void lost_writes_are_unsure(void **state)
{
	static const struct fakeapi_reply rows[] = {
		{ .status = 204, .cut_at = 1, .reset = true },
		{ .status = 204, .cut_at = 10, .close = true },
		{ .raw = "nonsense\r\n\r\n", .close = true },
	};
	struct provider_change changes[2];
	struct provider_job job;
	struct rig rig;
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		rig_up(&rig);
		make_job(&job, PROVIDER_APPLY, changes);
		expect_call(&rig, "PATCH " ZONE, rows[i]);
		run_job(&rig, &job);
		assert_ends(&job, PROVIDER_UNSURE, "");
		assert_false(job.was_answered);
		clear_job(&job);
		rig_down(&rig);
	}
	/* Nobody listens: nothing was sent. */
	rig_up(&rig);
	rig.provider->close(rig.account);
	open_rig_account(&rig, "http://127.0.0.1:1", NULL);
	make_job(&job, PROVIDER_APPLY, changes);
	run_job(&rig, &job);
	assert_ends(&job, PROVIDER_TRANSIENT, "connect");
	clear_job(&job);
	rig_down(&rig);
}

/* A read of several names that is given up leaves nothing behind. */
static void cancelled(void **state)
{
	struct provider_change changes[2];
	struct provider_job job;
	struct rig rig;
	(void)state;
	rig_up(&rig);
	make_job(&job, PROVIDER_READ, changes);
	expect_json(&rig, "GET " ZONE "?rrset_name=a.example.com.",
		    "{\"rrsets\": [{\"name\": \"a.example.com.\", \"type\": \"A\", \"ttl\": 1, "
		    "\"records\": [{\"content\": \"192.0.2.1\"}]}]}");
	expect_call(&rig, "GET " ZONE "?rrset_name=%2A.c.example.com.",
		    (struct fakeapi_reply){ .hang_first = true });
	job.done = on_done;
	job.end_by_ns = clock_mono_ns() + 60 * NS_PER_S;
	is_done = false;
	rig.provider->start(rig.account, &job);
	while (scripted_http_calls(rig.script) < 2)
		loop_turn(rig.loop, false);
	rig.provider->cancel(rig.account, &job);
	assert_null(job.call);
	assert_null(changes[0].found);
	assert_false(is_done);
	clear_job(&job);
	rig_down(&rig);
}

/* ---- TLS ---- */

static void certificates(void **state)
{
	char dir[] = "/tmp/test-powerdns-XXXXXX";
	struct rig rig = { .provider = provider_find("powerdns"), .loop = loop_new() };
	(void)state;
	assert_non_null(mkdtemp(dir));
	struct testcert *ca = testcert_new(dir);
	testcert_make(ca, "server", "127.0.0.1");
	testcert_make(ca, "other", "other.example");
	struct fakeapi_tls tls = { testcert_path(dir, "server.pem"),
				   testcert_path(dir, "server.key"), NULL };
	struct fakeapi_tls other = { testcert_path(dir, "other.pem"),
				     testcert_path(dir, "other.key"), NULL };
	CLEANUP(strbuf_done) struct strbuf pem = STRBUF_INIT;
	assert_int_equal(readfile_path(testcert_path(dir, "ca.pem"), 1 << 20, 0, &pem), 0);
	const struct {
		const struct fakeapi_tls *tls;
		struct provider_credential more;
		enum provider_code code;
		const char *error;
	} rows[] = {
		{ &tls, { "trustedCaCert", strbuf_slice(&pem) }, PROVIDER_OK, "" },
		{ &tls, { "insecureSkipVerify", SLICE("true") }, PROVIDER_OK, "" },
		{ &tls,
		  { "insecureSkipVerify", SLICE("false") },
		  PROVIDER_INVALID,
		  "is not trusted" },
		{ &other, { "insecureSkipVerify", SLICE("true") }, PROVIDER_OK, "" },
		{ &other,
		  { "trustedCaCert", strbuf_slice(&pem) },
		  PROVIDER_INVALID,
		  "its certificate is for another host than '127.0.0.1'" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct provider_job job = { .kind = PROVIDER_FIND_ZONES, .name = "a.test" };
		rig.script = scripted_http_new(rows[i].tls);
		open_rig_account(&rig, scripted_http_url(rig.script), &rows[i].more);
		if (rows[i].code == PROVIDER_OK)
			expect_json(&rig, "GET " SERVERS "/zones?dnssec=false", "[]");
		run_job(&rig, &job);
		assert_ends(&job, rows[i].code, rows[i].error);
		provider_job_clear(&job);
		rig.provider->close(rig.account);
		scripted_http_free(rig.script);
	}
	testcert_free(ca);
	loop_free(rig.loop);
	static const char *const files[] = { "ca.pem", "server.pem", "server.key" };
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		unlink(testcert_path(dir, files[i]));
	rmdir(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zones),
		cmocka_unit_test(body_of_a_write),
		cmocka_unit_test(error_replies),
		cmocka_unit_test(bad_changes_are_named),
		cmocka_unit_test(collisions_are_explained),
		cmocka_unit_test(reads_a_few_names),
		cmocka_unit_test(reads_the_zone_for_many),
		cmocka_unit_test(replies_that_are_none),
		cmocka_unit_test(missing_zone_is_looked_for),
		cmocka_unit_test(lost_writes_are_unsure),
		cmocka_unit_test(cancelled),
		cmocka_unit_test(certificates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
