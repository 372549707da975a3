/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The socket for NOTIFYs: both protocols, floods, idle and greedy connections. */
#include "controller/dnsrecord/notify/listener.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/clock_test.h"
#include "base/mem.h"
#include "dns/tsig/tsig.h"
#include "net/sock.h"

static uint64_t now_ns = 1000 * NS_PER_S;
static uint64_t read_clock(void)
{
	return now_ns;
}
static const struct clock_source test_clock = { read_clock, read_clock };

static size_t counted[DNSRECORD_NOTIFY_REFUSED + 1];

struct rig {
	struct loop *loop;
	union net_addr addr;
	struct dnsrecord_notify_listener *listener;
	unsigned n_changed;
	const char *gone; /* an account; NULL: none is */
};

static bool has_zone(void *ctx, const char *zone)
{
	(void)ctx;
	return strcmp(zone, "example.test") == 0;
}

static bool has_account(void *ctx, const char *account)
{
	const struct rig *rig = ctx;
	return rig->gone == NULL || strcmp(rig->gone, account) != 0;
}

static void on_changed(void *ctx, const char *zone)
{
	assert_string_equal(zone, "example.test");
	((struct rig *)ctx)->n_changed++;
}

static void count_result(enum dnsrecord_notify_result result)
{
	counted[result]++;
}

static int open_listener(struct rig *rig, struct dnsrecord_notify_listener **ret,
			 struct err_text err)
{
	return dnsrecord_notify_listener_open(
		&(struct dnsrecord_notify_listener_conf){ .loop = rig->loop,
							  .addr = rig->addr,
							  .has_zone = has_zone,
							  .has_account = has_account,
							  .changed = on_changed,
							  .count = count_result,
							  .ctx = rig },
		ret, err);
}

static void rig_open(struct rig *rig)
{
	char err[200] = "";
	clock_set_source(&test_clock);
	memset(counted, 0, sizeof(counted));
	*rig = (struct rig){ .loop = loop_new() };
	assert_int_equal(net_addr_parse(SLICE("127.0.0.1:1"), &rig->addr), 0);
	assert_int_equal(net_sock_draw(&rig->addr), 0);
	if (open_listener(rig, &rig->listener, ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
}

static void rig_close(struct rig *rig)
{
	dnsrecord_notify_listener_close(rig->listener);
	loop_free(rig->loop);
	clock_set_source(NULL);
}

static void turn(struct rig *rig, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		loop_turn(rig->loop, false);
}

static void pass_time(struct rig *rig, uint64_t time_ns)
{
	now_ns += time_ns;
	turn(rig, 3);
}

static int connect_to(const struct rig *rig, int type)
{
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, &rig->addr.sa, net_addr_len(&rig->addr)), 0);
	return fd;
}

static size_t make_notify(uint8_t out[DNS_QUERY_MAX])
{
	uint8_t zone[DNS_NAME_MAX];
	assert_true(dns_name_from_text(SLICE("example.test"), zone) > 0);
	return dns_message_query(out, 7, DNS_OPCODE_NOTIFY << 11 | DNS_FLAG_AA, zone, DNS_TYPE_SOA);
}

static ssize_t receive(int fd, uint8_t *out, size_t size)
{
	return recv(fd, out, size, MSG_DONTWAIT);
}

static void datagrams(void **state)
{
	uint8_t msg[DNS_QUERY_MAX], reply[512], large[DNSRECORD_NOTIFY_MAX + 1] = { 0 };
	struct rig rig;
	(void)state;
	rig_open(&rig);
	size_t n = make_notify(msg);
	int fd = connect_to(&rig, SOCK_DGRAM);
	assert_int_equal(send(fd, msg, n, 0), n);
	memcpy(large, msg, n);
	assert_int_equal(send(fd, large, sizeof(large), 0), sizeof(large)); /* is not read */
	assert_int_equal(send(fd, "", 0, 0), 0);
	turn(&rig, 3);
	assert_int_equal(rig.n_changed, 1);
	assert_int_equal(receive(fd, reply, sizeof(reply)), n);
	assert_int_equal(receive(fd, reply, sizeof(reply)), -1);
	close(fd);
	rig_close(&rig);
}

