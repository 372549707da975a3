/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and the fuzz target parse the output of exec plugins. */
#pragma once

#include "kube/client/exec_priv.h"

/* Parses the output of a plugin, an ExecCredential. */
MUST_CHECK int kube_exec_parse(struct slice text, const char *api_version,
			       struct kube_exec_cred *ret, struct err_text err);
