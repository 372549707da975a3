/* cache above a back end that says what a test tells it to (spec 1.4, 1.15.3, chapter 5 item 4).
 * The tables hold what CoreDNS's own tests of its cache ask for. */
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
#include "dns/rrtext.h"
#include "server/fake.h"
#include "server/query.h"
#include "server/server_priv.h"

/* ---- the back end ---- */

enum act { ANSWER, FAIL, FAIL_QUIETLY, DROP, WAIT };
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
	unsigned asked;
	uint16_t got_flags;
	struct query *waiting[WAITING_MAX];
	unsigned n_waiting;
} back;

static void add_record(struct query *q, const char *text, unsigned number)
{
	char line[300];
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
	switch (back.act) {
	case FAIL:
		return query_fail(q, back.rcode, "it broke");
	case FAIL_QUIETLY:
		return query_fail(q, back.rcode, NULL);
	case DROP:
		return V_DROP;
	case ANSWER:
	case WAIT:
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
	(void)self;
	back.asked++;
	back.got_flags = q->req.flags;
	if (back.act != WAIT)
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
static void let_go(struct fake *f)
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
static const struct plugin other_plugin = { .name = "forward", .parse = back_parse, .serve = NULL };
extern const struct plugin cache_plugin;
const struct plugin *const plugin_list[] = { &cache_plugin, &back_plugin, &other_plugin, NULL };

/* ---- help ---- */

static struct fake *start(const char *options)
{
	char text[512];
	snprintf(text, sizeof(text), ". {\n cache %s\n back\n}\n", options);
	struct fake *f = fake_new(text);
	if (f == NULL)
		fail_msg("%s", fake_error());
	return f;
}

static const char *ask(struct fake *f, const char *name)
{
	return fake_ask(f, &(struct fake_ask){ .name = name });
}

static void expect_has(const char *reply, const char *part)
{
	if (reply == NULL || strstr(reply, part) == NULL)
		fail_msg("no '%s' in:\n%s", part, reply != NULL ? reply : "silence\n");
}

static void advance_s(struct fake *f, unsigned s)
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

/* ---- insertion: what is stored, as what, with which TTL ---- */

#define RRSIG(times)                                                                          \
	"an example.org. 1800 IN RRSIG MX 8 2 1800 " times " 12051 example.org. lAaEzB5teQLL" \
	"KyDenatmyhca7blLRg9DoGNrhe3NReBZN5C5/pMQk8Jc"

static const struct insertion {
	const char *about;
	const char *name, *type;
	bool dnssec_ok;
	uint16_t req_flags;
	uint16_t rcode, flags;
	bool opt_do;
	const char *rr[RECORDS_MAX];
	bool stored;
	unsigned ttl; /* of all records */
} insertions[] = {
	{ "AD", "miek.nl.", "MX", .flags = DNS_FLAG_RA | DNS_FLAG_AD,
	  .rr = { "an miek.nl. 3601 IN MX 1 a.example.", "an miek.nl. 3601 IN MX 10 b.example." },
	  .stored = true, .ttl = 3600 },
	{ "case", "mIEK.nL.", "MX", .rr = { "an miek.nl. 3601 IN MX 1 a.example." }, .stored = true,
	  .ttl = 3600 },
	{ "truncated", "miek.nl.", "MX", .flags = DNS_FLAG_TC,
	  .rr = { "an miek.nl. 1800 IN MX 1 a.example." }, .stored = false, .ttl = 1800 },
	{ "NXDOMAIN", "example.org.", "A", .rcode = DNS_RCODE_NXDOMAIN, .rr = { SOA(3600) },
	  .stored = true, .ttl = 1800 },
	{ "NXDOMAIN without SOA", "1.1.168.192.in-addr.arpa.", "PTR", .rcode = DNS_RCODE_NXDOMAIN,
	  .stored = false },
	{ "NXDOMAIN with an answer", "example.org.", "A", .rcode = DNS_RCODE_NXDOMAIN,
	  .rr = { "an example.org. 300 IN A 127.0.0.1", SOA(300) }, .stored = false, .ttl = 5 },
	{ "SERVFAIL", "example.org.", "A", .rcode = DNS_RCODE_SERVFAIL, .flags = DNS_FLAG_RA,
	  .stored = true },
	{ "NOTIMP", "example.org.", "A", .rcode = DNS_RCODE_NOTIMP, .stored = true },
	{ "REFUSED", "example.org.", "A", .rcode = DNS_RCODE_REFUSED, .stored = false },
	{ "FORMERR", "example.org.", "A", .rcode = DNS_RCODE_FORMERR, .stored = false },
	{ "expired RRSIG", "example.org.", "MX", .dnssec_ok = true, .opt_do = true,
	  .rr = { "an example.org. 3600 IN MX 1 a.example.",
		  RRSIG("20160521031301 20160421031301") },
	  .stored = false, .ttl = 5 },
	{ "expired RRSIG, no DO in the reply", "example.org.", "MX", .dnssec_ok = true,
	  .rr = { "an example.org. 3600 IN MX 1 a.example.",
		  RRSIG("20160521031301 20160421031301") },
	  .stored = true, .ttl = 1800 },
	{ "RRSIG in time", "example.org.", "MX", .dnssec_ok = true, .opt_do = true,
	  .rr = { "an example.org. 3600 IN MX 1 a.example.",
		  RRSIG("20380101000000 20200101000000") },
	  .stored = true, .ttl = 1800 },
	{ "CD", "dnssec-failed.org.", "A", .req_flags = DNS_FLAG_CD | DNS_FLAG_RD,
	  .rr = { "an dnssec-failed.org. 3600 IN A 127.0.0.1" }, .stored = true, .ttl = 3600 },
	{ "denial in a zone without", "a.neg.example.", "A", .rcode = DNS_RCODE_NXDOMAIN,
	  .rr = { SOA(3600) }, .stored = false, .ttl = 1800 },
	{ "answer in a zone without", "a.pos.example.", "A",
	  .rr = { "an a.pos.example. 3600 IN A 127.0.0.1" }, .stored = false, .ttl = 3600 },
	{ "denial in a zone without answers", "a.pos.example.", "A", .rcode = DNS_RCODE_NXDOMAIN,
	  .rr = { SOA(3600) }, .stored = true, .ttl = 1800 },
	{ "answer in a zone without denials", "a.neg.example.", "A",
	  .rr = { "an a.neg.example. 3600 IN A 127.0.0.1" }, .stored = true, .ttl = 3600 },
	{ "CNAMEs to nothing", "alias.example.", "A",
	  .rr = { "an alias.example. 3600 IN CNAME t1.example.",
		  "an t1.example. 3600 IN CNAME t2.example." },
	  .stored = false, .ttl = 3600 },
	{ "CNAME to another type", "alias.example.", "A",
	  .rr = { "an alias.example. 3600 IN CNAME t.example.", "an t.example. 60 IN AAAA ::1" },
	  .stored = false, .ttl = 60 },
	{ "MX: CNAME to nothing", "alias.example.", "MX",
	  .rr = { "an alias.example. 3600 IN CNAME t.example." }, .stored = false, .ttl = 3600 },
	{ "MX: CNAME to MX", "alias.example.", "MX",
	  .rr = { "an alias.example. 3600 IN CNAME t.example.",
		  "an t.example. 3600 IN MX 10 mail.example." },
	  .stored = true, .ttl = 3600 },
	{ "records in any order", "alias.example.", "A",
	  .rr = { "an t2.example. 300 IN A 127.0.0.1", "an t1.example. 300 IN CNAME T2.example.",
		  "an Alias.example. 300 IN CNAME t1.example." },
	  .stored = true, .ttl = 300 },
	{ "type at another name", "alias.example.", "A",
	  .rr = { "an alias.example. 300 IN CNAME t.example.", "an x.example. 300 IN A 127.0.0.1" },
	  .stored = false, .ttl = 300 },
	{ "two targets", "alias.example.", "A",
	  .rr = { "an alias.example. 300 IN CNAME t.example.",
		  "an alias.example. 300 IN CNAME u.example.", "an t.example. 300 IN A 127.0.0.1" },
	  .stored = false, .ttl = 300 },
	{ "two targets, the good one last", "alias.example.", "A",
	  .rr = { "an alias.example. 300 IN CNAME u.example.",
		  "an alias.example. 300 IN CNAME t.example.", "an t.example. 300 IN A 127.0.0.1" },
	  .stored = false, .ttl = 300 },
	{ "the same target twice", "alias.example.", "A",
	  .rr = { "an alias.example. 300 IN CNAME t.example.",
		  "an alias.example. 300 IN CNAME T.example.", "an t.example. 300 IN A 127.0.0.1" },
	  .stored = true, .ttl = 300 },
	{ "CNAME loop", "a.example.", "A",
	  .rr = { "an a.example. 300 IN CNAME b.example.",
		  "an b.example. 300 IN CNAME a.example." },
	  .stored = false, .ttl = 300 },
	{ "CNAME asked for", "alias.example.", "CNAME",
	  .rr = { "an alias.example. 300 IN CNAME t.example." }, .stored = true, .ttl = 300 },
	{ "ANY", "any.example.", "ANY", .rr = { "an any.example. 300 IN TXT x" }, .stored = true,
	  .ttl = 300 },
	{ "ANY of another name", "any.example.", "ANY", .rr = { "an x.example. 300 IN TXT x" },
	  .stored = false, .ttl = 300 },
	{ "CNAME with SOA is NODATA", "alias.example.", "A",
	  .rr = { "an alias.example. 3600 IN CNAME t.example.", SOA(3600) }, .stored = true,
	  .ttl = 1800 },
	{ "NODATA", "example.org.", "AAAA", .rr = { SOA(900) }, .stored = true, .ttl = 900 },
	{ "delegation", "sub.example.org.", "A", .rr = { "au sub.example.org. 300 IN NS ns.x." },
	  .stored = true, .ttl = 5 },
	{ "nothing at all", "example.org.", "A", .stored = true },
	{ "additional only", "example.org.", "A", .rr = { "ad x.example. 77 IN A 127.0.0.1" },
	  .stored = true, .ttl = 77 },
	{ "lowest of all sections", "example.org.", "A",
	  .rr = { "an example.org. 300 IN A 127.0.0.1", "au example.org. 200 IN NS ns.x.",
		  "ad ns.x. 100 IN A 127.0.0.1" },
	  .stored = true, .ttl = 100 },
	{ "TTL 0", "example.org.", "A", .rr = { "an example.org. 0 IN A 127.0.0.1" },
	  .stored = true, .ttl = 5 },
	{ "transfer", "example.org.", "AXFR", .rr = { "an example.org. 60 IN A 127.0.0.1" },
	  .stored = false, .ttl = 5 },
};

static void check_ttls(const char *about, const char *reply, unsigned ttl)
{
	for (const char *line = reply; line != NULL && *line != '\0';) {
		const char *end = strchr(line, '\n');
		unsigned got;
		char section[16], owner[100];
		if (sscanf(line, "%15s %99s %u", section, owner, &got) == 3 && got != ttl &&
		    strcmp(section, "opt") != 0)
			fail_msg("%s: TTL %u instead of %u in\n%s", about, got, ttl, reply);
		line = end + 1;
	}
}

static void check_insertion(const struct insertion *t, bool wire)
{
	struct fake *f = start("{\n disable success pos.example\n disable denial neg.example\n }");
	struct fake_ask a = { .name = t->name,
			      .type = t->type,
			      .flags = t->req_flags,
			      .dnssec_ok = t->dnssec_ok,
			      .udp_size = t->dnssec_ok ? 4096 : 0 };
	back = (struct back){
		.rcode = t->rcode, .flags = t->flags, .opt_do = t->opt_do, .wire = wire
	};
	memcpy(back.rr, t->rr, sizeof(back.rr));
	CLEANUP(strbuf_done) struct strbuf first = STRBUF_INIT;
	const char *reply = fake_ask(f, &a);
	assert_non_null(reply);
	strbuf_adds(&first, reply);
	check_ttls(t->about, first.s, t->ttl);
	reply = fake_ask(f, &a);
	if (back.asked != (t->stored ? 1 : 2))
		fail_msg("%s: %sstored (%s)", t->about, t->stored ? "not " : "",
			 wire ? "wire" : "open");
	if (strcasecmp(reply, first.s) != 0)
		fail_msg("%s: the second reply differs:\n%s%s", t->about, first.s, reply);
	if (t->stored) {
		advance_s(f, t->ttl != 0 ? t->ttl - 1 : 4);
		check_ttls(t->about, fake_ask(f, &a), 1);
		advance_s(f, 1);
		fake_ask(f, &a);
		assert_int_equal(back.asked, 2);
	}
	fake_free(f);
}

static void insertion_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(insertions); i++) {
		check_insertion(&insertions[i], false);
		check_insertion(&insertions[i], true);
	}
}

