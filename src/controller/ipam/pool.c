/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One pass over a pool. The allocator works with its newest spec; the pool keeps a finalizer while it
 * has addresses; its status follows at most once a second, since each of many claims changes it. */
#include "controller/ipam/reconcile.h"

#include <stdio.h>
#include <string.h>

#include "api/condition.h"
#include "api/kind.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "controller/ipam/address_object.h"
#include "controller/ipam/default_nameservers.h"
#include "controller/ipam/report/foreign_use.h"
#include "controller/ipam/report/overlap.h"
#include "controller/ipam/allocation/pool_spec.h"
#include "controller/ipam/report/pool_status.h"
#include "controller/ipam/records.h"
#include "controller/ipam/request_error.h"
#include "controller/ipam/state.h"
#include "controller/ipam/watches.h"
#include "controller/shared/finalizer.h"
#include "kube/client/client.h"
#include "kube/decode/tree.h"
#include "kube/events/events.h"

/* ---- what its addresses are ---- */

struct counting {
	const struct ipam_pool_spec *spec; /* NULL: invalid, nothing is in range */
	struct ipam_pool_use use;
	struct ipam_block lowest; /* that is out of range; AF_UNSPEC: none */
};

static void note_out_of_range(struct counting *counting, struct ipam_block block)
{
	const struct ipam_block *lowest = &counting->lowest;
	if (lowest->family == AF_UNSPEC || block.family < lowest->family ||
	    (block.family == lowest->family && block.first < lowest->first))
		counting->lowest = block;
}

static bool count_address(void *ctx, struct kube_obj *obj)
{
	struct counting *counting = ctx;
	struct ipam_block block;
	bool known = ipam_block_of(ipam_address_of(obj), &block);
	counting->use.used++;
	if (counting->spec != NULL && known && ipam_pool_spec_has(counting->spec, block))
		return true;
	counting->use.out_of_range++;
	if (known)
		note_out_of_range(counting, block);
	return true;
}

/* Nothing if none is, or the spec is invalid, which Ready says. */
static void write_out_of_range(const struct counting *counting, struct strbuf *out)
{
	bool one = counting->use.out_of_range == 1;
	char text[NET_ADDR_TEXT_MAX];
	if (counting->spec == NULL || counting->lowest.family == AF_UNSPEC)
		return;
	union net_addr lowest = net_ip_from_number(counting->lowest.family, counting->lowest.first);
	net_addr_ip_str(&lowest, text);
	if (one)
		strbuf_addf(out, "the allocated address %s ", text);
	else
		strbuf_addf(out,
			    "%lld allocated addresses are out of the pool's range; the lowest one, "
			    "%s, ",
			    (long long)counting->use.out_of_range, text);
	strbuf_adds(out, ipam_pool_spec_why_unusable(counting->spec, counting->lowest));
	strbuf_adds(out, one ? "; it stays until its claim is deleted"
			     : "; they stay until their claims are deleted");
}

/* ---- writing ---- */

static struct kube_ref ref_of(const json_t *pool)
{
	return (struct kube_ref){ api_kind_find(IPAM_GROUP, api_kind(pool)), api_namespace(pool),
				  api_name(pool), api_uid(pool) };
}

static int change_finalizer(struct controller_ctx *ctx, const json_t *pool, bool in_use)
{
	struct kube_ref ref = ref_of(pool);
	struct kube_status st = { 0 };
	bool has = api_has_finalizer(pool, IPAM_POOL_FINALIZER);
	int r = 0;
	if (!has && !api_is_deleting(pool))
		r = finalizer_add(ctx->conn, &ref, IPAM_POOL_FINALIZER, &st);
	else if (has && api_is_deleting(pool) && !in_use)
		r = finalizer_remove(ctx->conn, &ref, IPAM_POOL_FINALIZER, &st);
	if (r == ERR_NOTFOUND || r == ERR_GONE)
		r = 0; /* the watch shows it */
	r = ipam_note_error(ctx, "finalizer of the pool", r, &st);
	kube_status_done(&st);
	return r;
}

struct edit {
	const struct ipam_pool_report *report;
	int64_t generation; /* that the report is about */
};

static int edit_status(void *ctx, json_t *copy)
{
	const struct edit *edit = ctx;
	if (api_generation(copy) != edit->generation)
		return 0; /* its next pass follows */
	return ipam_set_pool_status(copy, edit->report, clock_wall_ns());
}

static bool is_problem(const json_t *condition)
{
	const char *good = strcmp(api_text(json_object_get(condition, "type")), "Ready") == 0
				   ? "True"
				   : "False";
	return strcmp(api_text(json_object_get(condition, "status")), good) != 0;
}

