/* Where the API server is and who we are: a kubeconfig, or the service account of a pod. */
#pragma once

#include <stdatomic.h>
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
/* One that is named outright: "https://host:port", and files of PEM, NULL for none. */
MUST_CHECK int kube_config_explicit(const char *server, const char *cert, const char *key,
				    const char *ca, struct kube_config **ret, char *err,
				    size_t err_n);
void kube_config_free(struct kube_config *config);

const char *kube_config_server(
	const struct kube_config *config); /* "https://host:port", no slash behind
					    */
const char *kube_config_namespace(
	const struct kube_config *config); /* "default" when none is said */
/* For people: "context 'prod' of /home/me/.kube/config", "the pod's service account". */
const char *kube_config_origin(const struct kube_config *config);

/* Zero: the default. */
struct kube_config_times {
	uint64_t token_ns; /* between two looks at a token file; 1 min */
	uint64_t files_ns; /* between two looks at files of certificates; 5 min */
	uint64_t exec_ns;  /* after which an exec plugin is killed; 60 s */
};
/* Before threads share it. */
void kube_config_set_times(struct kube_config *config, const struct kube_config_times *times);

struct kube_token_ask {
	bool fresh;		  /* read it again at once (after a 401), ... */
	uint64_t asked_ns;	  /* ... unless that was done since then (monotonic) */
	const _Atomic bool *stop; /* ends the wait for an exec plugin; NULL: nobody will */
};
/* The bearer token now in force, appended; nothing when there is none. Files are read again at most
 * once a minute, exec plugins run when their credential has expired. The old token stays when
 * reading fails; an error only when there is none, with a sentence in `err`. -ECANCELED after
 * `stop`. Any thread. Wipe `out` after use. */
MUST_CHECK int kube_config_token(struct kube_config *config, const struct kube_token_ask *ask,
				 struct strbuf *out, char *err, size_t err_n);
/* Makes all that wait for an exec plugin look at their `stop`. Any thread. */
void kube_config_wake(struct kube_config *config);
