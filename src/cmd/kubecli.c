/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What get, apply, delete and status share: connecting to the API, words for kinds and names, and
 * error messages. */
#include "cmd/kubecli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/err_text.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "kube/client/config.h"

void kubecli_say(const struct kubecli *cli, const char *fmt, ...)
{
	va_list ap;
	fprintf(stderr, "fairlead %s: ", cli->verb);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* --kubeconfig, then $KUBECONFIG, then a data directory: the one that was named, or the usual one
 * when it is here. What kube_config_load tries by itself comes after that. */
static const char *choose_file(struct kubecli *cli)
{
	const char *env = getenv("KUBECONFIG");
	if (cli->kubeconfig != NULL)
		return cli->kubeconfig;
	if (cli->data == NULL && env != NULL && env[0] != '\0')
		return NULL;
	cli->found = xasprintf("%s/kubeconfig", cli->data != NULL ? cli->data : "fairlead-data");
	if (cli->data != NULL || access(cli->found, R_OK) == 0)
		return cli->found;
	return NULL;
}

bool kubecli_has_file(const struct kubecli *cli)
{
	const char *env = getenv("KUBECONFIG");
	return cli->kubeconfig != NULL || cli->data != NULL || (env != NULL && env[0] != '\0') ||
	       access("fairlead-data/kubeconfig", R_OK) == 0;
}

bool kubecli_open(struct kubecli *cli)
{
	char err[512] = "";
	struct kube_config *c;
	if (cli->ns != NULL && !api_name_is_path_segment(cli->ns)) {
		kubecli_say(cli, "-n: '%s' cannot be the name of a namespace", cli->ns);
		return false;
	}
	if (kube_config_load(choose_file(cli), cli->context, &c, ERR_TEXT(err)) < 0) {
		kubecli_say(cli, "%s", err);
		return false;
	}
	cli->client = kube_client_new(c);
	cli->conn = kube_conn_new(cli->client, ERR_TEXT(err));
	if (cli->conn == NULL)
		kubecli_say(cli, "%s", err);
	return cli->conn != NULL;
}

void kubecli_close(struct kubecli *cli)
{
	kube_conn_free(cli->conn);
	kube_client_free(cli->client);
	free(cli->found);
}

int kubecli_flush(const struct kubecli *cli, int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	kubecli_say(cli, "cannot write to standard output: %s", err_str(-errno));
	return EXIT_FAILED;
}

void kubecli_say_status(const struct kubecli *cli, const char *what, const struct kube_status *st)
{
	if (st->code == 0)
		kubecli_say(cli, "%s: no answer from %s: %s", what, kube_client_text(cli->client),
			    st->message);
	else if (st->code < 300)
		kubecli_say(cli, "%s: %s: %s", what, kube_client_text(cli->client), st->message);
	else if (st->code == 404 && strcmp(st->reason, "NotFound") != 0)
		kubecli_say(cli, "%s: %s does not serve this kind: is its definition installed?",
			    what, kube_client_text(cli->client));
	else if (st->code == 401)
		kubecli_say(cli, "%s: %s rejected the credentials: %s", what,
			    kube_client_text(cli->client), st->message);
	else
		kubecli_say(cli, "%s: %s", what, st->message);
}

/* A path of the API, and not of something else. */
static bool is_plain_version(const char *version)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789.-/";
	return strspn(version, allowed) == strlen(version) && strstr(version, "..") == NULL;
}

/* Also if it cannot be found out. */
static bool may_serve(const struct kubecli *cli, const json_t *object)
{
	if (!is_plain_version(api_version(object)))
		return false;
	CLEANUP(freep)
	char *path = xasprintf("/%s/%s", strchr(api_version(object), '/') != NULL ? "apis" : "api",
			       api_version(object));
	struct kube_status st = { 0 };
	json_t *list = NULL;
	const json_t *resource;
	size_t i;
	int r = kube_call(cli->conn, &(struct kube_request){ .method = "GET", .path = path }, &list,
			  &st);
	bool found = r < 0 && r != ERR_NOTFOUND;
	json_array_foreach (json_object_get(list, "resources"), i, resource)
		found = found || strcmp(api_get_string(resource, "kind"), api_kind(object)) == 0;
	kube_status_done(&st);
	json_decref(list);
	return found;
}

void kubecli_explain_kind(const struct kubecli *cli, const json_t *object, struct strbuf *out)
{
	strbuf_addf(out, "%s of %s is not a kind that fairlead handles", api_kind(object),
		    api_version(object));
	if (may_serve(cli, object))
		strbuf_adds(out, "; use kubectl");
	else
		strbuf_addf(out, ", and %s does not serve it: is its name or its apiVersion wrong?",
			    kube_client_text(cli->client));
}

