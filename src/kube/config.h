/* Where the API server is and who we are: a kubeconfig, or the service account of a pod. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/strbuf.h"

struct kube_config;

/* `file`: a kubeconfig; NULL: those in $KUBECONFIG (first definition of a key wins), else
 * ~/.kube/config, else the pod's service account. `context`: NULL: the file's current one. Errors
 * carry a sentence that names the file and what is missing in it. */
MUST_CHECK int kube_config_load(const char *file, const char *context, struct kube_config **ret,
				char *err, size_t err_n);
/* The pod's service account: address from the environment, CA, token and namespace from the mount
 * (`root` is put in front of its path, for tests; NULL: none). */
MUST_CHECK int kube_config_in_cluster(const char *root, struct kube_config **ret, char *err,
				      size_t err_n);
void kube_config_free(struct kube_config *c);

const char *kube_config_server(const struct kube_config *c); /* "https://host:port", no slash behind
							      */
const char *kube_config_namespace(const struct kube_config *c); /* "default" when none is said */
/* The bearer token now in force, appended; "" when there is none. Files are read again at most once
 * a minute, exec plugins when their credential expires; `fresh`: at once (after a 401), unless it
 * was read since `asked_ns`. The old token stays when reading fails. Any thread. */
MUST_CHECK int kube_config_token(struct kube_config *c, bool fresh, uint64_t asked_ns,
				 struct strbuf *out);
