/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading record sets, several at a time. */
#include "provider/rfc2136/reader_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dns/update.h"
#include "provider/rfc2136/rcode_priv.h"
#include "provider/rfc2136/rdata_priv.h"

void rfc2136_reader_init(struct rfc2136_reader *reader, struct rfc2136_account *account)
{
	*reader = (struct rfc2136_reader){ .account = account };
	arena_init(&reader->arena);
}

void rfc2136_reader_reset(struct rfc2136_reader *reader)
{
	assert(reader->n_running == 0);
	vec_done(&reader->reads);
	arena_reset(&reader->arena);
	reader->next = 0;
}

void rfc2136_reader_add(struct rfc2136_reader *reader, const struct rfc2136_read *read)
{
	vec_push(&reader->reads, *read);
}

static void cancel_all(struct rfc2136_reader *reader)
{
	for (size_t i = 0; reader->slots != NULL && i < RFC2136_READS_AT_ONCE; i++)
		rfc2136_ask_cancel(&reader->slots[i].ask);
	reader->n_running = 0;
}

void rfc2136_reader_done(struct rfc2136_reader *reader)
{
	cancel_all(reader);
	vec_done(&reader->reads);
	arena_done(&reader->arena);
	free(TAKE_PTR(reader->slots));
}

static void end_reading(struct rfc2136_reader *reader)
{
	cancel_all(reader);
	reader->done(reader);
}

static void fail_reader(struct rfc2136_reader *reader, enum provider_code code, const char *error)
{
	reader->code = code;
	err_text_set(ERR_TEXT(reader->error), "%s", error);
	end_reading(reader);
}

static uint16_t query_type(const struct rfc2136_read *read)
{
	if (read->finds_zone)
		return DNS_TYPE_SOA;
	return read->shows_others ? DNS_TYPE_ANY : read->type;
}

static void send_query(struct rfc2136_reading *slot)
{
	const struct rfc2136_read *read = &slot->reader->reads.v[slot->index];
	slot->is_confirming = false;
	slot->ask.is_update = false;
	slot->ask.msg_n = dns_message_query(slot->msg, 0, 0, slot->name, query_type(read));
	rfc2136_ask_start(&slot->ask);
}

/* Each value with its owner and the fixed part of a record. */
bool rfc2136_reader_fits(const struct provider_rrset *set)
{
	size_t n = 0;
	for (size_t i = 0; i < set->n_values; i++)
		n += strlen(set->name) + 2 + 10 + rfc2136_rdata_bytes(set->type, set->values[i]);
	return n <= RFC2136_WANTED_BYTES;
}

static int require_wanted(struct rfc2136_reading *slot, struct dns_update *update,
			  const struct provider_rrset *wanted)
{
	int r = 0;
	for (size_t i = 0; i < wanted->n_values && r == 0; i++) {
		struct dns_update_rdata rdata;
		r = rfc2136_rdata_make(wanted->type, wanted->values[i], &slot->reader->arena,
				       &rdata);
		if (r == 0)
			r = dns_update_require_record(update, slot->name, wanted->type, rdata);
	}
	return r;
}

/* An UPDATE that has prerequisites only. */
static void send_question(struct rfc2136_reading *slot)
{
	struct rfc2136_reader *reader = slot->reader;
	const struct rfc2136_read *read = &reader->reads.v[slot->index];
	struct dns_update update;
	int r = dns_update_start(&update, slot->msg, sizeof(slot->msg) - DNS_TSIG_RECORD_MAX,
				 reader->zone, DNS_CLASS_IN);
	if (r == 0)
		r = read->wanted != NULL
			    ? require_wanted(slot, &update, read->wanted)
			    : dns_update_require_rrset(&update, slot->name, read->type);
	assert(r == 0); /* whoever reads exactly has checked the name */
	slot->is_confirming = true;
	slot->ask.is_update = true;
	slot->ask.msg_n = update.n;
	rfc2136_ask_start(&slot->ask);
}

static void start_reading(struct rfc2136_reading *slot, size_t index)
{
	const struct rfc2136_read *read = &slot->reader->reads.v[index];
	int r = dns_name_from_text(slice_of(read->name), slot->name);
	assert(r > 0);
	slot->index = index;
	if (read->wanted != NULL)
		send_question(slot);
	else
		send_query(slot);
}

static void read_next(struct rfc2136_reading *slot)
{
	struct rfc2136_reader *reader = slot->reader;
	if (reader->next < reader->reads.n) {
		start_reading(slot, reader->next++);
		return;
	}
	assert(reader->n_running != 0);
	if (--reader->n_running == 0)
		end_reading(reader);
}

