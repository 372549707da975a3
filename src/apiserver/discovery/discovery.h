/* What a client reads before it asks for objects: which groups, versions and kinds there are, what
 * their schemas are, and which version the server is. Made from the table of resources, without
 * I/O. The aggregated form of discovery is not spoken: clients that ask for it take the plain one.
 */
#pragma once

#include <stdbool.h>

#include "apiserver/kind/resource.h"
#include "apiserver/verb/answer.h"
#include "apiserver/verb/call.h"

struct apiserver_discovery;

/* `version` is the program's ("0.1.0"), `address` what clients may call us by ("127.0.0.1:6443").
 * The rows must outlive it. */
struct apiserver_discovery *apiserver_discovery_new(const struct apiserver_resource *const *rows,
						    size_t count, const char *version,
						    const char *address);
void apiserver_discovery_free(struct apiserver_discovery *discovery);

/* False: not one of its paths, and `ret` is not touched. Any thread, many at a time. */
bool apiserver_discovery_serve(struct apiserver_discovery *discovery,
			       const struct apiserver_call *call, struct apiserver_answer *ret);
