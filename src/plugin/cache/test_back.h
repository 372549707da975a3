/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cache above a back end that says what a test tells it to. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/strbuf.h"
#include "dns/rrtext/rrtext.h"
#include "dns/test_names.h"
#include "server/handler.h"
#include "server/query.h"
#include "server/subquery.h"
#include "server/waiting.h"
#include "testing/fake_server.h"

/* ---- the back end ---- */

enum act { ANSWER, FAIL, FAIL_QUIETLY, FAIL_LIMIT, ANSWER_LIMIT, DROP, WAIT, WAIT_AND_FAIL, CHASE };
enum { RECORDS_MAX = 20, WAITING_MAX = 64 };

static struct back {
	enum act act;
	uint16_t rcode;
	uint16_t flags;		     /* besides QR and RD */
	bool opt_do;		     /* an OPT of its own, with DO */
	bool wire;		     /* as an upstream's message */
	const char *question;	     /* wire: another name */
	bool no_question;	     /* wire */
	const char *rr[RECORDS_MAX]; /* "an|au|ad RECORD"; # is the number of the query */
	uint16_t tally;
	unsigned asked;
	uint16_t got_flags;
	struct query *waiting[WAITING_MAX];
	unsigned n_waiting;
} back;

static void add_record(struct query *q, const char *text, unsigned number)
{
	char line[1024];
	size_t n = 0;
	struct dns_rr rr;
	for (const char *p = text + 3; *p != '\0'; p++) {
		if (*p == '#')
			n += (size_t)snprintf(line + n, sizeof(line) - n, "%u", number);
		else
			line[n++] = *p;
	}
	enum dns_section s = text[1] == 'n'   ? DNS_ANSWER
			     : text[1] == 'u' ? DNS_AUTHORITY
					      : DNS_ADDITIONAL;
	int r = dns_rrtext_parse(query_rrtext(q), (struct slice){ line, n }, &q->arena, &rr);
	if (r < 0)
		fail_msg("%s: %s", text, dns_rrtext_error(query_rrtext(q)));
	assert_int_equal(dns_resp_add(&q->resp, &q->arena, s, &rr), 0);
}

static void to_wire(struct query *q)
{
	uint8_t *out = arena_alloc(&q->arena, 4096);
	uint8_t other[DNS_NAME_MAX + 4];
	struct dns_encode e = { .question = q->req.qname,
				.question_len = q->req.question_len,
				.limit = 4096 };
	if (back.question != NULL) {
		int n = dns_name_from_text(slice_of(back.question), other);
		memcpy(other + n, q->req.qname + q->req.question_len - 4, 4);
		e.question = other;
		e.question_len = (uint16_t)(n + 4);
	}
	if (back.no_question)
		e.question_len = 0;
	int n = dns_resp_encode(&q->resp, &e, out, 4096);
	assert_true(n > 0);
	assert_int_equal(dns_resp_from_wire(&q->resp, &q->arena, out, (size_t)n), 0);
}

static enum verdict say(struct query *q)
{
	if (back.tally != 0)
		q->tally = back.tally;
	switch (back.act) {
	case FAIL:
		return query_fail(q, back.rcode, "it broke");
	case WAIT_AND_FAIL:
	case FAIL_QUIETLY:
		return query_fail(q, back.rcode, NULL);
	case FAIL_LIMIT:
		return query_fail_limit(q, "out of query memory");
	case DROP:
		return V_DROP;
	case ANSWER_LIMIT:
		q->hit_limit = true;
		break;
	case ANSWER:
	case WAIT:
	case CHASE:
		break;
	}
	query_reply(q);
	q->resp.rcode = back.rcode;
	q->resp.flags |= back.flags;
	for (int i = 0; i < RECORDS_MAX && back.rr[i] != NULL; i++)
		add_record(q, back.rr[i], back.asked);
	if (back.opt_do) {
		q->resp.has_opt = q->resp.opt_do = true;
		q->resp.opt_udp_size = 1232;
	}
	if (back.wire)
		to_wire(q);
	return V_ANSWERED;
}

