/* SPDX-License-Identifier: GPL-3.0-or-later */
/* TSIG (RFC 8945): messages signed with a key that both sides share. No I/O: callers pass messages
 * and the time.
 *
 * Glossary
 *   MAC      the signature: an HMAC over the message, the names of key and algorithm, the time and
 *            the error
 *   fudge    by how many seconds the clocks of both sides may differ
 *   chained  the MAC of an answer covers the MAC of its request, and that of each further message
 *            of an answer (a transfer over TCP) the MAC before it: nothing can be replayed, left
 *            out or put elsewhere
 *
 * A `struct dns_tsig` is one conversation: a request and its answer. A client sets the key, signs
 * the request, then verifies each message of the answer. A server verifies the request, which finds
 * the key, then signs each message of the answer, also that which reports an error (dns/tsig/server.h).
 * The id in the header is not covered: whoever sends a message may change it.
 *
 * One thread at a time. Nothing is allocated but the state of an HMAC. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/crypto/hmac.h"
#include "dns/name.h"
#include "dns/tsig/key.h"
#include "dns/tsig/record.h"

enum {
	DNS_TSIG_FUDGE = 300,	    /* seconds, that we send */
	DNS_TSIG_UNSIGNED_MAX = 99, /* messages of an answer between two that are signed */
};

/* The record's error field: what is wrong with the request's TSIG. The header then has rcode
 * NOTAUTH. */
enum dns_tsig_error {
	DNS_TSIG_ERROR_NONE = 0,
	DNS_TSIG_ERROR_BADSIG = 16,
	DNS_TSIG_ERROR_BADKEY = 17,
	DNS_TSIG_ERROR_BADTIME = 18,
	DNS_TSIG_ERROR_BADTRUNC = 22,
};

enum dns_tsig_result {
	DNS_TSIG_OK,	    /* signed with the key, in time */
	DNS_TSIG_PENDING,   /* unsigned inside a signed answer: trust it after a later OK only */
	DNS_TSIG_UNSIGNED,  /* has no TSIG */
	DNS_TSIG_MALFORMED, /* its TSIG is not as the RFC wants it: FORMERR for a request */
	DNS_TSIG_BADKEY,    /* signed with another key or algorithm */
	DNS_TSIG_BADSIG,    /* the MAC is wrong */
	DNS_TSIG_BADTIME,   /* the MAC is right, the clocks differ too much */
	DNS_TSIG_BADTRUNC,  /* the MAC is right, but fewer of its bytes came than the key demands */
	DNS_TSIG_REJECTED,  /* an answer: the server reports `error` about our request */
};

struct dns_tsig {
	/* Borrowed to the end. A server's is NULL until the request was verified. */
	const struct dns_tsig_key *key;

	/* ---- below: its own ---- */
	uint8_t mac[HMAC_MAX_BYTES]; /* of the last signed message, as it was sent */
	uint8_t mac_n;
	bool answered;	     /* its first message was signed: the next ones cover only the time */
	uint8_t n_unsigned;  /* messages since the last signed one */
	struct hmac running; /* over them */
	/* A server's: what the answer repeats of the request. */
	bool has_request;
	uint8_t name[DNS_NAME_MAX], algorithm[DNS_NAME_MAX];
	uint64_t request_time_s;
	uint16_t request_fudge;
	enum dns_tsig_error error;
};

/* What a message was found to be. */
struct dns_tsig_report {
	enum dns_tsig_result result;
	size_t len; /* without the TSIG record, which the header still counts */
	/* Of an answer: */
	uint8_t rcode;
	uint16_t error; /* DNS_TSIG_REJECTED: enum dns_tsig_error */
	bool authentic; /* the MAC is right; BADKEY and BADSIG come without one, from anybody */
	uint64_t server_time_s; /* BADTIME was reported: the server's clock; 0: not known */
};

/* Appends the TSIG record to a whole message that has none; new length, or ERR_SPACE
 * (DNS_TSIG_RECORD_MAX bytes are always enough, up to 65535 in all). `tsig` has a key and is
 * otherwise zero. */
MUST_CHECK int dns_tsig_sign_request(struct dns_tsig *tsig, uint8_t *msg, size_t len, size_t cap,
				     uint64_t now_s);
/* One message of the answer. After anything but OK and PENDING the conversation is over. */
struct dns_tsig_report dns_tsig_verify_answer(struct dns_tsig *tsig, const uint8_t *msg, size_t len,
					      uint64_t now_s);
/* Was the last message of the answer signed? Only then may an answer of several messages be
 * used. */
bool dns_tsig_is_complete(const struct dns_tsig *tsig);

/* Ends the conversation at any point. */
void dns_tsig_done(struct dns_tsig *tsig);
