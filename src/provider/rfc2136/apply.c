/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PROVIDER_APPLY: one UPDATE message, all of it or nothing.
 *
 * First the zones of names are read: a set whose name belongs to a zone below is never served. Where a
 * guard depends on a mark, sets and marks are read as well, since a prerequisite cannot say "or".
 * After NOERROR the sets are read back: a server that already has something else at the name of a CNAME
 * (or a CNAME at the name of something else) answers NOERROR and does nothing. Where queries do not show a
 * set, prerequisites ask whether the server has it: then it is shown later (settle.c). A set whose name belongs
 * to a zone below by then is removed again. After a prerequisite that does not hold, what is there is read, so that the changes at fault are named. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "provider/rfc2136/answer_priv.h"
#include "provider/rfc2136/call_priv.h"
#include "provider/rfc2136/conflict_priv.h"
#include "provider/rfc2136/message_priv.h"
#include "provider/rfc2136/rcode_priv.h"
#include "provider/shared/job.h"

static void end_failed(struct rfc2136_call *call, enum provider_code code, const char *error)
{
	provider_job_fail(call->job, code, "%s", error);
	rfc2136_call_end(call);
}

static struct rfc2136_batch batch_of(const struct rfc2136_call *call)
{
	return (struct rfc2136_batch){ .zone = call->zone,
				       .changes = call->job->changes,
				       .n_changes = call->job->n_changes,
				       .has_marks = call->account->settings.has_owner_records,
				       .drops_marks = call->account->settings.drops_owner_records,
				       .owned = call->owned };
}

static void start_update(struct rfc2136_call *call, size_t len,
			 void (*done)(struct rfc2136_ask *ask))
{
	call->ask = (struct rfc2136_ask){ .account = call->account,
					  .msg = call->msg,
					  .msg_n = len,
					  .msg_cap = RFC2136_MESSAGE_MAX,
					  .is_update = true,
					  .end_by_ns = call->job->end_by_ns,
					  .done = done };
	rfc2136_ask_start(&call->ask);
}

static void start_reads(struct rfc2136_call *call, void (*done)(struct rfc2136_reader *reader))
{
	call->reader.zone = call->zone;
	call->reader.end_by_ns = call->job->end_by_ns;
	call->reader.done = done;
	rfc2136_reader_start(&call->reader);
}

static struct rfc2136_call *call_of(struct rfc2136_reader *reader)
{
	return CONTAINER_OF(reader, struct rfc2136_call, reader);
}

/* ---- reading back ---- */

static bool has_edit(const struct provider_change *change, const struct provider_edit *edit)
{
	return edit >= change->edits && edit < change->edits + change->n_edits;
}

/* Whoever reads the error has to remove them. */
static void explain_left(struct rfc2136_call *call, const char *why)
{
	for (size_t i = 0; i < call->n_sent; i++) {
		struct provider_change *change = &call->job->changes[i];
		for (size_t j = 0; j < call->misplaced.n; j++) {
			if (has_edit(change, call->misplaced.v[j]))
				provider_change_fail(
					change, change->code,
					"the record set '%s' is not served in the zone "
					"'%s', and could not be removed again: %s",
					call->misplaced.v[j]->set.name, call->job->zone, why);
		}
	}
}

static void on_undone(struct rfc2136_ask *ask)
{
	struct rfc2136_call *call = CONTAINER_OF(ask, struct rfc2136_call, ask);
	char error[PROVIDER_ERROR_BYTES];
	enum provider_code code = ask->code;
	if (code == PROVIDER_OK)
		code = rfc2136_rcode_update(ask, call->job->zone, ERR_TEXT(error));
	else
		err_text_set(ERR_TEXT(error), "%s", ask->error);
	if (code != PROVIDER_OK)
		explain_left(call, error);
	rfc2136_call_end(call);
}

/* False: there is nothing to remove. */
static bool undo_misplaced(struct rfc2136_call *call)
{
	struct rfc2136_batch batch = batch_of(call);
	if (call->misplaced.n == 0)
		return false;
	int len = rfc2136_message_undo(&batch, call->misplaced.v, call->misplaced.n, call->msg,
				       RFC2136_MESSAGE_MAX - DNS_TSIG_RECORD_MAX);
	if (len < 0) {
		explain_left(call, "they do not fit into one message");
		return false;
	}
	start_update(call, (size_t)len, on_undone);
	return true;
}

