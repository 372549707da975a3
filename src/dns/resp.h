/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A response on its way up the chain.
 *
 * It has one of two forms. *Open*: lists of records per section, made by plugins, cheap to edit.
 * *Wire*: the bytes of a whole message (from an upstream or a cache), which keep their form as long
 * as edits keep sizes; resp_thaw() opens it for the rest. The OPT record is never among the
 * records: it has fields of its own and is written last.
 *
 * Memory for records comes from the query's arena; nothing is freed. A function that needs memory
 * returns ERR_SPACE when the arena is used up. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "dns/name.h"
#include "dns/request.h"
#include "dns/types.h"

enum dns_section { DNS_ANSWER, DNS_AUTHORITY, DNS_ADDITIONAL };
enum { DNS_SECTIONS = DNS_ADDITIONAL + 1 };

struct dns_rr {
	struct dns_rr *next;
	const uint8_t *owner; /* uncompressed */
	const uint8_t *rdata; /* names inside uncompressed */
	uint32_t ttl;
	uint16_t type;
	uint16_t cls;
	uint16_t rdlen;
	uint8_t owner_len; /* with the root label */
};

struct dns_resp {
	uint16_t flags; /* QR AA TC RD RA Z AD CD and the opcode bits; no rcode */
	uint16_t rcode; /* 12 bits */
	uint16_t count[DNS_SECTIONS];
	struct dns_rr *first[DNS_SECTIONS];
	struct dns_rr *last[DNS_SECTIONS];

	/* Wire form: msg != NULL. The counts above mirror its header (without OPT). Open form: all 0. */
	uint8_t *msg;
	uint32_t msg_len;
	uint16_t body_at; /* not 0: its records stand from here to the end, no OPT among them */
	uint16_t opt_at;  /* where its OPT starts; 0: there is none, or other records follow it */

	/* OPT of this response; has_opt false: the server adds one when the request had one. */
	bool has_opt;
	bool opt_do;
	uint16_t opt_udp_size;
	uint16_t opt_z; /* flag bits below DO */
	uint16_t options_len;
	uint8_t *options; /* TLVs */

	uint32_t full_size; /* uncompressed, before truncation; travels with a wire form */

	/* Wire form from a cache: a number that is kept with the reply, 0 in the beginning, by which a
	 * plugin above the cache remembers that it has inspected the reply. `note` is where to write
	 * it, `noted` what was read there. NULL and 0 without a cache, after a wait (it is memory under
	 * RCU), and when records were changed. */
	_Atomic uint32_t *note;
	uint32_t noted;
};

/* Empty NOERROR reply to `request`, as miekg's SetReply: opcode, and for QUERY the bits RD and CD
 * copied.
 */
void dns_resp_reply(struct dns_resp *resp, const struct dns_request *request);

/* Appends a record. owner and rdata are borrowed and must live as long as the query. */
MUST_CHECK int dns_resp_add(struct dns_resp *resp, struct arena *arena, enum dns_section section,
			    const struct dns_rr *rr);
/* Appends a record the caller allocated in the arena. */
void dns_resp_link(struct dns_resp *resp, enum dns_section section, struct dns_rr *rr);
/* Removes all records of a section (open form). */
void dns_resp_clear(struct dns_resp *resp, enum dns_section section);

/* Takes over a whole wire message (header, one question, records): flags, rcode, counts and OPT are
 * read out; `msg` is borrowed and must live as long as the query. ERR_PARSE leaves resp unchanged.
 */
MUST_CHECK int dns_resp_from_wire(struct dns_resp *resp, struct arena *arena, uint8_t *msg,
				  size_t len);
/* Wire form to open form; does nothing when open already. On failure resp is unchanged. */
MUST_CHECK int dns_resp_thaw(struct dns_resp *resp, struct arena *arena);
/* Copies records and options, which may point outside the arena, into it (before a WAIT). After
 * ERR_SPACE the response is not to be used. */
MUST_CHECK int dns_resp_own(struct dns_resp *resp, struct arena *arena);

/* The lowest TTL of its records, at most `max`. */
uint32_t dns_resp_min_ttl(const struct dns_resp *resp, uint32_t max);
/* Gives all records the same TTL; a message is changed in place. */
void dns_resp_set_ttl(struct dns_resp *resp, uint32_t ttl);

/* Adds an EDNS option; makes has_opt true. */
MUST_CHECK int dns_resp_option(struct dns_resp *resp, struct arena *arena, uint16_t code,
			       const void *data, uint16_t number);
/* Without any option; without OPT at all (the server makes one when the client had one). */
void dns_resp_drop_options(struct dns_resp *resp);
void dns_resp_drop_opt(struct dns_resp *resp);
/* Extended DNS Error (RFC 8914): forces an OPT. */
MUST_CHECK int dns_resp_ede(struct dns_resp *resp, struct arena *arena, uint16_t info,
			    struct slice text);

/* Uncompressed size of the whole message, OPT included when the response has its own. */
size_t dns_resp_size(const struct dns_resp *resp, size_t question_len);

/* Wire form: the size it would have with all names written out, its OPT left out. */
size_t dns_resp_open_size(const struct dns_resp *resp);

struct dns_encode {
	uint16_t id;
	const uint8_t *question; /* name, type, class, uncompressed; NULL: none */
	uint16_t question_len;
	const struct dns_qname *qname; /* lower-cased; NULL or same name as the question */
	size_t limit;		       /* most bytes the client takes */
};

/* Writes the message into out[cap]. Names are compressed. What does not fit into `limit` is left
 * off record by record, answer first filled, and TC set; OPT is always kept. Returns the length, or
 * ERR_SPACE when not even the question and OPT fit. */
MUST_CHECK int dns_resp_encode(struct dns_resp *resp, const struct dns_encode *encode, uint8_t *out,
			       size_t cap);

/* Iterates records of a section: open form only. */
#define DNS_RR_FOREACH(rr, resp, section) \
	for (struct dns_rr *rr = (resp)->first[section]; rr != NULL; rr = rr->next)
