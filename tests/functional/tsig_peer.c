/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Speaks TSIG with real servers and clients, for test_tsig.py:
 *
 *   tsig-peer update SERVER KEY tcp|udp SKEW ZONE < CHANGES   one signed UPDATE
 *   tsig-peer query  SERVER KEY tcp|udp SKEW NAME TYPE        one signed query
 *   tsig-peer axfr   SERVER KEY SKEW ZONE                     a signed transfer
 *   tsig-peer serve  SERVER KEY SKEW                          answers signed requests over UDP
 *
 * SERVER is ADDRESS:PORT; KEY is ALGORITHM:NAME:SECRET, or `-` for an update or a query without;
 * SKEW is by how many seconds our clock is wrong. CHANGES are lines: `require NAME [TYPE [RDATA]]`,
 * `forbid NAME [TYPE]`, `delete NAME [TYPE [RDATA]]`, `add NAME TTL TYPE RDATA`. Prints `ok RCODE`,
 * or `error SENTENCE` and exits 1. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/mem.h"
#include "dns/message.h"
#include "dns/rrtext/rrtext.h"
#include "dns/tsig/explain.h"
#include "dns/tsig/server.h"
#include "dns/update_test.h"
#include "net/loop.h"
#include "net/sock.h"
#include "resolve/resolver.h"
#include "resolve/signed.h"
#include "resolve/upstream.h"

enum { MESSAGE_MAX = 65535, LINE_MAX_BYTES = 4096, WAIT_S = 10 };

static int64_t skew_s;

static uint64_t mono_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t wall_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)((int64_t)now.tv_sec + skew_s) * NS_PER_S;
}

static uint64_t now_s(void)
{
	return wall_ns() / NS_PER_S;
}

static NORETURN void die(const char *what, const char *why)
{
	printf("error %s: %s\n", what, why);
	exit(1);
}

static void read_key(struct dns_tsig_key *key, const char *text)
{
	char why[256];
	if (dns_tsig_key_parse(key, slice_of(text), ERR_TEXT(why)) < 0)
		die("key", why);
}

static union net_addr read_address(const char *text)
{
	union net_addr addr;
	if (net_addr_parse(slice_of(text), &addr) < 0)
		die("address", text);
	return addr;
}

static void read_name(const char *text, uint8_t name[DNS_NAME_MAX])
{
	if (dns_name_from_text(slice_of(text), name) < 0)
		die("name", text);
}

static uint16_t read_type(const char *text)
{
	int type = dns_type_parse(slice_of(text), true);
	if (type < 0)
		die("type", text);
	return (uint16_t)type;
}

/* ---- update ---- */

/* The record of "NAME TTL TYPE RDATA". */
static struct dns_rr read_record(struct arena *arena, const char *name, const char *ttl,
				 const char *type, const char *rdata)
{
	struct dns_rrtext *parser = dns_rrtext_new();
	struct dns_rr rr;
	char *text = xasprintf("%s %s IN %s %s", name, ttl, type, rdata);
	if (dns_rrtext_parse(parser, slice_of(text), arena, &rr) < 0)
		die(text, dns_rrtext_error(parser));
	free(text);
	dns_rrtext_free(parser);
	return rr;
}

static int change(struct dns_update *u, struct arena *arena, char *line)
{
	char *rest = NULL;
	const char *verb = strtok_r(line, " \n", &rest), *owner = strtok_r(NULL, " \n", &rest);
	uint8_t name[DNS_NAME_MAX];
	if (verb == NULL || owner == NULL)
		die("line", "too short");
	bool add = strcmp(verb, "add") == 0;
	const char *ttl = add ? strtok_r(NULL, " \n", &rest) : "0";
	const char *type_text = strtok_r(NULL, " \n", &rest), *rdata = strtok_r(NULL, "\n", &rest);
	read_name(owner, name);
	uint16_t type = type_text != NULL ? read_type(type_text) : DNS_TYPE_ANY;
	struct dns_rr rr = { 0 };
	if (rdata != NULL)
		rr = read_record(arena, owner, ttl, type_text, rdata);
	struct dns_update_rdata data = { rr.rdata, rr.rdlen };
	if (add)
		return dns_update_add(u, name, type, rr.ttl, data);
	if (strcmp(verb, "require") == 0)
		return rdata != NULL	   ? dns_update_require_record(u, name, type, data)
		       : type_text != NULL ? dns_update_require_rrset(u, name, type)
					   : dns_update_require_name(u, name);
	if (strcmp(verb, "forbid") == 0)
		return type_text != NULL ? dns_update_forbid_rrset(u, name, type)
					 : dns_update_forbid_name(u, name);
	if (strcmp(verb, "delete") == 0)
		return rdata != NULL	   ? dns_update_delete_record(u, name, type, data)
		       : type_text != NULL ? dns_update_delete_rrset(u, name, type)
					   : dns_update_delete_name(u, name);
	die("verb", verb);
}

