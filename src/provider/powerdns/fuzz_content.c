/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any text survives the way to PowerDNS and back; any content can be read. */
#include "provider/powerdns/content_priv.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_CNAME, DNS_TYPE_TXT,
					  0 };
	CLEANUP(freep) char *text = xstrndup((const char *)data, len);
	CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf value = STRBUF_INIT;
	powerdns_content_write(&content, DNS_TYPE_TXT, text);
	powerdns_content_read(&value, DNS_TYPE_TXT, strbuf_slice(&content));
	if (strcmp(value.s, text) != 0)
		abort();
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		strbuf_reset(&value);
		powerdns_content_read(&value, types[i], (struct slice){ (const char *)data, len });
	}
	return 0;
}
