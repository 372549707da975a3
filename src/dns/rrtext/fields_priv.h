/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of record data layouts, and writers of single fields that other files use, too. */
#pragma once

#include "dns/rrtext/parser.h"

/* NULL: the type has no row. */
struct rrtext_layout;
const struct rrtext_layout *dns_rrtext_layout_find(uint16_t type);
MUST_CHECK int dns_rrtext_layout_write(const struct rrtext_layout *layout, struct rrtext_lexer *lx,
				       struct rrtext_out *out);
/* Whether bytes given as RFC 3597 text have this layout. */
bool dns_rrtext_layout_check(const struct rrtext_layout *layout, const uint8_t *rdata, size_t len);

/* Writers for fields that are used outside the table too. */
MUST_CHECK int dns_rrtext_put(struct rrtext_lexer *lx, struct rrtext_out *out, const void *data,
			      size_t len);
MUST_CHECK int dns_rrtext_put_name(struct rrtext_lexer *lx, struct slice text,
				   struct rrtext_out *out);
MUST_CHECK int dns_rrtext_put_hex(struct rrtext_lexer *lx, struct slice text,
				  struct rrtext_out *out);
/* All words that follow; they need not hold whole bytes. */
MUST_CHECK int dns_rrtext_put_hex_rest(struct rrtext_lexer *lx, struct rrtext_out *out);
MUST_CHECK int dns_rrtext_put_base64(struct rrtext_lexer *lx, struct slice text,
				     struct rrtext_out *out);
MUST_CHECK int dns_rrtext_get_u(struct rrtext_lexer *lx, uint32_t max, uint32_t *ret);
bool dns_rrtext_ip4(struct slice text, uint8_t out[4]);
bool dns_rrtext_ip6(struct slice word, uint8_t out[16]);
/* One token as a character string of at most 255 bytes. */
MUST_CHECK int dns_rrtext_put_string(struct rrtext_lexer *lx, struct slice text,
				     struct rrtext_out *out);
