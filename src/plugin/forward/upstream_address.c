/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parses the addresses of upstreams as CoreDNS does; invalid ports and transports that forward does
 * not support are refused here. */
#include "plugin/forward/upstream_address.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "dns/name.h"

/* In the order they are tried: https3 before https. */
static const struct scheme {
	const char *prefix;
	enum resolve_transport transport;
	uint16_t port;	     /* 0: not for forward */
	const char *instead; /* what to use when it is not there */
} schemes[] = {
	{ "tls://", RESOLVE_TLS, 853, NULL },
	{ "dns://", RESOLVE_PLAIN, 53, NULL },
	{ "quic://", 0, 0, "DNS over QUIC is not built; use tls:// (DNS over TLS) instead" },
	{ "grpc://", 0, 0, "DNS over gRPC is not supported; use tls:// instead" },
	{ "https3://", 0, 0, "DNS over HTTP/3 is not supported; use https:// instead" },
	{ "https://", RESOLVE_HTTPS, 443, NULL },
	{ "unix://", 0, 0, "Unix sockets are not supported; use an IP address" },
};
static const struct scheme plain = { "", RESOLVE_PLAIN, 53, NULL };

static const struct scheme *cut_scheme(struct slice *text)
{
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		struct slice prefix = slice_of(schemes[i].prefix);
		if (slice_starts(*text, prefix)) {
			*text = slice_from(*text, prefix.n);
			return &schemes[i];
		}
	}
	return &plain;
}

static ptrdiff_t find_last(struct slice text, char ch)
{
	for (size_t i = text.n; i-- > 0;) {
		if (text.p[i] == ch)
			return (ptrdiff_t)i;
	}
	return -1;
}

/* `host:port` or `[host]:port`, as Go's SplitHostPort. False: there is no port. */
static bool split_port(struct slice text, struct slice *ret_host, struct slice *ret_port)
{
	ptrdiff_t colon = find_last(text, ':');
	if (colon < 0)
		return false;
	struct slice host = { text.p, (size_t)colon };
	if (text.p[0] == '[') {
		ptrdiff_t end = slice_find(text, ']');
		if (end < 0 || end + 1 != colon)
			return false;
		host = (struct slice){ text.p + 1, (size_t)end - 1 };
	} else if (slice_find(host, ':') >= 0) {
		return false;
	}
	if (slice_find(host, '[') >= 0 || slice_find(host, ']') >= 0)
		return false;
	*ret_host = host;
	*ret_port = slice_from(text, (size_t)colon + 1);
	return true;
}

static struct slice trim_brackets(struct slice text)
{
	while (text.n > 0 && (text.p[0] == '[' || text.p[0] == ']'))
		text = slice_from(text, 1);
	while (text.n > 0 && (text.p[text.n - 1] == '[' || text.p[text.n - 1] == ']'))
		text.n--;
	return text;
}

static int parse_port(struct slice text, uint16_t *ret)
{
	uint64_t v;
	if (slice_u64(text, &v) < 0 || v == 0 || v > UINT16_MAX)
		return ERR_PARSE;
	*ret = (uint16_t)v;
	return 0;
}

/* An interface that is not there is dropped, as CoreDNS drops all of them. */
static int parse_ip(const struct forward_address *to, struct slice with_name, union net_addr *ret)
{
	if (to->transport == RESOLVE_PLAIN && to->name.n != 0 &&
	    net_addr_parse_ip(with_name, ret) == 0)
		return 0;
	return net_addr_parse_ip(to->host, ret);
}

bool forward_address_is_name(struct slice host)
{
	uint8_t wire[DNS_NAME_MAX];
	return host.n != 0 && dns_name_from_text(host, wire) >= 0;
}

/* Host, name behind % and port. */
static int parse_host(struct slice text, struct forward_address *to, char err[FORWARD_ERR_MAX])
{
	struct slice host, port = { NULL, 0 };
	bool has_port = split_port(text, &host, &port);
	if (!has_port)
		host = trim_brackets(text);
	ptrdiff_t percent = find_last(host, '%');
	to->host = host;
	if (percent >= 0) {
		to->host.n = (size_t)percent;
		to->name = slice_from(host, (size_t)percent + 1);
	}
	to->kind = parse_ip(to, host, &to->addr) == 0 ? FORWARD_ADDRESS_IP
						      : FORWARD_ADDRESS_FILE_OR_HOST;
	/* A file's name may end in anything; as a host it is looked at when there is no such file.
	 */
	if (has_port && parse_port(port, &to->port) < 0) {
		to->port = 0;
		if (to->kind == FORWARD_ADDRESS_IP) {
			snprintf(err, FORWARD_ERR_MAX, "'%.*s' is not a port", (int)port.n, port.p);
			return ERR_PARSE;
		}
	}
	if (to->kind == FORWARD_ADDRESS_IP)
		net_addr_set_port(&to->addr, to->port);
	return 0;
}

int forward_address_parse(struct slice text, struct forward_address *ret, char err[FORWARD_ERR_MAX])
{
	struct slice rest = text;
	const struct scheme *s = cut_scheme(&rest);
	if (rest.n == 0 || text.n > FORWARD_ADDRESS_TEXT_MAX) {
		snprintf(err, FORWARD_ERR_MAX, "invalid address: \"%.*s\"",
			 (int)MIN(text.n, (size_t)80), text.p);
		return ERR_PARSE;
	}
	if (s->port == 0) {
		snprintf(err, FORWARD_ERR_MAX, "'%.*s' is not supported as a destination: %s",
			 (int)MIN(text.n, (size_t)80), text.p, s->instead);
		return ERR_PARSE;
	}
	if (s->transport == RESOLVE_HTTPS && slice_find(rest, '/') >= 0) {
		snprintf(err, FORWARD_ERR_MAX,
			 "paths are not allowed in HTTPS upstream addresses (the /dns-query path "
			 "is used by default): %.*s",
			 (int)MIN(text.n, (size_t)80), text.p);
		return ERR_PARSE;
	}
	struct forward_address t = {
		.transport = s->transport,
		.has_scheme = s != &plain,
		.port = s->port,
		.path = rest,
	};
	int r = parse_host(rest, &t, err);
	if (r < 0)
		return r;
	*ret = t;
	return 0;
}

/* An interface that is not there is dropped here, too. */
int forward_address_nameserver(struct slice text, union net_addr *ret)
{
	struct slice bare = text;
	ptrdiff_t percent = find_last(text, '%');
	if (percent >= 0)
		bare.n = (size_t)percent;
	if (net_addr_parse_ip(text, ret) < 0 && net_addr_parse_ip(bare, ret) < 0)
		return ERR_PARSE;
	net_addr_set_port(ret, 53);
	return 0;
}
