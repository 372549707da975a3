/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What plugins use to read their stanzas. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"
#include "corefile/corefile.h"
#include "dns/name.h"
#include "dns/request.h"
#include "server/handler.h"

/* Error unless the plugin has exactly one stanza in this block. */
MUST_CHECK int setup_once(const struct setup *setup);

/* Defaults, then the arguments of `dir` by the '<' rows, then each line of its body by the others,
 * into `conf` (offsets of the rows). `user` reaches OPT_FN rows as ctx->user. */
MUST_CHECK int setup_options(struct setup *setup, const struct corefile_dir *dir,
			     const struct opt *rows, size_t count, void *conf, void *user);

/* Only the lines of the body; the caller reads the arguments himself (call opt_defaults first). */
MUST_CHECK int setup_body(struct setup *setup, const struct corefile_dir *dir,
			  const struct opt *rows, size_t count, void *conf, void *user);

/* An error at a word: `return setup_error(s, &w, "...")`. */
int setup_error(const struct setup *setup, struct srcpos pos, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

/* A list of zones. */
struct zone_list {
	const uint8_t **wire; /* lower-case wire names, in order given */
	const char **text;    /* lower-case FQDN texts */
	size_t n;
	const uint32_t *slot; /* longer lists: hash table of index plus one, 0: free; else NULL */
	size_t n_slot;	      /* power of two */
};

/* Words to zones: CIDR networks expanded, lower-cased, made absolute. With n == 0: the zones of the
 * block. */
MUST_CHECK int setup_zones(struct setup *setup, const struct word *word, size_t count,
			   struct zone_list *ret);

/* Error if a name that a plugin puts in front of a zone (`front`: labels in wire form, without the
 * root) makes more than DNS_NAME_MAX octets with one of the list. */
MUST_CHECK int setup_zones_fit(const struct setup *setup, struct srcpos pos,
			       const struct zone_list *zones, struct slice front);

/* The longest zone of the list at or above the name: its index, or -1. */
int zone_list_match(const struct zone_list *list, const struct dns_qname *qname);

/* `fallthrough [ZONES...]`. */
struct fallthrough {
	bool on;
	bool all;
	struct zone_list zones;
};
MUST_CHECK int setup_fallthrough(struct setup *setup, const struct word *word, size_t count,
				 struct fallthrough *ret);
/* OPT_FN for a row whose offset points at a struct fallthrough and whose ctx->user is the setup. */
int setup_fallthrough_opt(struct opt_ctx *ctx, const struct opt_line *line);
bool fallthrough_covers(const struct fallthrough *fallthrough, const struct dns_qname *qname);

/* A path of the Corefile: relative ones below the block's root, in the arena. */
const char *setup_path(const struct setup *setup, const char *path);

/* The block. */
const char *block_zone_text(const struct block *block, size_t index);
const struct block_conf *block_conf(const struct block *block);
/* The instance of the plugin of that name in this block, or NULL. After all parse calls. */
struct plugin_inst *block_find(struct block *block, const char *plugin);
/* May plugins behind this one in the chain be asked for names that are not the block's? In parse,
 * too: those before a plugin have been read. */
bool block_renames(const struct block *block);
/* All instances, in chain order; NULL past the end. */
struct plugin_inst *block_inst(struct block *block, size_t index);
/* The handler that follows `self` in the chain, or NULL. */
struct plugin_inst *block_next(struct block *block, const struct plugin_inst *self);
struct generation *block_generation(const struct block *block);
/* What the block serves: each of its zones on each of its listeners, labelled as in metrics; false
 * past the end. After set-up (not in parse). */
bool block_served(const struct block *block, size_t index, const char **ret_server,
		  const char **ret_zone);
/* The label of the block's first listener, e.g. "dns://:53". */
const char *block_server_label(const struct block *block);
