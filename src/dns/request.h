/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a request: header, question and OPT, without allocation. What is refused here never
 * reaches a plugin. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "dns/name.h"

enum { DNS_HEADER_BYTES = 12, DNS_REQUEST_SLACK = 4, DNS_OPT_BYTES = 11 /* without options */ };

/* Header flag bits (second 16-bit word). */
enum dns_flag {
	DNS_FLAG_QR = 0x8000,
	DNS_FLAG_AA = 0x0400,
	DNS_FLAG_TC = 0x0200,
	DNS_FLAG_RD = 0x0100,
	DNS_FLAG_RA = 0x0080,
	DNS_FLAG_Z = 0x0040,
	DNS_FLAG_AD = 0x0020,
	DNS_FLAG_CD = 0x0010,
};

/* A lower-cased question name with what look-ups by suffix need. label[i] is the offset of the i-th
 * label from the left; hash[i] covers the suffix starting there; hash[n_labels] is the root's. */
struct dns_qname {
	uint8_t len;
	uint8_t n_labels;
	bool has_upper; /* as asked it has upper-case letters */
	uint8_t label[DNS_LABELS_MAX + 1];
	uint8_t wire[DNS_NAME_MAX + 9]; /* look-ups may read 8 bytes past a name */
	uint32_t hash[DNS_LABELS_MAX + 1];
};

struct dns_opt {
	bool present;
	bool dnssec_ok;
	uint8_t version;
	uint8_t ext_rcode;
	uint16_t udp_size;
	uint16_t z;		/* flag bits below DO */
	const uint8_t *options; /* TLVs inside the message */
	uint16_t options_len;
	uint16_t got_len; /* bytes of the record as it came; 0: it was put there later */
};

struct dns_request {
	const uint8_t *msg;
	size_t len;
	uint16_t id;
	uint16_t flags; /* all bits of the second header word */
	uint8_t opcode;
	uint16_t qtype;
	uint16_t qclass;
	const uint8_t *qname;  /* as asked, inside msg */
	uint16_t question_len; /* name, type and class */
	struct dns_opt opt;
};

enum dns_admit {
	DNS_ADMIT_OK,
	DNS_ADMIT_IGNORE,  /* too short for a header, or a response: stay silent */
	DNS_ADMIT_FORMERR, /* bare header */
	DNS_ADMIT_NOTIMP,  /* bare header, opcode kept */
	DNS_ADMIT_EMPTY,   /* a header that announces a question, and nothing else */
};

/* `msg` must have room for DNS_REQUEST_SLACK bytes after its end: a question cut off behind its
 * name counts as type and class 0 and is completed there. `opcodes` has a bit for each opcode
 * accepted beyond QUERY and NOTIFY. Pointers in `request` point into msg. Except with IGNORE, id,
 * flags and opcode are valid; on FORMERR question_len is 0 unless the question itself was read. */
enum dns_admit dns_request_parse(uint8_t *msg, size_t len, uint16_t opcodes,
				 struct dns_request *request);

/* Lower-cases and hashes a wire name. */
void dns_qname_set(struct dns_qname *qname, const uint8_t *name);

/* One option TLV after another: start with *pos = 0; false at the end. */
struct dns_option {
	uint16_t code;
	uint16_t len;
	const uint8_t *data;
};
bool dns_option_next(const struct dns_opt *opt, size_t *pos, struct dns_option *ret);

/* Is the option's data as its RFC wants it? A malformed one makes the request a FORMERR, as in
 * miekg/dns. */
bool dns_option_valid(const struct dns_option *option);

/* Is the record data at `off` of a message as its type wants it? No data at all always is. */
bool dns_rdata_valid(const uint8_t *msg, size_t off, uint16_t rdlen, uint16_t type);

/* The hash used for suffixes, of a lower-case wire name. */
uint32_t dns_name_hash(const uint8_t *lower_name);

static inline uint16_t dns_get16(const uint8_t *pos)
{
	return (uint16_t)(pos[0] << 8 | pos[1]);
}

static inline uint32_t dns_get32(const uint8_t *pos)
{
	return (uint32_t)pos[0] << 24 | (uint32_t)pos[1] << 16 | (uint32_t)pos[2] << 8 | pos[3];
}

static inline void dns_put16(uint8_t *pos, uint16_t value)
{
	pos[0] = (uint8_t)(value >> 8);
	pos[1] = (uint8_t)value;
}

static inline void dns_put32(uint8_t *pos, uint32_t value)
{
	dns_put16(pos, (uint16_t)(value >> 16));
	dns_put16(pos + 2, (uint16_t)value);
}
