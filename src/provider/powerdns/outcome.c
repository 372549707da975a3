/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Failures of calls as the publisher's codes. PowerDNS's own sentence is kept; other replies are not repeated
 * (provider/shared/reply_text.h). */
#include "provider/powerdns/outcome_priv.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "dns/types.h"
#include "provider/powerdns/reply_priv.h"
#include "provider/shared/job.h"

/* A write may have been applied once the request was begun. */
static void fail_transport(struct provider_job *job, const struct http_call *call)
{
	enum provider_code code = PROVIDER_TRANSIENT;
	if (call->result == ERR_CONFIG || call->result == ERR_DENIED ||
	    ((call->untrusted || call->other_host) && job->kind == PROVIDER_FIND_ZONES))
		code = PROVIDER_INVALID;
	else if (job->kind == PROVIDER_APPLY && call->phase >= HTTP_SEND)
		code = PROVIDER_UNSURE;
	provider_job_fail(job, code, "%s", call->error);
}

/* 5xx of a write: PowerDNS rolls back, but a proxy in front of it does not know. */
static const struct {
	int status;
	enum provider_code read, write;
	const char *hint;
} statuses[] = {
	{ 400, PROVIDER_INVALID, PROVIDER_INVALID,
	  "; if the request is too long, raise webserver-max-bodysize" },
	{ 401, PROVIDER_UNAUTHENTICATED, PROVIDER_UNAUTHENTICATED,
	  ": the API key is refused, see 'apiKey' in the Secret and api-key of the server" },
	{ 403, PROVIDER_UNAUTHORIZED, PROVIDER_UNAUTHORIZED, "" },
	{ 404, PROVIDER_INVALID, PROVIDER_INVALID,
	  ": there is no such server, see 'server' and 'virtualHost' in the Secret" },
	{ 408, PROVIDER_TRANSIENT, PROVIDER_UNSURE, "" },
	{ 409, PROVIDER_TRANSIENT, PROVIDER_CONFLICT, "" },
	{ 429, PROVIDER_THROTTLED, PROVIDER_THROTTLED, "" },
};

/* Statuses of replies in which PowerDNS 4.7 has a sentence of its own. */
static bool has_sentence(int status)
{
	return status == 400 || status == 404 || status == 409 || status == 422 || status == 500;
}

static enum provider_code code_of(const struct provider_job *job, const struct http_call *call,
				  const char *text, const char **ret_hint)
{
	bool is_write = job->kind == PROVIDER_APPLY;
	*ret_hint = "";
	for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
		if (statuses[i].status != call->status)
			continue;
		*ret_hint = statuses[i].hint;
		return is_write ? statuses[i].write : statuses[i].read;
	}
	if (call->status == 422 && strstr(text, "Conflicts with") != NULL)
		return PROVIDER_CONFLICT;
	if (call->status == 503 && call->has_retry_after)
		return PROVIDER_THROTTLED;
	if (call->status >= 500)
		return is_write ? PROVIDER_UNSURE : PROVIDER_TRANSIENT;
	/* 2xx: not the reply that was asked for. */
	return call->status < 300 ? PROVIDER_TRANSIENT : PROVIDER_INVALID;
}

/* ---- the change that a sentence names ---- */

/* How PowerDNS 4.7's sentences begin, and what stands between a name and a type. */
static const struct {
	const char *begin, *between;
} forms[] = {
	{ "RRset ", " IN " },
	{ "Duplicate record in RRset ", " IN " },
	{ "Duplicate RRset ", " IN " },
	{ "Record ", "/" },
	{ "Name '", NULL },
	{ "Unable to parse DNS Name '", NULL },
	{ "DNS Name '", NULL },
};

static bool cut_prefix(struct slice *text, struct slice prefix)
{
	if (!slice_starts(*text, prefix))
		return false;
	*text = slice_from(*text, prefix.n);
	return true;
}

/* `text` follows the form's beginning. */
static bool names_set(struct slice text, const char *between, const struct provider_rrset *set)
{
	char buf[DNS_MNEMONIC_MAX];
	if (!cut_prefix(&text, slice_of(set->name)) || !cut_prefix(&text, SLICE(".")))
		return false;
	if (between == NULL)
		return slice_starts(text, SLICE("'"));
	return cut_prefix(&text, slice_of(between)) &&
	       cut_prefix(&text, slice_of(dns_type_str(set->type, buf))) &&
	       (slice_starts(text, SLICE(":")) || slice_starts(text, SLICE(" ")));
}

static struct powerdns_culprit find_named(struct provider_job *job, const char *sentence)
{
	for (size_t f = 0; f < ARRAY_LEN(forms); f++) {
		struct slice text = slice_of(sentence);
		if (!cut_prefix(&text, slice_of(forms[f].begin)))
			continue;
		for (size_t i = 0; i < job->n_changes; i++) {
			struct provider_change *change = &job->changes[i];
			for (size_t j = 0; j < change->n_edits; j++) {
				const struct provider_rrset *set = &change->edits[j].set;
				if (names_set(text, forms[f].between, set))
					return (struct powerdns_culprit){ change, set };
			}
		}
	}
	return (struct powerdns_culprit){ 0 };
}

struct powerdns_culprit powerdns_outcome_fail(struct provider_job *job,
					      const struct http_call *call, struct slice body)
{
	char text[PROVIDER_ERROR_BYTES] = "";
	struct powerdns_culprit culprit = { 0 };
	const char *hint;
	if (call->result < 0) {
		fail_transport(job, call);
		return culprit;
	}
	job->was_answered = true;
	if (has_sentence(call->status))
		powerdns_reply_error(body, ERR_TEXT(text));
	enum provider_code code = code_of(job, call, text, &hint);
	if (call->has_retry_after)
		job->retry_after_ns = call->retry_after_s * NS_PER_S;
	if (call->status == 422 && text[0] != '\0')
		provider_job_fail(job, code, "PowerDNS: %s", text);
	else
		provider_job_fail(job, code, "PowerDNS answered %d%s%s%s", call->status,
				  text[0] != '\0' ? ": " : "", text, hint);
	if (call->status == 422 && job->kind == PROVIDER_APPLY)
		culprit = find_named(job, text);
	if (culprit.change != NULL)
		provider_change_fail(culprit.change, code, "%s", job->error);
	return culprit;
}
