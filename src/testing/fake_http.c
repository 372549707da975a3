/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client side of HTTP, as simple as tests need it. */
#include "testing/fake_http.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "http/probe.h"
#include "http/probe_test.h"
#include "net/addr.h"

static union net_addr loopback(uint16_t port)
{
	union net_addr a;
	if (net_addr_parse(SLICE("127.0.0.1:0"), &a) < 0)
		abort();
	net_addr_set_port(&a, port);
	return a;
}

int http_fake_port(uint16_t *ret_port)
{
	union net_addr a = loopback(0);
	socklen_t n = sizeof(a);
	int on = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0 ||
	    bind(fd, &a.sa, net_addr_len(&a)) < 0 || getsockname(fd, &a.sa, &n) < 0)
		abort();
	*ret_port = net_addr_port(&a);
	return fd;
}

const char *http_fake_text(const char *text, uint16_t port)
{
	static char out[1024];
	static const char mark[] = "PORT";
	size_t n = 0;
	for (const char *at; (at = strstr(text, mark)) != NULL; text = at + strlen(mark)) {
		n += (size_t)snprintf(out + n, sizeof(out) - n, "%.*s127.0.0.1:%u",
				      (int)(at - text), text, port);
		if (n >= sizeof(out))
			abort();
	}
	if ((size_t)snprintf(out + n, sizeof(out) - n, "%s", text) >= sizeof(out) - n)
		abort();
	return out;
}

char *http_fake_get(uint16_t port, const char *path, unsigned *ret_status)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	union net_addr a = loopback(port);
	char part[4096];
	ssize_t n;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		abort();
	if (connect(fd, &a.sa, net_addr_len(&a)) < 0) {
		close(fd);
		return NULL;
	}
	strbuf_addf(&b, "GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", path);
	if (send(fd, b.s, b.n, MSG_NOSIGNAL) != (ssize_t)b.n)
		abort();
	strbuf_reset(&b);
	while ((n = read(fd, part, sizeof(part))) > 0)
		strbuf_add(&b, part, (size_t)n);
	close(fd);
	const char *body = strstr(b.s, "\r\n\r\n");
	if (body == NULL || http_probe_status(strbuf_slice(&b), ret_status) < 0)
		return NULL;
	return xstrdup(body + 4);
}
