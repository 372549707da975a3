/* Shared parts of the commands that talk to an API. */
#include "cmd/kubecli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "kube/config.h"

void kubecli_say(const struct kubecli *k, const char *fmt, ...)
{
	va_list ap;
	fprintf(stderr, "fairlead %s: ", k->verb);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}

/* --kubeconfig, then $KUBECONFIG, then a data directory: the one that was named, or the usual one
 * when it is here. What kube_config_load tries by itself comes after that. */
static const char *choose_file(struct kubecli *k)
{
	const char *env = getenv("KUBECONFIG");
	if (k->kubeconfig != NULL)
		return k->kubeconfig;
	if (k->data == NULL && env != NULL && env[0] != '\0')
		return NULL;
	k->found = xasprintf("%s/kubeconfig", k->data != NULL ? k->data : "fairlead-data");
	if (k->data != NULL || access(k->found, R_OK) == 0)
		return k->found;
	return NULL;
}

bool kubecli_open(struct kubecli *k)
{
	char err[512] = "";
	struct kube_config *c;
	if (k->ns != NULL && !api_name_is_step(k->ns)) {
		kubecli_say(k, "-n: '%s' cannot be the name of a namespace", k->ns);
		return false;
	}
	if (kube_config_load(choose_file(k), k->context, &c, err, sizeof(err)) < 0) {
		kubecli_say(k, "%s", err);
		return false;
	}
	k->client = kube_client_new(c);
	k->conn = kube_conn_new(k->client, err, sizeof(err));
	if (k->conn == NULL)
		kubecli_say(k, "%s", err);
	return k->conn != NULL;
}

void kubecli_close(struct kubecli *k)
{
	kube_conn_free(k->conn);
	kube_client_free(k->client);
	free(k->found);
}

int kubecli_flush(const struct kubecli *k, int status)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return status;
	kubecli_say(k, "cannot write to standard output: %s", err_str(-errno));
	return EXIT_FAILED;
}

void kubecli_say_status(const struct kubecli *k, const char *what, const struct kube_status *st)
{
	if (st->code == 0)
		kubecli_say(k, "%s: no answer from %s: %s", what, kube_client_text(k->client),
			    st->message);
	else if (st->code < 300)
		kubecli_say(k, "%s: %s: %s", what, kube_client_text(k->client), st->message);
	else if (st->code == 404 && strcmp(st->reason, "NotFound") != 0)
		kubecli_say(k, "%s: %s does not serve this kind: is its definition installed?",
			    what, kube_client_text(k->client));
	else if (st->code == 401)
		kubecli_say(k, "%s: %s does not know who we are: %s", what,
			    kube_client_text(k->client), st->message);
	else
		kubecli_say(k, "%s: %s", what, st->message);
}

static void say_ambiguous(const struct kubecli *k, const char *word)
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
	kubecli_say(k, "'%s' means more than one kind: say %s", word,
		    b.n != 0 ? b.s : "plural.group");
}

const struct api_kind *kubecli_kind(const struct kubecli *k, const char *word)
{
	bool several = false;
	const struct api_kind *kind = api_kind_by_word(word, &several);
	if (kind == NULL && several)
		say_ambiguous(k, word);
	else if (kind == NULL)
		kubecli_say(k, "there is no kind '%s' here; docs/reference/kinds.md lists them",
			    word);
	return kind;
}

typedef bool each_fn(void *ctx, const struct api_kind *kind, const char *name);

/* An empty name, as an unset variable leaves it, would mean all objects of the kind. */
static bool each_named(const struct kubecli *k, const struct api_kind *kind, const char *name,
		       each_fn *each, void *ctx)
{
	if (api_name_is_step(name))
		return each(ctx, kind, name);
	kubecli_say(k, "'%s' cannot be the name of a %s", name, kind->singular);
	return false;
}

/* One word "KIND/NAME". */
static bool each_slashed(const struct kubecli *k, const char *word, each_fn *each, void *ctx)
{
	const char *slash = strchr(word, '/');
	if (slash == NULL || slash == word || slash[1] == '\0' || strchr(slash + 1, '/') != NULL) {
		kubecli_say(k, "'%s' is not KIND/NAME", word);
		return false;
	}
	CLEANUP(freep) char *kind_word = xstrndup(word, (size_t)(slash - word));
	const struct api_kind *kind = kubecli_kind(k, kind_word);
	return kind != NULL && each_named(k, kind, slash + 1, each, ctx);
}

bool kubecli_each(const struct kubecli *k, const struct flag_values *args,
		  bool (*each)(void *ctx, const struct api_kind *kind, const char *name), void *ctx)
{
	bool ok = true;
	if (strchr(args->v[0], '/') != NULL) {
		for (size_t i = 0; i < args->n; i++)
			ok = each_slashed(k, args->v[i], each, ctx) && ok;
		return ok;
	}
	const struct api_kind *kind = kubecli_kind(k, args->v[0]);
	if (kind == NULL)
		return false;
	if (args->n == 1)
		return each(ctx, kind, NULL);
	for (size_t i = 1; i < args->n; i++) {
		if (strchr(args->v[i], '/') != NULL) {
			kubecli_say(k, "'%s': either KIND NAME... or KIND/NAME...", args->v[i]);
			return false;
		}
		ok = each_named(k, kind, args->v[i], each, ctx) && ok;
	}
	return ok;
}

void kubecli_name(struct strbuf *out, const struct api_kind *kind, const char *name)
{
	strbuf_addf(out, "%s%s%s/%s", kind->singular, kind->group[0] != '\0' ? "." : "",
		    kind->group, name);
}

bool kubecli_ns_fits(const struct kubecli *k, const struct api_kind *kind, const json_t *o,
		     struct strbuf *why)
{
	const char *ns = api_namespace(o);
	if (!kind->namespaced || ns[0] == '\0' || k->ns == NULL || strcmp(ns, k->ns) == 0)
		return true;
	strbuf_addf(why, "the object is for namespace '%s', -n says '%s'", ns, k->ns);
	return false;
}

const char *kubecli_ns(const struct kubecli *k, const struct api_kind *kind)
{
	if (!kind->namespaced)
		return "";
	return k->ns != NULL ? k->ns : kube_config_namespace(kube_client_config(k->client));
}
