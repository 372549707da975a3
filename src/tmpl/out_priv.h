/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text being written into fixed memory, and quoted as Go's strconv does it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/slice.h"

/* Text that is appended to fixed memory. A piece that does not fit is left out and sets `full`. */
struct tmpl_out {
	char *p;
	size_t n, cap;
	bool full;
};
void tmpl_out_add(struct tmpl_out *out, const void *data, size_t len);
void tmpl_out_fill(struct tmpl_out *out, char ch, size_t count);
void tmpl_out_cp(struct tmpl_out *out, uint32_t cp);
/* strconv.Quote (quote '"') and strconv.QuoteRune (tmpl_out_quote_cp). */
void tmpl_out_quote(struct tmpl_out *out, struct slice text, bool ascii);
void tmpl_out_quote_cp(struct tmpl_out *out, uint32_t cp, bool ascii);
/* "U+0041 'A'" */
void tmpl_out_codepoint(struct tmpl_out *out, uint32_t cp);

static inline void tmpl_out_slice(struct tmpl_out *out, struct slice text)
{
	tmpl_out_add(out, text.p, text.n);
}
static inline void tmpl_out_c(struct tmpl_out *out, char ch)
{
	tmpl_out_add(out, &ch, 1);
}
static inline void tmpl_out_s(struct tmpl_out *out, const char *text)
{
	tmpl_out_add(out, text, strlen(text));
}
