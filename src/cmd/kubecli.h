/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What get, apply, delete and status share: where the API is, which objects a user means. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "api/kind.h"
#include "base/compiler.h"
#include "base/strbuf.h"
#include "cmd/flags.h"
#include "kube/client/client.h"

struct kubecli {
	const char *verb; /* for messages: "get" */
	/* Flags: */
	const char *kubeconfig, *context, *data, *ns;
	/* After kubecli_open: */
	struct kube_client *client;
	struct kube_conn *conn;
	char *found; /* the kubeconfig of a data directory, when that was taken */
};

/* The rows of these flags, for the head of a command's table. */
#define KUBECLI_FLAGS(k) KUBECLI_FLAGS_WITH(k, "namespace; default: the context's")
/* Of commands that take the objects of all namespaces unless told otherwise. */
#define KUBECLI_FLAGS_ALL(k) KUBECLI_FLAGS_WITH(k, "this namespace only; default: all")
#define KUBECLI_FLAGS_WITH(k, namespace_help)                                                    \
	FLAG_VALUE("kubeconfig", &(k)->kubeconfig, "FILE",                                       \
		   "kubeconfig; default: $KUBECONFIG, that of --data, ~/.kube/config, the pod"), \
		FLAG_VALUE("context", &(k)->context, "NAME", "context of the kubeconfig"),       \
		FLAG_VALUE("data", &(k)->data, "DIR",                                            \
			   "data of `fairlead up`; default fairlead-data, if it exists"),        \
		FLAG_VALUE("n", &(k)->ns, "NAMESPACE", namespace_help),                          \
		FLAG_VALUE("namespace", &(k)->ns, "NAMESPACE", "the same as -n")

/* Is an API named by a flag or $KUBECONFIG, or is there a data directory at its usual place? The defaults that
 * follow, ~/.kube/config and the pod, are not looked for. */
bool kubecli_has_file(const struct kubecli *cli);
/* False after a message on standard error. */
MUST_CHECK bool kubecli_open(struct kubecli *cli);
void kubecli_close(struct kubecli *cli);

/* "fairlead get: TEXT" on standard error. */
void kubecli_say(const struct kubecli *cli, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The message of a refusal, with advice where there is one. */
void kubecli_say_status(const struct kubecli *cli, const char *what, const struct kube_status *st);

/* Appends that the object is of a kind that fairlead does not handle, and whether kubectl would help. */
void kubecli_explain_kind(const struct kubecli *cli, const json_t *object, struct strbuf *out);

/* The kind a user's word means; NULL after a message. */
const struct api_kind *kubecli_kind(const struct kubecli *cli, const char *word);
/* "KIND NAME..." or "KIND/NAME ...": calls `each` with a name, or once with NULL when there is none
 * but the kind. False when a word was wrong or one call was. */
bool kubecli_each(const struct kubecli *cli, const struct flag_values *args,
		  bool (*each)(void *ctx, const struct api_kind *kind, const char *name),
		  void *ctx);
/* The kind of an object, with the version that the manifest names: the server converts it, or says that
 * it does not serve it. It points into the object. False when it is none of ours, or the version cannot
 * be part of a path. */
bool kubecli_written_kind(const json_t *object, struct api_kind *ret);
/* "service/web", "dns.operator.openshift.io/default" */
void kubecli_name(struct strbuf *out, const struct api_kind *kind, const char *name);
/* False, and why, when -n names another namespace than the object of a manifest. */
bool kubecli_ns_fits(const struct kubecli *cli, const struct api_kind *kind, const json_t *object,
		     struct strbuf *why);
/* The exit status: the one given, or that of a failure when standard output did not take all. */
int kubecli_flush(const struct kubecli *cli, int status);
/* The namespace that is meant for the kind: "" for objects of the cluster. */
const char *kubecli_ns(const struct kubecli *cli, const struct api_kind *kind);
