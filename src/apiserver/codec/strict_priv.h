/* The parts of strict decoding. */
#pragma once

#include "apiserver/kind/resource.h"

enum { STRICT_LINES_MAX = 100 };

/* strict.c */
void strict_lines_done(char **values, size_t len);
/* strict_type.c: ERR_TYPE with Go's words for the first value of a wrong type: of the whole object
 * for built-in kinds, else of its metadata. */
MUST_CHECK int strict_types(const struct apiserver_resource *resource, const json_t *object,
			    char *err, size_t err_n);
/* strict_value.c: the first thing wrong with a time or with base64, as Go tells it; false when
 * nothing is. */
bool strict_bad_time(const char *text, bool micro, char *err, size_t err_n);
bool strict_bad_base64(const char *text, char *err, size_t err_n);
/* The same for a quantity, which reads whatever value stands there as a text. */
bool strict_bad_quantity(const json_t *value, char *err, size_t err_n);
