/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Redirects: refused, or followed to the same origin. libcurl could follow by itself, and would then
 * send headers such as X-API-Key to any host. */
#include "http/client/redirect_priv.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static int refuse_redirect(struct http_transfer *transfer, const char *where, const char *why)
{
	snprintf(transfer->reason, sizeof(transfer->reason), "redirected (%d) to %s: %s",
		 transfer->call->status, where, why);
	return ERR_DENIED;
}

/* The origin only: paths and arguments may hold secrets. */
static void describe_target(const struct http_url *url, char *out, size_t size)
{
	snprintf(out, size, "%s%.*s:%u", url->tls ? "https://" : "http://",
		 (int)MIN(url->host.n, (size_t)128), url->host.p, url->port);
}

int http_redirect_check(struct http_transfer *transfer)
{
	struct http_call *call = transfer->call;
	struct http_url to;
	char *url = NULL;
	char where[192] = "a URL that is not accepted";
	if (!http_transfer_is_redirected(transfer))
		return 0;
	/* Absolute, whatever the server wrote; the handle's. */
	if (transfer->lib->easy_getinfo(transfer->easy, CURLINFO_REDIRECT_URL, &url) != CURLE_OK ||
	    url == NULL || http_url_parse(url, &to, (struct err_text){ 0 }) < 0)
		return refuse_redirect(transfer, where, "it is not followed");
	describe_target(&to, where, sizeof(where));
	if (!http_url_same_origin(&transfer->to, &to))
		return refuse_redirect(transfer, where,
				       "another host, to which credentials are not sent; use its "
				       "URL if that is meant");
	if (call->redirects == HTTP_REDIRECTS_REFUSE)
		return refuse_redirect(transfer, where, "redirects are not followed here");
	assert(call->redirects == HTTP_REDIRECTS_FOLLOW);
	if (strcmp(call->method, "GET") != 0 && strcmp(call->method, "HEAD") != 0)
		return refuse_redirect(transfer, where, "only GET and HEAD are repeated");
	if (transfer->redirects == HTTP_REDIRECTS_MAX)
		return refuse_redirect(transfer, where, "too many redirects");
	transfer->redirects++;
	char *next = xstrdup(url);
	free(transfer->url);
	transfer->url = next;
	return 1;
}
