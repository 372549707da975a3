/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Refuses firewalls with rules that are not valid, and warns of those that do less than they seem to.
 * It reads the object alone, so that it needs no store and works before these are complete. */
#include "controller/egressfirewall/admission.h"

#include "api/egress/rules.h"
#include "api/meta.h"
#include "api/tree.h"
#include "base/strbuf.h"

enum { CODE_INVALID = 422, WARNINGS_SHOWN_MAX = 8 };

/* Warnings are short: a longer one is split between words. */
static void warn_wrapped(struct admission_reply *reply, struct slice text)
{
	while (text.n > ADMISSION_WARNING_MAX) {
		size_t n = ADMISSION_WARNING_MAX;
		while (n > 0 && text.p[n] != ' ')
			n--;
		if (n == 0)
			break;
		admission_warn(reply, "%.*s", (int)n, text.p);
		text = slice_from(text, n + 1);
	}
	admission_warn(reply, "%.*s", (int)text.n, text.p);
}

static void report_warnings(const struct egress_rules *rules, struct admission_reply *reply)
{
	size_t shown = MIN(rules->n_warnings, (size_t)WARNINGS_SHOWN_MAX);
	size_t more = rules->n_warnings - shown + rules->n_warnings_more;
	for (size_t i = 0; i < shown; i++) {
		CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
		strbuf_addf(&text, "%s: %s", rules->warning[i].field, rules->warning[i].message);
		warn_wrapped(reply, strbuf_slice(&text));
	}
	if (more != 0)
		admission_warn(reply, "spec.egress: %zu more warnings", more);
}

/* A firewall from before the hook may keep its rules: its metadata must stay changeable. */
static bool is_changed(const struct admission_request *req)
{
	const json_t *now = json_object_get(req->object, "spec");
	const json_t *was = json_object_get(req->old, "spec");
	const json_t *depth =
		api_get(req->object, "metadata.annotations[" EGRESS_DEPTH_ANNOTATION "]");
	const json_t *old = api_get(req->old, "metadata.annotations[" EGRESS_DEPTH_ANNOTATION "]");
	return req->old == NULL || now == NULL || was == NULL || !json_equal(now, was) ||
	       !slice_eq(api_text_slice(depth), api_text_slice(old));
}

static void review_firewall(void *ctx, const struct admission_request *req,
			    struct admission_reply *reply)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct api_errors errors = { 0 };
	struct egress_rules rules;
	struct arena arena;
	(void)ctx;
	if (!is_changed(req))
		return;
	arena_init(&arena);
	egress_rules_read(req->object, &arena, &rules, &errors);
	if (errors.n != 0) {
		api_errors_text(&errors, EGRESS_FIREWALL_KIND "." EGRESS_GROUP, req->name, &text);
		admission_refuse(reply, "%s", text.s);
		reply->code = CODE_INVALID;
	} else {
		report_warnings(&rules, reply);
	}
	api_errors_done(&errors);
	arena_done(&arena);
}

const struct admission_hook egressfirewall_hooks[EGRESSFIREWALL_HOOKS] = {
	{ ADMISSION_VALIDATE, "egressfirewalls.egress.fairlead.dev", EGRESS_GROUP,
	  EGRESS_FIREWALL_KIND, .review = review_firewall },
};