/* A link takes a walk over the answer, so a long chain in a large reply would hold up a worker. */
static void chains_have_an_end(void **state)
{
	enum { LINKS = 16 };
	char text[RECORDS_MAX][64];
	(void)state;
	for (unsigned links = LINKS; links <= LINKS + 1; links++) {
		struct fake *f = start("");
		back = (struct back){ 0 };
		for (unsigned i = 0; i <= links; i++) {
			if (i < links)
				snprintf(text[i], sizeof(text[i]),
					 "an n%u.example. 60 IN CNAME n%u.example.", i, i + 1);
			else
				snprintf(text[i], sizeof(text[i]),
					 "an n%u.example. 60 IN A 127.0.0.1", i);
			back.rr[i] = text[i];
		}
		for (int i = 0; i < 2; i++)
			expect_has(ask(f, "n0.example."), "NOERROR");
		assert_int_equal(back.asked, links > LINKS ? 2 : 1);
		fake_free(f);
	}
}

/* ---- TTLs ---- */

static const struct {
	const char *options;
	uint16_t rcode;
	const char *rr;
	unsigned ttl;
	bool stored;
} ttls[] = {
	{ "", 0, "an example.org. 60 IN A 127.0.0.1", 60, true },
	{ "", 0, "an example.org. 7200 IN A 127.0.0.1", 3600, true },
	{ "7200", 0, "an example.org. 7200 IN A 127.0.0.1", 7200, true },
	{ "10", 0, "an example.org. 60 IN A 127.0.0.1", 10, true },
	{ "10", DNS_RCODE_NXDOMAIN, SOA(60), 10, true },
	{ "3", 0, "an example.org. 60 IN A 127.0.0.1", 3, true },
	{ "{\n success 100 20\n }", 0, "an example.org. 60 IN A 127.0.0.1", 20, true },
	{ "{\n success 100 300 90\n }", 0, "an example.org. 60 IN A 127.0.0.1", 90, true },
	{ "{\n success 100 30 90\n }", 0, "an example.org. 60 IN A 127.0.0.1", 30, true },
	{ "{\n success 100 30 0\n }", 0, "an example.org. 0 IN A 127.0.0.1", 0, false },
	{ "{\n success 100 30 0\n }", 0, "an example.org. 1 IN A 127.0.0.1", 1, true },
	{ "{\n denial 100 20\n }", DNS_RCODE_NXDOMAIN, SOA(60), 20, true },
	{ "{\n denial 100 60 40\n }", DNS_RCODE_NXDOMAIN, SOA(10), 40, true },
	{ "{\n denial 100 60 0\n }", DNS_RCODE_NXDOMAIN, SOA(0), 0, false },
	{ "{\n success 100 20\n }", DNS_RCODE_NXDOMAIN, SOA(60), 60, true },
	{ "{\n servfail 20s\n }", DNS_RCODE_SERVFAIL, "ad x. 300 IN A 127.0.0.1", 20, true },
	{ "{\n servfail 0\n }", DNS_RCODE_SERVFAIL, "ad x. 300 IN A 127.0.0.1", 0, false },
	{ "{\n servfail 900ms\n }", DNS_RCODE_SERVFAIL, "ad x. 300 IN A 127.0.0.1", 0, false },
};

