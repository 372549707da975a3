/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of records: the publisher's form (provider/rrset.h) and PowerDNS's `content`, which is that of
 * master files with absolute names. */
#pragma once

#include <stdint.h>

#include "base/slice.h"
#include "base/strbuf.h"

/* Appends the content of a value. */
void powerdns_content_write(struct strbuf *out, uint16_t type, const char *value);
/* Appends the value of a content. What has no such form (a TXT with a NUL) stays as it is, and so equals
 * no value of ours. */
void powerdns_content_read(struct strbuf *out, uint16_t type, struct slice content);
