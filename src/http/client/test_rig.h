/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of the HTTP client share: a scripted server, a loop, a client on it. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/err_text.h"
#include "http/client/client.h"
#include "http/client/sync.h"
#include "net/loop.h"
#include "testing/scripted_http.h"

/* Tests run twice: their calls driven by a loop, and by the thread that waits. */
static UNUSED bool rig_without_loop;

struct rig {
	struct scripted_http *script;
	struct loop *loop;
	struct http_client *client;
	char url[256];
};

static UNUSED void rig_up(struct rig *rig, const struct fakeapi_tls *tls)
{
	static const struct http_client_conf usual = { 0 };
	char err[256] = "";
	*rig = (struct rig){ .script = scripted_http_new(tls) };
	if (!rig_without_loop)
		rig->loop = loop_new();
	rig->client = http_client_new(rig->loop, &usual, ERR_TEXT(err));
	if (rig->client == NULL)
		fail_msg("%s", err);
}

static UNUSED void rig_down(struct rig *rig)
{
	http_client_free(rig->client);
	loop_free(rig->loop);
	scripted_http_free(rig->script);
}

/* The server's URL with that path; valid until the next call. */
static UNUSED const char *url_of(struct rig *rig, const char *path)
{
	snprintf(rig->url, sizeof(rig->url), "%s%s", scripted_http_url(rig->script), path);
	return rig->url;
}

static UNUSED int run_call(struct rig *rig, struct http_call *call)
{
	if (rig->loop == NULL)
		return http_sync_call(rig->client, call, NULL);
	http_client_start(rig->client, call);
	while (call->transfer != NULL)
		loop_turn(rig->loop, true);
	return call->result;
}

/* One call expected, with that reply; made, and its result. Release the call. */
static UNUSED int ask_once(struct rig *rig, struct http_call *call,
			   const struct fakeapi_reply *reply)
{
	CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
	if (call->method == NULL)
		call->method = "GET";
	strbuf_addf(&line, "%s /x", call->method);
	scripted_http_expect(rig->script,
			     &(struct scripted_call){ .line = line.s, .reply = *reply });
	call->url = url_of(rig, "/x");
	return run_call(rig, call);
}

static UNUSED void assert_has(const char *text, const char *part)
{
	if (text == NULL || strstr(text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, text != NULL ? text : "nothing");
}

#define RUN_BOTH(tests)                                                \
	(cmocka_run_group_tests_name("on a loop", tests, NULL, NULL) + \
	 (rig_without_loop = true,                                     \
	  cmocka_run_group_tests_name("without a loop", tests, NULL, NULL)))
