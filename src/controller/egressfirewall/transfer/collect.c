/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs a zone transfer on the engine's loop, and turns its records into pairs. */
#include "controller/egressfirewall/transfer/collect.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "controller/egressfirewall/transfer/key_text.h"
#include "dns/learnt/learnt_record.h"

enum { ENGINE_MARGIN_S = 10 }; /* the transfer ends before the engine ends it */

static struct egressfirewall_collect *collect_of(struct resolve_transfer *transfer)
{
	return CONTAINER_OF(transfer, struct egressfirewall_collect, transfer);
}

static void set_address(union net_addr *address, const struct dns_learnt *learnt)
{
	memset(address, 0, sizeof(*address));
	if (learnt->ip_n == sizeof(address->v4.sin_addr)) {
		address->v4.sin_family = AF_INET;
		memcpy(&address->v4.sin_addr, learnt->ip, learnt->ip_n);
	} else {
		address->v6.sin6_family = AF_INET6;
		memcpy(&address->v6.sin6_addr, learnt->ip, learnt->ip_n);
	}
}

static int add_pair(struct egressfirewall_collect *collect, const struct dns_learnt *learnt)
{
	if (atomic_fetch_add(collect->pairs_held, 1) >= EGRESSFIREWALL_COLLECT_PAIRS_MAX) {
		atomic_fetch_sub(collect->pairs_held, 1);
		return ERR_BUSY;
	}
	struct egressfirewall_pair *pair = vec_add(&collect->pairs);
	pair->name = arena_strndup(&collect->texts, learnt->name.p, learnt->name.n);
	if (learnt->target.n != 0)
		pair->owner = arena_strndup(&collect->texts, learnt->target.p, learnt->target.n);
	pair->ttl_s = learnt->ttl_s;
	pair->first_ns = MIN(learnt->first_s, UINT64_MAX / NS_PER_S) * NS_PER_S;
	pair->client = learnt->client;
	set_address(&pair->address, learnt);
	return 0;
}

/* Deletions say nothing: an address leaves when its time is over (EF-S6), whoever saw it. Records of
 * another form are those of a newer version. */
static int take_record(struct resolve_transfer *transfer,
		       const struct resolve_transfer_record *record)
{
	struct egressfirewall_collect *collect = collect_of(transfer);
	struct dns_learnt learnt;
	if (record->is_deletion || record->type != DNS_TYPE_TXT)
		return 0;
	if (dns_learnt_parse(record->rdata, record->rdata_n, &learnt) < 0)
		return 0;
	return add_pair(collect, &learnt);
}

static void on_done(struct resolve_transfer *transfer)
{
	engine_complete(&collect_of(transfer)->work);
}

static void start_collect(struct engine_work *work)
{
	struct egressfirewall_collect *collect = egressfirewall_collect_of(work);
	collect->transfer.loop = engine_loop(work->engine);
	resolve_transfer_start(&collect->transfer);
}

static void cancel_collect(struct engine_work *work)
{
	resolve_transfer_cancel(&egressfirewall_collect_of(work)->transfer);
}

static void free_collect(struct engine_work *work)
{
	struct egressfirewall_collect *collect = egressfirewall_collect_of(work);
	atomic_fetch_sub(collect->pairs_held, collect->pairs.n);
	vec_done(&collect->pairs);
	arena_done(&collect->texts);
	dns_tsig_key_done(&collect->key);
	free(collect);
}

static const struct engine_work_ops collect_ops = { .start = start_collect,
						    .cancel = cancel_collect,
						    .free = free_collect };

int egressfirewall_collect_new(const struct egressfirewall_collect_conf *conf,
			       struct egressfirewall_collect **ret, struct err_text reterr)
{
	struct egressfirewall_collect *collect = xcalloc(1, sizeof(*collect));
	int r = egressfirewall_transfer_keys_pick(conf->keys, conf->key_index, &collect->key,
						  reterr);
	if (r < 0) {
		free(collect);
		return r;
	}
	collect->work.ops = &collect_ops;
	collect->work.timeout_ns = (EGRESSFIREWALL_COLLECT_S + ENGINE_MARGIN_S) * NS_PER_S;
	collect->pairs_held = conf->pairs_held;
	arena_init(&collect->texts);
	collect->transfer = (struct resolve_transfer){
		.server = conf->server,
		.zone = dns_learnt_zone,
		.key = &collect->key,
		.incremental = conf->incremental,
		.serial = conf->serial,
		.timeout_ns = EGRESSFIREWALL_COLLECT_S * NS_PER_S,
		.max_records = EGRESSFIREWALL_COLLECT_RECORDS_MAX,
		.max_bytes = EGRESSFIREWALL_COLLECT_BYTES_MAX,
		.record = take_record,
		.done = on_done,
	};
	*ret = collect;
	return 0;
}
