/* SPDX-License-Identifier: GPL-3.0-or-later */
/* http/tls_send: records that wait for the next one, and sockets that accept only a part. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "http/tls_send_priv.h"
#include "http/tls_send_test.h"

struct rig {
	struct http_tls_send send;
	gnutls_session_t session;
	int peer;
};

static int setup(void **state)
{
	struct rig *rig = xcalloc(1, sizeof(*rig));
	int fds[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
			 0);
	assert_int_equal(gnutls_init(&rig->session, GNUTLS_SERVER), 0);
	http_tls_send_init(&rig->send, rig->session, fds[0]);
	rig->peer = fds[1];
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;
	gnutls_deinit(rig->session);
	http_tls_send_done(&rig->send);
	close(rig->send.fd);
	close(rig->peer);
	free(rig);
	return 0;
}

static ssize_t push(struct rig *rig, const char *first, const char *second)
{
	const giovec_t iov[] = { { (void *)(uintptr_t)first, strlen(first) },
				 { (void *)(uintptr_t)second, strlen(second) } };
	return http_tls_send_push(&rig->send, iov, 2);
}

static void assert_received(struct rig *rig, const char *want)
{
	char got[64];
	ssize_t n = read(rig->peer, got, sizeof(got));
	if (want == NULL) {
		assert_int_equal(n, -1);
		assert_int_equal(errno, EAGAIN);
		return;
	}
	assert_int_equal(n, strlen(want));
	assert_memory_equal(got, want, strlen(want));
}

static void one_after_the_other(void **state)
{
	struct rig *rig = *state;
	assert_int_equal(push(rig, "a", "bc"), 3);
	assert_received(rig, "abc");
	assert_int_equal(push(rig, "de", ""), 2);
	assert_received(rig, "de");
}

static void held_back(void **state)
{
	struct rig *rig = *state;
	for (int i = 0; i < 2; i++) {
		http_tls_send_hold(&rig->send);
		assert_int_equal(push(rig, "he", "ad "), 5);
		assert_received(rig, NULL);
		assert_int_equal(push(rig, "body", ""), 4);
		assert_received(rig, "head body");
		assert_int_equal(push(rig, "next", ""), 4);
		assert_received(rig, "next");
	}
}

enum { BYTES = 1 << 20 };

static char *make_bytes(char first)
{
	char *bytes = xmalloc(BYTES);
	for (size_t i = 0; i < BYTES; i++)
		bytes[i] = (char)(first + (char)(i % 23));
	return bytes;
}

/* Reads what is there and compares it. */
static void take_some(struct rig *rig, const char *head, const char *body, size_t *at)
{
	char got[4096];
	ssize_t n = read(rig->peer, got, sizeof(got));
	for (ssize_t i = 0; i < n; i++, (*at)++)
		assert_int_equal(got[i], *at < BYTES ? head[*at] : body[*at - BYTES]);
}

/* Neither the held record nor the one after it fits into the socket at once. */
static void in_parts(void **state)
{
	struct rig *rig = *state;
	char *head = make_bytes('a'), *body = make_bytes('A');
	size_t sent = 0, received = 0;
	unsigned refused = 0;
	http_tls_send_hold(&rig->send);
	assert_int_equal(http_tls_send_push(&rig->send,
					    &(giovec_t){ .iov_base = head, .iov_len = BYTES }, 1),
			 BYTES);
	while (received < 2 * (size_t)BYTES) {
		const giovec_t rest = { body + sent, BYTES - sent };
		ssize_t n = sent < BYTES ? http_tls_send_push(&rig->send, &rest, 1) : 0;
		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			refused++;
		}
		sent += n > 0 ? (size_t)n : 0;
		take_some(rig, head, body, &received);
	}
	assert_int_equal(sent, BYTES);
	assert_true(refused > 0);
	free(head);
	free(body);
}

static void peer_is_gone(void **state)
{
	struct rig *rig = *state;
	http_tls_send_hold(&rig->send);
	assert_int_equal(push(rig, "head", ""), 4);
	assert_int_equal(shutdown(rig->peer, SHUT_RDWR), 0);
	assert_int_equal(push(rig, "body", ""), -1);
	assert_int_equal(errno, EPIPE);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = { T(one_after_the_other), T(held_back), T(in_parts),
					    T(peer_is_gone) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
