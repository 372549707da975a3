/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PROVIDER_SERIAL: that of the zone's SOA record. */
#include "base/err.h"
#include "provider/rfc2136/answer_priv.h"
#include "provider/rfc2136/call_priv.h"
#include "provider/rfc2136/rcode_priv.h"
#include "provider/shared/job.h"

static void take_soa(struct rfc2136_call *call)
{
	struct provider_job *job = call->job;
	int r = rfc2136_answer_serial(call->ask.reply, call->ask.reply_n, call->zone, &job->serial);
	if (r == ERR_NOTFOUND)
		provider_job_fail(job, PROVIDER_NO_ZONE, "%s: has no zone '%s'", call->ask.server,
				  job->zone);
	else if (r < 0)
		provider_job_fail(job, PROVIDER_TRANSIENT, "the server's answer is malformed");
}

static void on_soa(struct rfc2136_ask *ask)
{
	struct rfc2136_call *call = CONTAINER_OF(ask, struct rfc2136_call, ask);
	char error[PROVIDER_ERROR_BYTES];
	enum provider_code code = ask->code;
	if (code == PROVIDER_OK)
		code = rfc2136_rcode_query(ask, call->job->zone, ERR_TEXT(error));
	else
		err_text_set(ERR_TEXT(error), "%s", ask->error);
	if (code == PROVIDER_OK)
		take_soa(call);
	else /* a query changes nothing, whatever it met */
		provider_job_fail(call->job, code == PROVIDER_UNSURE ? PROVIDER_TRANSIENT : code,
				  "%s", error);
	rfc2136_call_end(call);
}

void rfc2136_read_serial(struct rfc2136_call *call)
{
	call->ask = (struct rfc2136_ask){ .account = call->account,
					  .msg = call->query,
					  .msg_cap = sizeof(call->query),
					  .end_by_ns = call->job->end_by_ns,
					  .done = on_soa };
	call->ask.msg_n = dns_message_query(call->query, 0, 0, call->zone, DNS_TYPE_SOA);
	rfc2136_ask_start(&call->ask);
}
