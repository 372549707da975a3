/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Looks up a name on the engine's thread: reconcile is called once to submit the lookup, and once
 * more when it has completed. */
#include "controller/example/addresses.h"

#include "base/clock.h"
#include "base/hash.h"
#include "controller/engine.h"
#include "controller/example/known_addresses.h"
#include "controller/shared/name_lookup.h"
#include "kube/events/events.h"

enum { AGAIN_MIN_S = 5, AGAIN_MAX_S = 3600, FAILED_AGAIN_S = 30 };

static void report_failure(struct controller_ctx *ctx, const json_t *regarding, const char *reason,
			   const char *text)
{
	if (ctx->events != NULL)
		events_emit(ctx->events,
			    &(struct event){ .regarding = regarding,
					     .warning = true,
					     .reason = reason,
					     .action = "Lookup" },
			    "%s", text);
}

static void write_addresses(const struct name_lookup *lookup, struct strbuf *out)
{
	for (size_t i = 0; i < ARRAY_LEN(lookup->part); i++) {
		for (size_t k = 0; k < lookup->part[i].n_addresses; k++) {
			char text[NET_ADDR_TEXT_MAX];
			net_addr_ip_str(&lookup->part[i].addresses[k], text);
			strbuf_addf(out, "%s%s", out->n != 0 ? " " : "", text);
		}
	}
}

/* The last addresses of the same name stay when a lookup fails. After a start they are those that the
 * copy has. */
static enum example_addresses stay_with_last(const struct controller_ctx *ctx, const char *key,
					     const char *name, struct strbuf *ret)
{
	uint64_t left_ns;
	switch (example_known_addresses(ctx, key, name, ret, &left_ns)) {
	case EXAMPLE_UNKNOWN:
		return EXAMPLE_FAILED;
	case EXAMPLE_OTHER:
		break;
	case EXAMPLE_EXPIRED:
	case EXAMPLE_CURRENT:
		return EXAMPLE_FOUND;
	}
	return EXAMPLE_NO_LOOKUP;
}

static enum example_addresses use_result(struct controller_ctx *ctx, const char *key,
					 const char *name, const json_t *regarding,
					 const struct name_lookup *lookup, struct strbuf *ret)
{
	if (lookup->work.timed_out || lookup->result < 0) {
		report_failure(ctx, regarding, "LookupFailed",
			       lookup->work.timed_out ? "no server answered in time"
						      : lookup->error);
		ctx->again_ns = FAILED_AGAIN_S * NS_PER_S;
		return stay_with_last(ctx, key, name, ret);
	}
	uint32_t ttl = name_lookup_ttl(lookup);
	ctx->again_ns = MIN(MAX(ttl, (uint32_t)AGAIN_MIN_S), (uint32_t)AGAIN_MAX_S) * NS_PER_S;
	write_addresses(lookup, ret);
	example_keep_addresses(ctx, key, name, strbuf_slice(ret).p, ctx->again_ns);
	return EXAMPLE_FOUND;
}

enum example_addresses example_addresses_of(struct controller_ctx *ctx, const char *key,
					    const char *name, const json_t *regarding,
					    struct strbuf *ret)
{
	struct engine_work *work = NULL;
	if (name[0] == '\0') {
		engine_drop(ctx->engine, key);
		example_forget_addresses(ctx, key);
		return EXAMPLE_NO_LOOKUP;
	}
	if (example_known_addresses(ctx, key, name, ret, &ctx->again_ns) == EXAMPLE_CURRENT)
		return EXAMPLE_FOUND;
	strbuf_reset(ret);
	ctx->again_ns = 0;
	struct slice text = slice_of(name);
	uint64_t input = hash_bytes(hash_process_key(), text.p, text.n);
	enum engine_state state = engine_take(ctx->engine, key, input, &work);
	if (state == ENGINE_UNDER_WAY)
		return EXAMPLE_LATER;
	if (state == ENGINE_COMPLETED) {
		enum example_addresses result =
			use_result(ctx, key, name, regarding, name_lookup_of(work), ret);
		engine_work_free(work);
		return result;
	}
	struct name_lookup *lookup = name_lookup_new(name);
	if (lookup == NULL) {
		report_failure(ctx, regarding, "InvalidName", "the annotation has no domain name");
		return EXAMPLE_NO_LOOKUP;
	}
	engine_submit(ctx->engine, key, input, &lookup->work);
	return EXAMPLE_LATER;
}
