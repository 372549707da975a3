/* Applying manifests, for `fairlead up --load`. */
#pragma once

#include "cmd/flags.h"

/* As `fairlead apply --force-conflicts -f ...`; the exit status. */
int apply_files(const char *verb, const char *kubeconfig, const struct flag_values *files);