static size_t write_update(uint8_t *msg, const char *zone_text)
{
	struct dns_update u;
	struct arena arena;
	uint8_t zone[DNS_NAME_MAX];
	char line[LINE_MAX_BYTES];
	arena_init(&arena);
	read_name(zone_text, zone);
	if (dns_update_start(&u, msg, MESSAGE_MAX - DNS_TSIG_RECORD_MAX, zone, DNS_CLASS_IN) < 0)
		die("update", "no room");
	while (fgets(line, sizeof(line), stdin) != NULL) {
		if (change(&u, &arena, line) < 0)
			die("update", "no room, or a name outside of the zone");
	}
	arena_done(&arena);
	return u.n;
}

/* ---- one exchange ---- */

struct asking {
	struct resolve_signed s;
	bool armed, done;
	int status;
};

static void mark_armed(void *ctx)
{
	((struct asking *)ctx)->armed = true;
}

static void on_answer(struct resolve_signed *s)
{
	struct asking *a = CONTAINER_OF(s, struct asking, s);
	char why[512], number[DNS_MNEMONIC_MAX];
	a->done = true;
	a->status = resolve_signed_result(s, ERR_TEXT(why)) < 0;
	if (a->status != 0)
		printf("error %s\n", why);
	else
		printf("ok %s\n", dns_rcode_str(s->exchange.reply[3] & 0xf, number));
}

static int exchange(const char *server, const struct dns_tsig_key *key, bool tcp, uint8_t *msg,
		    size_t n)
{
	struct asking a = { 0 };
	struct loop *loop = loop_new();
	struct resolve_upstream *up =
		resolve_upstream_new(&(struct resolve_conf){ .addr = read_address(server) });
	struct resolver *r = resolver_new(&(struct resolver_env){
		.loop = loop, .ops = &net_ops_kernel, .arm = mark_armed, .ctx = &a });
	a.s = (struct resolve_signed){
		.exchange = { .up = up,
			      .msg = msg,
			      .msg_n = (uint16_t)n,
			      .tcp = tcp,
			      .deadline_ns = loop_now(loop) + WAIT_S * NS_PER_S },
		.msg_cap = MESSAGE_MAX,
		.key = key->algorithm != NULL ? key : NULL,
		.done = on_answer,
	};
	if (resolve_signed_start(r, &a.s) < 0)
		die("signing", "no room");
	while (!a.done) {
		if (a.armed) {
			a.armed = false;
			resolver_flush(r);
		} else {
			loop_turn(loop, true);
		}
	}
	resolver_free(r);
	resolve_upstream_unref(up);
	loop_free(loop);
	return a.status;
}

static int run_exchange(char **argv, bool update)
{
	uint8_t *msg = xmalloc(MESSAGE_MAX), name[DNS_NAME_MAX];
	struct dns_tsig_key key = { 0 };
	if (strcmp(argv[3], "-") != 0)
		read_key(&key, argv[3]);
	skew_s = strtol(argv[5], NULL, 10);
	size_t n;
	if (update) {
		n = write_update(msg, argv[6]);
	} else {
		read_name(argv[6], name);
		n = dns_message_query(msg, 7, 0, name, read_type(argv[7]));
	}
	int status = exchange(argv[2], &key, strcmp(argv[4], "tcp") == 0, msg, n);
	dns_tsig_key_done(&key);
	free(msg);
	return status;
}

/* ---- transfer: blocking, since exchanges have one answer ---- */

static void read_exactly(int fd, uint8_t *out, size_t n)
{
	for (ssize_t got; n > 0; out += got, n -= (size_t)got) {
		got = read(fd, out, n);
		if (got <= 0)
			die("transfer", got == 0 ? "closed" : strerror(errno));
	}
}

static unsigned count_soas(const uint8_t *msg, size_t len)
{
	struct dns_tsig_record unused;
	unsigned soas = 0, left = dns_get16(msg + 6);
	int at = DNS_HEADER_BYTES;
	if (dns_tsig_record_find(msg, len, &unused) < 0)
		die("transfer", "malformed");
	if (dns_get16(msg + 4) == 1)
		at = dns_name_skip(msg, len, DNS_HEADER_BYTES) + 4;
	for (; left > 0; left--) {
		at = dns_name_skip(msg, len, (size_t)at);
		soas += dns_get16(msg + at) == DNS_TYPE_SOA;
		at += 10 + dns_get16(msg + at + 8);
	}
	return soas;
}