/* An Event for each condition that has turned bad: the stock CRD of pools keeps no conditions. */
static void emit_problems(struct controller_ctx *ctx, const json_t *before, const json_t *after)
{
	size_t i;
	json_t *condition;
	json_array_foreach (api_tree(api_get(after, "status.conditions")), i, condition) {
		const json_t *old =
			api_condition_find(api_tree(api_get(before, "status.conditions")),
					   api_text(json_object_get(condition, "type")));
		if (!is_problem(condition) || (old != NULL && is_problem(old)) ||
		    ctx->events == NULL)
			continue;
		events_emit(
			ctx->events,
			&(struct event){ .regarding = before,
					 .warning = true,
					 .reason = api_text(json_object_get(condition, "reason")),
					 .action = "Report" },
			"%s", api_text(json_object_get(condition, "message")));
	}
}

static int write_status(struct controller_ctx *ctx, const char *key, const json_t *pool,
			struct ipam_pool_report *report)
{
	struct kube_ref ref = ref_of(pool);
	struct kube_status st = { 0 };
	struct edit edit = { report, api_generation(pool) };
	json_t *copy = json_deep_copy(pool);
	report->no_conditions = ipam_state_is_pool_written(ctx, key, report->pruning) &&
				api_get(pool, "status.conditions") == NULL;
	int r = 0;
	if (ipam_set_pool_status(copy, report, clock_wall_ns())) {
		r = kube_edit(ctx->conn, &ref, "status", edit_status, &edit, &st);
		r = r == ERR_NOTFOUND ? 0 : ipam_note_error(ctx, "status of the pool", r, &st);
		kube_status_done(&st);
	}
	if (r == 0 && !report->no_conditions) {
		emit_problems(ctx, pool, copy);
		ipam_state_pool_written(ctx, key, report->pruning);
	}
	json_decref(copy);
	return r;
}

/* ---- the pass ---- */

static int report_pool(struct controller_ctx *ctx, const char *key, const json_t *pool)
{
	CLEANUP(strbuf_done) struct strbuf overlap = STRBUF_INIT, cut = STRBUF_INIT;
	CLEANUP(strbuf_done) struct strbuf stranded = STRBUF_INIT, foreign = STRBUF_INIT;
	struct ipam_pool_spec spec;
	char error[256];
	bool valid =
		ipam_pool_spec_read(json_object_get(pool, "spec"), &spec, ERR_TEXT(error)) == 0;
	bool empty = valid && ipam_pool_spec_is_empty(&spec, ERR_TEXT(error));
	struct counting counting = { .spec = valid ? &spec : NULL };
	ipam_each_address(ctx, key, count_address, &counting);
	write_out_of_range(&counting, &stranded);
	if (valid) {
		ipam_find_overlaps_and_doubles(ctx, key, &overlap);
		counting.use.foreign = ipam_find_foreign_use(ctx, key, &spec, &foreign);
	}
	struct ipam_default_nameservers defaults = ipam_default_nameservers_of(ctx);
	const json_t *nameservers = ipam_pool_nameservers(pool, defaults.value);
	ipam_list_cut_nameservers(nameservers, &cut);
	if (valid)
		ipam_detect_pruning_of_pool(ctx, pool, &spec, nameservers);
	struct ipam_pool_report report = {
		.use = counting.use,
		.total = valid ? net_ip_ranges_count_blocks(&spec.usable, spec.bits) : 0,
		.error = valid ? NULL : error,
		.empty = empty ? error : NULL,
		.overlap = overlap.n != 0 ? overlap.s : NULL,
		.stranded = stranded.n != 0 ? stranded.s : NULL,
		.foreign = foreign.n != 0 ? foreign.s : NULL,
		.pruning = ipam_pruning_of(ctx),
		.cut = cut.n != 0 ? cut.s : NULL,
		.bad_default = nameservers == defaults.value ? defaults.problems : NULL,
	};
	int r = change_finalizer(ctx, pool, counting.use.used > 0);
	if (r == 0 && !api_is_deleting(pool))
		r = write_status(ctx, key, pool, &report);
	ipam_default_nameservers_done(&defaults);
	if (valid)
		ipam_pool_spec_done(&spec);
	return r;
}

int ipam_reconcile_pool(struct controller_ctx *ctx, const char *key)
{
	struct kube_obj *pool = ipam_find_pool(ctx, key);
	struct ipam_pool_facts facts;
	char error[256];
	bool news;
	int r = 0;
	ipam_state_sync_all_pools(ctx); /* the report names those with the same addresses */
	ipam_state_sync_pool(ctx, key, pool, &facts, &news, ERR_TEXT(error));
	if (news)
		ipam_queue_open_claims(ctx, key);
	if (pool != NULL) {
		uint64_t wait_ns = ipam_state_pool_pause(ctx, key, news);
		if (wait_ns != 0)
			ctx->again_ns = wait_ns;
		else
			r = report_pool(ctx, key, kube_tree_of(pool));
	}
	kube_obj_unref(pool);
	return r;
}
