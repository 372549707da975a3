/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of kubeconfig files. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/err_text.h"
#include "base/slice.h"

struct kube_config;

/* The content of one kubeconfig. */
struct kube_config_file {
	const char *path; /* for messages, and where relative paths start */
	struct slice text;
};
/* Reads and merges the texts, picks the context (NULL: the current one) and fills `config`. Opens
 * no file that they name. ERR_PARSE, ERR_NOTFOUND, ERR_UNSUPPORTED with a sentence in `err`. */
MUST_CHECK int kube_config_read(const struct kube_config_file *file, size_t count,
				const char *context, struct kube_config *config,
				struct err_text err);