static void ttl_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ttls); i++) {
		struct fake *f = start(ttls[i].options);
		AN(ttls[i].rr);
		back.rcode = ttls[i].rcode;
		for (int k = 0; k < 2; k++)
			check_ttls(ttls[i].options, ask(f, "example.org."), ttls[i].ttl);
		assert_int_equal(back.asked, ttls[i].stored ? 1 : 2);
		fake_free(f);
	}
}

static void keepttl(void **state)
{
	(void)state;
	struct fake *f = start("{\n keepttl\n }");
	AN("an example.org. 60 IN A 127.0.0.#");
	for (int i = 0; i < 3; i++) {
		expect_has(ask(f, "example.org."), "answer example.org. 60 IN A 127.0.0.1");
		advance_s(f, 20);
	}
	/* It expires all the same. */
	expect_has(ask(f, "example.org."), "answer example.org. 60 IN A 127.0.0.2");
	fake_free(f);
}

/* ---- key: name, type, class, DO, CD and nothing else ---- */

static void separation(void **state)
{
	(void)state;
	static const struct {
		struct fake_ask a;
		unsigned asked;
	} rows[] = {
		{ { .name = "example.org." }, 1 },
		{ { .name = "EXAMPLE.org." }, 1 },
		{ { .name = "example.org.", .udp_size = 1232 }, 1 },
		{ { .name = "example.org.", .flags = DNS_FLAG_Z }, 1 },
		{ { .name = "example.org.", .flags = DNS_FLAG_RD | DNS_FLAG_AD }, 1 },
		{ { .name = "example.org.", .udp_size = 1232, .dnssec_ok = true }, 2 },
		{ { .name = "example.org.", .flags = DNS_FLAG_CD }, 3 },
		{ { .name = "example.org.",
		    .flags = DNS_FLAG_CD,
		    .udp_size = 1232,
		    .dnssec_ok = true },
		  4 },
		{ { .name = "example.org.", .type = "AAAA" }, 5 },
		{ { .name = "www.example.org." }, 6 },
		{ { .name = "example.org.", .client = "198.51.100.7:1" }, 6 },
		{ { .name = "example.org.", .udp_size = 512, .dnssec_ok = true }, 6 },
	};
	struct fake *f = start("");
	AN("ad x. 60 IN A 127.0.0.1");
	for (int round = 0; round < 2; round++) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			assert_non_null(fake_ask(f, &rows[i].a));
			assert_int_equal(back.asked, round == 0 ? rows[i].asked : 6);
		}
	}
	fake_free(f);
}

/* ---- header bits ---- */

static void bits_of_replies(void **state)
{
	(void)state;
	static const struct {
		uint16_t stored, client;
		bool dnssec_ok;
		const char *want;
	} rows[] = {
		{ DNS_FLAG_AA, DNS_FLAG_RD, false, "NOERROR qr aa rd\n" },
		{ 0, DNS_FLAG_RD, false, "NOERROR qr rd\n" },
		{ DNS_FLAG_RA | DNS_FLAG_AD, DNS_FLAG_RD, false, "NOERROR qr rd ra\n" },
		{ DNS_FLAG_RA | DNS_FLAG_AD, DNS_FLAG_RD | DNS_FLAG_AD, false,
		  "NOERROR qr rd ra ad\n" },
		{ DNS_FLAG_RA | DNS_FLAG_AD, DNS_FLAG_RD, true, "NOERROR qr rd ra ad\n" },
		{ DNS_FLAG_RA, DNS_FLAG_RD | DNS_FLAG_AD, true, "NOERROR qr rd ra\n" },
		{ DNS_FLAG_RA | DNS_FLAG_AA, DNS_FLAG_CD, false, "NOERROR qr aa ra cd\n" },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = start("");
		AN("an example.org. 60 IN A 127.0.0.1");
		back.flags = rows[i].stored;
		struct fake_ask a = { .flags = rows[i].client,
				      .dnssec_ok = rows[i].dnssec_ok,
				      .udp_size = rows[i].dnssec_ok ? 1232 : 0 };
		for (int k = 0; k < 2; k++)
			expect_has(fake_ask(f, &a), rows[i].want);
		assert_int_equal(back.asked, 1);
		/* 1.4: the backend is asked with AD, the log sees what the client sent. */
		assert_true((back.got_flags & DNS_FLAG_AD) != 0);
		fake_free(f);
	}
}

/* One entry serves those that want AD and those that do not. */
static void ad_is_not_part_of_the_key(void **state)
{
	(void)state;
	struct fake *f = start("");
	AN("an example.org. 60 IN A 127.0.0.1");
	back.flags = DNS_FLAG_AD;
	struct fake_ask plain = { 0 }, ad = { .flags = DNS_FLAG_RD | DNS_FLAG_AD };
	expect_has(fake_ask(f, &plain), "NOERROR qr rd\n");
	expect_has(fake_ask(f, &ad), "NOERROR qr rd ad\n");
	expect_has(fake_ask(f, &plain), "NOERROR qr rd\n");
	assert_int_equal(back.asked, 1);
	fake_free(f);
}

