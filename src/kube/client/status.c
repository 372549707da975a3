/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the server's reason for refusing a request: a Status, or any text of a proxy. */
#include "kube/client/status.h"

#include <stdio.h>
#include <string.h>

#include "api/meta.h"
#include "base/err.h"
#include "kube/client/status_priv.h"

enum { TEXT_KEPT_BYTES = 200 };

/* The first row that fits; reason NULL: any. */
static const struct {
	int first, last;
	const char *reason;
	int err;
} codes[] = {
	{ 400, 400, NULL, ERR_CONFIG },
	{ 401, 401, NULL, ERR_DENIED },
	{ 403, 403, NULL, ERR_DENIED },
	{ 404, 404, NULL, ERR_NOTFOUND },
	{ 409, 409, "AlreadyExists", ERR_DUPLICATE },
	{ 409, 409, NULL, ERR_CONFLICT },
	{ 410, 410, NULL, ERR_GONE },
	{ 413, 413, NULL, ERR_LIMIT },
	{ 422, 422, NULL, ERR_CONFIG },
	{ 429, 429, NULL, ERR_BUSY },
	{ 400, 499, NULL, ERR_UNSUPPORTED },
	{ 503, 503, NULL, ERR_BUSY },
	{ 504, 504, NULL, ERR_TIMEOUT },
	{ 500, 599, NULL, ERR_INTERNAL },
};

static int err_of(int code, const char *reason)
{
	for (size_t i = 0; i < ARRAY_LEN(codes); i++)
		if (code >= codes[i].first && code <= codes[i].last &&
		    (codes[i].reason == NULL || strcmp(codes[i].reason, reason) == 0))
			return codes[i].err;
	return ERR_PARSE; /* not an HTTP status of an API server */
}

void kube_status_done(struct kube_status *status)
{
	json_decref(status->causes);
	*status = (struct kube_status){ 0 };
}

/* One line of printable text. */
static void copy_text(char *out, size_t len, const char *text)
{
	snprintf(out, len, "%s", text);
	for (char *p = out; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = ' ';
}

static void from_object(struct kube_status *status, const json_t *object)
{
	const json_t *details = json_object_get(object, "details");
	json_int_t wait = json_integer_value(json_object_get(details, "retryAfterSeconds"));
	copy_text(status->reason, sizeof(status->reason), api_get_string(object, "reason"));
	copy_text(status->message, sizeof(status->message), api_get_string(object, "message"));
	if (wait > 0 && wait < 1 << 20)
		status->retry_after_s = (unsigned)wait;
	status->causes = json_incref(json_object_get(details, "causes"));
	if (!json_is_array(status->causes)) {
		json_decref(status->causes);
		status->causes = NULL;
	}
}

static void from_text(struct kube_status *status, struct slice body)
{
	char text[TEXT_KEPT_BYTES + 32];
	body = slice_trim(body);
	if (body.n == 0)
		return;
	/* What a proxy says often makes no sense without its status. */
	snprintf(text, sizeof(text), "HTTP status %d: %.*s", status->code,
		 (int)MIN(body.n, (size_t)TEXT_KEPT_BYTES), body.p);
	copy_text(status->message, sizeof(status->message), text);
}

int kube_status_from(struct kube_status *status, int code, struct slice body, const char *audit_id)
{
	json_t *o = json_loadb(body.n != 0 ? body.p : "", body.n, 0, NULL);
	kube_status_done(status);
	status->code = code;
	if (strcmp(api_kind(o), "Status") == 0)
		from_object(status, o);
	else
		from_text(status, body);
	json_decref(o);
	if (status->message[0] == '\0')
		snprintf(status->message, sizeof(status->message), "HTTP status %d", code);
	if (audit_id[0] != '\0') {
		/* The id must not be what is cut off. */
		char tail[96];
		int n = snprintf(tail, sizeof(tail), " (audit id %s)", audit_id);
		size_t at = MIN(strlen(status->message), sizeof(status->message) - (size_t)n - 1);
		copy_text(status->message + at, sizeof(status->message) - at, tail);
	}
	return err_of(code, status->reason);
}

void kube_status_set_text(struct kube_status *status, const char *text)
{
	kube_status_done(status);
	copy_text(status->message, sizeof(status->message), text);
}