/* The answer to the prerequisite. Without permission to ask so, the query's answer counts. */
static void take_confirmation(struct rfc2136_reading *slot)
{
	struct rfc2136_read *read = &slot->reader->reads.v[slot->index];
	struct rfc2136_answer *answer = &read->answer;
	if (read->wanted != NULL)
		answer->holds = slot->ask.rcode == DNS_RCODE_NOERROR   ? RFC2136_HOLDS_YES
				: slot->ask.rcode == DNS_RCODE_NXRRSET ? RFC2136_HOLDS_NO
								       : RFC2136_HOLDS_UNKNOWN;
	else if (slot->ask.code == PROVIDER_OK && slot->ask.rcode == DNS_RCODE_NXRRSET)
		*answer = (struct rfc2136_answer){ .set = { .type = answer->set.type } };
	read_next(slot);
}

/* False: an alias hides the zone, and the name above is asked for. */
static bool take_zone(struct rfc2136_reading *slot)
{
	struct rfc2136_reader *reader = slot->reader;
	struct rfc2136_answer *answer = &reader->reads.v[slot->index].answer;
	uint8_t zone[DNS_NAME_MAX];
	char text[DNS_NAME_TEXT_MAX];
	enum rfc2136_zone_answer found =
		rfc2136_answer_zone(slot->ask.reply, slot->ask.reply_n, slot->name, zone);
	if (found == RFC2136_ZONE_ABOVE && slot->name[0] != 0) {
		size_t skip = 1U + slot->name[0], n = dns_name_len(slot->name);
		memmove(slot->name, slot->name + skip, n - skip);
		if (!dns_name_is_below(slot->name, reader->zone))
			return true;
		send_query(slot);
		return false;
	}
	bool is_known = found == RFC2136_ZONE_FOUND || found == RFC2136_ZONE_DELEGATED;
	if (!is_known || !dns_name_is_below(zone, reader->zone) || dns_name_eq(zone, reader->zone))
		return true;
	size_t n = dns_name_to_text(zone, true, text);
	answer->longer_zone = arena_strndup(&reader->arena, text, n - 1);
	answer->is_delegated = found == RFC2136_ZONE_DELEGATED;
	return true;
}

static void take_reply(struct rfc2136_reading *slot)
{
	struct rfc2136_reader *reader = slot->reader;
	struct rfc2136_read *read = &reader->reads.v[slot->index];
	char error[PROVIDER_ERROR_BYTES];
	enum provider_code code = rfc2136_rcode_query(&slot->ask, read->name, ERR_TEXT(error));
	/* A server without any zone for the name refuses: the update, or another read, says why. */
	bool is_refused = code == PROVIDER_UNAUTHORIZED || code == PROVIDER_NO_ZONE;
	if (read->finds_zone && (code == PROVIDER_OK || is_refused)) {
		if (is_refused || take_zone(slot))
			read_next(slot);
		return;
	}
	if (code != PROVIDER_OK) {
		fail_reader(reader, code, error);
		return;
	}
	if (rfc2136_answer_read(slot->ask.reply, slot->ask.reply_n, slot->name, read->type,
				&reader->arena, &read->answer) < 0) {
		fail_reader(reader, PROVIDER_TRANSIENT, "the server's answer is malformed");
		return;
	}
	if (read->is_exact && read->answer.set.n_values != 0)
		send_question(slot);
	else
		read_next(slot);
}

static void on_answer(struct rfc2136_ask *ask)
{
	struct rfc2136_reading *slot = CONTAINER_OF(ask, struct rfc2136_reading, ask);
	/* Nothing was changed by it: whatever it met passes. */
	enum provider_code code = ask->code == PROVIDER_UNSURE ? PROVIDER_TRANSIENT : ask->code;
	if (code != PROVIDER_OK)
		fail_reader(slot->reader, code, ask->error);
	else if (slot->is_confirming)
		take_confirmation(slot);
	else
		take_reply(slot);
}

void rfc2136_reader_start(struct rfc2136_reader *reader)
{
	size_t count = MIN(reader->reads.n, (size_t)RFC2136_READS_AT_ONCE);
	assert(count != 0 && reader->n_running == 0 && reader->next == 0);
	if (reader->slots == NULL)
		reader->slots = xcalloc(RFC2136_READS_AT_ONCE, sizeof(*reader->slots));
	reader->code = PROVIDER_OK;
	reader->error[0] = '\0';
	reader->n_running = count;
	reader->next = count;
	for (size_t i = 0; i < count; i++) {
		struct rfc2136_reading *slot = &reader->slots[i];
		slot->reader = reader;
		slot->ask.account = reader->account;
		slot->ask.msg = slot->msg;
		slot->ask.msg_cap = sizeof(slot->msg);
		slot->ask.end_by_ns = reader->end_by_ns;
		slot->ask.done = on_answer;
		start_reading(slot, i);
	}
}
