/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What kind of reply a response is, by the rules of CoreDNS (its pkg/response): caches, logs and
 * filters must agree on them.
 *
 * Glossary
 *   kind   what a response says: an answer, a denial, a delegation, ...
 *   class  kinds put together as users select them: success, denial, error */
#pragma once

#include <stdint.h>

#include "dns/resp.h"

enum dns_kind {
	DNS_KIND_NOERROR,    /* an answer, or NOERROR without anything that says more */
	DNS_KIND_NXDOMAIN,   /* name error */
	DNS_KIND_SERVER,     /* SERVFAIL or NOTIMP */
	DNS_KIND_NODATA,     /* NOERROR without answer, SOA in the authority section */
	DNS_KIND_DELEGATION, /* NOERROR without answer, NS but no SOA in the authority section */
	DNS_KIND_META,	     /* NOTIFY or a zone transfer */
	DNS_KIND_UPDATE,
	DNS_KIND_OTHER, /* other response codes; signatures out of date */
};

enum dns_reply_class { DNS_REPLY_SUCCESS = 1, DNS_REPLY_DENIAL = 2, DNS_REPLY_ERROR = 4 };

/* Either form of a response; nothing is changed or allocated. Signatures are checked only when
 * the response has an OPT with DO. */
enum dns_kind dns_resp_kind(const struct dns_resp *resp, uint16_t qtype);
enum dns_reply_class dns_kind_class(enum dns_kind kind);

/* As CoreDNS prints them: "NODATA", "denial". */
const char *dns_kind_str(enum dns_kind kind);
const char *dns_reply_class_str(enum dns_reply_class class);
