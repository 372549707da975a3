/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Any manifests as a machine (the first document) and its objects: read or refused. What is written
 * can be read again, has the devices of the machine, and name servers within the limits. */
#include <string.h>

#include "api/machine/bind.h"
#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "cmd/netconfig/network_config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void check_written(const struct machine *machine, const struct machine_merged *merged,
			  bool outer)
{
	CLEANUP(strbuf_done) struct strbuf out = STRBUF_INIT;
	struct srcerr where;
	json_t *tree = NULL;
	network_config_write(machine, merged, outer, &out);
	if (api_yaml_parse_one("out", strbuf_slice(&out), &tree, &where) < 0)
		__builtin_trap();
	const json_t *devices = api_get(tree, outer ? "network.ethernets" : "ethernets");
	if (json_object_size(devices) != machine->n_devices)
		__builtin_trap();
	json_decref(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct api_docs docs = { 0 };
	struct srcerr where;
	struct arena arena;
	if (api_yaml_parse("in", (struct slice){ (const char *)data, n }, &docs, &where) < 0)
		return 0;
	arena_init(&arena);
	for (unsigned i = 0; i < 8 && docs.n != 0; i++) {
		struct machine_problems problems = { .arena = &arena };
		struct machine_merge_opts opts = { .flat = (i & 1) != 0, .prepend = (i & 2) != 0 };
		struct machine machine;
		struct machine_merged merged;
		machine_read(docs.v[0], api_name(docs.v[0]), &problems, &machine);
		machine_bind(&machine, &(struct machine_objects){ .v = docs.v, .n = docs.n },
			     (i & 4) != 0, &problems);
		machine_merge(&machine, &opts, &arena, &merged);
		if (problems.n_errors == 0)
			check_written(&machine, &merged, (i & 1) == 0);
	}
	arena_done(&arena);
	api_docs_done(&docs);
	return 0;
}
