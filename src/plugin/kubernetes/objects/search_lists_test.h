/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests and the fuzz target free lists that they give to no namespace. */
#pragma once

#include "plugin/kubernetes/objects/search_lists.h"

void kubernetes_search_list_free(struct kubernetes_search_list *list);