/* A set that was not guarded may be the glue of a delegation, and stays. */
static void note_misplaced(struct rfc2136_call *call, const struct rfc2136_read *read)
{
	const struct provider_edit *edit = &call->job->changes[read->change].edits[read->edit];
	if (edit->guard != PROVIDER_GUARD_NONE &&
	    rfc2136_conflict_is_misplaced(edit, read, call->job->zone))
		vec_push(&call->misplaced, edit);
}

static void end_served(struct rfc2136_call *call)
{
	if (!undo_misplaced(call))
		rfc2136_call_end(call);
}

/* Queries may lag behind updates: a conflict is one only if the zone that updates change does not have the sets, either. */
static void take_held(struct rfc2136_reader *reader)
{
	struct rfc2136_call *call = call_of(reader);
	size_t end;
	for (size_t i = 0; i < reader->reads.n; i = end) {
		const struct rfc2136_read *reads = reader->reads.v;
		struct provider_change *change = &call->job->changes[reads[i].change];
		bool is_lost = false;
		for (end = i; end < reader->reads.n && reads[end].change == reads[i].change; end++)
			is_lost = is_lost || reads[end].answer.holds == RFC2136_HOLDS_NO;
		if (!is_lost)
			rfc2136_conflict_set_unsettled(change, &change->edits[reads[i].edit], NULL);
	}
	end_served(call);
}

static void ask_whether_held(struct rfc2136_call *call, size_t index)
{
	struct provider_change *change = &call->job->changes[index];
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_rrset *set = &change->edits[i].set;
		struct rfc2136_read read = {
			.name = set->name, .wanted = set, .change = index, .edit = i
		};
		if (set->n_values == 0)
			continue;
		if (!rfc2136_reader_fits(set)) {
			rfc2136_conflict_set_unsettled(change, &change->edits[i], NULL);
			return;
		}
		rfc2136_reader_add(&call->reader, &read);
	}
}

static void take_served(struct rfc2136_reader *reader)
{
	struct rfc2136_call *call = call_of(reader);
	if (reader->code != PROVIDER_OK) {
		provider_job_fail(call->job, PROVIDER_UNSURE,
				  "the server has accepted the update, but reading it back failed: "
				  "%s",
				  reader->error);
		rfc2136_call_end(call);
		return;
	}
	for (size_t i = 0; i < reader->reads.n; i++) {
		const struct rfc2136_read *read = &reader->reads.v[i];
		struct provider_change *change = &call->job->changes[read->change];
		if (change->code == PROVIDER_UNKNOWN)
			rfc2136_conflict_after(change, read, call->job->zone);
		note_misplaced(call, read);
	}
	rfc2136_reader_reset(reader);
	for (size_t i = 0; i < call->n_sent; i++) {
		if (call->job->changes[i].code == PROVIDER_CONFLICT)
			ask_whether_held(call, i);
	}
	if (reader->reads.n != 0)
		start_reads(call, take_held);
	else
		end_served(call);
}

static void read_back(struct rfc2136_call *call)
{
	rfc2136_reader_reset(&call->reader);
	rfc2136_settle_add_reads(call, call->n_sent);
	if (call->reader.reads.n != 0)
		start_reads(call, take_served);
	else
		rfc2136_call_end(call);
}

/* ---- a prerequisite does not hold ---- */

/* Was it ours when it was read before, and is it still? */
static bool is_owned(const struct rfc2136_call *call, const struct rfc2136_read *read)
{
	const struct provider_edit *edit = &call->job->changes[read->change].edits[read->edit];
	if (call->owned == NULL)
		return false;
	switch ((enum rfc2136_owned)call->owned[read->change * PROVIDER_EDITS_MAX + read->edit]) {
	case RFC2136_OWNED_MISSING:
		return false;
	case RFC2136_OWNED_MARKED:
		return true;
	case RFC2136_OWNED_UNMARKED:
		return rfc2136_conflict_is_as_before(edit, &read->answer.set);
	}
	return false;
}

