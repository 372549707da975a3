/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Garbage collection: deletes objects whose owners are gone, empties namespaces that are being
 * deleted, and deletes expired Events. One thread; its state comes from the store, so that a
 * restart loses nothing.
 *
 * Glossary
 *	owner, dependent	an object, and one that names it in its ownerReferences
 *	blocking		a dependent that its owner's foreground deletion waits for */
#pragma once

#include "apiserver/request/request.h"

struct apiserver_collector;

struct apiserver_collector *apiserver_collector_new(struct apiserver_api *api);
/* NULL is fine. */
void apiserver_collector_free(struct apiserver_collector *collector);
