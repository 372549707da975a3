/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The strict script in front of the server of fake_api.h. */
#include "testing/scripted_http.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/vec.h"

struct expected {
	struct scripted_call call; /* its texts are copies */
	unsigned left;
};

struct scripted_http {
	struct fakeapi *server;
	pthread_mutex_t lock; /* guards all below */
	VEC(struct expected) rows;
	struct strbuf differences; /* of calls that came */
	struct strbuf report;	   /* with those that did not */
	bool asked;
};

static bool has_line(const char *request, const char *line)
{
	size_t n = strlen(line);
	return strncmp(request, line, n) == 0 && strncmp(request + n, " HTTP/", 6) == 0;
}

static bool has_header(const char *request, const char *header)
{
	const char *end = strstr(request, "\r\n\r\n");
	CLEANUP(freep) char *wanted = xasprintf("\r\n%s\r\n", header);
	const char *found = strstr(request, wanted);
	return found != NULL && found < end + 2;
}

static bool has_body(const char *request, const char *body)
{
	return strcmp(strstr(request, "\r\n\r\n") + 4, body) == 0;
}

/* How the request differs from what is expected of it; NULL: it does not. */
static const char *find_difference(const struct expected *row, const char *request)
{
	if (row == NULL)
		return "is not in the script";
	if (row->left == 0)
		return "came too often";
	if (row->call.header != NULL && !has_header(request, row->call.header))
		return "lacks the header";
	if (row->call.body != NULL && !has_body(request, row->call.body))
		return "has another body";
	return NULL;
}

static void choose_reply(void *ctx, const char *request, struct fakeapi_reply *ret)
{
	struct scripted_http *script = ctx;
	struct expected *row = NULL;
	pthread_mutex_lock(&script->lock);
	for (size_t i = 0; i < script->rows.n && (row == NULL || row->left == 0); i++)
		if (has_line(request, script->rows.v[i].call.line))
			row = &script->rows.v[i];
	const char *difference = find_difference(row, request);
	if (difference != NULL) {
		strbuf_addf(&script->differences, "%.*s %s\n", (int)strcspn(request, "\r"), request,
			    difference);
		*ret = (struct fakeapi_reply){ .status = 501, .body = "not in the script" };
	} else {
		row->left--;
		*ret = row->call.reply;
	}
	pthread_mutex_unlock(&script->lock);
}

struct scripted_http *scripted_http_new(const struct fakeapi_tls *tls)
{
	struct scripted_http *script = xcalloc(1, sizeof(*script));
	pthread_mutex_init(&script->lock, NULL);
	strbuf_init(&script->differences);
	strbuf_init(&script->report);
	script->server = fakeapi_new(tls);
	fakeapi_set_chooser(script->server, choose_reply, script);
	return script;
}

static char *copy_text(const char *text)
{
	return text != NULL ? xstrdup(text) : NULL;
}

void scripted_http_expect(struct scripted_http *script, const struct scripted_call *call)
{
	struct expected row = { .call = *call, .left = call->times != 0 ? call->times : 1 };
	row.call.line = xstrdup(call->line);
	row.call.header = copy_text(call->header);
	row.call.body = copy_text(call->body);
	row.call.reply.headers = copy_text(call->reply.headers);
	row.call.reply.body = copy_text(call->reply.body);
	row.call.reply.raw = copy_text(call->reply.raw);
	pthread_mutex_lock(&script->lock);
	vec_push(&script->rows, row);
	pthread_mutex_unlock(&script->lock);
}

const char *scripted_http_differences(struct scripted_http *script)
{
	pthread_mutex_lock(&script->lock);
	strbuf_reset(&script->report);
	strbuf_add_slice(&script->report, strbuf_slice(&script->differences));
	for (size_t i = 0; i < script->rows.n; i++)
		if (script->rows.v[i].left != 0)
			strbuf_addf(&script->report, "%s did not come\n",
				    script->rows.v[i].call.line);
	script->asked = true;
	pthread_mutex_unlock(&script->lock);
	return script->report.s;
}

static void free_row(struct expected *row)
{
	const char *texts[] = {
		row->call.line,		 row->call.header,     row->call.body,
		row->call.reply.headers, row->call.reply.body, row->call.reply.raw
	};
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		free((char *)(uintptr_t)texts[i]);
}

void scripted_http_free(struct scripted_http *script)
{
	bool asked = script->asked;
	fakeapi_free(script->server);
	if (!asked && scripted_http_differences(script)[0] != '\0') {
		fprintf(stderr, "calls differ from the script:\n%s", script->report.s);
		abort();
	}
	for (size_t i = 0; i < script->rows.n; i++)
		free_row(&script->rows.v[i]);
	vec_done(&script->rows);
	strbuf_done(&script->differences);
	strbuf_done(&script->report);
	pthread_mutex_destroy(&script->lock);
	free(script);
}

const char *scripted_http_url(const struct scripted_http *script)
{
	return fakeapi_url(script->server);
}

size_t scripted_http_calls(struct scripted_http *script)
{
	return fakeapi_requests(script->server);
}

size_t scripted_http_connections(struct scripted_http *script)
{
	return fakeapi_connections(script->server);
}

const char *scripted_http_call(struct scripted_http *script, size_t index)
{
	return fakeapi_request(script->server, index);
}