/* A tenth of a second has its share of a flood, and the next one the next. */
static void floods_are_limited(void **state)
{
	enum { MANY = 600, SHARE = DNSRECORD_NOTIFY_PER_S / 10 };
	uint8_t msg[DNS_QUERY_MAX];
	struct rig rig;
	(void)state;
	rig_open(&rig);
	size_t n = make_notify(msg);
	int fd = connect_to(&rig, SOCK_DGRAM);
	for (unsigned i = 0; i < MANY; i++)
		assert_int_equal(send(fd, msg, n, 0), n);
	turn(&rig, 20);
	assert_int_equal(rig.n_changed, SHARE);
	pass_time(&rig, NS_PER_S / 20);
	assert_int_equal(rig.n_changed, SHARE);
	pass_time(&rig, NS_PER_S / 20);
	assert_int_equal(rig.n_changed, 2 * SHARE);
	pass_time(&rig, NS_PER_S / 10);
	assert_int_equal(counted[DNSRECORD_NOTIFY_ACCEPTED], MANY);
	close(fd);
	rig_close(&rig);
}

static size_t make_frame(uint8_t *out)
{
	size_t n = make_notify(out + 2);
	dns_put16(out, (uint16_t)n);
	return 2 + n;
}

/* In pieces, and two at once. */
static void connections(void **state)
{
	uint8_t frames[2 * (2 + DNS_QUERY_MAX)], reply[1024];
	struct rig rig;
	(void)state;
	rig_open(&rig);
	size_t n = make_frame(frames);
	n += make_frame(frames + n);
	int fd = connect_to(&rig, SOCK_STREAM);
	for (size_t i = 0; i < n / 2 - 1; i++) {
		assert_int_equal(send(fd, frames + i, 1, 0), 1);
		turn(&rig, 2);
	}
	assert_int_equal(rig.n_changed, 0);
	size_t rest = n - (n / 2 - 1);
	assert_int_equal(send(fd, frames + n / 2 - 1, rest, 0), rest);
	turn(&rig, 3);
	assert_int_equal(rig.n_changed, 2);
	assert_int_equal(receive(fd, reply, sizeof(reply)), n);
	assert_int_equal(dns_get16(reply), n / 2 - 2);
	/* One that announces too much is closed, and so is one that has nothing to say. */
	memset(frames, 0xff, 2);
	assert_int_equal(send(fd, frames, 2, 0), 2);
	int idle = connect_to(&rig, SOCK_STREAM);
	turn(&rig, 3);
	assert_int_equal(receive(idle, reply, sizeof(reply)), -1);
	pass_time(&rig, 5 * NS_PER_S);
	assert_int_equal(receive(fd, reply, sizeof(reply)), 0);
	assert_int_equal(receive(idle, reply, sizeof(reply)), 0);
	close(fd);
	close(idle);
	rig_close(&rig);
}

static void oldest_connection_ends(void **state)
{
	int fds[DNSRECORD_NOTIFY_CONNECTIONS + 2];
	uint8_t frame[2 + DNS_QUERY_MAX], reply[512];
	struct rig rig;
	(void)state;
	rig_open(&rig);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		fds[i] = connect_to(&rig, SOCK_STREAM);
		turn(&rig, 2);
	}
	assert_int_equal(receive(fds[0], reply, sizeof(reply)), 0);
	assert_int_equal(receive(fds[1], reply, sizeof(reply)), 0);
	assert_int_equal(receive(fds[2], reply, sizeof(reply)), -1);
	size_t n = make_frame(frame);
	assert_int_equal(send(fds[ARRAY_LEN(fds) - 1], frame, n, 0), n);
	turn(&rig, 2);
	assert_int_equal(rig.n_changed, 1);
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		close(fds[i]);
	rig_close(&rig);
}

