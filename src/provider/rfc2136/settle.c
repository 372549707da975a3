/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PROVIDER_SETTLE: does the server show the sets that it has accepted? Its answers may come from secondaries,
 * or from a cache. */
#include "dns/types.h"
#include "provider/rfc2136/call_priv.h"
#include "provider/rfc2136/conflict_priv.h"
#include "provider/shared/job.h"

void rfc2136_settle_add_reads(struct rfc2136_call *call, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct provider_change *change = &call->job->changes[i];
		for (size_t j = 0; j < change->n_edits; j++) {
			const struct provider_rrset *set = &change->edits[j].set;
			struct rfc2136_read read = { .name = set->name,
						     .type = set->type,
						     .shows_others = set->type == DNS_TYPE_CNAME,
						     .change = i,
						     .edit = j };
			if (set->n_values != 0)
				rfc2136_reader_add(&call->reader, &read);
		}
	}
}

static void take_shown(struct rfc2136_reader *reader)
{
	struct rfc2136_call *call = CONTAINER_OF(reader, struct rfc2136_call, reader);
	/* Whatever keeps it from answering, it has accepted the changes. */
	if (reader->code != PROVIDER_OK)
		provider_job_fail(call->job, PROVIDER_TRANSIENT, "%s", reader->error);
	for (size_t i = 0; reader->code == PROVIDER_OK && i < reader->reads.n; i++) {
		const struct rfc2136_read *read = &reader->reads.v[i];
		struct provider_change *change = &call->job->changes[read->change];
		const struct provider_edit *edit = &change->edits[read->edit];
		if (!provider_rrset_equal(&edit->set, &read->answer.set))
			rfc2136_conflict_set_unsettled(change, edit, &read->answer.set);
	}
	rfc2136_call_end(call);
}

void rfc2136_settle(struct rfc2136_call *call)
{
	rfc2136_settle_add_reads(call, call->job->n_changes);
	if (call->reader.reads.n == 0) {
		rfc2136_call_end_later(call);
		return;
	}
	call->reader.zone = call->zone;
	call->reader.end_by_ns = call->job->end_by_ns;
	call->reader.done = take_shown;
	rfc2136_reader_start(&call->reader);
}
