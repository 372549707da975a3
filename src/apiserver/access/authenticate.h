/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Authentication. There are two users: the machine's user, whose token is in the kubeconfig, and
 * the system itself, whose controllers write what nobody else may. Both tokens are created at the
 * first start and kept in files of the data directory, mode 0600. */
#pragma once

#include <stddef.h>

#include "apiserver/request/call.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct apiserver_authenticator;

/* Reads or creates the tokens. -errno, ERR_LIMIT with a message in `err`. */
MUST_CHECK int apiserver_authenticator_open(const char *dir, struct apiserver_authenticator **ret,
					    struct err_text err);
/* Wipes the tokens; NULL is fine. */
void apiserver_authenticator_free(struct apiserver_authenticator *authenticator);
const char *apiserver_authenticator_user_token(const struct apiserver_authenticator *authenticator);
const char *apiserver_authenticator_system_token(
	const struct apiserver_authenticator *authenticator);

/* The user by the header field Authorization (NULL when it was not sent); NULL: unknown. */
const struct apiserver_identity *apiserver_authenticator_identify(
	const struct apiserver_authenticator *authenticator, const char *authorization);
/* The user of this name; NULL: unknown. */
const struct apiserver_identity *apiserver_authenticator_find_user(const char *user);
