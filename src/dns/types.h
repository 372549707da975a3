/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers and mnemonics of record types, classes and response codes, as miekg/dns knows
 * them. Upper-case exact text; TYPE123 and CLASS123 are the fallback in both directions. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"

enum dns_type {
	DNS_TYPE_A = 1,
	DNS_TYPE_NS = 2,
	DNS_TYPE_CNAME = 5,
	DNS_TYPE_SOA = 6,
	DNS_TYPE_PTR = 12,
	DNS_TYPE_HINFO = 13,
	DNS_TYPE_MX = 15,
	DNS_TYPE_TXT = 16,
	DNS_TYPE_AAAA = 28,
	DNS_TYPE_SRV = 33,
	DNS_TYPE_NAPTR = 35,
	DNS_TYPE_DNAME = 39,
	DNS_TYPE_OPT = 41,
	DNS_TYPE_DS = 43,
	DNS_TYPE_RRSIG = 46,
	DNS_TYPE_NSEC = 47,
	DNS_TYPE_DNSKEY = 48,
	DNS_TYPE_NSEC3 = 50,
	DNS_TYPE_CSYNC = 62,
	DNS_TYPE_SVCB = 64,
	DNS_TYPE_HTTPS = 65,
	DNS_TYPE_TSIG = 250,
	DNS_TYPE_IXFR = 251,
	DNS_TYPE_AXFR = 252,
	DNS_TYPE_ANY = 255,
};

enum dns_class {
	DNS_CLASS_IN = 1,
	DNS_CLASS_CH = 3,
	DNS_CLASS_HS = 4,
	DNS_CLASS_NONE = 254,
	DNS_CLASS_ANY = 255
};

enum dns_rcode {
	DNS_RCODE_NOERROR = 0,
	DNS_RCODE_FORMERR = 1,
	DNS_RCODE_SERVFAIL = 2,
	DNS_RCODE_NXDOMAIN = 3,
	DNS_RCODE_NOTIMP = 4,
	DNS_RCODE_REFUSED = 5,
	DNS_RCODE_YXDOMAIN = 6,
	DNS_RCODE_YXRRSET = 7,
	DNS_RCODE_NXRRSET = 8,
	DNS_RCODE_NOTAUTH = 9,
	DNS_RCODE_NOTZONE = 10,
	DNS_RCODE_BADVERS = 16,
};

enum dns_opcode { DNS_OPCODE_QUERY = 0, DNS_OPCODE_NOTIFY = 4, DNS_OPCODE_UPDATE = 5 };

enum { DNS_MNEMONIC_MAX = 24 };

/* The mnemonic, or TYPE123 / CLASS123 / the decimal number written into `buf`. Never NULL. */
const char *dns_type_str(uint16_t type, char buf[DNS_MNEMONIC_MAX]);
const char *dns_class_str(uint16_t cls, char buf[DNS_MNEMONIC_MAX]);
const char *dns_rcode_str(uint16_t rcode, char buf[DNS_MNEMONIC_MAX]);

/* Exact upper-case mnemonics only (with `generic`, TYPE123 and CLASS123 too); the number or
 * ERR_NOTFOUND. */
MUST_CHECK int dns_type_parse(struct slice text, bool generic);
MUST_CHECK int dns_class_parse(struct slice text, bool generic);
MUST_CHECK int dns_rcode_parse(struct slice text);
