/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Applying manifests, for `fairlead up --load`. */
#pragma once

#include "cmd/flags.h"

/* As `fairlead apply --force-conflicts -f ...`; the exit status. Objects that are refused are reported
 * of and are no failure: a server must start again whatever was made of its objects, or the disk is
 * full. */
int apply_files(const char *verb, const char *kubeconfig, const struct flag_values *files);
