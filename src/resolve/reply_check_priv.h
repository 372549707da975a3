/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparing a reply with the query that it claims to answer. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "resolve/types.h"

enum reply_check_result {
	REPLY_OK,
	REPLY_CUT,	/* the right question, but the message ends too early */
	REPLY_GARBLED,	/* the right question, and something malformed behind it */
	REPLY_MISMATCH, /* not a reply to this question */
};

/* Length of the question section of a query with one question, or ERR_PARSE. */
MUST_CHECK int reply_check_question(const uint8_t *query, size_t len);
/* An UPDATE differs in two ways: a server may answer with a bare header (RFC 2136 section 3.8), and
 * it must not be sent twice, since the first one may have been applied. */
bool reply_check_is_update(const uint8_t *query);
/* Is `reply` a reply to `query`, whose question has question_n bytes? Ids are not compared.
 * `exact`: letters must have the same case. *ret_n: the message without what may follow it (set
 * with REPLY_OK only). */
enum reply_check_result reply_check(const uint8_t *query, size_t question_n, const uint8_t *reply,
				    size_t len, bool exact, size_t *ret_n);
/* Flips the case of letters of the name at p where `bits` says so; twice is nothing. Bits of what
 * is no letter are cleared. n is at most DNS_NAME_MAX. */
void resolve_flip_case(uint8_t *data, size_t len, uint8_t bits[RESOLVE_CASE_BYTES]);
