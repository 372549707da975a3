/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What tests of the client share: the scripted server, a client of it and one connection. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "kube/client/client.h"
#include "kube/client/config_priv.h"
#include "kube/client/config_test.h"
#include "kube/client/credential_priv.h"
#include "kube/client/kubeconfig_priv.h"
#include "testing/fake_api.h"

/* The text with the folder in place of each @. */
static UNUSED void put_folder(char *out, size_t n, const char *text, const char *folder)
{
	size_t at = 0;
	for (; *text != '\0' && at + 1 < n; text++) {
		if (*text == '@')
			at += (size_t)snprintf(out + at, n - at, "%s", folder);
		else
			out[at++] = *text;
	}
	assert_true(at < n);
	out[at] = '\0';
}

struct rig {
	struct fakeapi *f;
	struct kube_client *client;
	struct kube_conn *conn;
	struct kube_status st;
};

static UNUSED struct kube_client *client_of(const char *url, const char *user)
{
	char text[4096], err[512] = "";
	struct kube_config *c = kube_config_new();
	snprintf(text, sizeof(text),
		 "{current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}], "
		 "clusters: [{name: a, cluster: {server: '%s'}}], users: [{name: a, user: {%s}}]}",
		 url, user);
	if (kube_config_read(&(struct kube_config_file){ "/f", slice_of(text) }, 1, NULL, c,
			     ERR_TEXT(err)) < 0)
		fail_msg("%s", err);
	return kube_client_new(c);
}

static UNUSED void rig_up(struct rig *g)
{
	char err[256];
	*g = (struct rig){ .f = fakeapi_new(NULL) };
	g->client = client_of(fakeapi_url(g->f), "");
	g->conn = kube_conn_new(g->client, ERR_TEXT(err));
	if (g->conn == NULL)
		fail_msg("%s", err);
}

static UNUSED void rig_down(struct rig *g)
{
	kube_status_done(&g->st);
	kube_conn_free(g->conn);
	kube_client_free(g->client);
	fakeapi_free(g->f);
}
