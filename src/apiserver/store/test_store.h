/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fixture for tests of the store: a store in a new directory, and short functions to write and check. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "apiserver/store/read.h"
#include "apiserver/store/store.h"
#include "apiserver/store/writer.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"

struct fixture {
	char dir[64];
	struct apiserver_store_conf conf;
	struct apiserver_store *s;
	char err[512];
};

static inline void fixture_open(struct fixture *f)
{
	int r = apiserver_store_open(&f->conf, &f->s, ERR_TEXT(f->err));
	if (r < 0)
		fail_msg("open: %d %s", r, f->err);
}

static inline void fixture_reopen(struct fixture *f)
{
	apiserver_store_close(f->s);
	f->s = NULL;
	fixture_open(f);
}

static inline int setup(void **state)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	snprintf(f->dir, sizeof(f->dir), "/tmp/store.XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	f->conf = (struct apiserver_store_conf){ .dir = f->dir, .compact_every_ns = UINT64_MAX };
	fixture_open(f);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;
	char cmd[128];
	apiserver_store_close(f->s);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", f->dir);
	assert_int_equal(system(cmd), 0);
	free(f);
	return 0;
}

/* The value is {"v":"TEXT","rv":"REVISION"}. */
struct put {
	char head[128];
	struct apiserver_write w;
};

static inline const struct apiserver_write *put_text(struct put *p, const char *key,
						     uint64_t expect, const char *text)
{
	snprintf(p->head, sizeof(p->head), "{\"v\":\"%s\",\"rv\":\"", text);
	p->w = (struct apiserver_write){
		.key = key,
		.expect = expect,
		.head = slice_of(p->head),
		.tail = SLICE("\"}"),
	};
	return &p->w;
}

static inline int try_put(struct apiserver_store *s, const char *key, uint64_t expect,
			  const char *text, uint64_t *ret)
{
	struct put p;
	return apiserver_store_write(s, put_text(&p, key, expect, text), 1, ret, NULL);
}

static inline uint64_t put(struct apiserver_store *s, const char *key, uint64_t expect,
			   const char *text)
{
	uint64_t revision = 0;
	assert_int_equal(try_put(s, key, expect, text, &revision), 0);
	return revision;
}

static inline uint64_t del(struct apiserver_store *s, const char *key, uint64_t expect)
{
	struct put p;
	uint64_t revision = 0;
	put_text(&p, key, expect, "gone");
	p.w.remove = true;
	assert_int_equal(apiserver_store_write(s, &p.w, 1, &revision, NULL), 0);
	return revision;
}

static inline void assert_value(struct slice v, const char *text, uint64_t revision)
{
	char want[160];
	snprintf(want, sizeof(want), "{\"v\":\"%s\",\"rv\":\"%llu\"}", text,
		 (unsigned long long)revision);
	assert_int_equal(v.n, strlen(want));
	assert_memory_equal(v.p, want, v.n);
}

/* Asserts that the object's newest version has this text and revision. */
static inline void assert_there(struct apiserver_store *s, const char *key, const char *text,
				uint64_t revision)
{
	struct strbuf b = STRBUF_INIT;
	uint64_t got = 0;
	assert_int_equal(apiserver_store_get(s, key, &b, &got), 0);
	assert_int_equal(got, revision);
	assert_value(strbuf_slice(&b), text, revision);
	strbuf_done(&b);
}

static inline void assert_absent(struct apiserver_store *s, const char *key)
{
	struct strbuf b = STRBUF_INIT;
	uint64_t got;
	assert_int_equal(apiserver_store_get(s, key, &b, &got), ERR_NOTFOUND);
	strbuf_done(&b);
}

/* The keys that a list returns, each followed by a space. */
static inline int add_key(void *ctx, const struct apiserver_row *r)
{
	struct strbuf *b = ctx;
	strbuf_addf(b, "%s ", r->key);
	return 0;
}

static inline void assert_list(struct apiserver_store *s, struct apiserver_range range,
			       const char *keys, uint64_t left)
{
	struct strbuf b = STRBUF_INIT;
	uint64_t at = 0, got_left = 0;
	assert_int_equal(apiserver_store_list(s, &range, add_key, &b, &at, &got_left), 0);
	assert_string_equal(b.s, keys);
	assert_int_equal(got_left, left);
	assert_int_equal(at, range.at != 0 ? range.at : apiserver_store_revision(s));
	strbuf_done(&b);
}
