/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The zone of a name: that of the Secret, or the owner of the SOA record that the server shows for the
 * name or, where an alias hides it, for a name above. */
#include "base/mem.h"
#include "provider/rfc2136/call_priv.h"
#include "provider/rfc2136/rcode_priv.h"
#include "provider/shared/job.h"

static void ask_soa(struct rfc2136_call *call)
{
	call->ask.msg_n = dns_message_query(call->query, 0, 0, call->name, DNS_TYPE_SOA);
	rfc2136_ask_start(&call->ask);
}

static void report_zone(struct provider_job *job, const uint8_t *zone)
{
	char text[DNS_NAME_TEXT_MAX];
	size_t n = dns_name_to_text(zone, true, text);
	text[n - 1] = '\0';
	provider_job_add_zone(job, text, text, false);
}

static void climb(struct rfc2136_call *call)
{
	size_t skip = 1U + call->name[0], n = dns_name_len(call->name);
	memmove(call->name, call->name + skip, n - skip);
	if (call->name[0] != 0)
		ask_soa(call);
	else
		rfc2136_call_end(call);
}

static void on_soa(struct rfc2136_ask *ask)
{
	struct rfc2136_call *call = CONTAINER_OF(ask, struct rfc2136_call, ask);
	struct provider_job *job = call->job;
	char error[PROVIDER_ERROR_BYTES];
	enum provider_code code = ask->code;
	if (code == PROVIDER_OK)
		code = rfc2136_rcode_query(ask, job->name, ERR_TEXT(error));
	else
		err_text_set(ERR_TEXT(error), "%s", ask->error);
	/* A server that has no zone above the name refuses, and so it may for this name only. */
	if (code == PROVIDER_UNAUTHORIZED || code == PROVIDER_NO_ZONE) {
		rfc2136_call_end(call);
		return;
	}
	if (code != PROVIDER_OK) {
		provider_job_fail(job, code, "%s", error);
		rfc2136_call_end(call);
		return;
	}
	switch (rfc2136_answer_zone(ask->reply, ask->reply_n, call->name, call->zone)) {
	case RFC2136_ZONE_FOUND:
		report_zone(job, call->zone);
		break;
	case RFC2136_ZONE_ABOVE:
		climb(call);
		return;
	case RFC2136_ZONE_DELEGATED:
	case RFC2136_ZONE_NONE:
		break;
	}
	rfc2136_call_end(call);
}

void rfc2136_find_zone(struct rfc2136_call *call)
{
	const char *zone = call->account->settings.zone;
	struct provider_job *job = call->job;
	if (zone != NULL) {
		provider_job_add_zone(job, zone, zone, false);
		rfc2136_call_end_later(call);
		return;
	}
	job->is_zone_of_name = true;
	if (dns_name_from_text(slice_of(job->name), call->name) < 0 || call->name[0] == 0) {
		rfc2136_call_end_later(call);
		return;
	}
	call->ask = (struct rfc2136_ask){ .account = call->account,
					  .msg = call->query,
					  .msg_cap = sizeof(call->query),
					  .end_by_ns = job->end_by_ns,
					  .done = on_soa };
	ask_soa(call);
}
