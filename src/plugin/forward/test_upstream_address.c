/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of upstreams: what they mean, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "plugin/forward/upstream_address.h"

static const char *const transports[] = { "dns", "tls", "https" };

/* "address tls 127.0.0.1:853 name", "other dns host:53 name", or the error. */
static const char *show(const char *text)
{
	static char out[700];
	char err[FORWARD_ERR_MAX], addr[NET_ADDR_TEXT_MAX];
	struct forward_address t;
	if (forward_address_parse(slice_of(text), &t, err) < 0) {
		snprintf(out, sizeof(out), "error %s", err);
		return out;
	}
	if (t.kind == FORWARD_ADDRESS_IP)
		net_addr_str(&t.addr, addr);
	snprintf(out, sizeof(out), "%s %s %.*s", t.kind == FORWARD_ADDRESS_IP ? "address" : "other",
		 transports[t.transport],
		 t.kind == FORWARD_ADDRESS_IP ? (int)strlen(addr) : (int)t.host.n,
		 t.kind == FORWARD_ADDRESS_IP ? addr : t.host.p);
	size_t n = strlen(out);
	if (t.kind == FORWARD_ADDRESS_FILE_OR_HOST)
		n += (size_t)snprintf(out + n, sizeof(out) - n, ":%u", t.port);
	if (t.name.n != 0)
		snprintf(out + n, sizeof(out) - n, " %.*s", (int)t.name.n, t.name.p);
	return out;
}

static void reads_all_forms(void **state)
{
	static const char *const rows[][2] = {
		{ "127.0.0.1", "address dns 127.0.0.1:53" },
		{ "127.0.0.1:8053", "address dns 127.0.0.1:8053" },
		{ "::1", "address dns [::1]:53" },
		{ "[::1]", "address dns [::1]:53" },
		{ "[::1", "address dns [::1]:53" },
		{ "[::1]:5301", "address dns [::1]:5301" },
		{ "dns://127.0.0.1", "address dns 127.0.0.1:53" },
		{ "fe80::1%lo", "address dns [fe80::1%lo]:53 lo" },
		{ "[fe80::1%lo]:54", "address dns [fe80::1%lo]:54 lo" },
		{ "fe80::1%no-such-interface", "address dns [fe80::1]:53 no-such-interface" },
		{ "tls://127.0.0.1", "address tls 127.0.0.1:853" },
		{ "tls://127.0.0.1:854", "address tls 127.0.0.1:854" },
		{ "tls://127.0.0.1%example.net", "address tls 127.0.0.1:853 example.net" },
		{ "tls://127.0.0.1%example.net:854", "address tls 127.0.0.1:854 example.net" },
		{ "tls://[::1%example.net]:853", "address tls [::1]:853 example.net" },
		{ "tls://fe80::1%example.com", "address tls [fe80::1]:853 example.com" },
		{ "https://127.0.0.1", "address https 127.0.0.1:443" },
		{ "https://[::1%example.net]:444", "address https [::1]:444 example.net" },
		{ "dns.example.com", "other dns dns.example.com:53" },
		{ "dns.example.com:5353", "other dns dns.example.com:5353" },
		{ "tls://dns.example.com", "other tls dns.example.com:853" },
		{ "tls://dns.example.com%n.example", "other tls dns.example.com:853 n.example" },
		{ "https://dns.example.com:8443", "other https dns.example.com:8443" },
		{ "/etc/resolv.conf", "other dns /etc/resolv.conf:53" },
		{ "tls:/x", "other dns tls:0" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(show(rows[i][0]), rows[i][1]);
}

static void refuses(void **state)
{
	static const char *const rows[][2] = {
		{ "", "invalid address" },
		{ "tls://", "invalid address" },
		{ "127.0.0.1:", "not a port" },
		{ "127.0.0.1:0", "not a port" },
		{ "127.0.0.1:65536", "not a port" },
		{ "[::1]:domain", "not a port" },
		{ "https://1.1.1.1/", "paths are not allowed" },
		{ "quic://127.0.0.1", "DNS over QUIC is not built; use tls://" },
		{ "grpc://127.0.0.1", "not supported" },
		{ "https3://127.0.0.1", "not supported" },
		{ "unix:///tmp/s", "not supported" },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const char *got = show(rows[i][0]);
		if (strncmp(got, "error ", 6) != 0 || strstr(got, rows[i][1]) == NULL)
			fail_msg("%s: %s", rows[i][0], got);
	}
}

static void length_is_limited(void **state)
{
	char text[FORWARD_ADDRESS_TEXT_MAX + 2];
	(void)state;
	memset(text, 'a', sizeof(text));
	text[FORWARD_ADDRESS_TEXT_MAX] = '\0';
	assert_int_equal(strncmp(show(text), "other dns aaa", 13), 0);
	text[FORWARD_ADDRESS_TEXT_MAX] = 'a';
	text[FORWARD_ADDRESS_TEXT_MAX + 1] = '\0';
	assert_int_equal(strncmp(show(text), "error invalid address", 21), 0);
}

static void names(void **state)
{
	(void)state;
	assert_true(forward_address_is_name(SLICE("dns.example.com")));
	assert_true(forward_address_is_name(SLICE("dns")));
	assert_false(forward_address_is_name(SLICE("")));
	assert_false(forward_address_is_name(SLICE("a..b")));
}

static void name_servers_of_a_file(void **state)
{
	union net_addr a;
	char text[NET_ADDR_TEXT_MAX];
	(void)state;
	assert_int_equal(forward_address_nameserver(SLICE("192.0.2.1"), &a), 0);
	net_addr_str(&a, text);
	assert_string_equal(text, "192.0.2.1:53");
	assert_int_equal(forward_address_nameserver(SLICE("388:d254::1%en0"), &a), 0);
	net_addr_str(&a, text);
	assert_string_equal(text, "[388:d254::1]:53");
	assert_true(forward_address_nameserver(SLICE("dns.example"), &a) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_all_forms),	  cmocka_unit_test(refuses),
		cmocka_unit_test(length_is_limited),	  cmocka_unit_test(names),
		cmocka_unit_test(name_servers_of_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
