/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kubeconfig files for the users of the embedded API. */
#pragma once

#include <stddef.h>

#include "apiserver/access/ca.h"
#include "base/compiler.h"
#include "base/err_text.h"

struct apiserver_kubeconfig {
	const char *file; /* its name in the data directory */
	const char *server, *user, *token;
};

/* Writes the file unless it has this content already. -errno with a message in `err`. */
MUST_CHECK int apiserver_kubeconfig_write(const struct apiserver_ca *ca, const char *dir,
					  const struct apiserver_kubeconfig *kubeconfig,
					  struct err_text err);
