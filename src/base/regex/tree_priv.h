/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A pattern as a tree, built by the reader of RE2 syntax (syntax.c) and compiled for the
 * linear matcher (program.c).
 *
 *	group	its children are branches: a|b|c
 *	branch	its children are items, one after the other
 *	repeat	has one child, the item that is repeated
 *
 * Children are linked from the newest to the oldest, which is the order both users want: a
 * repetition sign applies to the newest item, and code is generated from the end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "base/vec.h"

enum regex_node_kind {
	REGEX_NODE_GROUP,
	REGEX_NODE_BRANCH,
	REGEX_NODE_REPEAT,
	REGEX_NODE_CHAR,   /* value: the character */
	REGEX_NODE_CLASS,  /* value: index of its text */
	REGEX_NODE_ASSERT, /* value: enum regex_assert */
};

/* What holds at a position; a position has a set of these. */
enum regex_assert {
	REGEX_AT_BEGIN_TEXT = 1 << 0,
	REGEX_AT_END_TEXT = 1 << 1,
	REGEX_AT_BEGIN_LINE = 1 << 2,
	REGEX_AT_END_LINE = 1 << 3,
	REGEX_AT_WORD = 1 << 4, /* \b */
	REGEX_AT_NO_WORD = 1 << 5,
};

enum { REGEX_NO_NODE = 0, REGEX_NO_CAPTURE = 0 }; /* node 0 is the root, which is nobody's child */

struct regex_node {
	uint8_t kind;
	bool lazy;
	bool nullable; /* can match the empty text; known once the node is complete */
	uint32_t newest_child;
	uint32_t older_sibling;
	uint32_t value; /* of a group: number of the capture, or REGEX_NO_CAPTURE; of a branch: its
			 * group */
	int min, max;	/* of a repeat; max -1: no end */
};

struct regex_tree {
	VEC(struct regex_node) nodes;
	VEC(char *) classes; /* PCRE2 patterns that match one character each */
	/* PCRE2 does not understand it as Go does: it ends a loop at the first empty round, where
	 * Go tries the other branches of the body, as in (a*|b)*; and it takes (?:^a){0}b for a
	 * pattern that can match only at the beginning. */
	bool pcre_differs;
};

/* The branches returned are where items of the whole pattern, of a group, and after a bar go. */
uint32_t regex_tree_init(struct regex_tree *tree);
uint32_t regex_tree_open_group(struct regex_tree *tree, uint32_t branch, uint32_t capture);
uint32_t regex_tree_add_branch(struct regex_tree *tree, uint32_t branch);
/* `branch` is the last one of the group, or of the whole pattern. */
void regex_tree_close_group(struct regex_tree *tree, uint32_t branch);
void regex_tree_add_item(struct regex_tree *tree, uint32_t branch, enum regex_node_kind kind,
			 uint32_t value);
/* `text` is a class, or a character, as it is printed for PCRE2. */
void regex_tree_add_class(struct regex_tree *tree, uint32_t branch, struct slice text, bool fold);
/* Repeats the newest item of the branch, which must have one. */
void regex_tree_repeat(struct regex_tree *tree, uint32_t branch, int min, int max, bool lazy);
void regex_tree_done(struct regex_tree *tree);
