/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `fairlead apply`: creates and updates objects from manifests; also for `fairlead up --load`. */
#pragma once

#include "cmd/flags.h"

int cmd_apply(int argc, char **argv);

/* As `fairlead apply --force-conflicts -f ...`; the exit status. Objects that are refused are reported
 * of and are no failure: a server must start again whatever was made of its objects, or the disk is
 * full. */
int apply_files(const char *verb, const char *kubeconfig, const struct flag_values *files);
