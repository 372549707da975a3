/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of a pattern: nodes in one array, linked by their indexes. */
#include "base/regex/tree_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static uint32_t add_node(struct regex_tree *tree, uint32_t parent, struct regex_node node)
{
	uint32_t index = (uint32_t)tree->nodes.n;
	node.older_sibling = tree->nodes.v[parent].newest_child;
	tree->nodes.v[parent].newest_child = index;
	vec_push(&tree->nodes, node);
	return index;
}

uint32_t regex_tree_init(struct regex_tree *tree)
{
	*tree = (struct regex_tree){ 0 };
	vec_push(&tree->nodes, (struct regex_node){ .kind = REGEX_NODE_GROUP });
	return add_node(tree, 0, (struct regex_node){ .kind = REGEX_NODE_BRANCH });
}

/* The last branch of its group so far has all its items. */
static void finish_branch(struct regex_tree *tree, uint32_t branch)
{
	struct regex_node *nodes = tree->nodes.v;
	uint32_t item = nodes[branch].newest_child;
	while (item != REGEX_NO_NODE && nodes[item].nullable)
		item = nodes[item].older_sibling;
	nodes[branch].nullable = item == REGEX_NO_NODE;
	if (nodes[branch].nullable)
		nodes[nodes[branch].value].nullable = true;
}

uint32_t regex_tree_add_branch(struct regex_tree *tree, uint32_t branch)
{
	uint32_t group = tree->nodes.v[branch].value;
	finish_branch(tree, branch);
	return add_node(tree, group,
			(struct regex_node){ .kind = REGEX_NODE_BRANCH, .value = group });
}

void regex_tree_close_group(struct regex_tree *tree, uint32_t branch)
{
	finish_branch(tree, branch);
}

uint32_t regex_tree_open_group(struct regex_tree *tree, uint32_t branch, uint32_t capture)
{
	uint32_t group = add_node(
		tree, branch, (struct regex_node){ .kind = REGEX_NODE_GROUP, .value = capture });
	return add_node(tree, group,
			(struct regex_node){ .kind = REGEX_NODE_BRANCH, .value = group });
}

void regex_tree_add_item(struct regex_tree *tree, uint32_t branch, enum regex_node_kind kind,
			 uint32_t value)
{
	add_node(tree, branch,
		 (struct regex_node){ .kind = (uint8_t)kind,
				      .nullable = kind == REGEX_NODE_ASSERT,
				      .value = value });
}

void regex_tree_add_class(struct regex_tree *tree, uint32_t branch, struct slice text, bool fold)
{
	/* `+`, so that the members among the ASCII characters are found run by run. */
	CLEANUP(freep)
	char *pcre = xasprintf("(*LF)%s(?:%.*s)+", fold ? "(?i)" : "", (int)text.n, text.p);
	size_t i = 0;
	while (i < tree->classes.n && strcmp(tree->classes.v[i], pcre) != 0)
		i++;
	if (i == tree->classes.n)
		vec_push(&tree->classes, TAKE_PTR(pcre));
	regex_tree_add_item(tree, branch, REGEX_NODE_CLASS, (uint32_t)i);
}

void regex_tree_repeat(struct regex_tree *tree, uint32_t branch, int min, int max, bool lazy)
{
	uint32_t item = tree->nodes.v[branch].newest_child;
	assert(item != REGEX_NO_NODE);
	struct regex_node child = tree->nodes.v[item];
	/* The repeat takes the item's place, which the branch and the next item refer to. */
	tree->nodes.v[item] = (struct regex_node){ .kind = REGEX_NODE_REPEAT,
						   .lazy = lazy,
						   .nullable = min == 0 || child.nullable,
						   .newest_child = (uint32_t)tree->nodes.n,
						   .older_sibling = child.older_sibling,
						   .min = min,
						   .max = max };
	if (max == 0 || (max < 0 && child.nullable))
		tree->pcre_differs = true;
	child.older_sibling = REGEX_NO_NODE;
	vec_push(&tree->nodes, child);
}

void regex_tree_done(struct regex_tree *tree)
{
	for (size_t i = 0; i < tree->classes.n; i++)
		free(tree->classes.v[i]);
	vec_done(&tree->classes);
	vec_done(&tree->nodes);
}