/* An OPT is hop by hop: neither the first reply nor a hit passes it on. */
static void opt_is_left_out(void **state)
{
	(void)state;
	for (int wire = 0; wire < 2; wire++) {
		struct fake *f = start("");
		AN("an example.org. 60 IN A 127.0.0.1");
		back.opt_do = true;
		back.wire = wire;
		for (int i = 0; i < 2; i++)
			assert_null(strstr(ask(f, "example.org."), "opt "));
		fake_free(f);
	}
}

/* Names that are the question's, or end like it, come in the client's case. */
static void case_of_hits(void **state)
{
	(void)state;
	struct fake *f = start("");
	AN("an www.example.org. 60 IN A 127.0.0.1", "au example.org. 60 IN NS ns.Other.net.");
	ask(f, "www.example.org.");
	expect_has(ask(f, "wWw.eXample.org."), "question wWw.eXample.org. IN A\n"
					       "answer wWw.eXample.org. 60 IN A 127.0.0.1\n"
					       "authority eXample.org. 60 IN NS ns.Other.net.\n");
	expect_has(ask(f, "www.example.org."), "answer www.example.org. 60 IN A 127.0.0.1\n"
					       "authority example.org. 60 IN NS");
	assert_int_equal(back.asked, 1);
	fake_free(f);
}

/* ---- what passes by ---- */

static void other_opcodes_and_zones_pass(void **state)
{
	(void)state;
	static const uint8_t notify[] = "\0\1\44\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1";
	struct fake *f = start("example.org");
	AN("an example.org. 60 IN A 127.0.0.1");
	ask(f, "example.org.");
	fake_ask(f, &(struct fake_ask){ .raw = notify, .raw_n = sizeof(notify) - 1 });
	assert_int_equal(back.asked, 2);
	for (int i = 0; i < 2; i++) {
		/* Not ours: the TTL stays. */
		AN("an other.example. 6000 IN A 127.0.0.1");
		expect_has(ask(f, "other.example."), "answer other.example. 6000 IN A");
		assert_int_equal(back.asked, 1);
	}
	fake_free(f);
}

static void malformed_replies(void **state)
{
	(void)state;
	const char *drops = "coredns_cache_drops_total{server=\"dns://:53\",view=\"\",zones=\".\"}";
	struct fake *f = start("");
	AN("an other.example. 60 IN A 127.0.0.1");
	back.wire = true;
	back.question = "other.example.";
	back.rr[1] = "an example.org. 60 IN A 127.0.0.1";
	assert_non_null(ask(f, "example.org."));
	assert_int_equal(fake_metric(f, drops), 1);
	AN("an example.org. 60 IN A 127.0.0.1");
	back.wire = back.no_question = true;
	expect_has(ask(f, "example.org."), "answer example.org. 60 IN A 127.0.0.1");
	expect_has(fake_log(f), "[WARNING] plugin/cache: Not caching malformed response with an "
				"empty question section for \"example.org.\"");
	AN("an example.org. 60 IN A 127.0.0.1");
	assert_non_null(ask(f, "example.org."));
	assert_int_equal(back.asked, 1); /* neither was stored */
	fake_free(f);
}

/* ---- SERVFAIL without a reply (1.15.3) ---- */

