/* Who asks, and what they may do. There are two: the machine's user, whose token is in the
 * kubeconfig, and the system itself, whose controllers write what nobody else may. Both tokens are
 * made at the first start and kept in files of the data directory, mode 0600. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "apiserver/kind/resource.h"
#include "apiserver/verb/rest.h"
#include "base/compiler.h"
#include "base/strbuf.h"

struct apiserver_auth;

MUST_CHECK int apiserver_auth_open(const char *dir, struct apiserver_auth **ret, char *err,
				   size_t err_n);
void apiserver_auth_free(struct apiserver_auth *auth); /* wipes; NULL is fine */
const char *apiserver_auth_user_token(const struct apiserver_auth *auth);
const char *apiserver_auth_system_token(const struct apiserver_auth *auth);

/* By the header field Authorization (NULL when it was not sent); NULL: nobody we know. */
const struct apiserver_identity *apiserver_auth_who(const struct apiserver_auth *auth,
						    const char *authorization);

/* May they? Group and resource may be "*", as reviews ask it. */
bool apiserver_may(const struct apiserver_identity *who, const struct apiserver_action *action);
/* The same by name, as `may` of struct apiserver_env; nobody else may anything. */
bool apiserver_may_user(void *ctx, const char *user, const struct apiserver_action *action);
/* What is said when not, behind `dnsnames.k8s.ovn.org "x" is forbidden: `. */
void apiserver_may_text(const struct apiserver_identity *who, const struct apiserver_action *action,
			struct strbuf *out);
