/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds and loads the configuration: a named kubeconfig, those of the environment, or the service
 * account of the pod. */
#include "kube/client/config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "kube/client/config_priv.h"
#include "kube/client/config_test.h"
#include "kube/client/credential_priv.h"
#include "kube/client/kubeconfig_priv.h"

#define MOUNT "/var/run/secrets/kubernetes.io/serviceaccount"

static const struct kube_config_times default_times = {
	.token_ns = 60 * NS_PER_S,
	.files_ns = 300 * NS_PER_S,
	.exec_ns = 60 * NS_PER_S,
};

struct kube_config *kube_config_new(void)
{
	struct kube_config *c = xcalloc(1, sizeof(*c));
	c->times = default_times;
	c->exec_wake = -1;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->exec_ended, NULL);
	return c;
}

static void source_done(struct kube_source *source)
{
	free(source->path);
	secret_done(&source->data);
}

#define FREE_ALL(vec)                                    \
	do {                                             \
		for (size_t i_ = 0; i_ < (vec)->n; i_++) \
			free((vec)->v[i_]);              \
		vec_done(vec);                           \
	} while (0)

void kube_config_free(struct kube_config *config)
{
	if (config == NULL)
		return;
	free(config->server);
	free(config->ns);
	free(config->origin);
	free(config->tls_name);
	free(config->proxy);
	free(config->token_file);
	FREE_ALL(&config->headers);
	source_done(&config->ca);
	source_done(&config->cert);
	source_done(&config->key);
	free(config->exec.command);
	free(config->exec.api_version);
	free(config->exec.hint);
	FREE_ALL(&config->exec.args);
	FREE_ALL(&config->exec.env);
	secret_done(&config->token);
	kube_exec_cred_done(&config->cred);
	kube_tls_unref(config->tls);
	pthread_cond_destroy(&config->exec_ended);
	pthread_mutex_destroy(&config->lock);
	free(config);
}

void kube_config_set_times(struct kube_config *config, const struct kube_config_times *times)
{
	config->times.token_ns = times->token_ns != 0 ? times->token_ns : default_times.token_ns;
	config->times.files_ns = times->files_ns != 0 ? times->files_ns : default_times.files_ns;
	config->times.exec_ns = times->exec_ns != 0 ? times->exec_ns : default_times.exec_ns;
}

const char *kube_config_server(const struct kube_config *config)
{
	return config->server;
}

const char *kube_config_namespace(const struct kube_config *config)
{
	return config->ns;
}

/* ---- files ---- */

struct texts {
	char *path[64];
	struct secret text[64];
	size_t n;
};

static void texts_done(struct texts *texts)
{
	for (size_t i = 0; i < texts->n; i++) {
		free(texts->path[i]);
		secret_done(&texts->text[i]);
	}
}

/* 0 also when it is missing and optional. */
static int texts_add(struct texts *texts, const char *path, bool must, struct err_text err)
{
	struct secret text = { 0 };
	for (size_t i = 0; i < texts->n; i++)
		if (strcmp(texts->path[i], path) == 0)
			return 0;
	if (texts->n == ARRAY_LEN(texts->path)) {
		err_text_set(err, "more than %zu kubeconfig files", ARRAY_LEN(texts->path));
		return ERR_LIMIT;
	}
	int r = secret_read(path, &text);
	if (r == -ENOENT && !must)
		return 0;
	if (r < 0) {
		err_text_set(err, "cannot read '%s': %s", path, err_str(r));
		return r;
	}
	texts->path[texts->n] = xstrdup(path);
	texts->text[texts->n++] = text;
	return 0;
}

