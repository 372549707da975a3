/* Inside of the configuration: what a kubeconfig's chosen context says, and the credentials that
 * are in force now.
 *
 * Glossary
 *   source  where bytes come from: a file that may change, or data from the kubeconfig itself
 *   tls     one version of all that TLS needs, as files in memory that libcurl can open; shared by
 *           references until the last connection made with it is gone */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/vec.h"
#include "kube/client/config.h"
#include "kube/client/secret.h"

struct kube_source {
	char *path; /* NULL: data */
	struct kube_secret data;
};

struct kube_exec {
	char *command; /* NULL: no plugin */
	VEC(char *) args;
	VEC(char *) env; /* "NAME=value" */
	char *api_version;
	char *hint; /* how to install the command */
	bool cluster_info;
};

/* What an exec plugin gave. */
struct kube_exec_cred {
	struct kube_secret token, cert, key;
	uint64_t expires_wall_ns; /* 0: never */
};

struct kube_tls {
	_Atomic unsigned refs;
	struct kube_secret ca, cert, key; /* PEM */
	int fd[3];			  /* the same as files; -1: none */
	/* Paths for libcurl; NULL: none. */
	char *ca_path, *cert_path, *key_path;
	bool system_ca; /* no CA was named: the system's */
};

struct kube_config {
	/* Fixed once loaded: */
	char *server, *ns, *origin;
	char *tls_name, *proxy;
	bool insecure;
	VEC(char *) headers; /* whom to act as */
	struct kube_source ca, cert, key;
	char *token_file;
	struct kube_exec exec;
	struct kube_config_times times;

	pthread_mutex_t lock; /* guards all below */
	struct kube_secret token;
	uint64_t token_read_ns;
	struct kube_exec_cred cred;
	bool cred_known;
	int exec_wake; /* wakes who waits for the plugin that runs; -1: none runs */
	pthread_cond_t exec_ended;
	uint64_t cred_read_ns;
	struct kube_tls *tls;
	uint64_t tls_read_ns;
};

/* Empty, with the default times. */
struct kube_config *kube_config_new(void);

/* One kubeconfig's text, for the reader below. */
struct kube_config_file {
	const char *path; /* for messages, and where relative paths start */
	struct slice text;
};
/* Reads and merges the texts, picks the context (NULL: the current one) and fills `config`. Opens
 * no file that they name. ERR_PARSE, ERR_NOTFOUND, ERR_UNSUPPORTED with a sentence in `err`. */
MUST_CHECK int kube_config_read(const struct kube_config_file *file, size_t count,
				const char *context, struct kube_config *config, char *err,
				size_t err_n);

/* Reads all files once, so that what is missing is found at start. */
MUST_CHECK int kube_config_check(struct kube_config *config, char *err, size_t err_n);

/* The TLS material in force, a reference of the caller's. Files are looked at again every 5 min;
 * `fresh`: at once (after a failed handshake or a 401). The old one stays when reading fails.
 * `stop` as kube_config_token's. */
MUST_CHECK int kube_config_tls(struct kube_config *config, bool fresh, const _Atomic bool *stop,
			       struct kube_tls **ret, char *err, size_t err_n);
void kube_tls_unref(struct kube_tls *tls); /* NULL is fine */

/* May credentials change without a restart? Else asking again after a 401 is in vain. */
static inline bool kube_config_renewable(const struct kube_config *config)
{
	return config->token_file != NULL || config->exec.command != NULL ||
	       config->cert.path != NULL;
}

/* Runs the plugin. When `wake` (an eventfd) becomes readable it looks at `stop`. ERR_TIMEOUT,
 * ERR_PARSE, ERR_CLOSED (it failed), -ECANCELED, -errno; `err` has a sentence that names the
 * command. */
MUST_CHECK int kube_exec_run(const struct kube_config *config, const _Atomic bool *stop, int wake,
			     struct kube_exec_cred *ret, char *err, size_t err_n);
/* What such a plugin prints: an ExecCredential. */
MUST_CHECK int kube_exec_parse(struct slice text, const char *api_version,
			       struct kube_exec_cred *ret, char *err, size_t err_n);
void kube_exec_cred_done(struct kube_exec_cred *cred);
