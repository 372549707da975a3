/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The TO arguments of forward: `[scheme://]host[%name][:port]`, where host is an address, a file
 * such as /etc/resolv.conf, or a name to be looked up. Reading a text touches neither files nor the
 * network.
 *
 * Glossary
 *   name behind %  TLS and HTTPS: the name in the server's certificate. Plain DNS: the interface
 *                  of a link-local IPv6 address */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "net/addr.h"
#include "resolve/types.h"

enum {
	FORWARD_ADDRESS_TEXT_MAX = 512, /* bytes of one TO */
	FORWARD_ERR_MAX = 256,
};

enum forward_address_kind {
	FORWARD_ADDRESS_IP,	      /* `addr` is set */
	FORWARD_ADDRESS_FILE_OR_HOST, /* a file if there is one called `path`, else the host `host` */
};

struct forward_address {
	enum forward_address_kind kind;
	enum resolve_transport transport;
	bool has_scheme;
	union net_addr addr; /* FORWARD_ADDRESS_IP, with port */
	struct slice host;   /* without brackets, %name and port */
	struct slice name;   /* behind %; empty when none */
	uint16_t port;	     /* given, or the transport's */
	struct slice path;   /* all behind the scheme */
};

/* ERR_PARSE with a sentence in `err`. The slices point into `text`. */
MUST_CHECK int forward_address_parse(struct slice text, struct forward_address *ret,
				     char err[FORWARD_ERR_MAX]);

/* May `host` be a domain name that can be looked up? */
bool forward_address_is_name(struct slice host);

/* A name server of a resolv.conf file, with port 53. ERR_PARSE. */
MUST_CHECK int forward_address_nameserver(struct slice text, union net_addr *ret);
