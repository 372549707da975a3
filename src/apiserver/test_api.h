/* SPDX-License-Identifier: GPL-3.0-or-later */
/* For tests of the API: an API on a real store in a new directory, called without HTTP. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/meta.h"
#include "apiserver/api.h"
#include "apiserver/request/stream.h"
#include "apiserver/store/store.h"
#include "apiserver/verb/dispatch.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

struct fixture {
	char dir[64];
	struct apiserver_store_conf store_conf;
	struct apiserver_api_conf conf;
	struct apiserver_store *s;
	struct apiserver_api *api;
	const char *accept; /* of requests; NULL: application/json */
	char err[512];
};

static inline void fixture_open(struct fixture *f)
{
	assert_int_equal(apiserver_store_open(&f->store_conf, &f->s, ERR_TEXT(f->err)), 0);
	f->conf.store = f->s;
	if (apiserver_api_new(&f->conf, &f->api, ERR_TEXT(f->err)) < 0)
		fail_msg("%s", f->err);
}

static inline void fixture_close(struct fixture *f)
{
	apiserver_api_free(f->api);
	apiserver_store_close(f->s);
	f->api = NULL;
	f->s = NULL;
}

static inline int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	snprintf(f->dir, sizeof(f->dir), "/tmp/api.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->store_conf =
		(struct apiserver_store_conf){ .dir = f->dir, .compact_every_ns = UINT64_MAX };
	f->conf.wait_ns = 50 * NS_PER_MS;
	fixture_open(f);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	char cmd[128];
	fixture_close(f);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", f->dir);
	assert_int_equal(system(cmd), 0);
	free(f);
	return 0;
}

/* ---- asking ---- */

static const struct apiserver_identity test_system = { .user = "system", .system = true };

struct asked {
	struct apiserver_answer answer;
	json_t *o; /* the body, or NULL */
};

/* `target` is "METHOD /path?a=b&c=d" ; values are not escaped. `type` of the body, or NULL: JSON.
 */
static inline void ask_as(struct fixture *f, const char *target, const char *type, const char *body,
			  struct asked *ret)
{
	static const struct {
		const char *text;
		enum http_method m;
	} methods[] = { { "GET", HTTP_GET },	 { "POST", HTTP_POST },	    { "PUT", HTTP_PUT },
			{ "PATCH", HTTP_PATCH }, { "DELETE", HTTP_DELETE }, { "HEAD", HTTP_HEAD } };
	struct apiserver_arg args[16];
	CLEANUP(freep) char *copy = xstrdup(target);
	char *path = strchr(copy, ' '), *query;
	struct apiserver_call c = { .args = args,
				    .accept = f->accept != NULL ? f->accept : "application/json",
				    .content_type = type != NULL ? type : "",
				    .if_none_match = "",
				    .user_agent = "tester/1.0",
				    .body = slice_of(body != NULL ? body : ""),
				    .who = &test_system,
				    .method = HTTP_OTHER };
	*path++ = '\0';
	for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
		if (strcmp(methods[i].text, copy) == 0)
			c.method = methods[i].m;
	}
	c.method_text = copy;
	c.path = path;
	query = strchr(path, '?');
	while (query != NULL) {
		char *next, *value;
		*query++ = '\0';
		next = strchr(query, '&');
		if (next != NULL)
			*next = '\0';
		value = strchr(query, '=');
		if (value != NULL)
			*value++ = '\0';
		args[c.n_args++] = (struct apiserver_arg){ query, value != NULL ? value : "" };
		query = next;
	}
	apiserver_dispatch(f->api, &c, &ret->answer);
	ret->o = json_loadb(ret->answer.body.s, ret->answer.body.n, 0, NULL);
}

static inline void asked_done(struct asked *a)
{
	json_decref(a->o);
	apiserver_answer_done(&a->answer);
}

static inline json_t *ask_type(struct fixture *f, unsigned status, const char *target,
			       const char *type, const char *body)
{
	struct asked a;
	ask_as(f, target, type, body, &a);
	if (a.answer.status != status)
		fail_msg("%s: %u %s", target, a.answer.status, a.answer.body.s);
	json_t *o = json_incref(a.o);
	asked_done(&a);
	return o;
}

/* The answer's tree (json_decref it); fails when the status is another. */
static inline json_t *ask(struct fixture *f, unsigned status, const char *target, const char *body)
{
	return ask_type(f, status, target, NULL, body);
}

static inline void does(struct fixture *f, unsigned status, const char *target, const char *body)
{
	json_decref(ask(f, status, target, body));
}

static inline void merge(struct fixture *f, unsigned status, const char *path, const char *body)
{
	CLEANUP(freep) char *target = xasprintf("PATCH %s", path);
	json_decref(ask_type(f, status, target, "application/merge-patch+json", body));
}

/* Asks until the status is this one: for what the collector does in its own time. */
static inline void becomes(struct fixture *f, unsigned status, const char *target)
{
	const struct timespec pause = { .tv_nsec = 2000000 };
	uint64_t end = clock_mono_ns() + 10 * NS_PER_S;
	for (;;) {
		struct asked a;
		ask_as(f, target, NULL, NULL, &a);
		unsigned got = a.answer.status;
		if (got != status && clock_mono_ns() > end)
			fail_msg("%s stays %u: %s", target, got, a.answer.body.s);
		asked_done(&a);
		if (got == status)
			return;
		nanosleep(&pause, NULL);
	}
}

static inline void assert_text(const json_t *o, const char *path, const char *want)
{
	if (strcmp(api_get_string(o, path), want) != 0)
		fail_msg("%s is '%s', not '%s'", path, api_get_string(o, path), want);
}

/* ---- watching ---- */

static inline struct apiserver_stream *watch(struct fixture *f, const char *target)
{
	struct asked a;
	ask_as(f, target, NULL, NULL, &a);
	if (a.answer.stream == NULL)
		fail_msg("%s: %u %s", target, a.answer.status, a.answer.body.s);
	struct apiserver_stream *s = TAKE_PTR(a.answer.stream);
	asked_done(&a);
	return s;
}

/* What can be pulled now as "TYPE name version " each; false when the stream has ended. */
static inline bool pull_text(struct apiserver_stream *s, struct strbuf *out)
{
	CLEANUP(strbuf_done) struct strbuf raw = STRBUF_INIT;
	char buf[61]; /* small, so that events come in pieces */
	ssize_t n;
	while ((n = apiserver_stream_pull(s, buf, sizeof(buf))) > 0)
		strbuf_add(&raw, buf, (size_t)n);
	struct slice rest = strbuf_slice(&raw);
	while (rest.n != 0) {
		struct slice line = slice_cut(&rest, '\n');
		json_t *e = json_loadb(line.p, line.n, 0, NULL);
		assert_non_null(e);
		const json_t *o = json_object_get(e, "object");
		strbuf_addf(out, "%s %s %s ", api_get_string(e, "type"),
			    strcmp(api_kind(o), "Status") == 0 ? api_get_string(o, "reason")
							       : api_name(o),
			    api_resource_version(o));
		json_decref(e);
	}
	return n == 0;
}
