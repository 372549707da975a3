/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The client for lookups that all work of an engine shares. */
#pragma once

struct engine;
struct lookup_client;

/* Engine's thread. Freed with the engine; NULL: there are no DNS servers. */
struct lookup_client *engine_lookups(struct engine *engine);
