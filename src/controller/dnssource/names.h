/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that the controller leaves in a cluster, and those of external-dns that it reads. */
#pragma once

#define DNSSOURCE_LOG_AREA   "controller/dnssource"
#define DNSSOURCE_MANAGED_BY "app.kubernetes.io/managed-by"
#define DNSSOURCE_MANAGER    "fairlead-dnssource"
/* The ConfigMap that says which provider has which domain. */
#define DNSSOURCE_CONFIG     "fairlead-dnssource"

#define DNSSOURCE_PREFIX     "external-dns.alpha.kubernetes.io/"
#define DNSSOURCE_HOSTNAME   DNSSOURCE_PREFIX "hostname"
#define DNSSOURCE_TTL	     DNSSOURCE_PREFIX "ttl"
#define DNSSOURCE_TARGET     DNSSOURCE_PREFIX "target"
#define DNSSOURCE_CONTROLLER DNSSOURCE_PREFIX "controller"
