/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the status of claims (claim_report.h), and Events for claims that get no address. */
#include "controller/ipam/claim_status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/condition.h"
#include "api/json_text.h"
#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "controller/ipam/claim_report.h"
#include "controller/ipam/request_error.h"
#include "controller/ipam/watches.h"
#include "kube/client/client.h"
#include "kube/events/events.h"

/* The first status of a claim needs no read before: there is nothing to keep. */
static int write_first(struct controller_ctx *ctx, const struct ipam_claim *claim,
		       const struct kube_ref *ref, const struct ipam_claim_report *report)
{
	CLEANUP(strbuf_done) struct strbuf patch = STRBUF_INIT;
	struct kube_status st = { 0 };
	char uid[IPAM_UID_TEXT_MAX];
	strbuf_adds(&patch, "{\"metadata\":{");
	api_json_add_member(&patch, "uid", ipam_uid_text(&claim->uid, uid));
	api_json_add_member(&patch, "resourceVersion", claim->o.rv);
	strbuf_adds(&patch, "},\"status\":");
	ipam_claim_report_add(report,
			      &(struct ipam_claim_version){ .api = ref->kind->version,
							    .generation = claim->generation,
							    .now_ns = clock_wall_ns() },
			      &patch);
	strbuf_addc(&patch, '}');
	int r = kube_merge_text(ctx->conn, ref, "status", strbuf_slice(&patch), &st);
	if (r == 0)
		r = 1;
	else if (r == ERR_CONFLICT || r == ERR_NOTFOUND)
		r = 0;
	r = ipam_note_error(ctx, "status of the claim", r, &st);
	kube_status_done(&st);
	return r;
}

struct edit {
	const char *version;
	const struct ipam_claim *claim;
	const struct ipam_claim_report *report;
	bool written;
};

/* Has the claim a message of the API about the same request? Those may differ each time, and each write
 * starts a pass, which sends the request again. */
static bool is_known_refusal(const json_t *status, const struct ipam_claim_report *report)
{
	const json_t *ready = api_condition_find(api_tree(api_get(status, "conditions")), "Ready");
	const char *end = strchr(report->message, ':');
	return report->from_api && end != NULL &&
	       strcmp(api_get_string(ready, "reason"), report->reason) == 0 &&
	       strncmp(api_get_string(ready, "message"), report->message,
		       (size_t)(end - report->message) + 1) == 0;
}

static int edit_status(void *ctx, json_t *copy)
{
	struct edit *edit = ctx;
	json_t *status = json_object_get(copy, "status");
	if (!json_is_object(status)) {
		status = json_object();
		json_object_set_new(copy, "status", status);
	}
	edit->written = strcmp(api_resource_version(copy), edit->claim->o.rv) == 0 &&
			!is_known_refusal(status, edit->report) &&
			ipam_claim_report_set(
				edit->report,
				&(struct ipam_claim_version){ .api = edit->version,
							      .generation = api_generation(copy),
							      .now_ns = clock_wall_ns() },
				status);
	return edit->written;
}

/* 1: written; 0: the API has it, or a newer version of the claim. */
static int write_report(struct controller_ctx *ctx, const struct ipam_claim *claim,
			const struct ipam_claim_report *report)
{
	struct kube_ref ref = { .kind = ipam_claim_kind(ctx),
				.ns = claim->o.ns,
				.name = claim->o.name };
	if (!claim->has_conditions && !claim->is_bound)
		return write_first(ctx, claim, &ref, report);
	struct kube_status st = { 0 };
	struct edit edit = { ref.kind->version, claim, report, false };
	int r = kube_edit(ctx->conn, &ref, "status", edit_status, &edit, &st);
	if (r == ERR_NOTFOUND)
		r = 0;
	r = ipam_note_error(ctx, "status of the claim", r, &st);
	kube_status_done(&st);
	return r < 0 ? r : edit.written;
}

static void emit_event(struct controller_ctx *ctx, const struct ipam_claim *claim,
		       const struct ipam_claim_report *report)
{
	if (ctx->events == NULL)
		return;
	CLEANUP(strbuf_done) struct strbuf version = STRBUF_INIT;
	const struct api_kind *kind = ipam_claim_kind(ctx);
	char uid[IPAM_UID_TEXT_MAX];
	api_kind_api_version(&version, kind);
	json_t *identity =
		json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}}", "apiVersion", version.s, "kind",
			  kind->kind, "metadata", "name", claim->o.name, "namespace", claim->o.ns,
			  "uid", ipam_uid_text(&claim->uid, uid), "resourceVersion", claim->o.rv);
	events_emit(ctx->events,
		    &(struct event){ .regarding = identity,
				     .warning = report->address == NULL,
				     .reason = report->reason,
				     .action = "Allocate" },
		    "%s", report->message);
	json_decref(identity);
}

int ipam_report_bound(struct controller_ctx *ctx, const struct ipam_claim *claim,
		      const struct ipam_address *address)
{
	char message[128];
	struct ipam_claim_report report = { address->o.name, IPAM_ALLOCATED, message, false };
	if (ipam_is_rejected(claim, address) ||
	    (strcmp(ipam_address_ref_of(claim), address->o.name) == 0 &&
	     claim->reason == IPAM_REASON_ALLOCATED))
		return 0;
	snprintf(message, sizeof(message), "address %.64s", address->address);
	int r = write_report(ctx, claim, &report);
	return r < 0 ? r : 0;
}

static int write_problem(struct controller_ctx *ctx, const struct ipam_claim *claim,
			 const struct ipam_claim_report *report)
{
	int r = write_report(ctx, claim, report);
	if (r > 0)
		emit_event(ctx, claim, report);
	return r < 0 ? r : 0;
}

int ipam_report_lost(struct controller_ctx *ctx, const struct ipam_claim *claim)
{
	char message[512];
	struct ipam_claim_report report = { NULL, IPAM_ALLOCATION_FAILED, message, false };
	snprintf(message, sizeof(message), "the IPAddress '%.253s' no longer exists",
		 ipam_address_ref_of(claim));
	return write_problem(ctx, claim, &report);
}

int ipam_report_unbound(struct controller_ctx *ctx, const struct ipam_claim *claim,
			const char *reason, const char *fmt, ...)
{
	char message[512];
	struct ipam_claim_report report = { NULL, reason, message, false };
	va_list args;
	/* A claim that has an address keeps its status: the address is not lost with its pool. Thousands
	 * may wait for one, and for this reason there is one message; for the others the API is asked,
	 * since the watch's copy has no messages. */
	if (claim->is_bound || (claim->reason == IPAM_REASON_POOL_EXHAUSTED &&
				ipam_reason_of(reason) == claim->reason))
		return 0;
	va_start(args, fmt);
	vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	return write_problem(ctx, claim, &report);
}

int ipam_report_refusal(struct controller_ctx *ctx, const struct ipam_claim *claim, int ret)
{
	char message[sizeof(ctx->err)];
	struct ipam_claim_report report = { NULL, IPAM_ALLOCATION_FAILED, message, true };
	if (claim->is_bound || !ipam_is_refusal(ret))
		return ret;
	snprintf(message, sizeof(message), "%s", ctx->err);
	if (write_problem(ctx, claim, &report) < 0) {
		char why[sizeof(ctx->err)];
		snprintf(why, sizeof(why), "%s", ctx->err);
		err_text_set(ERR_TEXT(ctx->err), "%s; not reported on the claim: %s", message, why);
	} else {
		err_text_set(ERR_TEXT(ctx->err), "%s", message);
	}
	return ret;
}