static void failures(void **state)
{
	(void)state;
	static const struct {
		const char *options;
		enum act act;
		uint16_t rcode;
		unsigned asked; /* after two queries */
	} rows[] = {
		{ "", FAIL, DNS_RCODE_SERVFAIL, 1 },
		{ "", FAIL_QUIETLY, DNS_RCODE_SERVFAIL, 2 },
		{ "", FAIL, DNS_RCODE_REFUSED, 2 },
		{ "", FAIL, DNS_RCODE_NOTIMP, 2 },
		{ "{\n servfail 0\n }", FAIL, DNS_RCODE_SERVFAIL, 2 },
		{ "{\n disable denial\n }", FAIL, DNS_RCODE_SERVFAIL, 2 },
		{ "{\n disable success\n }", FAIL, DNS_RCODE_SERVFAIL, 1 },
		{ "", DROP, 0, 2 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = start(rows[i].options);
		back = (struct back){ .act = rows[i].act, .rcode = rows[i].rcode };
		for (int k = 0; k < 2; k++) {
			const char *r = ask(f, "example.org.");
			if (rows[i].act == DROP)
				assert_null(r);
			else
				assert_non_null(r);
			if (rows[i].asked == 1)
				assert_string_equal(r, "SERVFAIL qr rd\n"
						       "question example.org. IN A\n");
		}
		assert_int_equal(back.asked, rows[i].asked);
		advance_s(f, 5);
		ask(f, "example.org.");
		assert_int_equal(back.asked, rows[i].asked + 1);
		fake_free(f);
	}
}

/* A failure does not hide an answer that is still good (or may still be served). */
static void failure_yields_to_an_answer(void **state)
{
	(void)state;
	struct fake *f = start("{\n prefetch 1 1m 90%\n }");
	AN("an example.org. 60 IN A 127.0.0.1");
	ask(f, "example.org.");
	advance_s(f, 10);
	back.rcode = DNS_RCODE_SERVFAIL;
	back.rr[0] = NULL;
	ask(f, "example.org."); /* fetches the failure */
	assert_int_equal(back.asked, 2);
	expect_has(ask(f, "example.org."), "answer example.org. 50 IN A 127.0.0.1");
	/* A denial does. */
	back.rcode = DNS_RCODE_NXDOMAIN;
	back.rr[0] = SOA(60);
	advance_s(f, 1);
	ask(f, "example.org.");
	expect_has(ask(f, "example.org."), "NXDOMAIN");
	fake_free(f);
}

/* ---- prefetch ---- */

struct step {
	unsigned at_s;
	struct fake_ask a;
	const char *want;
	unsigned asked;
};

static void run_steps(struct fake *f, const struct step *s, size_t n)
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

static void prefetches(void **state)
{
	(void)state;
	struct fake *f = start("{\n prefetch 1\n }");
	AN("an hits.example. 80 IN A 127.0.0.#");
	STEPS(f, { 0, Q("hits.example."), "hits.example. 80 IN A 127.0.0.1", 1 },
	      { 71, Q("hits.example."), "hits.example. 9 IN A 127.0.0.1", 1 },
	      { 73, Q("hits.example."), "hits.example. 7 IN A 127.0.0.1", 2 },
	      { 80, Q("hits.example."), "hits.example. 73 IN A 127.0.0.2", 2 });
	AN("an short.example. 5 IN A 127.0.0.#");
	STEPS(f, { 0, Q("short.example."), "short.example. 5 IN A 127.0.0.1", 1 },
	      { 1, Q("short.example."), "short.example. 4 IN A 127.0.0.1", 1 },
	      { 4, Q("short.example."), "short.example. 1 IN A 127.0.0.1", 2 },
	      { 5, Q("short.example."), "short.example. 4 IN A 127.0.0.2", 2 });
	AN("an do.example. 80 IN A 127.0.0.#");
	STEPS(f, { 0, DO("do.example."), "do.example. 80 IN A 127.0.0.1", 1 },
	      { 73, DO("do.example."), "do.example. 7 IN A 127.0.0.1", 2 },
	      { 80, DO("do.example."), "do.example. 73 IN A 127.0.0.2", 2 },
	      { 80, Q("do.example."), "do.example. 80 IN A 127.0.0.3", 3 });
	AN("an cd.example. 80 IN A 127.0.0.#");
	STEPS(f, { 0, CDQ("cd.example."), "cd.example. 80 IN A 127.0.0.1", 1 },
	      { 73, CDQ("cd.example."), "cd.example. 7 IN A 127.0.0.1", 2 },
	      { 80, CDQ("cd.example."), "cd.example. 73 IN A 127.0.0.2", 2 },
	      { 80, Q("cd.example."), "cd.example. 80 IN A 127.0.0.3", 3 });
	fake_free(f);
	f = start("{\n prefetch 0\n }");
	AN("an no.example. 30 IN A 127.0.0.#");
	STEPS(f, { 0, Q("no.example."), "no.example. 30 IN A 127.0.0.1", 1 },
	      { 29, Q("no.example."), "no.example. 1 IN A 127.0.0.1", 1 },
	      { 30, Q("no.example."), "no.example. 30 IN A 127.0.0.2", 2 });
	fake_free(f);
}

/* So many hits, none further apart than the gap; they are carried over to the fresh entry. */
static void prefetch_counts_hits(void **state)
{
	(void)state;
	struct fake *f = start("{\n prefetch 3 10s 50%\n }");
	AN("an example.org. 100 IN A 127.0.0.#");
	STEPS(f, { 0, Q("example.org."), "127.0.0.1", 1 },
	      { 40, Q("example.org."), "127.0.0.1", 1 },
	      { 55, Q("example.org."), "127.0.0.1", 1 } /* a gap: counts 1 */,
	      { 60, Q("example.org."), "127.0.0.1", 1 }, { 70, Q("example.org."), "127.0.0.1", 2 },
	      { 71, Q("example.org."), "99 IN A 127.0.0.2", 2 });
	fake_free(f);
}

/* One at a time, whatever the number of hits; and it is counted. */
static void prefetch_once(void **state)
{
	(void)state;
	const char *metric = "coredns_cache_prefetch_total{server=\"dns://"
			     ":53\",view=\"\",zones=\"once.example.\"}";
	struct fake *f = start("once.example {\n prefetch 1 1m 90%\n }");
	AN("an once.example. 100 IN A 127.0.0.#");
	ask(f, "once.example.");
	advance_s(f, 20);
	back.act = WAIT;
	for (int i = 0; i < 10; i++)
		expect_has(ask(f, "once.example."), "127.0.0.1");
	assert_int_equal(back.asked, 2);
	assert_int_equal(fake_metric(f, metric), 1);
	let_go(f);
	back.act = ANSWER;
	expect_has(ask(f, "once.example."), "100 IN A 127.0.0.2");
	/* One that comes to nothing can be tried again. */
	advance_s(f, 20);
	back.act = DROP;
	ask(f, "once.example.");
	ask(f, "once.example.");
	assert_int_equal(back.asked, 4);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* ---- serve_stale ---- */

static const char stale_metric[] =
	"coredns_cache_served_stale_total{server=\"dns://:53\",view=\"\",zones=\".\"}";

static void stale_immediately(void **state)
{
	(void)state;
	struct fake *f = start("{\n serve_stale\n }");
	AN("an example.org. 60 IN A 127.0.0.#");
	ask(f, "example.org.");
	double before = fake_metric(f, stale_metric);
	advance_s(f, 61);
	expect_has(ask(f, "example.org."), "answer example.org. 0 IN A 127.0.0.1");
	fake_advance(f, 0);
	assert_int_equal(back.asked, 2);
	assert_true(fake_metric(f, stale_metric) == MAX(before, 0) + 1);
	expect_has(ask(f, "example.org."), "answer example.org. 60 IN A 127.0.0.2");
	assert_int_equal(back.asked, 2);
	/* An hour and no longer. */
	advance_s(f, 60 + 3599);
	back.act = FAIL;
	back.rcode = DNS_RCODE_SERVFAIL;
	expect_has(ask(f, "example.org."), "answer example.org. 0 IN A 127.0.0.2");
	advance_s(f, 1);
	expect_has(ask(f, "example.org."), "SERVFAIL");
	fake_free(f);
}

static const struct {
	const char *options;
	unsigned after_s;
	const char *want;
} stale_rows[] = {
	{ "serve_stale 1m", 60, "0 IN A 127.0.0.1" },
	{ "serve_stale 1m", 119, "0 IN A 127.0.0.1" },
	{ "serve_stale 1m", 120, "60 IN A 127.0.0.2" },
	{ "serve_stale 0", 60, "60 IN A 127.0.0.2" },
	{ "serve_stale 500ms", 60, "60 IN A 127.0.0.2" },
	{ "serve_stale 1h immediate", 70, "0 IN A 127.0.0.1" },
	{ "serve_stale 1h immediate 30s", 70, "30 IN A 127.0.0.1" },
	{ "serve_stale 1h immediate 0", 70, "0 IN A 127.0.0.1" },
	{ "serve_stale 1h immediate 30s\n keepttl", 70, "30 IN A 127.0.0.1" },
	{ "serve_stale 1h\n keepttl", 70, "60 IN A 127.0.0.1" },
	{ "serve_stale 1h verify", 70, "60 IN A 127.0.0.2" },
	{ "serve_stale 1h verify 100ms", 70, "60 IN A 127.0.0.2" },
	{ "serve_stale 1h verify 100ms 30s", 70, "60 IN A 127.0.0.2" },
	{ "serve_stale 1h verify 0 30s 10s", 70, "60 IN A 127.0.0.2" },
};

static void stale_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(stale_rows); i++) {
		char options[128];
		snprintf(options, sizeof(options), "{\n %s\n }", stale_rows[i].options);
		struct fake *f = start(options);
		AN("an example.org. 60 IN A 127.0.0.#");
		ask(f, "example.org.");
		advance_s(f, stale_rows[i].after_s);
		expect_has(ask(f, "example.org."), stale_rows[i].want);
		fake_free(f);
	}
}

/* What comes of a refresh of an expired answer: the next reply, with verify and without. */
static const struct {
	enum act act;
	uint16_t rcode, flags;
	const char *rr;
	bool refreshes;
} refreshes[] = {
	{ ANSWER, 0, 0, "an example.org. 60 IN A 127.0.0.9", true },
	{ ANSWER, DNS_RCODE_NXDOMAIN, 0, SOA(60), true },
	{ ANSWER, 0, 0, SOA(60), true },
	{ ANSWER, DNS_RCODE_SERVFAIL, 0, NULL, false },
	{ ANSWER, DNS_RCODE_REFUSED, 0, NULL, false },
	{ ANSWER, DNS_RCODE_NOTIMP, 0, NULL, false },
	{ ANSWER, DNS_RCODE_FORMERR, 0, NULL, false },
	{ ANSWER, 0, DNS_FLAG_TC, "an example.org. 60 IN A 127.0.0.9", false },
	{ FAIL, DNS_RCODE_SERVFAIL, 0, NULL, false },
	{ DROP, 0, 0, NULL, false },
};

