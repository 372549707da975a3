/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The body of a PATCH of a zone: record sets to replace and to delete. */
#pragma once

#include "base/strbuf.h"
#include "provider/provider.h"

/* All changes; deletions first, since a CNAME may take the place of what they delete. */
void powerdns_patch_write(struct strbuf *out, const struct provider_change *changes, size_t count);
/* Bytes that a change takes of the body. */
struct provider_size powerdns_patch_measure(const struct provider_change *change);
