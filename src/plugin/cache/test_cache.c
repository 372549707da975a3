/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cache keeps, as what, under which key, and how a hit looks. The tables hold what CoreDNS's
 * own tests of its cache ask for. */
#include "plugin/cache/test_back.h"

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

/* The longest names, as question, owner and target, answered and denied. */
static void longest_names_are_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < LONGEST_NAMES; i++) {
		char alias[700], address[400], soa[600];
		const char *name = longest_names[i];
		snprintf(alias, sizeof(alias), "an %s 300 IN CNAME %s", name, longest_names[0]);
		snprintf(address, sizeof(address), "an %s 300 IN A 127.0.0.1", name);
		snprintf(soa, sizeof(soa), "au %s 300 IN SOA %s a. 1 2 3 4 5", name, name);
		const struct insertion rows[] = {
			{ "A of a long name", name, "A", .rr = { address }, .stored = true,
			  .ttl = 300 },
			{ "CNAME of a long name", name, "CNAME", .rr = { alias }, .stored = true,
			  .ttl = 300 },
			{ "NXDOMAIN of a long name", name, "A", .rcode = DNS_RCODE_NXDOMAIN,
			  .rr = { soa }, .stored = true, .ttl = 300 },
		};
		for (size_t k = 0; k < ARRAY_LEN(rows); k++) {
			check_insertion(&rows[k], false);
			check_insertion(&rows[k], true);
		}
	}
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
		{ "", FAIL_LIMIT, DNS_RCODE_SERVFAIL, 2 },
		{ "", ANSWER, DNS_RCODE_SERVFAIL, 1 },
		{ "", ANSWER_LIMIT, DNS_RCODE_SERVFAIL, 2 },
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(insertion_table),
		cmocka_unit_test(longest_names_are_kept),
		cmocka_unit_test(chains_have_an_end),
		cmocka_unit_test(ttl_table),
		cmocka_unit_test(keepttl),
		cmocka_unit_test(separation),
		cmocka_unit_test(bits_of_replies),
		cmocka_unit_test(ad_is_not_part_of_the_key),
		cmocka_unit_test(opt_is_left_out),
		cmocka_unit_test(case_of_hits),
		cmocka_unit_test(other_opcodes_and_zones_pass),
		cmocka_unit_test(malformed_replies),
		cmocka_unit_test(failures),
		cmocka_unit_test(failure_yields_to_an_answer),
	};
	return cmocka_run_group_tests_name("cache", tests, NULL, NULL);
}