static void make_key(struct dns_tsig_key *key, const char *name, unsigned char secret)
{
	char text[64], err[200];
	snprintf(text, sizeof(text), "%s:AAECAwQFBgcICQoLDA0ODw==", name);
	assert_int_equal(dns_tsig_key_parse(key, slice_of(text), ERR_TEXT(err)), 0);
	key->secret.p[0] = (char)secret;
}

static void learn(struct rig *rig, const char *account, const char *name, unsigned char secret)
{
	struct dns_tsig_key key = { 0 };
	make_key(&key, name, secret);
	dnsrecord_notify_listener_learn(rig->listener, "example.test", account, &key);
	dns_tsig_key_done(&key);
}

/* Sends a NOTIFY that is signed so, which counts in any case. Was the signature accepted? 0, or the error. */
static uint16_t send_signed(struct rig *rig, const char *name, unsigned char secret)
{
	uint8_t msg[DNSRECORD_NOTIFY_MAX], reply[DNSRECORD_NOTIFY_REPLY_MAX];
	struct dns_tsig_key key = { 0 };
	struct dns_tsig tsig = { .key = &key };
	unsigned n_changed = rig->n_changed;
	make_key(&key, name, secret);
	int n = dns_tsig_sign_request(&tsig, msg, make_notify(msg), sizeof(msg), now_ns / NS_PER_S);
	int fd = connect_to(rig, SOCK_DGRAM);
	assert_int_equal(send(fd, msg, (size_t)n, 0), n);
	turn(rig, 2);
	ssize_t got = receive(fd, reply, sizeof(reply));
	assert_true(got > 0);
	struct dns_tsig_report report =
		dns_tsig_verify_answer(&tsig, reply, (size_t)got, now_ns / NS_PER_S);
	assert_int_equal(report.result, report.error == 0 ? DNS_TSIG_OK : DNS_TSIG_REJECTED);
	assert_int_equal(rig->n_changed, n_changed + 1);
	dns_tsig_done(&tsig);
	dns_tsig_key_done(&key);
	close(fd);
	return report.error;
}

/* Two servers of one zone may have different secrets of one name. */
static void accounts_have_keys(void **state)
{
	struct rig rig;
	(void)state;
	rig_open(&rig);
	learn(&rig, "inside", "k.key", 1);
	learn(&rig, "outside", "k.key", 2);
	assert_int_equal(send_signed(&rig, "k.key", 1), 0);
	assert_int_equal(send_signed(&rig, "k.key", 2), 0);
	assert_int_equal(send_signed(&rig, "k.key", 3), DNS_TSIG_ERROR_BADSIG);
	assert_int_equal(send_signed(&rig, "other.key", 1), DNS_TSIG_ERROR_BADKEY);
	assert_int_equal(counted[DNSRECORD_NOTIFY_BAD_SIGNATURE], 1);
	/* Another secret replaces that of its account. */
	learn(&rig, "outside", "k.key", 3);
	assert_int_equal(send_signed(&rig, "k.key", 3), 0);
	assert_int_equal(send_signed(&rig, "k.key", 2), DNS_TSIG_ERROR_BADSIG);
	assert_int_equal(send_signed(&rig, "k.key", 1), 0);
	dnsrecord_notify_listener_learn(rig.listener, "example.test", "inside", NULL);
	dnsrecord_notify_listener_learn(rig.listener, "other.test", "inside", NULL);
	assert_int_equal(send_signed(&rig, "k.key", 1), DNS_TSIG_ERROR_BADSIG);
	rig_close(&rig);
}

