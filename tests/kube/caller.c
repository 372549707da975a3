/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client for tests: does what lines of JSON on standard input say, and answers each with a line
 * of JSON.
 *
 * usage: kube-caller KUBECONFIG|in-cluster:ROOT [TOKEN_MS [FILES_MS]]
 *
 *   {"do":"call","method":"GET","path":"/version","body":...,"type":"...","timeout_ms":500}
 *   {"do":"get","kind":"Pod","group":"","ns":"a","name":"b"}     also delete (uid, rv, propagation)
 *   {"do":"create",...,"body":{}}            also update, merge, apply (manager); sub
 *   {"do":"edit",...}                        adds 1 to data.n
 *   {"do":"stream","path":"...","gzip":true,"idle_ms":500}       a line {"total":BYTES} per piece
 *   {"do":"info"}                            text, namespace, resident memory
 *
 * Answers: {"result":"success","object":...,"warnings":"..."}, and for failures the status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "api/meta.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "kube/client/client.h"
#include "kube/client/config.h"
#include "kube/client/config_test.h"

struct caller {
	struct kube_client *client;
	struct kube_conn *conn;
	const json_t *cmd;
	struct kube_ref ref;
	const json_t *body;
	const char *sub;
	json_t *object;
	struct kube_status st;
	size_t total;
};

static void say(json_t *line)
{
	json_dumpf(line, stdout, JSON_COMPACT);
	fputc('\n', stdout);
	fflush(stdout);
	json_decref(line);
}

/* NULL when it is not there. */
static const char *text(const struct caller *c, const char *key)
{
	return json_string_value(json_object_get(c->cmd, key));
}

static uint64_t time_of(const struct caller *c, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(c->cmd, key)) * NS_PER_MS;
}

static int do_call(struct caller *c)
{
	struct kube_request r = { .method = text(c, "method"),
				  .path = text(c, "path"),
				  .body = c->body,
				  .content_type = text(c, "type"),
				  .timeout_ns = time_of(c, "timeout_ms") };
	bool plain = json_is_true(json_object_get(c->cmd, "plain"));
	return kube_call(c->conn, &r, plain ? NULL : &c->object, &c->st);
}

static int do_get(struct caller *c)
{
	return kube_get(c->conn, &c->ref, &c->object, &c->st);
}

static int do_create(struct caller *c)
{
	return kube_create(c->conn, &c->ref, c->body, &c->object, &c->st);
}

static int do_update(struct caller *c)
{
	return kube_update(c->conn, &c->ref, c->sub, c->body, &c->object, &c->st);
}

static int do_merge(struct caller *c)
{
	return kube_merge(c->conn, &c->ref, c->sub, c->body, &c->object, &c->st);
}

static int do_apply(struct caller *c)
{
	return kube_apply(c->conn, &c->ref, c->sub, text(c, "manager"), c->body, &c->object,
			  &c->st);
}

static int do_delete(struct caller *c)
{
	struct kube_delete_opts o = { text(c, "uid"), text(c, "rv"), text(c, "propagation") };
	return kube_delete(c->conn, &c->ref, &o, &c->st);
}

static int add_one(void *ctx, json_t *copy)
{
	json_t *data = json_object_get(copy, "data");
	long n = strtol(api_get_string(copy, "data.n"), NULL, 10);
	char next[32];
	(void)ctx;
	snprintf(next, sizeof(next), "%ld", n + 1);
	json_object_set_new(data, "n", json_string(next));
	return 1;
}

static int do_edit(struct caller *c)
{
	return kube_edit(c->conn, &c->ref, c->sub, add_one, NULL, &c->st);
}

static int on_data(void *ctx, struct slice bytes)
{
	struct caller *c = ctx;
	c->total += bytes.n;
	say(json_pack("{s:I}", "total", (json_int_t)c->total));
	return 0;
}

static int do_stream(struct caller *c)
{
	c->total = 0;
	struct kube_stream s = { .path = text(c, "path"),
				 .gzip = json_is_true(json_object_get(c->cmd, "gzip")),
				 .idle_ns = time_of(c, "idle_ms"),
				 .timeout_ns = time_of(c, "timeout_ms"),
				 .data = on_data,
				 .ctx = c };
	return kube_stream(c->conn, &s, &c->st);
}

static int do_info(struct caller *c)
{
	const char *ns = kube_config_namespace(kube_client_config(c->client));
	c->object = json_pack("{s:s,s:s}", "text", kube_client_text(c->client), "namespace", ns);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(struct caller *c);
} verbs[] = {
	{ "call", do_call },	 { "get", do_get },	{ "create", do_create },
	{ "update", do_update }, { "merge", do_merge }, { "apply", do_apply },
	{ "delete", do_delete }, { "edit", do_edit },	{ "stream", do_stream },
	{ "info", do_info },
};

static int run(struct caller *c, json_t *cmd)
{
	const char *name = api_get_string(cmd, "do");
	const char *kind = json_string_value(json_object_get(cmd, "kind"));
	c->cmd = cmd;
	c->body = json_object_get(cmd, "body");
	c->sub = text(c, "sub");
	c->ref = (struct kube_ref){ .ns = text(c, "ns"), .name = text(c, "name") };
	if (kind != NULL)
		c->ref.kind = api_kind_find(api_get_string(cmd, "group"), kind);
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].name, name) == 0)
			return verbs[i].run(c);
	return ERR_UNSUPPORTED;
}

static void answer(struct caller *c, int r)
{
	json_t *o = json_pack("{s:s,s:s}", "result", err_str(r), "warnings",
			      kube_conn_warnings(c->conn));
	if (c->object != NULL)
		json_object_set_new(o, "object", c->object);
	if (r < 0) {
		json_object_set_new(o, "code", json_integer(c->st.code));
		json_object_set_new(o, "reason", json_string(c->st.reason));
		json_object_set_new(o, "message", json_string(c->st.message));
		json_object_set(o, "causes", c->st.causes);
	}
	c->object = NULL;
	kube_status_done(&c->st);
	say(o);
}

static int load(int argc, char **argv, struct kube_config **ret)
{
	char err[512];
	struct slice pod = SLICE("in-cluster:");
	int r = slice_starts(slice_of(argv[1]), pod)
			? kube_config_in_cluster(argv[1] + pod.n, ret, ERR_TEXT(err))
			: kube_config_load(argv[1], NULL, ret, ERR_TEXT(err));
	if (r < 0) {
		fprintf(stderr, "%s\n", err);
		return r;
	}
	struct kube_config_times t = { 0 };
	if (argc > 2)
		t.token_ns = strtoull(argv[2], NULL, 10) * NS_PER_MS;
	if (argc > 3)
		t.files_ns = strtoull(argv[3], NULL, 10) * NS_PER_MS;
	kube_config_set_times(*ret, &t);
	return 0;
}

int main(int argc, char **argv)
{
	static char line[8 << 20];
	struct kube_config *config;
	struct caller c = { 0 };
	char err[512];
	if (argc < 2 || load(argc, argv, &config) < 0)
		return 1;
	c.client = kube_client_new(config);
	c.conn = kube_conn_new(c.client, ERR_TEXT(err));
	if (c.conn == NULL) {
		fprintf(stderr, "%s\n", err);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin) != NULL) {
		json_t *cmd = json_loads(line, 0, NULL);
		answer(&c, run(&c, cmd));
		json_decref(cmd);
	}
	kube_conn_free(c.conn);
	kube_client_free(c.client);
	return 0;
}
