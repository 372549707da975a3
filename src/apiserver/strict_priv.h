/* The parts of strict decoding. */
#pragma once

#include "apiserver/resource.h"

enum { STRICT_LINES_MAX = 100 };

/* strict.c */
void strict_lines_done(char **v, size_t n);
/* strict_type.c: ERR_TYPE with Go's words for the first value of a wrong type: of the whole object
 * for built-in kinds, else of its metadata. */
MUST_CHECK int strict_types(const struct apiserver_resource *r, const json_t *o, char *err,
			    size_t err_n);
/* strict_value.c: the first thing wrong with a time or with base64, as Go tells it; false when
 * nothing is. */
bool strict_bad_time(const char *s, bool micro, char *err, size_t err_n);
bool strict_bad_base64(const char *s, char *err, size_t err_n);
/* The same for a quantity, which reads whatever value stands there as a text. */
bool strict_bad_quantity(const json_t *v, char *err, size_t err_n);
