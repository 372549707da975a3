/* The ConfigMaps that we write and watch. What is there is read from the copy that the watch keeps,
 * which is always a little behind the cluster. It must not be behind our own last write, though:
 * we would write twice, and fall back to what has been replaced. Until it has caught up the server
 * is asked. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "api/tree.h"
#include "base/compiler.h"

struct controller_ctx;
struct dnsoperator_configmaps;

/* What the server last said of an object. */
struct dnsoperator_seen {
	bool known; /* it has said something */
	bool there;
	char least[32]; /* a copy that shows an older version is behind */
	/* What was last applied, and when the next one like it is due: others may insist on
	 * something else, and must not be fought for ever. */
	uint64_t applied;
	uint64_t due_ns;
	/* Others do insist: from the first repair that had to wait until a minute went by without
	 * need of one. */
	bool contested;
	uint64_t repaired_ns;
};

/* May the copy be believed? `rv` is its object's resourceVersion; NULL: it has none. */
bool dnsoperator_seen_trusts(const struct dnsoperator_seen *seen, const char *rv);
/* The server said that the object has this version (NULL: that there is none), while the copy had
 * another. */
void dnsoperator_seen_note(struct dnsoperator_seen *seen, const char *rv, const char *copy_rv);
/* What is about to be applied. 0: go on; else so long to wait: the same was applied several times
 * in a few minutes. */
uint64_t dnsoperator_seen_repair(struct dnsoperator_seen *seen, uint64_t applied, uint64_t now_ns);
/* The object is as wanted. Nanoseconds until it no longer counts as contested; 0: it does not. */
uint64_t dnsoperator_seen_quiet(struct dnsoperator_seen *seen, uint64_t now_ns);
/* ... and the server refused it, or was away: nobody contradicted, so it does not count. */
void dnsoperator_seen_failed(struct dnsoperator_seen *seen);

struct dnsoperator_configmaps *dnsoperator_configmaps_new(void);
void dnsoperator_configmaps_free(struct dnsoperator_configmaps *maps);

/* One worker at a time. A new tree, NULL when there is none; `watch` is the number of the one that
 * covers the object. Negative with c->err. */
MUST_CHECK int dnsoperator_configmaps_read(struct dnsoperator_configmaps *maps,
					   struct controller_ctx *ctx, int watch, const char *ns,
					   const char *name, json_t **ret);
/* Makes it so, unless it was done too often: 1, or 0 with c->again_ns. *ret (may be NULL): what it
 * became, NULL with 0. */
MUST_CHECK int dnsoperator_configmaps_apply(struct dnsoperator_configmaps *maps,
					    struct controller_ctx *ctx, const json_t *wanted,
					    json_t **ret);
/* Is another writer changing it again and again? Clears that, or asks for another look, when the
 * object is as wanted (`right`). */
bool dnsoperator_configmaps_contested(struct dnsoperator_configmaps *maps,
				      struct controller_ctx *ctx, const json_t *wanted, bool right);
/* Deletes this version of it; one that is gone already is fine. */
MUST_CHECK int dnsoperator_configmaps_delete(struct dnsoperator_configmaps *maps,
					     struct controller_ctx *ctx, const json_t *object);
