/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machines from YAML, for tests. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/machine/bind.h"
#include "api/machine/machine.h"
#include "api/machine/merge.h"
#include "api/meta.h"
#include "api/yaml/yaml.h"
#include "base/strbuf.h"

struct sample {
	struct api_docs docs;
	struct arena arena;
	struct machine_problems problems;
	struct machine machine;
};

/* The first document is the machine. */
static inline void sample_read(struct sample *sample, const char *yaml, bool dns_only)
{
	struct srcerr where = { 0 };
	memset(sample, 0, sizeof(*sample));
	if (api_yaml_parse("sample", slice_of(yaml), &sample->docs, &where) < 0)
		fail_msg("%s\n%s", where.text, yaml);
	arena_init(&sample->arena);
	sample->problems.arena = &sample->arena;
	machine_read(sample->docs.v[0], api_name(sample->docs.v[0]), &sample->problems,
		     &sample->machine);
	machine_bind(&sample->machine,
		     &(struct machine_objects){ .v = sample->docs.v, .n = sample->docs.n },
		     dns_only, &sample->problems);
}

static inline void sample_done(struct sample *sample)
{
	arena_done(&sample->arena);
	api_docs_done(&sample->docs);
}

static inline void assert_list(const struct machine_list *list, const char *joined)
{
	CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
	for (size_t i = 0; i < list->n; i++)
		strbuf_addf(&text, "%s%s", i != 0 ? " " : "", list->v[i]);
	assert_string_equal(text.s, joined);
}
