/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two DNSRecords that want the same name: one has it, the other says so. The one whose record set is
 * at the provider keeps it; if none is, the older one gets it. */
#pragma once

#include "base/strbuf.h"
#include "controller/dnsrecord/secrets/credentials.h"
#include "controller/dnsrecord/pass.h"

/* True: another object has the name; `ret_message` says which. */
bool dnsrecord_is_claimed(const struct dnsrecord_pass *pass,
			  const struct dnsrecord_credentials *credentials,
			  struct strbuf *ret_message);
