/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All objects of a store as YAML, for `fairlead export`. */
#pragma once

#include "apiserver/store/store.h"
#include "base/compiler.h"
#include "base/strbuf.h"

/* Appends all objects as YAML documents, in an order in which they can be applied. */
MUST_CHECK int apiserver_export(struct apiserver_store *store, struct strbuf *out);
