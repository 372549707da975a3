/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests make configurations by hand, with shorter times than real ones have. */
#pragma once

#include "kube/client/config.h"

/* Empty, with the default times. */
struct kube_config *kube_config_new(void);
/* Before threads share it. */
void kube_config_set_times(struct kube_config *config, const struct kube_config_times *times);