static void refresh_table(void **state)
{
	(void)state;
	static const char *const modes[] = { "serve_stale", "serve_stale 1h verify",
					     "serve_stale 1h verify 1s" };
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		for (size_t i = 0; i < ARRAY_LEN(refreshes); i++) {
			char options[64];
			snprintf(options, sizeof(options), "{\n %s\n }", modes[m]);
			struct fake *f = start(options);
			AN("an example.org. 60 IN A 127.0.0.1");
			ask(f, "example.org.");
			advance_s(f, 60);
			AN(refreshes[i].rr);
			back.act = refreshes[i].act;
			back.rcode = refreshes[i].rcode;
			back.flags = refreshes[i].flags;
			bool at_once = m > 0 && refreshes[i].refreshes;
			const char *r = ask(f, "example.org.");
			if (at_once)
				assert_null(strstr(r, "127.0.0.1"));
			else
				expect_has(r, " 0 IN A 127.0.0.1");
			fake_advance(f, 0);
			assert_int_equal(back.asked, 1);
			r = ask(f, "example.org.");
			if (refreshes[i].refreshes)
				assert_null(strstr(r, "127.0.0.1"));
			else
				expect_has(r, " 0 IN A 127.0.0.1");
			assert_int_equal(fake_inflight(f), 0);
			fake_free(f);
		}
	}
}

static void verify_times_out(void **state)
{
	(void)state;
	struct fake *f = start("{\n serve_stale 1h verify 100ms 30s\n }");
	AN("an example.org. 60 IN A 127.0.0.#");
	ask(f, "example.org.");
	advance_s(f, 60);
	back.act = WAIT;
	assert_null(ask(f, "example.org."));
	/* Others do not wait, and start no verification of their own. */
	expect_has(ask(f, "example.org."), "30 IN A 127.0.0.1");
	fake_advance(f, 99 * NS_PER_MS);
	assert_null(fake_next(f));
	fake_advance(f, 1 * NS_PER_MS);
	expect_has(fake_next(f), "30 IN A 127.0.0.1");
	assert_int_equal(back.asked, 2);
	/* It goes on alone, and what it brings is stored. */
	let_go(f);
	back.act = ANSWER;
	assert_null(fake_next(f));
	expect_has(ask(f, "example.org."), "60 IN A 127.0.0.2");
	assert_int_equal(back.asked, 2);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* Without a time-out all who ask meanwhile wait for the same refresh. */
static void verify_is_shared(void **state)
{
	(void)state;
	struct fake *f = start("{\n serve_stale 1h verify\n }");
	AN("an example.org. 60 IN A 127.0.0.#");
	ask(f, "example.org.");
	advance_s(f, 60);
	back.act = WAIT;
	for (int i = 0; i < 3; i++)
		assert_null(ask(f, "example.org."));
	assert_int_equal(back.asked, 2);
	let_go(f);
	for (int i = 0; i < 3; i++)
		expect_has(fake_next(f), "60 IN A 127.0.0.2");
	fake_free(f);
}

static void recheck(void **state)
{
	(void)state;
	static const char *const modes[] = { "serve_stale 1h immediate 0 10s",
					     "serve_stale 1h verify 0 0 10s" };
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		char options[64];
		snprintf(options, sizeof(options), "{\n %s\n }", modes[m]);
		struct fake *f = start(options);
		AN("an example.org. 60 IN A 127.0.0.1");
		ask(f, "example.org.");
		advance_s(f, 60);
		back = (struct back){ .act = FAIL, .rcode = DNS_RCODE_SERVFAIL };
		for (int i = 0; i < 3; i++) {
			expect_has(ask(f, "example.org."), "0 IN A 127.0.0.1");
			fake_advance(f, 0);
			assert_int_equal(back.asked, 1); /* not again within ten seconds */
		}
		advance_s(f, 9);
		ask(f, "example.org.");
		fake_advance(f, 0);
		assert_int_equal(back.asked, 1);
		advance_s(f, 1);
		ask(f, "example.org.");
		fake_advance(f, 0);
		assert_int_equal(back.asked, 2);
		fake_free(f);
	}
	/* Without it each query tries again. */
	struct fake *f = start("{\n serve_stale\n }");
	AN("an example.org. 60 IN A 127.0.0.1");
	ask(f, "example.org.");
	advance_s(f, 60);
	back = (struct back){ .act = FAIL, .rcode = DNS_RCODE_SERVFAIL };
	for (unsigned i = 0; i < 3; i++) {
		ask(f, "example.org.");
		fake_advance(f, 0);
		assert_int_equal(back.asked, i + 1);
	}
	fake_free(f);
}

/* 1.15.3: an expired SERVFAIL is served stale itself. */
static void stale_failure(void **state)
{
	(void)state;
	struct fake *f = start("{\n serve_stale\n }");
	back = (struct back){ .act = FAIL, .rcode = DNS_RCODE_SERVFAIL };
	ask(f, "example.org.");
	advance_s(f, 10);
	AN("an example.org. 60 IN A 127.0.0.1");
	expect_has(ask(f, "example.org."), "SERVFAIL");
	fake_advance(f, 0);
	expect_has(ask(f, "example.org."), "127.0.0.1");
	fake_free(f);
}

/* A denial that has expired does not hide the answer that a refresh brought. */
static void refresh_drops_the_denial(void **state)
{
	(void)state;
	static const char *const modes[] = { "serve_stale", "serve_stale 1h verify",
					     "serve_stale 1h verify 1s" };
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		char options[64];
		snprintf(options, sizeof(options), "{\n %s\n }", modes[m]);
		struct fake *f = start(options);
		AN(SOA(60));
		back.rcode = DNS_RCODE_NXDOMAIN;
		ask(f, "example.org.");
		advance_s(f, 60);
		AN("an example.org. 60 IN A 127.0.0.1");
		ask(f, "example.org.");
		fake_advance(f, 0);
		for (int i = 0; i < 2; i++)
			expect_has(ask(f, "example.org."), "answer example.org. 60");
		assert_int_equal(back.asked, 1);
		fake_free(f);
	}
}

static void disabled_for_refreshes_too(void **state)
{
	(void)state;
	struct fake *f = start("{\n prefetch 1 1m 90%\n disable denial\n }");
	AN("an example.org. 60 IN A 127.0.0.1");
	ask(f, "example.org.");
	advance_s(f, 20);
	AN(SOA(60));
	back.rcode = DNS_RCODE_NXDOMAIN;
	ask(f, "example.org.");
	fake_advance(f, 0);
	assert_int_equal(back.asked, 1);
	expect_has(ask(f, "example.org."), "40 IN A 127.0.0.1");
	fake_free(f);
}