/* Equal ones of many accounts are one; there is a limit to different ones, until accounts are gone. */
static void keys_are_limited(void **state)
{
	char account[32];
	struct rig rig;
	(void)state;
	rig_open(&rig);
	for (unsigned i = 0; i < 100; i++) {
		snprintf(account, sizeof(account), "same%u", i);
		learn(&rig, account, "k.key", 1);
	}
	for (unsigned i = 1; i <= DNSRECORD_NOTIFY_KEYS; i++) {
		snprintf(account, sizeof(account), "other%u", i);
		learn(&rig, account, "k.key", (unsigned char)(1 + i));
	}
	assert_int_equal(send_signed(&rig, "k.key", 1), 0);
	assert_int_equal(send_signed(&rig, "k.key", DNSRECORD_NOTIFY_KEYS), 0);
	assert_int_equal(send_signed(&rig, "k.key", DNSRECORD_NOTIFY_KEYS + 1),
			 DNS_TSIG_ERROR_BADSIG);
	rig.gone = "same0";
	learn(&rig, account, "k.key", DNSRECORD_NOTIFY_KEYS + 1);
	assert_int_equal(send_signed(&rig, "k.key", DNSRECORD_NOTIFY_KEYS + 1), 0);
	assert_int_equal(send_signed(&rig, "k.key", 1), DNS_TSIG_ERROR_BADSIG);
	/* Without a new one they are dropped, too. */
	rig.gone = "other1";
	assert_int_equal(send_signed(&rig, "k.key", 2), 0);
	pass_time(&rig, 60 * NS_PER_S);
	assert_int_equal(send_signed(&rig, "k.key", 2), DNS_TSIG_ERROR_BADSIG);
	rig_close(&rig);
}

static void expect_taken(struct rig *rig)
{
	struct dnsrecord_notify_listener *second = NULL;
	char err[200] = "", text[NET_ADDR_TEXT_MAX], expected[200];
	if (open_listener(rig, &second, ERR_TEXT(err)) != -EADDRINUSE)
		fail_msg("opened a second time");
	net_addr_str(&rig->addr, text);
	snprintf(expected, sizeof(expected),
		 "cannot listen for NOTIFY on %s: Address already in use", text);
	assert_string_equal(err, expected);
}

/* Opens a listener of all addresses when a socket of its port is closed, and not before. False: another process got
 * the port meanwhile. */
static bool opens_after_socket(bool tcp)
{
	struct rig rig;
	char err[200] = "";
	int opened = -EADDRINUSE;
	rig_open(&rig);
	dnsrecord_notify_listener_close(rig.listener);
	rig.listener = NULL;
	int fd = tcp ? net_sock_tcp(&rig.addr, 1) : net_sock_udp(&rig.addr);
	uint16_t port = net_addr_port(&rig.addr);
	assert_int_equal(net_addr_parse(SLICE("[::]:1"), &rig.addr), 0);
	net_addr_set_port(&rig.addr, port);
	if (fd >= 0) {
		expect_taken(&rig);
		close(fd);
		opened = open_listener(&rig, &rig.listener, ERR_TEXT(err));
	}
	if (opened == 0)
		expect_taken(&rig);
	else
		assert_int_equal(opened, -EADDRINUSE);
	rig_close(&rig);
	return opened == 0;
}

/* By sockets that would share it, of this address or of all. */
static void port_is_taken(void **state)
{
	static const char *const addresses[] = { "127.0.0.1:1", "0.0.0.0:1", "[::]:1" };
	struct rig rig;
	(void)state;
	rig_open(&rig);
	expect_taken(&rig);
	uint16_t port = net_addr_port(&rig.addr);
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		assert_int_equal(net_addr_parse(slice_of(addresses[i]), &rig.addr), 0);
		net_addr_set_port(&rig.addr, port);
		expect_taken(&rig);
	}
	rig_close(&rig);
	/* All addresses, and one of UDP or TCP alone. */
	for (size_t i = 0; i < 2; i++) {
		bool opened = false;
		for (int tries = 0; tries < 10 && !opened; tries++)
			opened = opens_after_socket(i == 0);
		assert_true(opened);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(datagrams),	      cmocka_unit_test(floods_are_limited),
		cmocka_unit_test(connections),	      cmocka_unit_test(oldest_connection_ends),
		cmocka_unit_test(accounts_have_keys), cmocka_unit_test(keys_are_limited),
		cmocka_unit_test(port_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
