/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sets of IP addresses as a treap of disjoint ranges that do not touch: a binary tree by address, in
 * which random weights keep the depth logarithmic. Cutting the tree at an address and joining two
 * trees are all that adding and removing need. */
#include "net/ip_ranges.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

struct net_ip_ranges_node {
	struct net_ip_range range;
	uint64_t weight; /* no smaller than its children's */
	struct net_ip_ranges_node *left, *right;
	net_ip_number
		others; /* addresses of the subtree less one, which 128 bits can always hold */
};

#define HIGHEST (~(net_ip_number)0)

/* ---- numbers ---- */

net_ip_number net_ip_number_of(const union net_addr *addr)
{
	size_t n;
	const uint8_t *bytes = net_addr_bytes(addr, &n);
	net_ip_number number = 0;
	for (size_t i = 0; i < n; i++)
		number = number << 8 | bytes[i];
	return number;
}

union net_addr net_ip_from_number(sa_family_t family, net_ip_number number)
{
	union net_addr addr = { .family = family };
	uint8_t *bytes =
		family == AF_INET ? (uint8_t *)&addr.v4.sin_addr : addr.v6.sin6_addr.s6_addr;
	for (size_t i = family == AF_INET ? 4 : 16; i > 0; i--) {
		bytes[i - 1] = (uint8_t)(number & 0xff);
		number >>= 8;
	}
	return addr;
}

struct net_ip_range net_ip_range_of_network(sa_family_t family, net_ip_number address,
					    unsigned bits)
{
	const unsigned width = family == AF_INET ? 32 : 128;
	assert(bits <= width);
	/* A shift by 128 is undefined. */
	net_ip_number hosts = bits == width ? 0 : HIGHEST >> (128 - (width - bits));
	return (struct net_ip_range){ address & ~hosts, address | hosts };
}

/* Without zone: an address that exists on one machine only belongs to no pool. */
static int parse_address(struct slice text, sa_family_t *ret_family, net_ip_number *ret)
{
	union net_addr addr;
	if (slice_find(text, '%') >= 0 || net_addr_parse_ip(text, &addr) < 0)
		return ERR_PARSE;
	*ret_family = addr.family;
	*ret = net_ip_number_of(&addr);
	return 0;
}

int net_ip_range_parse(struct slice text, sa_family_t *ret_family, struct net_ip_range *ret)
{
	struct slice rest = text;
	struct slice head = slice_cut(&rest, slice_find(text, '-') >= 0 ? '-' : '/');
	sa_family_t family, other;
	struct net_ip_range range;
	unsigned bits;
	if (parse_address(head, &family, &range.first) < 0)
		return ERR_PARSE;
	if (rest.p == NULL) {
		range.last = range.first;
	} else if (slice_find(text, '-') >= 0) {
		if (parse_address(rest, &other, &range.last) < 0 || other != family ||
		    range.last < range.first)
			return ERR_PARSE;
	} else if (slice_prefix_length(rest, family == AF_INET ? 32 : 128, &bits) < 0) {
		return ERR_PARSE;
	} else {
		range = net_ip_range_of_network(family, range.first, bits);
	}
	*ret_family = family;
	*ret = range;
	return 0;
}

/* ---- the tree ---- */

/* xorshift64*: the weights need no secret, and equal histories make equal trees. */
static uint64_t next_weight(struct net_ip_ranges *set)
{
	uint64_t x = set->seed != 0 ? set->seed : 0x9e3779b97f4a7c15U;
	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	set->seed = x;
	return x * 0x2545f4914f6cdd1dU;
}

static void update_count(struct net_ip_ranges_node *node)
{
	node->others = node->range.last - node->range.first;
	if (node->left != NULL)
		node->others += node->left->others + 1;
	if (node->right != NULL)
		node->others += node->right->others + 1;
}

static struct net_ip_ranges_node *new_node(struct net_ip_ranges *set, struct net_ip_range range)
{
	struct net_ip_ranges_node *node = xcalloc(1, sizeof(*node));
	node->range = range;
	node->weight = next_weight(set);
	update_count(node);
	return node;
}

static void free_tree(struct net_ip_ranges_node *node)
{
	if (node == NULL)
		return;
	free_tree(node->left);
	free_tree(node->right);
	free(node);
}

/* Cuts a tree in two: the ranges that begin below the number, and the others. */
static void cut_tree(struct net_ip_ranges_node *node, net_ip_number number,
		     struct net_ip_ranges_node **ret_below, struct net_ip_ranges_node **ret_rest)
{
	if (node == NULL) {
		*ret_below = *ret_rest = NULL;
	} else if (node->range.first < number) {
		cut_tree(node->right, number, &node->right, ret_rest);
		update_count(node);
		*ret_below = node;
	} else {
		cut_tree(node->left, number, ret_below, &node->left);
		update_count(node);
		*ret_rest = node;
	}
}

/* Joins two trees; all of `low` lies before `high`. */
static struct net_ip_ranges_node *join_trees(struct net_ip_ranges_node *low,
					     struct net_ip_ranges_node *high)
{
	if (low == NULL || high == NULL)
		return low != NULL ? low : high;
	if (low->weight >= high->weight) {
		low->right = join_trees(low->right, high);
		update_count(low);
		return low;
	}
	high->left = join_trees(low, high->left);
	update_count(high);
	return high;
}

static const struct net_ip_range *highest_range(const struct net_ip_ranges_node *node)
{
	while (node != NULL && node->right != NULL)
		node = node->right;
	return node != NULL ? &node->range : NULL;
}