/* ---- serve_stale_policy prefer_positive ---- */

static void prefer_positive(void **state)
{
	(void)state;
	static const struct {
		uint16_t rcode;
		const char *rr;
	} rows[] = {
		{ DNS_RCODE_NXDOMAIN, SOA(60) },
		{ 0, SOA(60) },
		{ DNS_RCODE_SERVFAIL, NULL },
		{ 0, NULL },
		{ 0, "au example.org. 60 IN NS ns.x." },
		{ 0, "an x.example. 60 IN A 127.0.0.9" },
	};
	static const char *const modes[] = { "serve_stale", "serve_stale 1h verify",
					     "serve_stale 1h verify 1s" };
	for (size_t m = 0; m < ARRAY_LEN(modes); m++) {
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			char options[128];
			snprintf(options, sizeof(options),
				 "{\n %s\n serve_stale_policy prefer_positive\n }", modes[m]);
			struct fake *f = start(options);
			AN("an example.org. 60 IN A 127.0.0.1");
			ask(f, "example.org.");
			advance_s(f, 60);
			AN(rows[i].rr);
			back.rcode = rows[i].rcode;
			for (int k = 0; k < 3; k++) {
				expect_has(ask(f, "example.org."), " 0 IN A 127.0.0.1");
				fake_advance(f, 0);
			}
			/* Not beyond the hour. */
			advance_s(f, 3600);
			const char *r = ask(f, "example.org.");
			assert_true(r == NULL || strstr(r, "127.0.0.1") == NULL);
			/* An answer ends it. */
			AN("an example.org. 60 IN A 127.0.0.2");
			advance_s(f, 3700);
			ask(f, "example.org.");
			expect_has(ask(f, "example.org."), "60 IN A 127.0.0.2");
			fake_free(f);
		}
	}
}

/* ---- single-flight ---- */

static void one_asks_for_all(void **state)
{
	(void)state;
	struct fake *f = start("");
	AN("an example.org. 60 IN A 127.0.0.#");
	back.act = WAIT;
	for (int i = 0; i < 5; i++)
		assert_null(ask(f, "example.org."));
	assert_null(ask(f, "other.example."));
	assert_int_equal(back.asked, 2);
	let_go(f);
	for (int i = 0; i < 6; i++)
		assert_non_null(fake_next(f));
	assert_null(fake_next(f));
	assert_int_equal(back.asked, 2);
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* Whatever becomes of the leader, nobody is left waiting. */
static void leaders_that_fail(void **state)
{
	(void)state;
	static const struct {
		struct back b;
		unsigned asked; /* by the leader and three followers */
		bool replies;
	} rows[] = {
		{ { .act = FAIL, .rcode = DNS_RCODE_SERVFAIL }, 1, true }, /* stored */
		{ { .act = FAIL_QUIETLY, .rcode = DNS_RCODE_SERVFAIL }, 4, true },
		{ { .act = DROP }, 4, false },
		{ { .act = ANSWER, .rcode = DNS_RCODE_REFUSED }, 4, true },
		{ { .act = ANSWER, .flags = DNS_FLAG_TC }, 4, true },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = start("");
		back = (struct back){ .act = WAIT };
		for (int k = 0; k < 4; k++)
			assert_null(ask(f, "example.org."));
		assert_int_equal(back.asked, 1);
		struct query *leader = back.waiting[0];
		back = rows[i].b;
		back.asked = 1;
		query_resume(leader);
		fake_advance(f, 0);
		assert_int_equal(back.asked, rows[i].asked);
		for (int k = 0; k < 4; k++) {
			if (rows[i].replies)
				assert_non_null(fake_next(f));
			else
				assert_null(fake_next(f));
		}
		assert_int_equal(fake_inflight(f), 0);
		fake_free(f);
	}
}

/* A leader that takes too long is not waited for any longer. */
static void slow_leader(void **state)
{
	(void)state;
	struct fake *f = start("");
	AN("an example.org. 60 IN A 127.0.0.#");
	back.act = WAIT;
	ask(f, "example.org.");
	ask(f, "example.org.");
	assert_int_equal(back.asked, 1);
	struct query *leader = back.waiting[0];
	back.act = ANSWER;
	advance_s(f, 5);
	expect_has(fake_next(f), "127.0.0.2");
	query_resume(leader);
	fake_advance(f, 0);
	assert_non_null(fake_next(f));
	assert_int_equal(fake_inflight(f), 0);
	fake_free(f);
}

/* ---- reload ---- */

static void kept_over_reloads(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool kept[2]; /* example.org, corp.example */
	} rows[] = {
		{ ". {\n cache 60\n back x\n forward corp.example 192.0.2.1\n}\n", { true, true } },
		{ "# a remark\n. {\n back x\n forward corp.example 192.0.2.1\n cache 60\n}\n",
		  { true, true } },
		{ ". {\n cache 61\n back x\n forward corp.example 192.0.2.1\n}\n",
		  { false, false } },
		{ ". {\n cache 60\n back y\n forward corp.example 192.0.2.1\n}\n",
		  { false, false } },
		{ ". {\n cache 60\n back x\n forward corp.example 192.0.2.2\n}\n",
		  { true, false } },
		{ ". {\n cache 60\n back x\n}\n", { true, false } },
		{ ". {\n cache 60\n back x\n forward . 192.0.2.1\n}\n", { false, false } },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct fake *f = fake_new(rows[0].text);
		assert_non_null(f);
		AN("ad x. 60 IN A 127.0.0.#");
		ask(f, "example.org.");
		ask(f, "www.corp.example.");
		/* A file that is refused changes nothing. */
		assert_false(fake_reload(f, ". {\n cache 0\n}\n"));
		assert_true(fake_reload(f, rows[i].text));
		back.asked = 0;
		ask(f, "example.org.");
		assert_int_equal(back.asked, !rows[i].kept[0]);
		back.asked = 0;
		ask(f, "www.corp.example.");
		assert_int_equal(back.asked, !rows[i].kept[1]);
		fake_free(f);
	}
}

/* A query that was under way over the reload must not bring the old answer back. */
static void late_answers_of_the_old(void **state)
{
	(void)state;
	struct fake *f = fake_new(". {\n cache 60\n back\n forward corp.example 192.0.2.1\n}\n");
	AN("ad x. 60 IN A 127.0.0.#");
	back.act = WAIT;
	ask(f, "www.corp.example.");
	assert_true(fake_reload(f, ". {\n cache 60\n back\n forward corp.example 192.0.2.2\n}\n"));
	let_go(f);
	back.act = ANSWER;
	assert_non_null(fake_next(f));
	ask(f, "www.corp.example.");
	assert_int_equal(back.asked, 2);
	fake_free(f);
}

/* ---- our own options ---- */

