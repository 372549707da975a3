/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Response codes as results of jobs, by table. */
#include "provider/rfc2136/rcode_priv.h"

#include <stdio.h>
#include <string.h>

#include "dns/types.h"

struct rcode_row {
	uint8_t rcode;
	enum provider_code code;
	const char *sentence; /* after the server; %s: the zone, or the name that was asked for */
};

static const struct rcode_row update_rows[] = {
	{ DNS_RCODE_NOERROR, PROVIDER_OK, "" },
	{ DNS_RCODE_FORMERR, PROVIDER_INVALID, "does not understand the update of zone '%s'" },
	/* A secondary that forwards updates says so as well when the primary is slow: it may have been
	 * applied. */
	{ DNS_RCODE_SERVFAIL, PROVIDER_UNSURE,
	  "failed to update the zone '%s'; the server's log says why" },
	{ DNS_RCODE_NXDOMAIN, PROVIDER_CONFLICT, "names of zone '%s' are missing" },
	{ DNS_RCODE_NOTIMP, PROVIDER_UNAUTHORIZED, "does not accept updates, also of zone '%s'" },
	{ DNS_RCODE_REFUSED, PROVIDER_UNAUTHORIZED,
	  "does not allow these changes of zone '%s' with this key: see allow-update and "
	  "update-policy (BIND) or acl (Knot) in its configuration" },
	{ DNS_RCODE_YXDOMAIN, PROVIDER_CONFLICT, "names of zone '%s' exist already" },
	{ DNS_RCODE_YXRRSET, PROVIDER_CONFLICT, "record sets of zone '%s' exist already" },
	{ DNS_RCODE_NXRRSET, PROVIDER_CONFLICT, "record sets of zone '%s' were changed" },
	{ DNS_RCODE_NOTAUTH, PROVIDER_NO_ZONE, "has no zone '%s', or is not its primary" },
	{ DNS_RCODE_NOTZONE, PROVIDER_INVALID, "names are outside of the zone '%s'" },
};

static const struct rcode_row query_rows[] = {
	{ DNS_RCODE_NOERROR, PROVIDER_OK, "" },
	{ DNS_RCODE_NXDOMAIN, PROVIDER_OK, "" },
	{ DNS_RCODE_SERVFAIL, PROVIDER_TRANSIENT, "cannot answer for '%s' now" },
	{ DNS_RCODE_REFUSED, PROVIDER_UNAUTHORIZED,
	  "does not answer queries for '%s': it has no such zone, or allow-query (BIND) or acl "
	  "(Knot) does not allow them" },
	{ DNS_RCODE_NOTAUTH, PROVIDER_NO_ZONE, "has no zone for '%s'" },
};

static enum provider_code explain_rcode(const struct rfc2136_ask *ask, const struct rcode_row *row,
					const char *subject, struct err_text err)
{
	char rcode[DNS_MNEMONIC_MAX], sentence[PROVIDER_ERROR_BYTES];
	const char *head = row->sentence;
	int before = (int)(strstr(head, "%s") - head);
	snprintf(sentence, sizeof(sentence), "%.*s%s%s", before, head, subject, head + before + 2);
	err_text_set(err, "%s: %s (%s%s)", ask->server, sentence, dns_rcode_str(ask->rcode, rcode),
		     ask->is_unsigned ? ", not signed" : "");
	return row->code;
}

static enum provider_code sort_rcode(const struct rfc2136_ask *ask, const struct rcode_row *rows,
				     size_t count, const char *subject, struct err_text err)
{
	char rcode[DNS_MNEMONIC_MAX];
	for (size_t i = 0; i < count; i++) {
		if (rows[i].rcode != ask->rcode)
			continue;
		return rows[i].code == PROVIDER_OK ? PROVIDER_OK
						   : explain_rcode(ask, &rows[i], subject, err);
	}
	err_text_set(err, "%s answers with %s", ask->server, dns_rcode_str(ask->rcode, rcode));
	return ask->is_update ? PROVIDER_UNSURE : PROVIDER_TRANSIENT;
}

enum provider_code rfc2136_rcode_update(const struct rfc2136_ask *ask, const char *zone,
					struct err_text err)
{
	return sort_rcode(ask, update_rows, ARRAY_LEN(update_rows), zone, err);
}

enum provider_code rfc2136_rcode_query(const struct rfc2136_ask *ask, const char *name,
				       struct err_text err)
{
	return sort_rcode(ask, query_rows, ARRAY_LEN(query_rows), name, err);
}