/* Takes the ranges out that have a part in common with `range`, or touch it when `touching`; what lies
 * below and above them remains in two trees. *ret_span is from the first to the last address of those
 * taken out and of `range`. */
static void take_out(struct net_ip_ranges *set, struct net_ip_range range, bool touching,
		     struct net_ip_ranges_node **ret_below, struct net_ip_ranges_node **ret_above,
		     struct net_ip_range *ret_span)
{
	struct net_ip_ranges_node *below, *rest, *within, *above = NULL;
	net_ip_number touch = touching ? 1 : 0;
	*ret_span = range;
	cut_tree(set->root, range.first, &below, &rest);
	const struct net_ip_range *before = highest_range(below);
	/* range.first is not 0 here, as a range begins below it. */
	if (before != NULL && before->last >= range.first - touch) {
		struct net_ip_ranges_node *taken;
		ret_span->first = before->first;
		ret_span->last = MAX(range.last, before->last);
		cut_tree(below, before->first, &below, &taken);
		free_tree(taken);
	}
	if (range.last >= HIGHEST - touch)
		within = rest;
	else
		cut_tree(rest, range.last + touch + 1, &within, &above);
	const struct net_ip_range *last = highest_range(within);
	if (last != NULL)
		ret_span->last = MAX(ret_span->last, last->last);
	free_tree(within);
	*ret_below = below;
	*ret_above = above;
}

void net_ip_ranges_done(struct net_ip_ranges *set)
{
	free_tree(set->root);
	set->root = NULL;
}

void net_ip_ranges_add(struct net_ip_ranges *set, struct net_ip_range range)
{
	struct net_ip_ranges_node *below, *above;
	struct net_ip_range span;
	assert(range.first <= range.last);
	take_out(set, range, true, &below, &above, &span);
	set->root = join_trees(join_trees(below, new_node(set, span)), above);
}

void net_ip_ranges_remove(struct net_ip_ranges *set, struct net_ip_range range)
{
	struct net_ip_ranges_node *below, *above;
	struct net_ip_range span;
	assert(range.first <= range.last);
	take_out(set, range, false, &below, &above, &span);
	if (span.first < range.first)
		below = join_trees(
			below, new_node(set, (struct net_ip_range){ span.first, range.first - 1 }));
	if (span.last > range.last)
		above = join_trees(
			new_node(set, (struct net_ip_range){ range.last + 1, span.last }), above);
	set->root = join_trees(below, above);
}

/* The lowest range of the set that has addresses in common with `range`, cut to these. */
static bool find_overlap(const struct net_ip_ranges *set, struct net_ip_range range,
			 struct net_ip_range *ret)
{
	const struct net_ip_ranges_node *node = set->root, *found = NULL;
	/* The lowest range that ends at or after range.first. */
	while (node != NULL) {
		if (node->range.last >= range.first) {
			found = node;
			node = node->left;
		} else {
			node = node->right;
		}
	}
	if (found == NULL || found->range.first > range.last)
		return false;
	*ret = (struct net_ip_range){ MAX(found->range.first, range.first),
				      MIN(found->range.last, range.last) };
	return true;
}

/* Each set in turn is asked for its first range that ends after the beginning of the other's. */
bool net_ip_ranges_common(const struct net_ip_ranges *left, const struct net_ip_ranges *right,
			  struct net_ip_range *ret)
{
	struct net_ip_range rest = { 0, ~(net_ip_number)0 }, range = rest, other;
	while (find_overlap(left, rest, &range)) {
		if (find_overlap(right, range, ret))
			return true;
		rest.first = range.first;
		if (!find_overlap(right, rest, &other))
			return false;
		rest.first = other.first;
	}
	return false;
}

void net_ip_ranges_each_within(const struct net_ip_ranges *set, struct net_ip_range range,
			       void (*fn)(void *ctx, struct net_ip_range found), void *ctx)
{
	struct net_ip_range rest = range, found;
	while (find_overlap(set, rest, &found)) {
		fn(ctx, found);
		if (found.last == range.last)
			break;
		rest.first = found.last + 1;
	}
}

bool net_ip_ranges_has(const struct net_ip_ranges *set, net_ip_number number)
{
	struct net_ip_range common;
	return find_overlap(set, (struct net_ip_range){ number, number }, &common);
}

bool net_ip_ranges_lowest(const struct net_ip_ranges *set, net_ip_number *ret)
{
	const struct net_ip_ranges_node *node = set->root;
	if (node == NULL)
		return false;
	while (node->left != NULL)
		node = node->left;
	*ret = node->range.first;
	return true;
}

int64_t net_ip_ranges_count_blocks(const struct net_ip_ranges *set, unsigned bits)
{
	if (set->root == NULL)
		return 0;
	net_ip_number others = set->root->others >> bits;
	return others >= INT64_MAX ? INT64_MAX : (int64_t)others + 1;
}

int64_t net_ip_ranges_count(const struct net_ip_ranges *set)
{
	return net_ip_ranges_count_blocks(set, 0);
}

static bool walk_tree(const struct net_ip_ranges_node *node,
		      bool (*fn)(void *ctx, struct net_ip_range range), void *ctx)
{
	return node == NULL || (walk_tree(node->left, fn, ctx) && fn(ctx, node->range) &&
				walk_tree(node->right, fn, ctx));
}

void net_ip_ranges_each(const struct net_ip_ranges *set,
			bool (*fn)(void *ctx, struct net_ip_range range), void *ctx)
{
	walk_tree(set->root, fn, ctx);
}