static int texts_from_env(struct texts *texts, const char *list, struct err_text err)
{
	struct slice rest = slice_of(list);
	while (rest.n != 0) {
		struct slice one = slice_cut(&rest, ':');
		if (one.n == 0)
			continue;
		CLEANUP(freep) char *path = xstrndup(one.p, one.n);
		int r = texts_add(texts, path, false, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int texts_find(struct texts *texts, const char *file, struct err_text err)
{
	const char *list = getenv("KUBECONFIG");
	const char *home = getenv("HOME");
	if (file != NULL)
		return texts_add(texts, file, true, err);
	if (list != NULL && list[0] != '\0')
		return texts_from_env(texts, list, err);
	if (home == NULL || home[0] == '\0')
		return 0;
	CLEANUP(freep) char *path = xasprintf("%s/.kube/config", home);
	return texts_add(texts, path, false, err);
}

static int read_texts(const struct texts *texts, const char *context, struct kube_config **ret,
		      struct err_text err)
{
	struct kube_config_file f[ARRAY_LEN(texts->path)];
	struct kube_config *c = kube_config_new();
	for (size_t i = 0; i < texts->n; i++)
		f[i] = (struct kube_config_file){ texts->path[i], secret_slice(&texts->text[i]) };
	int r = kube_config_read(f, texts->n, context, c, err);
	if (r == 0)
		r = kube_config_check(c, err);
	if (r < 0) {
		kube_config_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int kube_config_load(const char *file, const char *context, struct kube_config **ret,
		     struct err_text err)
{
	struct texts t = { .n = 0 };
	int r = texts_find(&t, file, err);
	if (r == 0 && t.n == 0 && getenv("KUBERNETES_SERVICE_HOST") != NULL)
		return kube_config_in_cluster(NULL, ret, err);
	if (r == 0 && t.n == 0) {
		err_text_set(err, "there is no kubeconfig (flag, $KUBECONFIG, ~/.kube/config), "
				  "and this is not a pod (KUBERNETES_SERVICE_HOST is not set)");
		r = ERR_NOTFOUND;
	}
	if (r == 0)
		r = read_texts(&t, context, ret, err);
	texts_done(&t);
	return r;
}

/* ---- the pod's service account ---- */

static char *mounted_path(const char *root, const char *name)
{
	return xasprintf("%s" MOUNT "/%s", root != NULL ? root : "", name);
}

static char *pod_namespace(const char *root)
{
	CLEANUP(freep) char *path = mounted_path(root, "namespace");
	struct secret text = { 0 };
	if (secret_read(path, &text) < 0)
		return xstrdup("default");
	struct slice s = slice_trim(secret_slice(&text));
	char *ns = s.n != 0 ? xstrndup(s.p, s.n) : xstrdup("default");
	secret_done(&text);
	return ns;
}

int kube_config_in_cluster(const char *root, struct kube_config **ret, struct err_text err)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	uint64_t number;
	if (host == NULL || port == NULL || host[0] == '\0') {
		err_text_set(err, "%s is not set: this is not a pod",
			     host == NULL || host[0] == '\0' ? "KUBERNETES_SERVICE_HOST"
							     : "KUBERNETES_SERVICE_PORT");
		return ERR_NOTFOUND;
	}
	if (slice_u64(slice_of(port), &number) < 0 || number == 0 || number > 65535 ||
	    strpbrk(host, " /@?#") != NULL) {
		err_text_set(err, "KUBERNETES_SERVICE_HOST '%s' and _PORT '%s' are not an address",
			     host, port);
		return ERR_PARSE;
	}
	struct kube_config *c = kube_config_new();
	bool v6 = strchr(host, ':') != NULL;
	c->server = xasprintf("https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
	c->origin = xstrdup("the pod's service account");
	c->ca.path = mounted_path(root, "ca.crt");
	c->token_file = mounted_path(root, "token");
	c->ns = pod_namespace(root);
	int r = kube_config_check(c, err);
	if (r < 0) {
		kube_config_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int kube_config_explicit(const char *server, const char *cert, const char *key, const char *ca,
			 struct kube_config **ret, struct err_text err)
{
	size_t n = strlen(server);
	if (strncmp(server, "http://", 7) != 0 && strncmp(server, "https://", 8) != 0) {
		err_text_set(err,
			     "'%s' is not the address of an API server: expected http:// or "
			     "https:// and a host",
			     server);
		return ERR_PARSE;
	}
	while (n > 0 && server[n - 1] == '/')
		n--;
	struct kube_config *c = kube_config_new();
	c->server = xstrndup(server, n);
	c->origin = xasprintf("endpoint %s", c->server);
	c->ns = xstrdup("default");
	c->cert.path = cert != NULL ? xstrdup(cert) : NULL;
	c->key.path = key != NULL ? xstrdup(key) : NULL;
	c->ca.path = ca != NULL ? xstrdup(ca) : NULL;
	int r = kube_config_check(c, err);
	if (r < 0) {
		kube_config_free(c);
		return r;
	}
	*ret = c;
	return 0;
}
