/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and the fuzz target free lists that they give to no namespace. */
#pragma once

#include "plugin/kubernetes/objects/lists.h"

void kubernetes_list_free(struct kubernetes_list *list);