static void take_culprits(struct rfc2136_reader *reader)
{
	struct rfc2136_call *call = call_of(reader);
	if (reader->code != PROVIDER_OK) {
		end_failed(call, reader->code, reader->error);
		return;
	}
	for (size_t i = 0; i < reader->reads.n; i++) {
		const struct rfc2136_read *read = &reader->reads.v[i];
		struct provider_change *change = &call->job->changes[read->change];
		if (change->code != PROVIDER_UNKNOWN)
			continue;
		if (read->is_other)
			rfc2136_conflict_beside(change, read);
		else
			rfc2136_conflict_before(change, read, is_owned(call, read));
	}
	/* If none is found it is as it was by now; the publisher looks closer. */
	rfc2136_call_end(call);
}

/* Sets of our types beside a CNAME; ANY need not show them all. */
static void read_beside(struct rfc2136_call *call, size_t index, size_t edit)
{
	static const uint16_t types[] = { DNS_TYPE_A, DNS_TYPE_AAAA, DNS_TYPE_TXT };
	const struct provider_rrset *set = &call->job->changes[index].edits[edit].set;
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		rfc2136_reader_add(&call->reader, &(struct rfc2136_read){ .name = set->name,
									  .type = types[i],
									  .is_exact = true,
									  .is_other = true,
									  .change = index,
									  .edit = edit });
}

static void find_culprits(struct rfc2136_call *call)
{
	rfc2136_reader_reset(&call->reader);
	for (size_t i = 0; i < call->n_sent; i++) {
		const struct provider_change *change = &call->job->changes[i];
		for (size_t j = 0; j < change->n_edits; j++) {
			const struct provider_rrset *set = &change->edits[j].set;
			rfc2136_reader_add(&call->reader,
					   &(struct rfc2136_read){
						   .name = set->name,
						   .type = set->type,
						   .is_exact = true,
						   .shows_others = set->type == DNS_TYPE_CNAME &&
								   set->n_values != 0,
						   .change = i,
						   .edit = j });
			if (set->type == DNS_TYPE_CNAME && set->n_values != 0)
				read_beside(call, i, j);
		}
	}
	start_reads(call, take_culprits);
}

/* ---- the message ---- */

/* What was not sent, since the message was full, comes again. */
static void put_off_rest(struct rfc2136_call *call)
{
	for (size_t i = call->n_sent; i < call->job->n_changes; i++)
		provider_change_fail(&call->job->changes[i], PROVIDER_TRANSIENT,
				     "the message was full");
}

static void ask_soa(struct rfc2136_call *call, void (*done)(struct rfc2136_ask *ask))
{
	call->ask = (struct rfc2136_ask){ .account = call->account,
					  .msg = call->query,
					  .msg_cap = sizeof(call->query),
					  .end_by_ns = call->job->end_by_ns,
					  .done = done };
	call->ask.msg_n = dns_message_query(call->query, 0, 0, call->zone, DNS_TYPE_SOA);
	rfc2136_ask_start(&call->ask);
}

/* The key is fine where the server answers a query that is signed with it. */
static void on_key_checked(struct rfc2136_ask *ask)
{
	struct rfc2136_call *call = CONTAINER_OF(ask, struct rfc2136_call, ask);
	if (ask->code == PROVIDER_OK && !ask->is_unsigned)
		provider_job_fail(call->job, PROVIDER_UNAUTHORIZED,
				  "%s: knows the key, but does not allow these changes of zone "
				  "'%s' with it (BADKEY): see acl in its configuration",
				  ask->server, call->job->zone);
	rfc2136_call_end(call);
}

/* Knot answers BADKEY also where the key may not make these changes. Then others may be allowed. */
static void check_key(struct rfc2136_call *call)
{
	provider_job_fail(call->job, call->ask.code, "%s", call->ask.error);
	ask_soa(call, on_key_checked);
}

static bool is_zone_served(const struct rfc2136_call *call)
{
	uint8_t found[DNS_NAME_MAX];
	return rfc2136_answer_zone(call->ask.reply, call->ask.reply_n, call->zone, found) ==
		       RFC2136_ZONE_FOUND &&
	       dns_name_eq(found, call->zone);
}

