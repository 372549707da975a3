/* What a cluster's controllers would do for the API itself: objects whose owners are gone go,
 * namespaces that end are emptied, Events that are old are forgotten. One thread; it works from
 *what is stored, so that a restart loses nothing.
 *
 * Glossary
 *	owner, dependent	an object, and one that names it in its ownerReferences
 *	blocking		a dependent that its owner's foreground deletion waits for */
#pragma once

#include "apiserver/verb/request.h"

struct apiserver_collector;

struct apiserver_collector *apiserver_collector_new(struct apiserver_api *api);
/* NULL is fine. */
void apiserver_collector_free(struct apiserver_collector *collector);
