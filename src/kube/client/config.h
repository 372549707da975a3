/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the API server is and who we are: a kubeconfig, or the service account of a pod. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"

struct kube_config;

/* `file`: a kubeconfig; NULL: those in $KUBECONFIG (first definition of a key wins), else
 * ~/.kube/config, else the pod's service account. `context`: NULL: the file's current one. Errors
 * carry a sentence that names the file and what is missing in it. */
MUST_CHECK int kube_config_load(const char *file, const char *context, struct kube_config **ret,
				struct err_text err);
/* The pod's service account: address from the environment, CA, token and namespace from the mount
 * (`root` is put in front of its path, for tests; NULL: none). */
MUST_CHECK int kube_config_in_cluster(const char *root, struct kube_config **ret,
				      struct err_text err);
/* One that is named outright: "https://host:port", and files of PEM, NULL for none. */
MUST_CHECK int kube_config_explicit(const char *server, const char *cert, const char *key,
				    const char *ca, struct kube_config **ret, struct err_text err);
void kube_config_free(struct kube_config *config);

/* "https://host:port", without a slash at the end. */
const char *kube_config_server(const struct kube_config *config);
/* "default" when none is set. */
const char *kube_config_namespace(const struct kube_config *config);

/* Zero: the default. */
struct kube_config_times {
	uint64_t token_ns; /* between two reads of a token file; 1 min */
	uint64_t files_ns; /* between two reads of files of certificates; 5 min */
	uint64_t exec_ns;  /* after which an exec plugin is killed; 60 s */
};
