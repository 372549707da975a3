/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Asks the servers of the engine, and reads the records at the name out of the reply. */
#include "controller/dnsrecord/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "controller/engine_lookups.h"
#include "dns/name.h"
#include "dns/resp.h"
#include "dns/rrtext/values.h"
#include "dns/types.h"

/* In place of the asterisk: a label that nobody has. */
#define WILDCARD_LABEL "fairlead-probe"

/* ---- the reply ---- */

static size_t count_answers(const struct dns_resp *reply)
{
	size_t n = 0;
	DNS_RR_FOREACH(rr, reply, DNS_ANSWER)
	n++;
	return n;
}

/* One record; 0, also if it is none that was asked for. */
static int read_record(struct dnsrecord_lookup *lookup, const struct dns_rr *rr, size_t *count)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	if (rr->cls != DNS_CLASS_IN || !dns_name_eq(rr->owner, lookup->lookup.name))
		return 0;
	if (rr->type != lookup->set.type) {
		lookup->is_alias = lookup->is_alias || rr->type == DNS_TYPE_CNAME;
		return 0;
	}
	int r = dns_value_from_wire(rr->type, rr->rdata, rr->rdlen, &text);
	if (r < 0)
		return r;
	lookup->set.ttl_s = rr->ttl;
	lookup->texts[*count] = xstrdup(text.s);
	lookup->values[*count] = lookup->texts[*count];
	(*count)++;
	return 0;
}

static int read_records(struct dnsrecord_lookup *lookup, const struct dns_resp *reply)
{
	size_t n = count_answers(reply), count = 0;
	lookup->texts = xcalloc(n + 1, sizeof(*lookup->texts));
	lookup->values = xcalloc(n + 1, sizeof(*lookup->values));
	DNS_RR_FOREACH(rr, reply, DNS_ANSWER)
	{
		int r = read_record(lookup, rr, &count);
		if (r < 0)
			return r;
	}
	lookup->set.values = lookup->values;
	lookup->set.n_values = provider_values_sort(lookup->values, count);
	return 0;
}

static int read_reply(struct dnsrecord_lookup *lookup)
{
	struct dns_resp reply = { 0 };
	struct arena arena;
	arena_init(&arena);
	int r = dns_resp_from_wire(&reply, &arena, lookup->lookup.reply, lookup->lookup.reply_len);
	if (r >= 0)
		r = dns_resp_thaw(&reply, &arena);
	if (r >= 0)
		r = read_records(lookup, &reply);
	arena_done(&arena);
	return r;
}

/* ---- the work ---- */

static void fail_lookup(struct dnsrecord_lookup *lookup, int code, const char *error)
{
	lookup->result = code;
	snprintf(lookup->error, sizeof(lookup->error), "%s", error);
}

static void on_done(struct lookup *asked)
{
	struct dnsrecord_lookup *lookup = CONTAINER_OF(asked, struct dnsrecord_lookup, lookup);
	int r = asked->result == 0 ? read_reply(lookup) : asked->result;
	if (r < 0)
		fail_lookup(lookup, r,
			    asked->result < 0 && asked->error[0] != '\0' ? asked->error
									 : err_str(r));
	engine_complete(&lookup->work);
}

/* Few are sent at a time: what the others wait is not the servers' time. */
static void on_sent(struct lookup *asked)
{
	engine_begin(&CONTAINER_OF(asked, struct dnsrecord_lookup, lookup)->work);
}

static void start_lookup(struct engine_work *work)
{
	struct dnsrecord_lookup *lookup = dnsrecord_lookup_of(work);
	struct lookup_client *client = engine_lookups(work->engine);
	if (client != NULL) {
		lookup_start(client, &lookup->lookup);
		return;
	}
	fail_lookup(lookup, ERR_CONFIG, "there is no name server to ask");
	engine_complete(work);
}

static void cancel_lookup(struct engine_work *work)
{
	lookup_cancel(&dnsrecord_lookup_of(work)->lookup);
}

static void free_lookup(struct engine_work *work)
{
	struct dnsrecord_lookup *lookup = dnsrecord_lookup_of(work);
	for (size_t i = 0; lookup->texts != NULL && lookup->texts[i] != NULL; i++)
		free(lookup->texts[i]);
	free(lookup->texts);
	free(lookup->values);
	free(lookup);
}

static int write_name(const char *name, uint8_t ret[DNS_NAME_MAX])
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	bool is_wildcard = strncmp(name, "*.", 2) == 0;
	strbuf_adds(&text, is_wildcard ? WILDCARD_LABEL : "");
	strbuf_adds(&text, is_wildcard ? name + 1 : name);
	return dns_name_from_text(strbuf_slice(&text), ret);
}

struct dnsrecord_lookup *dnsrecord_lookup_new(const struct provider_rrset *set)
{
	static const struct engine_work_ops ops = { start_lookup, cancel_lookup, free_lookup };
	struct dnsrecord_lookup *lookup = xcalloc(1, sizeof(*lookup));
	*lookup = (struct dnsrecord_lookup){
		.work = { .ops = &ops, .waits_for_turn = true },
		.lookup = { .type = set->type, .done = on_done, .sent = on_sent },
		.set = { .type = set->type },
	};
	if (write_name(set->name, lookup->lookup.name) < 0) {
		free(lookup);
		return NULL;
	}
	return lookup;
}
