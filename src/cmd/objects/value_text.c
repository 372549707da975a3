/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Escaping as in zone files. */
#include "cmd/objects/value_text.h"

void value_text_add(struct strbuf *out, struct slice value)
{
	for (size_t i = 0; i < value.n; i++) {
		unsigned char byte = (unsigned char)value.p[i];
		if (byte < ' ' || byte > '~' || byte == '\\' || byte == '"')
			strbuf_addf(out, "\\%03u", (unsigned)byte);
		else
			strbuf_addc(out, (char)byte);
	}
}