static void nxdomain_cut(void **state)
{
	(void)state;
	for (int on = 0; on < 2; on++) {
		struct fake *f = start(on ? "{\n nxdomain_cut\n }" : "");
		AN(SOA(60));
		back.rcode = DNS_RCODE_NXDOMAIN;
		ask(f, "gone.example.org.");
		advance_s(f, 10);
		const char *r = ask(f, "a.b.Gone.example.org.");
		expect_has(r, "NXDOMAIN qr rd\nquestion a.b.Gone.example.org. IN A\nauthority "
			      "example.org. ");
		check_ttls("cut", r, on ? 50 : 60);
		assert_int_equal(back.asked, on ? 1 : 2);
		/* The name itself, of another type. */
		fake_ask(f, &(struct fake_ask){ .name = "gone.example.org.", .type = "MX" });
		assert_int_equal(back.asked, on ? 1 : 3);
		/* Neither what is above nor what is beside. */
		back.asked = 0;
		ask(f, "example.org.");
		ask(f, "notgone.example.org.");
		assert_int_equal(back.asked, on ? 1 : 2);
		/* NODATA cuts nothing. */
		back.rcode = 0;
		ask(f, "here.example.net.");
		back.asked = 0;
		ask(f, "below.here.example.net.");
		assert_int_equal(back.asked, 1);
		fake_free(f);
	}
}

static void options_of_our_own(void **state)
{
	(void)state;
	static const char *const good[] = { "1M", "1048576", "64M", "2G", "2048K" };
	static const char *const bad[] = { "",
					   "0",
					   "1",
					   "1023K",
					   "x",
					   "-5M",
					   "1T",
					   "5MB",
					   "2048G",
					   "1M 2M",
					   "999999999999999999999999999999G" };
	char text[128];
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		snprintf(text, sizeof(text), "{\n memory %s\n }", good[i]);
		fake_free(start(text));
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		snprintf(text, sizeof(text), ". {\n cache {\n memory %s\n }\n}\n", bad[i]);
		assert_null(fake_new(text));
	}
}

/* "Refuse, keep": a full cache stays bounded. */
static void full_cache(void **state)
{
	(void)state;
	struct fake *f = start("full.example {\n success 1024\n memory 2M\n }");
	AN("ad x. 60 IN A 127.0.0.1");
	for (int i = 0; i < 5000; i++) {
		char name[40];
		snprintf(name, sizeof(name), "n%d.full.example.", i);
		assert_non_null(ask(f, name));
	}
	const char *labels = "{server=\"dns://:53\",type=\"success\",view=\"\","
			     "zones=\"full.example.\"}";
	char metric[128];
	snprintf(metric, sizeof(metric), "coredns_cache_entries%s", labels);
	assert_in_range(fake_metric(f, metric), 800, 1024);
	snprintf(metric, sizeof(metric), "coredns_cache_evictions_total%s", labels);
	assert_in_range(fake_metric(f, metric), 3500, 5000 - 800);
	fake_free(f);
}

/* ---- metrics ---- */

static void metrics(void **state)
{
	(void)state;
	struct fake *f = start("m.example {\n serve_stale\n }");
	AN("an a.m.example. 60 IN A 127.0.0.1");
	for (int i = 0; i < 3; i++)
		ask(f, "a.m.example.");
	AN(SOA(60));
	back.rcode = DNS_RCODE_NXDOMAIN;
	for (int i = 0; i < 2; i++)
		ask(f, "b.m.example.");
	ask(f, "elsewhere.");
	advance_s(f, 100);
	ask(f, "b.m.example.");
	static const struct {
		const char *name, *type;
		double value;
	} rows[] = {
		{ "requests_total", "", 6 },
		{ "misses_total", "", 2 },
		{ "hits_total", "type=\"success\",", 2 },
		{ "hits_total", "type=\"denial\",", 2 },
		{ "served_stale_total", "", 1 },
		{ "prefetch_total", "", 1 },
		{ "entries", "type=\"success\",", 1 },
		{ "entries", "type=\"denial\",", 1 },
		{ "drops_total", "", -1 },
		{ "evictions_total", "type=\"success\",", -1 },
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		char line[160];
		snprintf(line, sizeof(line),
			 "coredns_cache_%s{server=\"dns://:53\",%sview=\"\",zones=\"m.example.\"}",
			 rows[i].name, rows[i].type);
		if (fake_metric(f, line) != rows[i].value)
			fail_msg("%s: %g instead of %g", line, fake_metric(f, line), rows[i].value);
	}
	fake_free(f);
}

/* A hit asks for no memory but the query's own, whatever the size; beyond a UDP reply it is cut. */
static void large_replies(void **state)
{
	(void)state;
	struct fake *f = start("");
	AN("an example.org. 60 IN TXT "
	   "012345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789",
	   "an example.org. 60 IN TXT "
	   "112345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789",
	   "an example.org. 60 IN TXT "
	   "212345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789",
	   "an example.org. 60 IN TXT "
	   "312345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789",
	   "an example.org. 60 IN TXT "
	   "412345678901234567890123456789012345678901234567890123456789012345678901234567890123456"
	   "7890"
	   "123456789");
	struct fake_ask small = { .type = "TXT" }, large = { .type = "TXT", .udp_size = 1232 };
	for (int i = 0; i < 2; i++) {
		expect_has(fake_ask(f, &small), "NOERROR qr tc rd\n");
		const char *r = fake_ask(f, &large);
		expect_has(r, "NOERROR qr rd\n");
		expect_has(r, "\"41234");
	}
	assert_int_equal(back.asked, 1);
	fake_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(insertion_table),
		cmocka_unit_test(chains_have_an_end),
		cmocka_unit_test(ttl_table),
		cmocka_unit_test(keepttl),
		cmocka_unit_test(separation),
		cmocka_unit_test(bits_of_replies),
		cmocka_unit_test(ad_is_not_part_of_the_key),
		cmocka_unit_test(opt_is_left_out),
		cmocka_unit_test(case_of_hits),
		cmocka_unit_test(disabled_for_refreshes_too),
		cmocka_unit_test(other_opcodes_and_zones_pass),
		cmocka_unit_test(malformed_replies),
		cmocka_unit_test(failures),
		cmocka_unit_test(failure_yields_to_an_answer),
		cmocka_unit_test(prefetches),
		cmocka_unit_test(prefetch_counts_hits),
		cmocka_unit_test(prefetch_once),
		cmocka_unit_test(stale_immediately),
		cmocka_unit_test(stale_table),
		cmocka_unit_test(refresh_table),
		cmocka_unit_test(verify_times_out),
		cmocka_unit_test(verify_is_shared),
		cmocka_unit_test(recheck),
		cmocka_unit_test(stale_failure),
		cmocka_unit_test(refresh_drops_the_denial),
		cmocka_unit_test(prefer_positive),
		cmocka_unit_test(one_asks_for_all),
		cmocka_unit_test(leaders_that_fail),
		cmocka_unit_test(slow_leader),
		cmocka_unit_test(kept_over_reloads),
		cmocka_unit_test(late_answers_of_the_old),
		cmocka_unit_test(nxdomain_cut),
		cmocka_unit_test(options_of_our_own),
		cmocka_unit_test(full_cache),
		cmocka_unit_test(metrics),
		cmocka_unit_test(large_replies),
	};
	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
