/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exec plugins: programs that print a credential (ExecCredential). */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"
#include "base/vec.h"
#include "base/secret.h"

struct kube_config;

struct kube_exec {
	char *command; /* NULL: no plugin */
	VEC(char *) args;
	VEC(char *) env; /* "NAME=value" */
	char *api_version;
	char *hint; /* how to install the command */
	bool cluster_info;
};

/* The credential that an exec plugin printed. */
struct kube_exec_cred {
	struct secret token, cert, key;
	uint64_t expires_wall_ns; /* 0: never */
};

/* Runs the plugin. `wake`, an eventfd, makes it check `stop`. ERR_TIMEOUT,
 * ERR_PARSE, ERR_CLOSED (it failed), -ECANCELED, -errno; `err` has a sentence that names the
 * command. */
MUST_CHECK int kube_exec_run(const struct kube_config *config, const _Atomic bool *stop, int wake,
			     struct kube_exec_cred *ret, struct err_text err);
void kube_exec_cred_done(struct kube_exec_cred *cred);