/* The job has PROVIDER_NO_ZONE, and keeps it unless the server has the zone or cannot say. */
static void on_zone_checked(struct rfc2136_ask *ask)
{
	struct rfc2136_call *call = CONTAINER_OF(ask, struct rfc2136_call, ask);
	char error[PROVIDER_ERROR_BYTES];
	enum provider_code code = ask->code;
	if (code == PROVIDER_OK)
		code = rfc2136_rcode_query(ask, call->job->zone, ERR_TEXT(error));
	else
		err_text_set(ERR_TEXT(error), "%s", ask->error);
	if (code == PROVIDER_OK && is_zone_served(call))
		provider_job_fail(call->job, PROVIDER_UNAUTHORIZED,
				  "%s: serves the zone '%s', but does not accept updates of it: "
				  "it is not its primary, or it demands a key (NOTAUTH)",
				  ask->server, call->job->zone);
	else if (code == PROVIDER_TRANSIENT || code == PROVIDER_UNAUTHENTICATED)
		provider_job_fail(call->job, code, "%s", error);
	rfc2136_call_end(call);
}

/* A secondary answers NOTAUTH, and so does Knot where a key is missing: a deletion must not take that
 * for a zone that is gone. */
static void check_zone(struct rfc2136_call *call, const char *error)
{
	provider_job_fail(call->job, PROVIDER_NO_ZONE, "%s", error);
	ask_soa(call, on_zone_checked);
}

static void on_updated(struct rfc2136_ask *ask)
{
	struct rfc2136_call *call = CONTAINER_OF(ask, struct rfc2136_call, ask);
	char error[PROVIDER_ERROR_BYTES];
	if (ask->code == PROVIDER_UNAUTHENTICATED &&
	    ask->query.report.error == DNS_TSIG_ERROR_BADKEY) {
		check_key(call);
		return;
	}
	if (ask->code != PROVIDER_OK) {
		end_failed(call, ask->code, ask->error);
		return;
	}
	enum provider_code code = rfc2136_rcode_update(ask, call->job->zone, ERR_TEXT(error));
	if (code == PROVIDER_OK) {
		put_off_rest(call);
		read_back(call);
	} else if (code == PROVIDER_CONFLICT) {
		/* Without a sentence: if the change at fault is not found, the publisher reads it. */
		provider_job_fail(call->job, code, "%s", "");
		find_culprits(call);
	} else if (code == PROVIDER_NO_ZONE) {
		check_zone(call, error);
	} else {
		call->job->was_answered = true;
		end_failed(call, code, error);
	}
}

/* The longest beginning of the batch that fits; nearly always all of it. */
static int write_message(struct rfc2136_call *call)
{
	struct rfc2136_batch batch = batch_of(call);
	int r = ERR_SPACE;
	size_t count = batch.n_changes;
	if (call->msg == NULL)
		call->msg = xmalloc(RFC2136_MESSAGE_MAX);
	for (; count != 0 && r == ERR_SPACE; count = count > 8 ? count - count / 8 : count - 1) {
		call->n_sent = count;
		r = rfc2136_message_write(&batch, count, call->msg,
					  RFC2136_MESSAGE_MAX - DNS_TSIG_RECORD_MAX);
	}
	return r;
}

/* False: nothing was sent, and the job has its result. */
static bool send_update(struct rfc2136_call *call)
{
	int n = write_message(call);
	if (n < 0) {
		provider_change_fail(&call->job->changes[0], PROVIDER_INVALID,
				     "the record sets do not fit into one message of 64 KB");
		provider_job_fail(call->job, PROVIDER_INVALID, "%s", call->job->changes[0].error);
		return false;
	}
	start_update(call, (size_t)n, on_updated);
	return true;
}

/* ---- before the message: zones, and guards that depend on a mark ---- */

/* It is deleted, and was written with a mark, if at all. Queries may lag behind updates: the server may have the set
 * although they do not show it, and only its answer to the prerequisite says that it is gone. */
static bool is_unshown_attempt(const struct provider_edit *edit, const struct provider_rrset *found)
{
	return edit->set.n_values == 0 && edit->before.n_values != 0 && !edit->may_lack_mark &&
	       found->n_values == 0;
}

