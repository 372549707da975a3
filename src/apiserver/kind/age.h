/* How old something is, as tables show it: "5s", "2m3s", "4h", "3d". Two units only while the
 * smaller one matters. */
#pragma once

#include <stdint.h>

enum { APISERVER_AGE_MAX = 48 };

/* Of a span that may be negative: up to a second of that is another clock's error. */
const char *apiserver_span(int64_t seconds, char out[APISERVER_AGE_MAX]);
/* Since a time as objects write it; "<unknown>" for NULL and "", "<invalid>" for no time. */
const char *apiserver_age(const char *time, uint64_t now_s, char out[APISERVER_AGE_MAX]);
