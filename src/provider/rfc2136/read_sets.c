/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PROVIDER_READ: the sets of changes, each with its mark where the account keeps them. */
#include <string.h>

#include "dns/name.h"
#include "provider/rfc2136/call_priv.h"
#include "provider/rfc2136/conflict_priv.h"
#include "provider/rfc2136/message_priv.h"
#include "provider/shared/job.h"

static struct provider_rrset complete_set(const struct rfc2136_read *read,
					  const struct provider_rrset *key)
{
	struct provider_rrset set = read->answer.set;
	set.name = key->name;
	set.type = key->type;
	return set;
}

/* A set's mark is the read behind its own. */
static void take_sets(struct rfc2136_reader *reader)
{
	struct rfc2136_call *call = CONTAINER_OF(reader, struct rfc2136_call, reader);
	struct provider_job *job = call->job;
	if (reader->code != PROVIDER_OK) {
		provider_job_fail(job, reader->code, "%s", reader->error);
		rfc2136_call_end(call);
		return;
	}
	bool has_marks = call->account->settings.has_owner_records;
	size_t step;
	for (size_t i = 0; i < reader->reads.n; i += step) {
		const struct rfc2136_read *read = &reader->reads.v[i];
		struct provider_change *change = &job->changes[read->change];
		step = has_marks && !read->finds_zone ? 2 : 1;
		if (read->finds_zone) {
			rfc2136_conflict_is_other_zone(change, read, job->zone);
			continue;
		}
		struct provider_rrset set = complete_set(read, &change->edits[read->edit].set);
		const struct provider_rrset *mark = has_marks ? &read[1].answer.set : NULL;
		if (mark != NULL && mark->n_values == 1 && set.n_values != 0)
			set.owner = mark->values[0];
		provider_change_found(change, read->edit, &set);
	}
	rfc2136_call_end(call);
}

static bool is_readable(const char *name, const uint8_t *zone)
{
	uint8_t wire[DNS_NAME_MAX];
	return dns_name_from_text(slice_of(name), wire) > 0 && dns_name_is_below(wire, zone);
}

/* Names outside of the zone are nobody's: nothing is found. */
static void add_reads(struct rfc2136_call *call, struct provider_change *change, size_t index)
{
	struct rfc2136_reader *reader = &call->reader;
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_rrset *key = &change->edits[i].set;
		char mark_name[RFC2136_MARK_NAME_MAX];
		struct provider_rrset missing = { .name = key->name, .type = key->type };
		rfc2136_mark_name(key, mark_name);
		bool has_marks = call->account->settings.has_owner_records;
		if (!is_readable(has_marks ? mark_name : key->name, call->zone)) {
			provider_change_found(change, i, &missing);
			continue;
		}
		struct rfc2136_read read = { .name = key->name,
					     .type = key->type,
					     .is_exact = true,
					     .change = index,
					     .edit = i };
		rfc2136_reader_add(reader, &read);
		if (has_marks) {
			read.name = arena_strdup(&reader->arena, mark_name);
			read.type = DNS_TYPE_TXT;
			read.is_exact = false;
			rfc2136_reader_add(reader, &read);
		}
		read = rfc2136_conflict_zone_read(key, index, i);
		if (key->n_values != 0)
			rfc2136_reader_add(reader, &read);
	}
}

void rfc2136_read_sets(struct rfc2136_call *call)
{
	struct provider_job *job = call->job;
	for (size_t i = 0; i < job->n_changes; i++)
		add_reads(call, &job->changes[i], i);
	if (call->reader.reads.n == 0) {
		rfc2136_call_end_later(call);
		return;
	}
	call->reader.zone = call->zone;
	call->reader.end_by_ns = job->end_by_ns;
	call->reader.done = take_sets;
	rfc2136_reader_start(&call->reader);
}