static enum verdict back_serve(struct plugin_inst *self, struct query *q)
{
	back.asked++;
	back.got_flags = q->req.flags;
	if (back.act == CHASE && !q->is_sub) {
		static const uint8_t target[] = "\6target\7example";
		assert_int_equal(query_sub(q, self, SUB_SERVER, target, q->req.qtype), 0);
		return V_WAIT;
	}
	if (back.act != WAIT && back.act != WAIT_AND_FAIL)
		return say(q);
	assert_true(back.n_waiting < WAITING_MAX);
	back.waiting[back.n_waiting++] = q;
	return V_WAIT;
}

static enum verdict back_resume(struct plugin_inst *self, struct query *q)
{
	(void)self;
	return say(q);
}

static int back_parse(struct plugin_inst *self, struct setup *s)
{
	(void)self;
	(void)s;
	return 0;
}

/* Lets those that wait have what `back` says now. */
static UNUSED void let_go(struct fake *f)
{
	struct back b = back;
	back.n_waiting = 0;
	for (unsigned i = 0; i < b.n_waiting; i++)
		query_resume(b.waiting[i]);
	fake_advance(f, 0);
}

static const struct plugin back_plugin = {
	.name = "back", .parse = back_parse, .serve = back_serve, .resume = back_resume
};
static const struct plugin template_plugin = { .name = "template", .parse = back_parse };
static const struct plugin other_plugin = { .name = "forward", .parse = back_parse, .serve = NULL };
extern const struct plugin cache_plugin;
const struct plugin *const plugin_list[] = { &cache_plugin, &template_plugin, &back_plugin,
					     &other_plugin, NULL };

/* ---- help ---- */

static UNUSED struct fake *start(const char *options)
{
	char text[512];
	snprintf(text, sizeof(text), ". {\n cache %s\n back\n}\n", options);
	struct fake *f = fake_new(text);
	if (f == NULL)
		fail_msg("%s", fake_error());
	return f;
}

static UNUSED const char *ask(struct fake *f, const char *name)
{
	return fake_ask(f, &(struct fake_ask){ .name = name });
}

static UNUSED void expect_has(const char *reply, const char *part)
{
	if (reply == NULL || strstr(reply, part) == NULL)
		fail_msg("no '%s' in:\n%s", part, reply != NULL ? reply : "silence\n");
}

static UNUSED void advance_s(struct fake *f, unsigned s)
{
	fake_advance(f, s * NS_PER_S);
}

#define AN(...)                       \
	back = (struct back)          \
	{                             \
		.rr = { __VA_ARGS__ } \
	}
#define SOA_TEXT "sns.dns.icann.org. noc.dns.icann.org. 2016082540 7200 3600 1209600 3600"
#define SOA(ttl) "au example.org. " #ttl " IN SOA " SOA_TEXT

static UNUSED void check_ttls(const char *about, const char *reply, unsigned ttl)
{
	for (const char *line = reply; line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');
		unsigned got;
		char section[16], owner[DNS_NAME_TEXT_MAX];
		if (sscanf(line, "%15s %1024s %u", section, owner, &got) == 3 && got != ttl &&
		    strcmp(section, "opt") != 0)
			fail_msg("%s: TTL %u instead of %u in\n%s", about, got, ttl, reply);
		line = end + 1;
	}
}

/* ---- what is asked when, and what it costs ---- */

struct step {
	unsigned at_s;
	struct fake_ask a;
	const char *want;
	unsigned asked;
};

static UNUSED void run_steps(struct fake *f, const struct step *s, size_t n)
{
	unsigned now = 0;
	for (size_t i = 0; i < n; i++) {
		advance_s(f, s[i].at_s - now);
		now = s[i].at_s;
		expect_has(fake_ask(f, &s[i].a), s[i].want);
		fake_advance(f, 0);
		if (back.asked != s[i].asked)
			fail_msg("step %zu: asked %u times, not %u", i, back.asked, s[i].asked);
	}
}
#define STEPS(f, ...)                                         \
	do {                                                  \
		const struct step steps_[] = { __VA_ARGS__ }; \
		run_steps(f, steps_, ARRAY_LEN(steps_));      \
	} while (0)
#define Q(n)              \
	{                 \
		.name = n \
	}
#define DO(n)                                                  \
	{                                                      \
		.name = n, .udp_size = 1232, .dnssec_ok = true \
	}
#define CDQ(n)                                  \
	{                                       \
		.name = n, .flags = DNS_FLAG_CD \
	}