bool kubecli_written_kind(const json_t *object, struct api_kind *ret)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	const struct api_kind *kind = api_kind_of(object);
	const char *slash = strrchr(api_version(object), '/');
	const char *version = slash != NULL ? slash + 1 : api_version(object);
	if (kind == NULL || version[0] == '\0' || strspn(version, allowed) != strlen(version))
		return false;
	*ret = *kind;
	ret->version = version;
	return true;
}

static void say_ambiguous(const struct kubecli *cli, const char *word)
{
	CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT;
	for (size_t i = 0; i < api_n_kinds; i++) {
		const struct api_kind *x = &api_kinds[i];
		bool several;
		CLEANUP(freep)
		char *full =
			xasprintf("%s%s%s", x->plural, x->group[0] != '\0' ? "." : "", x->group);
		if (strncasecmp(x->plural, word, strlen(word)) == 0 &&
		    api_kind_by_word(full, &several) == x)
			strbuf_addf(&b, "%s%s", b.n != 0 ? " or " : "", full);
	}
	kubecli_say(cli, "'%s' is ambiguous: use %s", word, b.n != 0 ? b.s : "plural.group");
}

const struct api_kind *kubecli_kind(const struct kubecli *cli, const char *word)
{
	bool several = false;
	const struct api_kind *kind = api_kind_by_word(word, &several);
	if (kind == NULL && several)
		say_ambiguous(cli, word);
	else if (kind == NULL)
		kubecli_say(cli, "unknown kind '%s'; docs/reference/kinds.md lists them", word);
	return kind;
}

typedef bool each_fn(void *ctx, const struct api_kind *kind, const char *name);

/* An empty name, as an unset variable leaves it, would mean all objects of the kind. */
static bool each_named(const struct kubecli *cli, const struct api_kind *kind, const char *name,
		       each_fn *each, void *ctx)
{
	if (api_name_is_path_segment(name))
		return each(ctx, kind, name);
	kubecli_say(cli, "'%s' cannot be the name of a %s", name, kind->singular);
	return false;
}

/* One word "KIND/NAME". */
static bool each_slashed(const struct kubecli *cli, const char *word, each_fn *each, void *ctx)
{
	const char *slash = strchr(word, '/');
	if (slash == NULL || slash == word || slash[1] == '\0' || strchr(slash + 1, '/') != NULL) {
		kubecli_say(cli, "'%s' is not KIND/NAME", word);
		return false;
	}
	CLEANUP(freep) char *kind_word = xstrndup(word, (size_t)(slash - word));
	const struct api_kind *kind = kubecli_kind(cli, kind_word);
	return kind != NULL && each_named(cli, kind, slash + 1, each, ctx);
}

bool kubecli_each(const struct kubecli *cli, const struct flag_values *args,
		  bool (*each)(void *ctx, const struct api_kind *kind, const char *name), void *ctx)
{
	bool ok = true;
	if (strchr(args->v[0], '/') != NULL) {
		for (size_t i = 0; i < args->n; i++)
			ok = each_slashed(cli, args->v[i], each, ctx) && ok;
		return ok;
	}
	const struct api_kind *kind = kubecli_kind(cli, args->v[0]);
	if (kind == NULL)
		return false;
	if (args->n == 1)
		return each(ctx, kind, NULL);
	for (size_t i = 1; i < args->n; i++) {
		if (strchr(args->v[i], '/') != NULL) {
			kubecli_say(cli, "'%s': either KIND NAME... or KIND/NAME...", args->v[i]);
			return false;
		}
		ok = each_named(cli, kind, args->v[i], each, ctx) && ok;
	}
	return ok;
}

void kubecli_name(struct strbuf *out, const struct api_kind *kind, const char *name)
{
	strbuf_addf(out, "%s%s%s/%s", kind->singular, kind->group[0] != '\0' ? "." : "",
		    kind->group, name);
}

bool kubecli_ns_fits(const struct kubecli *cli, const struct api_kind *kind, const json_t *object,
		     struct strbuf *why)
{
	const char *ns = api_namespace(object);
	if (!kind->namespaced || ns[0] == '\0' || cli->ns == NULL || strcmp(ns, cli->ns) == 0)
		return true;
	strbuf_addf(why, "the object is for namespace '%s', but -n is '%s'", ns, cli->ns);
	return false;
}

const char *kubecli_ns(const struct kubecli *cli, const struct api_kind *kind)
{
	if (!kind->namespaced)
		return "";
	return cli->ns != NULL ? cli->ns : kube_config_namespace(kube_client_config(cli->client));
}
