/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The node's side: its resolver file, the cluster's DNS addresses and domain. */
#include "cmd/resolvconf/node_settings.h"

#include <stdio.h>
#include <stdlib.h>

#include "api/meta.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/readfile.h"
#include "base/vec.h"

enum { PIPE_WAIT_MS = 60000 };

const char node_settings_host_file[] = "/etc/resolv.conf";
const char node_settings_cluster_domain[] = "cluster.local";

/* The parts between commas, without spaces around them; empty ones are left out. */
static size_t split_list(struct arena *arena, const char *text, struct slice **ret)
{
	VEC(struct slice) parts = { 0 };
	struct slice rest = slice_of(text);
	while (rest.n > 0) {
		struct slice part = slice_trim(slice_cut(&rest, ','));
		if (part.n > 0)
			vec_push(&parts, part);
	}
	size_t n = parts.n;
	*ret = n > 0 ? arena_memdup(arena, parts.v, n * sizeof(*parts.v)) : NULL;
	vec_done(&parts);
	return n;
}

static struct slice trim_final_dot(struct slice domain)
{
	if (domain.n > 0 && domain.p[domain.n - 1] == '.')
		domain.n--;
	return domain;
}

bool node_settings_has_domain(const struct node_settings *node)
{
	if (node->cluster_domain == NULL || node->cluster_domain[0] == '\0')
		return true;
	struct slice domain = trim_final_dot(slice_of(node->cluster_domain));
	CLEANUP(freep) char *lower = xstrndup(domain.p, domain.n);
	for (size_t i = 0; i < domain.n; i++)
		lower[i] = ascii_lower(lower[i]);
	return api_is_dns_domain(lower);
}

static void read_host_file(struct node_settings *node)
{
	node->was_read = true;
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	struct podresolv_finding finding;
	char why[256];
	int code = readfile_path(node->host_file, PODRESOLV_HOST_BYTES_MAX, PIPE_WAIT_MS, &text);
	if (code < 0) {
		snprintf(node->problem, sizeof(node->problem), "cannot read '%s': %s",
			 node->host_file,
			 code == ERR_LIMIT ? "it has 10 MiB or more" : err_str(code));
		return;
	}
	code = podresolv_parse_host(strbuf_slice(&text), node->use_domain, &node->arena,
				    &node->host, ERR_TEXT(why));
	if (code < 0) {
		snprintf(node->problem, sizeof(node->problem), "'%s': %s", node->host_file, why);
		return;
	}
	node->has_host = true;
	if (podresolv_check_host(&node->host, slice_of(node->cluster_domain), node->host_file,
				 &node->arena, &finding))
		fprintf(stderr, "%s: node event %s: %s\n", node->host_file, finding.reason,
			finding.message);
}

void node_settings_init(struct node_settings *node)
{
	arena_init(&node->arena);
	node->was_read = node->has_host = false;
	node->problem[0] = '\0';
	if (node->host_file == NULL)
		node->host_file = node_settings_host_file;
	if (node->cluster_domain == NULL)
		node->cluster_domain = node_settings_cluster_domain;
	node->n_cluster_servers =
		split_list(&node->arena, node->cluster_dns, &node->cluster_servers);
	node->n_addresses = split_list(&node->arena, node->node_ips, &node->addresses);
}

void node_settings_done(struct node_settings *node)
{
	arena_done(&node->arena);
}

void node_settings_fill(struct node_settings *node, struct podresolv_input *ret)
{
	if (ret->policy != PODRESOLV_NONE && node->host_file[0] != '\0' && !node->was_read)
		read_host_file(node);
	ret->host = node->has_host ? &node->host : NULL;
	ret->host_error = node->problem;
	ret->no_host_file = node->host_file[0] == '\0';
	ret->node_ips = node->addresses;
	ret->n_node_ips = node->n_addresses;
	ret->cluster_dns = node->cluster_servers;
	ret->n_cluster_dns = node->n_cluster_servers;
	ret->cluster_domain = trim_final_dot(slice_of(node->cluster_domain));
}
