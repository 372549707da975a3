/* Where a Corefile's text comes from: a file, standard input, or the built-in default. */
#pragma once

#include <stddef.h>

#include "base/compiler.h"
#include "base/strbuf.h"

enum { CONFSOURCE_MAX_BYTES = 16 << 20 };

struct confsource;

/* `name` as given to -conf: a path, "stdin", or NULL: ./Corefile if there is one, else the default
 * `.:PORT { whoami; log }`. Never NULL. */
struct confsource *confsource_new(const char *name, unsigned default_port);
void confsource_free(struct confsource *s);
/* What is served when there is no configuration: `.:PORT { whoami; log }`. */
const char *confsource_default(const struct confsource *s);
/* The file it is; NULL when it is none. */
const char *confsource_path(const struct confsource *s);
/* Shown in error positions. */
const char *confsource_name(const struct confsource *s);
/* The text now, replacing *out; standard input is read once and remembered. 0, or a negative code
 * with a text in `why`. */
MUST_CHECK int confsource_load(struct confsource *s, struct strbuf *out, char *why, size_t why_n);
