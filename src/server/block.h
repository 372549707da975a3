/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A server block of the Corefile as the server runs it: its zones, its listeners, and the chain of
 * plugin instances. Built by generation.c; nothing changes it afterwards. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "server/handler.h"
#include "server/request_metrics.h"

struct corefile_block;
struct generation;
struct route;
struct steps;

/* One zone of one block on one listener: the unit that metrics are labelled by. */
struct block_zone {
	struct block *block;
	const uint8_t *wire;
	const char *text;
	struct route *route;
	/* The instance that answers for this zone by serve_own_zone; NULL: a zone of the Corefile. */
	const struct plugin_inst *owner;
	struct request_metrics metrics;
};

struct block {
	struct generation *gen;
	size_t index;
	const struct corefile_block *src;
	struct block_conf conf;
	const char **zone_text; /* of all keys, in order, without repeats */
	const uint8_t **zone_wire;
	size_t n_zones;
	struct plugin_inst **inst; /* in chain order */
	size_t n_inst;
	struct plugin_inst **chain; /* those that handle queries */
	unsigned n_chain;
	const struct steps *steps; /* of the chain, for its walks */
	unsigned n_states;
	struct plugin_inst **announcer;
	unsigned n_announce;
	struct block_zone **served; /* every zone on every listener */
	size_t n_served;
	const char *label; /* of its first listener */
};
