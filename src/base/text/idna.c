/* SPDX-License-Identifier: GPL-3.0-or-later */
/* International domain names, converted by the library that GnuTLS uses for certificates. */
#include "base/text/idna.h"

#include <gnutls/gnutls.h>

#include "base/mem.h"

char *idna_to_ascii(struct slice name)
{
	gnutls_datum_t ascii = { 0 };
	if (name.n == 0 || name.n > IDNA_INPUT_MAX ||
	    gnutls_idna_map(name.p, (unsigned)name.n, &ascii, 0) < 0)
		return NULL;
	char *copy = xasprintf("%.*s", (int)ascii.size, (const char *)ascii.data);
	gnutls_free(ascii.data);
	return copy;
}