static int run_axfr(char **argv)
{
	union net_addr addr = read_address(argv[2]);
	uint8_t *msg = xmalloc(MESSAGE_MAX + 2), name[DNS_NAME_MAX];
	struct dns_tsig_key key = { 0 };
	struct dns_tsig tsig = { .key = &key };
	unsigned soas = 0, messages = 0, records = 0, pending = 0;
	int fd = socket(addr.family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	read_key(&key, argv[3]);
	skew_s = strtol(argv[4], NULL, 10);
	read_name(argv[5], name);
	int n = dns_tsig_sign_request(&tsig, msg + 2,
				      dns_message_query(msg + 2, 9, 0, name, DNS_TYPE_AXFR), 1000,
				      now_s());
	dns_put16(msg, (uint16_t)n);
	if (connect(fd, &addr.sa, net_addr_len(&addr)) < 0 ||
	    write(fd, msg, (size_t)n + 2) != n + 2)
		die("transfer", strerror(errno));
	while (soas < 2) {
		char why[256];
		read_exactly(fd, msg, 2);
		size_t len = dns_get16(msg);
		read_exactly(fd, msg, len);
		struct dns_tsig_report report = dns_tsig_verify_answer(&tsig, msg, len, now_s());
		dns_tsig_explain(&key, &report, now_s(), ERR_TEXT(why));
		if (report.result != DNS_TSIG_OK && report.result != DNS_TSIG_PENDING)
			die("transfer", why);
		pending += report.result == DNS_TSIG_PENDING;
		messages++;
		records += dns_get16(msg + 6);
		soas += count_soas(msg, len);
	}
	bool complete = dns_tsig_is_complete(&tsig);
	printf("%s %u records, %u messages, %u unsigned\n",
	       complete ? "ok" : "error incomplete:", records, messages, pending);
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
	close(fd);
	free(msg);
	return !complete;
}

/* ---- serve ---- */

static size_t answer(const struct dns_tsig_key *key, uint8_t *msg, size_t n, size_t cap)
{
	struct dns_tsig tsig = { 0 };
	struct dns_tsig_report report = dns_tsig_verify_request(&tsig, key, 1, msg, n, now_s());
	int end = dns_name_skip(msg, n, DNS_HEADER_BYTES);
	size_t len = dns_get16(msg + 4) == 1 && end > 0 ? (size_t)end + 4 : DNS_HEADER_BYTES;
	bool is_signed = report.result != DNS_TSIG_UNSIGNED && report.result != DNS_TSIG_MALFORMED;
	uint8_t rcode = report.result == DNS_TSIG_OK	     ? DNS_RCODE_NOERROR
			: report.result == DNS_TSIG_UNSIGNED ? DNS_RCODE_REFUSED
			: is_signed			     ? DNS_RCODE_NOTAUTH
							     : DNS_RCODE_FORMERR;
	dns_put16(msg + 2,
		  (uint16_t)(DNS_FLAG_QR | DNS_FLAG_AA | (dns_get16(msg + 2) & 0x7900) | rcode));
	memset(msg + 6, 0, 6);
	int r = is_signed ? dns_tsig_sign_answer(&tsig, msg, len, cap, now_s()) : (int)len;
	dns_tsig_done(&tsig);
	return r < 0 ? 0 : (size_t)r;
}

static int run_serve(char **argv)
{
	union net_addr addr = read_address(argv[2]), from;
	uint8_t *msg = xmalloc(MESSAGE_MAX);
	struct dns_tsig_key key = { 0 };
	int fd = socket(addr.family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	read_key(&key, argv[3]);
	skew_s = strtol(argv[4], NULL, 10);
	if (bind(fd, &addr.sa, net_addr_len(&addr)) < 0)
		die("bind", strerror(errno));
	puts("ready");
	fflush(stdout);
	for (;;) {
		socklen_t from_n = sizeof(from);
		ssize_t n = recvfrom(fd, msg, MESSAGE_MAX, 0, &from.sa, &from_n);
		if (n < DNS_HEADER_BYTES)
			continue;
		size_t len = answer(&key, msg, (size_t)n, MESSAGE_MAX);
		if (len > 0 && sendto(fd, msg, len, 0, &from.sa, from_n) < 0)
			die("send", strerror(errno));
	}
}

int main(int argc, char **argv)
{
	static const struct clock_source clocks = { mono_ns, wall_ns };
	clock_set_source(&clocks);
	if (argc == 7 && strcmp(argv[1], "update") == 0)
		return run_exchange(argv, true);
	if (argc == 8 && strcmp(argv[1], "query") == 0)
		return run_exchange(argv, false);
	if (argc == 6 && strcmp(argv[1], "axfr") == 0)
		return run_axfr(argv);
	if (argc == 5 && strcmp(argv[1], "serve") == 0)
		return run_serve(argv);
	fputs("usage: see the first comment of tests/functional/tsig_peer.c\n", stderr);
	return 64;
}
