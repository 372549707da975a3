/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Packets of each kind, cut at each byte. */
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "addrset/nftables/denied_packet.h"
#include "base/compiler.h"

#define V4(fragment, protocol) \
	"\x45\0\0\x28\0\0" fragment "\x40" protocol "\0\0\x0a\1\0\2\xcb\0\x71\7"
#define V6(next)  "\x60\0\0\0\0\x14" next "\x40" FROM6 TO6
#define FROM6	  "\xfd\1\0\1\0\0\0\0\0\0\0\0\0\0\0\2"
#define TO6	  "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\7"
#define PORTS	  "\x9c\x40\1\xbb"
#define ROW(text) text, sizeof(text) - 1

static const struct {
	const char *bytes;
	size_t n;
	uint8_t protocol;
	uint16_t port;
} rows[] = {
	{ ROW(V4("\x40\0", "\6") PORTS), IPPROTO_TCP, 443 },
	{ ROW(V4("\0\0", "\x11") PORTS), IPPROTO_UDP, 443 },
	{ ROW(V4("\0\1", "\6") PORTS), IPPROTO_TCP, 0 }, /* a later fragment */
	{ ROW(V4("\0\0", "\1") PORTS), IPPROTO_ICMP, 0 },
	{ ROW(V6("\6") PORTS), IPPROTO_TCP, 443 },
	{ ROW(V6("\0") "\6\0\0\0\0\0\0\0" PORTS), IPPROTO_TCP, 443 },
	{ ROW(V6("\x3c") "\x11\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0" PORTS), IPPROTO_UDP, 443 },
	{ ROW(V6("\x2c") "\6\0\0\1\0\0\0\0" PORTS), IPPROTO_TCP, 443 }, /* the first fragment */
	{ ROW(V6("\x2c") "\6\0\0\x08\0\0\0\0" PORTS), IPPROTO_FRAGMENT, 0 },
	{ ROW(V6("\x3a") PORTS), IPPROTO_ICMPV6, 0 },
};

static void kinds_of_packets(void **state UNUSED)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct nftables_connection read;
		const uint8_t *bytes = (const uint8_t *)rows[i].bytes;
		size_t head = bytes[0] >> 4 == 4 ? 20 : 40;
		assert_true(nftables_denied_packet_read(bytes, rows[i].n, &read));
		assert_int_equal(read.protocol, rows[i].protocol);
		assert_int_equal(read.port, rows[i].port);
		assert_int_equal(read.to.bytes[read.to.n - 1], 7);
		assert_int_equal(read.from.bytes[read.from.n - 1], 2);
		for (size_t n = 0; n < rows[i].n; n++) {
			assert_int_equal(nftables_denied_packet_read(bytes, n, &read), n >= head);
			if (n >= head)
				assert_int_equal(read.port, 0);
		}
	}
}

static void no_packets(void **state UNUSED)
{
	static const uint8_t zero[64], short_head[64] = { 0x41 };
	struct nftables_connection read;
	assert_false(nftables_denied_packet_read(zero, sizeof(zero), &read));
	assert_false(nftables_denied_packet_read(short_head, sizeof(short_head), &read));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(kinds_of_packets),
					    cmocka_unit_test(no_packets) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