/* A set's mark is the read behind its own. */
static size_t judge_owned(struct rfc2136_call *call, const struct rfc2136_read *read)
{
	struct provider_change *change = &call->job->changes[read->change];
	const struct provider_edit *edit = &change->edits[read->edit];
	const struct provider_rrset *mark = &read[1].answer.set;
	uint8_t *owned = &call->owned[read->change * PROVIDER_EDITS_MAX + read->edit];
	bool is_marked = mark->n_values == 1 && strcmp(mark->values[0], edit->set.owner) == 0;
	bool is_unmarked =
		mark->n_values == 0 && rfc2136_conflict_is_as_before(edit, &read->answer.set);
	if (is_unshown_attempt(edit, &read->answer.set))
		*owned = RFC2136_OWNED_MARKED;
	else if (read->answer.set.n_values != 0)
		*owned = is_unmarked ? RFC2136_OWNED_UNMARKED : RFC2136_OWNED_MARKED;
	if (is_unmarked || !provider_rrset_equal(&edit->set, &read->answer.set))
		change->was_different = true;
	return change->code == PROVIDER_UNKNOWN &&
	       rfc2136_conflict_before(change, read, is_marked || is_unmarked);
}

static size_t judge_zones(struct rfc2136_call *call)
{
	size_t n_bad = 0;
	for (size_t i = call->n_owned; i < call->reader.reads.n; i++) {
		const struct rfc2136_read *read = &call->reader.reads.v[i];
		n_bad += rfc2136_conflict_is_other_zone(&call->job->changes[read->change], read,
							call->job->zone);
	}
	return n_bad;
}

static void take_state(struct rfc2136_reader *reader)
{
	struct rfc2136_call *call = call_of(reader);
	size_t n_bad = 0;
	if (reader->code != PROVIDER_OK) {
		end_failed(call, reader->code, reader->error);
		return;
	}
	if (judge_zones(call) != 0) {
		end_failed(call, PROVIDER_OTHER_ZONE, "names of the batch belong to other zones");
		return;
	}
	for (size_t i = 0; i + 1 < call->n_owned; i += 2)
		n_bad += judge_owned(call, &reader->reads.v[i]);
	if (n_bad != 0) {
		end_failed(call, PROVIDER_CONFLICT, "record sets of the batch are not ours");
		return;
	}
	if (!send_update(call))
		rfc2136_call_end(call);
}

/* Sets whose guard depends on a mark, each followed by its mark. */
static void add_owned(struct rfc2136_call *call, size_t index)
{
	const struct provider_change *change = &call->job->changes[index];
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_edit *edit = &change->edits[i];
		char mark_name[RFC2136_MARK_NAME_MAX];
		if (edit->guard != PROVIDER_GUARD_OWNED || edit->set.owner == NULL)
			continue;
		struct rfc2136_read read = { .name = edit->set.name,
					     .type = edit->set.type,
					     .is_exact = true,
					     .change = index,
					     .edit = i };
		rfc2136_reader_add(&call->reader, &read);
		rfc2136_mark_name(&edit->set, mark_name);
		read.name = arena_strdup(&call->reader.arena, mark_name);
		read.type = DNS_TYPE_TXT;
		read.is_exact = false;
		rfc2136_reader_add(&call->reader, &read);
	}
}

/* The zones of names that are written. A set in the wrong zone must be deletable. */
static void add_zones(struct rfc2136_call *call, size_t index)
{
	const struct provider_change *change = &call->job->changes[index];
	for (size_t i = 0; i < change->n_edits; i++) {
		const struct provider_rrset *set = &change->edits[i].set;
		struct rfc2136_read read = rfc2136_conflict_zone_read(set, index, i);
		if (set->n_values != 0)
			rfc2136_reader_add(&call->reader, &read);
	}
}

void rfc2136_apply(struct rfc2136_call *call)
{
	struct provider_job *job = call->job;
	struct rfc2136_batch batch = batch_of(call);
	if (rfc2136_message_check(&batch) != 0) {
		provider_job_fail(job, PROVIDER_INVALID, "changes of the batch cannot be sent");
		rfc2136_call_end_later(call);
		return;
	}
	for (size_t i = 0; batch.has_marks && i < job->n_changes; i++)
		add_owned(call, i);
	call->n_owned = call->reader.reads.n;
	if (call->n_owned != 0)
		call->owned = xcalloc(job->n_changes, PROVIDER_EDITS_MAX);
	for (size_t i = 0; i < job->n_changes; i++)
		add_zones(call, i);
	if (call->reader.reads.n != 0) {
		start_reads(call, take_state);
	} else if (!send_update(call)) {
		rfc2136_call_end_later(call);
	}
}
