/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Object trees that hold secrets: kubeconfigs, the output of credential programs. */
#pragma once

#include <jansson.h>

/* Overwrites every text in the tree, then drops the reference, which must be the only one. NULL
 * is fine. */
void kube_secret_tree_wipe(json_t *value);
