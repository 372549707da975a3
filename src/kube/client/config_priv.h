/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration's own data: the chosen context of a kubeconfig, and the credentials in force.
 *
 * Glossary
 *   source  where bytes come from: a file that may change, or data from the kubeconfig itself */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/slice.h"
#include "base/vec.h"
#include "kube/client/config.h"
#include "kube/client/exec_priv.h"
#include "base/secret.h"

struct kube_tls;

struct kube_source {
	char *path; /* NULL: data */
	struct secret data;
};

/* A server on this machine, by the path of its socket: "unix:///run/api.sock". Of ours alone:
 * kubectl knows no such address. */
#define KUBE_UNIX_SCHEME "unix://"

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
	struct secret token;
	uint64_t token_read_ns;
	struct kube_exec_cred cred;
	bool cred_known;
	int exec_wake; /* eventfd that ends the wait for the running plugin; -1: none runs */
	pthread_cond_t exec_ended;
	uint64_t cred_read_ns;
	struct kube_tls *tls;
	uint64_t tls_read_ns;
};

/* May credentials change without a restart? Else asking again after a 401 is in vain. */
static inline bool kube_config_renewable(const struct kube_config *config)
{
	return config->token_file != NULL || config->exec.command != NULL ||
	       config->cert.path != NULL;
}
